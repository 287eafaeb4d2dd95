"""Train."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import Overrides, app, logger, screen
from polyglot.core.errors import ConfigError
from polyglot.core.problems import Problem
from polyglot.core.signals import terminate_as_interrupt

if TYPE_CHECKING:
    from polyglot.config.schema import Config
    from polyglot.distributed.processes import Processes
    from polyglot.runs.run import Run
    from polyglot.training.trainer import Trainer


@app.command(
    epilog="polyglot train phrasebook training.steps=3400 · polyglot train runs/phrasebook --resume · "
    "polyglot train mine.yaml --processes 4"
)
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
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Check everything, count parameters and memory, and stop."),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue a run exactly where its last checkpoint was written."
        ),
    ] = False,
    number: Annotated[
        Optional[int],
        typer.Option(
            "--processes", min=1, help="Train with so many processes here, one for each device."
        ),
    ] = None,
) -> None:
    """Train a set of language pairs."""
    from polyglot.distributed.launch import launch, launched

    several = launched()
    if number is not None and several not in (None, number):
        found = f"--processes {number}, but a launcher has started {several} (WORLD_SIZE in the environment)"
        raise ConfigError(f"{found}; leave the option out, or make both the same")
    asked = number or 1
    if asked > 1 and not dry_run and several is None:
        if status := launch(asked, [sys.executable, "-m", "polyglot", *sys.argv[1:]]):
            raise typer.Exit(status)
        return
    from polyglot.config.loading import load_config
    from polyglot.runs.run import Run

    if dry_run:
        run = (
            Run.open_with_overrides(config, overrides or ())
            if resume
            else Run.for_config(load_config(config, overrides or (), extra_problems=_missing_here))
        )
        show_plan(run, resume=resume, processes=several or asked)
        return
    from polyglot.distributed.processes import Processes

    with terminate_as_interrupt(), Processes.together() as processes:
        if resume:
            run = Run.open_with_overrides(config, overrides or ())
        else:
            settings = load_config(config, overrides or (), extra_problems=_missing_here)
            run = Run.create(settings) if processes.main else Run.for_config(settings)
        trainer = _train(run, processes, resume=resume, provisional_config=bool(overrides))
    _say_what_comes_next(trainer, asked)


def show_plan(run: Run, *, resume: bool = False, processes: int = 1) -> None:
    """What training a run would do, once it can be continued; for a new one also that something stands in its place already."""
    from polyglot.training.dry_run import plan_training
    from polyglot.training.resume import last_checkpoint

    begun = run if resume and last_checkpoint(run) else None
    exists = None if resume else run.occupied_message()
    screen.print(*plan_training(run.config, processes, resumed_run=begun).tables(), sep="\n")
    if exists:
        logger.warning(exists)


def _missing_here(config: Config) -> list[Problem]:
    """Beside mistakes in a configuration, so that the next attempt does not fail for text or packages."""
    from polyglot.training.preflight import preflight_problems

    return preflight_problems(config)


def train_run(run: Run) -> None:
    """Train a new run in this process, and say what comes next."""
    from polyglot.distributed.processes import Processes

    _say_what_comes_next(_train(run, Processes()))


def _train(
    run: Run, processes: Processes, *, resume: bool = False, provisional_config: bool = False
) -> Trainer:
    """From the beginning or from the last checkpoint. Of several processes the first prepares what the others find on the disk."""
    from polyglot.runs import checkpoint as checkpoints
    from polyglot.training.build import build_trainer
    from polyglot.training.resume import last_checkpoint
    from polyglot.training.training_log import start_trackers
    from polyglot.training.validation import Validator

    def prepare() -> Trainer:
        if resume and processes.main:
            last_checkpoint(run)
        return build_trainer(run, Validator(run, processes), processes)

    with run.lock() if processes.main else nullcontext():
        with nullcontext() if resume or not processes.main else run.remove_on_error():
            trainer = processes.first_by_main("preparation", prepare)
            processes.meet("start")
            if resume and checkpoints.steps(run.checkpoints):
                trainer.resume(checkpoints.choose(run.checkpoints, "last")[0])
            start_trackers(trainer.accelerator)
        start = trainer.progress.step
        changes = provisional_config and resume and processes.main
        changed = (
            run.provisional_config(lambda: trainer.progress.step > start) if changes else nullcontext()
        )
        with changed:  # only now that data and checkpoint agree with it
            trainer.train()
    return trainer


def _say_what_comes_next(trainer: Trainer, number: int = 1) -> None:
    run = trainer.run
    logger.info(
        f"{run.path}: {trainer.progress.step} of {run.config.training.steps} steps in {trainer.progress.seconds:,.0f} s of training"
    )
    if trainer.interrupted and trainer.progress.step < run.config.training.steps:
        several = f" --processes {number}" if number > 1 else ""
        logger.info(f"interrupted; continue with: polyglot train {run.path} --resume{several}")
        raise typer.Exit(
            128 + trainer.interrupted
        )  # as shells say it, so that what should follow a trained model does not
    logger.info(f"next: polyglot evaluate {run.path}")
