"""Command `train`, and the training of a run for other commands."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.cli.parameters import AcceptChanges, DryRun, Overrides
from polyglot.core.errors import ConfigError
from polyglot.core.problems import Problem
from polyglot.core.signals import terminate_as_interrupt

if TYPE_CHECKING:
    from polyglot.config.schema import Config
    from polyglot.distributed.processes import Processes
    from polyglot.runs.run import Run
    from polyglot.training.trainer import Trainer

ConfigOrRun = Annotated[
    str,
    typer.Argument(
        metavar="CONFIG|RUN",
        help="A YAML file, the name of a preset, or with --resume a run directory.",
        autocompletion=completion.configurations,
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Continue a run exactly from its last checkpoint.")
]
ProcessCount = Annotated[
    Optional[int],
    typer.Option(
        "--processes",
        min=1,
        metavar="N",
        help="Start N processes on this machine and train with all of them, one per device.",
    ),
]
Restarts = Annotated[
    int,
    typer.Option(
        "--restarts",
        min=0,
        metavar="N",
        help="Continue from the last checkpoint after a process was killed or crashed, "
        "at most N times.",
    ),
]


@command(
    "polyglot train phrasebook training.steps=3400",
    "polyglot train mine.yaml --dry-run",
    "polyglot train mine.yaml training.epochs=3 'data.train+={type: tsv, path: more.tsv}'",
    "polyglot train runs/phrasebook --resume",
    "polyglot train mine.yaml --processes 4 --restarts 3",
)
def train(
    config: ConfigOrRun,
    overrides: Overrides = None,
    dry_run: DryRun = False,
    resume: Resume = False,
    process_count: ProcessCount = None,
    restarts: Restarts = 0,
    accept_changes: AcceptChanges = False,
) -> None:
    """Train a translation model for a set of language pairs."""
    from polyglot.distributed.launch import launcher_world_size
    from polyglot.distributed.variables import check_variables

    check_variables()
    launched_count = launcher_world_size()
    if process_count is not None and launched_count not in (None, process_count):
        raise ConfigError(
            f"--processes {process_count}, but a launcher has started {launched_count} "
            "(WORLD_SIZE in the environment); leave the option out, or make both the same"
        )
    requested_count = process_count or 1
    is_launched = launched_count is not None
    if dry_run:
        run = _run_for_dry_run(
            config,
            overrides or (),
            resume=resume,
            accept_changes=accept_changes,
        )
        show_plan(run, resume=resume, processes=launched_count or requested_count)
    elif (requested_count > 1 or restarts) and not is_launched:
        _launch(requested_count, restarts)
    else:
        trainer = _train_in_this_process(
            config,
            overrides or (),
            resume=resume,
            accept_changes=accept_changes,
        )
        _log_next_step(trainer, requested_count)


def show_plan(run: Run, *, resume: bool = False, processes: int = 1) -> None:
    """Print the plan of a training run without training.

    resume: continue from the last checkpoint if there is one. Without it, an existing run
    directory is reported.
    """
    from polyglot.training.dry_run import plan_training
    from polyglot.training.resume import check_output_paths, last_checkpoint

    resumed_run = None
    warning = None
    if not resume:
        warning = run.occupied_message()
    else:
        check_output_paths(run)
        if last_checkpoint(run):
            resumed_run = run

    plan = plan_training(run.config, processes, resumed_run=resumed_run)
    screen.print(*plan.tables(), sep="\n")
    if warning:
        logger.warning(warning)


def train_run(run: Run) -> None:
    """Train a new run in this process, and log the command that comes next."""
    from polyglot.distributed.processes import Processes

    trainer = _train(run, Processes())
    _log_next_step(trainer)


def _launch(process_count: int, restarts: int) -> None:
    """Start the same command once per process, and wait for them."""
    from polyglot.distributed.launch import launch

    command = [sys.executable, "-m", "polyglot", *sys.argv[1:]]
    status = launch(process_count, command, restarts=restarts)
    if status:
        raise typer.Exit(status)


def _run_for_dry_run(name: str, overrides: list[str], *, resume: bool, accept_changes: bool) -> Run:
    from polyglot.config.loading import load_config
    from polyglot.runs.run import Run

    if resume:
        return Run.open_with_overrides(name, overrides, accept_changes=accept_changes)
    return Run.for_config(load_config(name, overrides, extra_problems=_missing_inputs))


def _train_in_this_process(
    name: str,
    overrides: list[str],
    *,
    resume: bool,
    accept_changes: bool,
) -> Trainer:
    from polyglot.config.loading import load_config
    from polyglot.distributed.processes import Processes
    from polyglot.runs.run import Run

    with terminate_as_interrupt(), Processes.connected() as processes:
        if resume:
            run = Run.open_with_overrides(name, overrides, accept_changes=accept_changes)
        else:
            config = load_config(name, overrides, extra_problems=_missing_inputs)
            run = Run.for_config(config)
            resume = _was_started_before(run, processes)
            if resume:
                run = Run.open(run.path, accept_changes=accept_changes)
            elif processes.is_main:
                run = Run.create(config)
        has_changes = bool(overrides) or accept_changes
        return _train(run, processes, resume=resume, provisional_config=has_changes)


def _was_started_before(run: Run, processes: Processes) -> bool:
    """True if a launcher starts this training again; the main process decides for all."""
    from polyglot.distributed.launch import restart_count

    if not restart_count():
        return False
    return processes.broadcast("restart", run.config_file.exists())


def _missing_inputs(config: Config) -> list[Problem]:
    """Missing text, runs and packages; reported together with mistakes in the configuration."""
    from polyglot.training.preflight import preflight_problems

    return preflight_problems(config)


def _train(
    run: Run,
    processes: Processes,
    *,
    resume: bool = False,
    provisional_config: bool = False,
) -> Trainer:
    """Train from the beginning, or from the last checkpoint.

    provisional_config: the configuration has changed, and is kept only if training succeeds.
    """
    lock = run.lock() if processes.is_main else nullcontext()
    with lock:
        trainer = _prepare(run, processes, resume=resume)
        start = trainer.progress.step

        # Data and checkpoint fit the new configuration, so it can be written.
        changed_config = nullcontext()
        if provisional_config and resume and processes.is_main:
            changed_config = run.provisional_config(lambda: trainer.progress.step > start)
        with changed_config:
            trainer.train()
    return trainer


def _prepare(run: Run, processes: Processes, *, resume: bool) -> Trainer:
    """Build the trainer and load the last checkpoint.

    The main process goes first: the others read what it has written. A new run directory is
    removed if an error occurs here.
    """
    from polyglot.runs import checkpoint as checkpoints
    from polyglot.runs.config_changes import log_changes_since
    from polyglot.training.build import build_trainer
    from polyglot.training.resume import check_output_paths, last_checkpoint
    from polyglot.training.training_log import start_trackers
    from polyglot.training.validation import Validator

    def build() -> Trainer:
        if resume and processes.is_main:
            check_output_paths(run)
            last_checkpoint(run)
        return build_trainer(run, Validator(run, processes), processes)

    is_new = processes.is_main and not resume
    cleanup = run.remove_on_error() if is_new else nullcontext()
    with cleanup:
        trainer = processes.main_first("preparation", build)
        processes.barrier("start")
        if resume and checkpoints.steps(run.checkpoints):
            checkpoint, *_ = checkpoints.choose(run.checkpoints, "last")
            if processes.is_main:
                log_changes_since(checkpoint, run.config)
            trainer.resume(checkpoint)
        start_trackers(trainer.accelerator)
    return trainer


def _log_next_step(trainer: Trainer, process_count: int = 1) -> None:
    """Log the end of a training run. If it was interrupted, exit with the code of the signal."""
    run = trainer.run
    step = trainer.progress.step
    steps = run.config.training.steps
    logger.info(
        f"{run.path}: {step} of {steps} steps in {trainer.progress.seconds:,.0f} s of training"
    )
    if trainer.received_signal and step < steps:
        command = f"polyglot train {run.path} --resume"
        if process_count > 1:
            command += f" --processes {process_count}"
        logger.info(f"interrupted; continue with: {command}")
        raise typer.Exit(128 + trainer.received_signal)
    if run.config.data.test:
        logger.info(f"next: polyglot evaluate {run.path}")
    else:
        logger.info(f"next: polyglot evaluate {run.path} --test FILES (data.test names no text)")
