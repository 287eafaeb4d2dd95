"""Execution of an experiment: train missing runs, evaluate all systems, collect the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from polyglot.analysis.embeddings.analysis import Analysis, analyse
from polyglot.analysis.embeddings.page import save as save_analysis
from polyglot.core.errors import ConfigError
from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.references import Reference
from polyglot.evaluation.results_cache import results_lock
from polyglot.evaluation.route_translation import Progress
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.evaluation.views.export import save_with_views
from polyglot.experiments.checks import check_initialization, check_texts
from polyglot.experiments.config import Experiment
from polyglot.experiments.results import Results
from polyglot.experiments.runs import ExperimentRun, experiment_runs, last_training_record
from polyglot.experiments.settings import MEAN_KINDS
from polyglot.experiments.system_result import SystemResult, TrainedRun
from polyglot.experiments.systems import System, check_systems, systems_of
from polyglot.experiments.train_all import Train, train_all
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.runs.detection import is_run
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair

Log = Callable[[str], None]


def _ignore_message(message: str) -> None:
    pass


def _ignore_progress(task: str, done: int, total: int) -> None:
    pass


def run_experiment(
    experiment: Experiment,
    folder: Path,
    *,
    train: Train,
    size: str | None = None,
    parallel: int = 1,
    log: Log = _ignore_message,
    progress: Progress = _ignore_progress,
) -> Results:
    """Train missing runs below `folder/runs` and evaluate all systems below `folder/evaluation`.

    Called again, it continues: complete runs are not trained again, and scored directions are not
    translated again.

    Everything is checked before training. Raise ConfigError, DataError, and the errors of training
    and evaluation.
    """
    size = experiment.resolve_size(size)
    about = experiment.sizes[size].about if size else ""
    experiment = experiment.at_size(size or None)
    runs = check_experiment(experiment, folder)
    _train_missing_runs(runs, train, parallel=parallel, log=log)

    systems = systems_of(experiment, runs)
    check_systems(systems, where=experiment.source)  # again: now every run has its vocabularies
    system_results = _evaluate_systems(
        experiment, systems, folder=folder, log=log, progress=progress
    )
    return Results(
        experiment.title,
        experiment.question,
        experiment.figure,
        system_results,
        _analyse_embeddings(
            experiment,
            runs,
            folder=folder,
            log=log,
        ),
        expected=experiment.expected,
        size=size,
        about=about,
        goals=experiment.goals,
    )


def _train_missing_runs(
    runs: Sequence[ExperimentRun],
    train: Train,
    *,
    parallel: int,
    log: Log,
) -> None:
    missing = [run for run in runs if not run.is_complete]
    numbers = iter(range(1, len(missing) + 1))

    def log_and_train(run: ExperimentRun, arguments: Sequence[str]) -> None:
        log(f"training {run.name} ({next(numbers)} of {len(missing)}) in {run.path}")
        train(run, arguments)

    train_all(missing, log_and_train, parallel=parallel)


def _evaluate_systems(
    experiment: Experiment,
    systems: Sequence[System],
    *,
    folder: Path,
    log: Log,
    progress: Progress,
) -> list[SystemResult]:
    """Evaluate every run and ensemble; merge the matrices of separate pairs by seed."""
    matrices: dict[str, dict[int | str, list[ScoreMatrix]]] = {}
    trained_runs: dict[str, list[TrainedRun]] = {}
    settings: dict[str, Mapping[str, str]] = {}
    for system in systems:
        log(f"evaluating {system.name}")
        matrix, trained_run = evaluate_system(
            system,
            experiment,
            folder=folder,
            progress=progress,
        )
        matrices.setdefault(system.key, {}).setdefault(system.seed, []).append(matrix)
        trained_runs.setdefault(system.key, []).append(trained_run)
        if system.key not in settings:
            settings[system.key] = system.settings

    results = []
    for key, config in experiment.systems.items():
        merged = [ScoreMatrix.merge(parts) for parts in matrices[key].values()]
        if config.reference:
            reference = Reference.load(config.reference)
        else:
            reference = None
        results.append(
            SystemResult(
                key,
                merged,
                reference=reference,
                runs=trained_runs[key],
                settings=settings[key],
                baseline=experiment.baseline_of(key),
                paper_differences=experiment.paper_differences(key),
            )
        )
    return results


def _analyse_embeddings(
    experiment: Experiment,
    runs: Sequence[ExperimentRun],
    *,
    folder: Path,
    log: Log,
) -> dict[str, Analysis]:
    """Measure the sentence embeddings of every run, if the experiment asks for it.

    The keys are the names of the systems; the names of the runs if a system has several.
    """
    if experiment.embeddings is None:
        return {}
    systems = [run.system for run in runs]
    analyses = {}
    for run in runs:
        log(f"measuring the sentence embeddings of {run.name}")
        name = run.system if systems.count(run.system) == 1 else run.name
        analyses[name] = analyse_run(run, experiment, folder=folder)
    return analyses


def check_experiment(experiment: Experiment, folder: Path) -> list[ExperimentRun]:
    """Check folder, configurations, directions, pivot and texts; return every run.

    Raise ConfigError and DataError.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--folder: {folder} is a file; name a folder, or one to be created")
    if is_run(folder):
        raise ConfigError(
            f"--folder: {folder} is a run directory; name a separate folder for the experiment"
        )
    runs = experiment_runs(experiment, folder)
    if experiment.protocol.test_sets:
        raise ConfigError(
            f"{experiment.source}: protocol.test_sets: an experiment has one test set; "
            "name it in `test`"
        )
    systems = systems_of(experiment, runs)
    check_systems(systems, where=experiment.source)
    check_initialization(runs, where=experiment.source)
    check_texts(runs, lambda key: protocol_of(key, experiment), source=experiment.source)
    _check_directions(experiment, systems)
    return runs


