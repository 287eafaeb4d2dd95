"""Command `experiment`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.core.console import stderr_console
from polyglot.core.score_tables import NO_VALUE

if TYPE_CHECKING:
    from polyglot.core.tables import FoldedTable
    from polyglot.experiments import Experiment
    from polyglot.experiments.results import Results
    from polyglot.experiments.runs import ExperimentRun

ExperimentName = Annotated[
    str,
    typer.Argument(
        metavar="EXPERIMENT",
        help="A YAML file or the name of a preset experiment.",
        autocompletion=completion.presets_of("evaluation/experiments"),
    ),
]
SizeName = Annotated[
    Optional[str],
    typer.Option(
        metavar="NAME",
        help="One of the sizes that the experiment defines, such as cpu or full. "
        "Default: the first.",
    ),
]
Folder = Annotated[
    Optional[Path],
    typer.Option(
        metavar="DIR",
        help="Folder for runs and results. Default: experiments/NAME, or experiments/NAME/SIZE.",
    ),
]
Parallel = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Train N runs at the same time, each in its own process."
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Check everything, list the trainings, and do not train."),
]


@command(
    "polyglot experiment phrasebook",
    "polyglot experiment multi30k_bilingual --size full --parallel 8",
    "polyglot experiment mine.yaml --folder experiments/second --dry-run",
)
def experiment(
    name: ExperimentName,
    size: SizeName = None,
    folder: Folder = None,
    parallel: Parallel = 1,
    dry_run: DryRun = False,
) -> None:
    """Train several runs, evaluate them in the same way, and write one result page.

    Completed runs are not trained again, so the same command continues an experiment.
    """
    from polyglot.evaluation.views.terminal import comparison_table
    from polyglot.experiments import Experiment
    from polyglot.experiments.results_page import save

    settings = Experiment.load(name)
    size = settings.resolve_size(size) or None
    folder = folder or Path("experiments", Path(name).stem, size or "")
    if dry_run:
        _print_plan(settings.at_size(size), folder)
        return

    try:
        results = _run_experiment(settings, folder, size=size, parallel=parallel)
    except KeyboardInterrupt:
        logger.info(f"{folder}: the same command continues")
        raise
    save(results, folder)
    for comparison in results.comparisons:
        screen.print(comparison_table(comparison))
    logger.info(f"written to {folder}: result.md, result.json, result.png")


def _run_experiment(
    settings: Experiment,
    folder: Path,
    *,
    size: str | None,
    parallel: int,
) -> Results:
    from polyglot.experiments import run_experiment
    from polyglot.experiments.launcher import TrainingLauncher

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=stderr_console, transient=True)
    with progress, TrainingLauncher(folder, parallel, progress).interruptible() as trainings:
        row = progress.add_task("sentences", visible=False, state="")

        def advance(current: str, done: int, total: int) -> None:
            progress.update(
                row, completed=done, total=total, description=current, visible=done < total
            )

        return run_experiment(
            settings,
            folder,
            size=size,
            train=trainings.train,
            parallel=parallel,
            log=logger.info,
            progress=advance,
        )


def _print_plan(experiment: Experiment, folder: Path) -> None:
    """Print the command of each training, and a table with one row per system."""
    from polyglot.experiments.runner import check_experiment

    runs = check_experiment(experiment, folder)
    for run in runs:
        line = f"{run.name}: {_state(run)}"
        screen.print(line, highlight=False, markup=False, soft_wrap=True)
    screen.print(_plan_table(experiment, runs))


def _state(run: ExperimentRun) -> str:
    if not run.config:
        return "as it is"
    if run.is_complete:
        return "complete"
    return shlex.join(["polyglot", "train", *run.arguments])


def _plan_table(experiment: Experiment, runs: list[ExperimentRun]) -> FoldedTable:
    """Numbers of runs, updates and parameters by system.

    The numbers of parameters assume vocabularies of the configured size, their maximum.
    """
    from polyglot.core.tables import FoldedTable
    from polyglot.experiments.systems import systems_of

    table = FoldedTable(
        "system",
        "runs",
        "complete",
        "updates, at most",
        "parameters of one, at most",
        title=experiment.title,
    )
    ensembles = {}
    for translator in systems_of(experiment, runs):
        if translator.is_ensemble:
            ensembles[translator.key] = len(translator.runs)

    for system in experiment.systems:
        if system in ensembles:
            table.add_row(system, f"{ensembles[system]:,} in an ensemble", "–", "0", "–")
            continue
        system_runs = [run for run in runs if run.system == system]
        parameters = _parameter_count(system_runs)
        table.add_row(system, *_run_columns(system_runs), parameters)
    table.add_section()
    table.add_row("all", *_run_columns(runs), "")
    return table


def _run_columns(runs: list[ExperimentRun]) -> list[str]:
    """Numbers of runs, of complete runs, and of updates."""
    complete = sum(run.is_complete for run in runs)
    return [f"{len(runs):,}", f"{complete:,}", _planned_steps(runs)]


def _planned_steps(runs: list[ExperimentRun]) -> str:
    """Number of updates of all runs that are trained; a dash if one has its length in epochs."""
    steps = [run.config.training.steps for run in runs if run.config]
    if None in steps:
        return NO_VALUE
    return f"{sum(steps):,}"


def _parameter_count(runs: list[ExperimentRun]) -> str:
    """Count the parameters of the first run that is trained; or return a dash without one."""
    from polyglot.training.parameter_matching import count_model_parameters

    configs = [run.config for run in runs if run.config]
    if not configs:
        return "–"
    config = configs[0]
    sizes = {}
    for language in config.languages:
        sizes[language] = config.vocabulary.for_language(language).size
    return f"{count_model_parameters(config, config.model, sizes):,}"
