"""Train."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from polyglot.cli import completion
from polyglot.cli.program import Overrides, app, logger, screen

if TYPE_CHECKING:
    from polyglot.run import Run


@app.command(epilog="polyglot train phrasebook training.steps=3400 · polyglot train runs/phrasebook --resume")
def train(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|RUN",
            help="A YAML file, the name of a shipped one, or with --resume a run directory.",
            autocompletion=completion.configurations,
        ),
    ],
    overrides: Overrides = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, count parameters and memory, and stop.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Continue a run exactly where its last checkpoint was written.")] = False,
) -> None:
    """Train a set of language pairs."""
    from polyglot.config import load_config
    from polyglot.run import Run

    if dry_run:
        show_plan(Run.reconfigure(config, overrides or ()) if resume else Run.of(load_config(config, overrides or ())), resume=resume)
        return
    run = Run.reconfigure(config, overrides or ()) if resume else Run.create(load_config(config, overrides or ()))
    train_run(run, resume=resume, reconfigured=bool(overrides))


def show_plan(run: Run, *, resume: bool = False) -> None:
    """What training a run would do; for a new one also that something stands in its place already."""
    from polyglot.training.plan import plan

    exists = None if resume else run.exists()
    screen.print(*plan(run.config).tables(), sep="\n")
    if exists:
        logger.warning(exists)


def train_run(run: Run, *, resume: bool = False, reconfigured: bool = False) -> None:
    """Train a run from its beginning or from its last checkpoint, and say what comes next."""
    from polyglot import checkpoint as checkpoints
    from polyglot.evaluate.validation import Validator
    from polyglot.training.log import start_trackers
    from polyglot.training.start import build_trainer

    with run.locked():
        with nullcontext() if resume else run.removed_on_error():
            trainer = build_trainer(run, Validator(run))
            if resume and checkpoints.steps(run.checkpoints):
                trainer.resume(checkpoints.choose(run.checkpoints, "last")[0])
            start_trackers(trainer.accelerator)
        start = trainer.progress.step
        changed = run.reconfigured(lambda: trainer.progress.step > start) if reconfigured and resume else nullcontext()
        with changed:  # only now that data and checkpoint agree with it
            trainer.train()
    logger.info(
        f"{run.path}: {trainer.progress.step} of {run.config.training.steps} steps in {trainer.progress.seconds:,.0f} s of training"
    )
    if trainer.interrupted and trainer.progress.step < run.config.training.steps:
        logger.info(f"interrupted; continue with: polyglot train {run.path} --resume")
        raise typer.Exit(128 + trainer.interrupted)  # as shells say it, so that what should follow a trained model does not
    logger.info(f"next: polyglot evaluate {run.path}")