def _check_directions(experiment: Experiment, systems: Sequence[System]) -> None:
    """Raise ConfigError for a goal or a score of a paper in a language that the system lacks."""
    languages: dict[str, set[str]] = {}
    for system in systems:
        for run in system.runs:
            languages.setdefault(system.key, set()).update(run.training_config.languages)

    for number, goal in enumerate(experiment.goals):
        if goal.system in languages and goal.scores not in MEAN_KINDS:
            place = f"{experiment.source}: goals.{number}.scores"
            _check_direction(
                goal.scores,
                languages[goal.system],
                goal.system,
                place=place,
            )
    for key, config in experiment.systems.items():
        for direction in config.paper:
            place = f"{experiment.source}: systems.{key}.paper"
            _check_direction(
                direction,
                languages[key],
                key,
                place=place,
            )


def _check_direction(
    direction: str,
    languages: set[str],
    system: str,
    *,
    place: str,
) -> None:
    pair = LanguagePair.parse(direction)
    unknown = {pair.source, pair.target} - languages
    if unknown:
        raise ConfigError(
            f"{place}: {direction}: {system!r} has no language {', '.join(sorted(unknown))}"
        )


def protocol_of(system: str, experiment: Experiment) -> Protocol:
    """Protocol of a system; without pivot for separate models of single pairs."""
    if experiment.systems[system].separately:
        return experiment.protocol.model_copy(update={"pivot": None})
    return experiment.protocol


def evaluate_system(
    system: System,
    experiment: Experiment,
    *,
    folder: Path,
    progress: Progress,
) -> tuple[ScoreMatrix, TrainedRun]:
    """Evaluate a run or an ensemble; scores that exist in the folder are not computed again."""
    runs = [Run.open(run.path) for run in system.runs]
    models = [Translator.load(run, checkpoint=experiment.checkpoint) for run in runs]
    if system.is_ensemble:
        translator = EnsembleTranslator(models)
    else:
        translator = models[0]
    matrix_folder = folder / "evaluation" / system.name
    with results_lock(matrix_folder):
        matrix = evaluate(
            runs[0],
            translator,
            protocol_of(system.key, experiment),
            folder=matrix_folder,
            progress=progress,
        )
        save_with_views(matrix, matrix_folder)

    parameters = 0
    for model in models:
        parameters += sum(parameter.numel() for parameter in model.model.parameters())
    trained_run = TrainedRun(
        system.name,
        system.command,
        matrix.checkpoint,
        parameters=parameters,
    )
    if not system.is_ensemble:
        trained_run = _with_training_time(trained_run, runs[0].path)
    return matrix, trained_run


def _with_training_time(trained_run: TrainedRun, path: Path) -> TrainedRun:
    """Add duration and day of the training from the log of the run, if it has one."""
    record = last_training_record(path)
    if record is None:
        return trained_run
    day = None
    if "time" in record:
        day = datetime.fromtimestamp(record["time"], UTC).date().isoformat()
    return replace(trained_run, seconds=record.get("seconds"), day=day)


def analyse_run(
    run: ExperimentRun,
    experiment: Experiment,
    *,
    folder: Path,
) -> Analysis:
    """Measure the sentence embeddings of a run, and save the analysis in the folder."""
    opened = Run.open(run.path)
    translator = Translator.load(opened, checkpoint=experiment.checkpoint)
    analysis = analyse(opened, translator, experiment.embeddings)
    save_analysis(analysis, folder / "analysis" / run.name)
    return analysis
