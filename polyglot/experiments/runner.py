"""From an experiment to its results: runs that are trained if they are missing, and evaluated under one protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from polyglot.analysis.embeddings.analysis import Analysis, analyse
from polyglot.analysis.embeddings.page import save as save_analysis
from polyglot.core.errors import ConfigError
from polyglot.evaluation.evaluator import evaluate
from polyglot.evaluation.protocol import Protocol
from polyglot.evaluation.references import Reference
from polyglot.evaluation.route_translation import Progress
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.evaluation.views.export import save_with_views
from polyglot.experiments.config import Experiment
from polyglot.experiments.results import Results, SystemResult, TrainedRun
from polyglot.experiments.runs import Member, check_starts, check_text, last_line, members_of
from polyglot.experiments.systems import Writers, check_writers, writers_of
from polyglot.experiments.train_all import Train, train_all
from polyglot.inference.ensemble import EnsembleTranslator
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run
from polyglot.tasks.pairs import LanguagePair


def carry_out(
    experiment: Experiment,
    folder: Path,
    *,
    train: Train,
    size: str | None = None,
    parallel: int = 1,
    tell: Callable[[str], None] = lambda sentence: None,
    progress: Progress = lambda what, done, of: None,
) -> Results:
    """Train what is missing below `folder/runs`, evaluate all of it below `folder/evaluation`, and put the results together.

    Called again it continues: complete runs are not trained again, and directions that were scored are not translated again.
    Everything is checked before anything is trained; raises ConfigError, DataError and the errors of training and evaluation.
    """
    size = experiment.size_named(size)
    about = experiment.sizes[size].about if size else ""
    experiment = experiment.at(size or None)
    members = checked(experiment, folder)
    missing = [member for member in members if not member.is_complete]
    counted = iter(range(1, len(missing) + 1))

    def say_and_train(member: Member, arguments: list[str]) -> None:
        tell(f"training {member.name} ({next(counted)} of {len(missing)}) in {member.path}")
        train(member, arguments)

    train_all(missing, say_and_train, parallel=parallel)
    found: dict[str, dict[int | str, list[ScoreMatrix]]] = {}
    runs: dict[str, list[TrainedRun]] = {}
    first: dict[str, Writers] = {}
    writers = writers_of(experiment, members)
    check_writers(
        writers, where=experiment.named
    )  # once more, now that every run has its vocabularies
    for each in writers:
        tell(f"evaluating {each.name}")
        matrix, run = matrix_of(each, experiment, folder=folder, progress=progress)
        found.setdefault(each.system, {}).setdefault(each.seed, []).append(matrix)
        runs.setdefault(each.system, []).append(run)
        first.setdefault(each.system, each)
    analyses = {}
    for member in members if experiment.embeddings else ():
        tell(f"measuring the sentence embeddings of {member.name}")
        analyses[member.system if len(runs[member.system]) == 1 else member.name] = analysis_of(
            member, experiment, folder=folder
        )
    systems = [
        SystemResult(
            name,
            [ScoreMatrix.merge(parts) for parts in found[name].values()],
            reference=Reference.load(system.reference) if system.reference else None,
            runs=runs[name],
            settings=first[name].settings,
            beside=experiment.base_of(name),
            elsewhere=experiment.papers_differences(name),
        )
        for name, system in experiment.systems.items()
    ]
    return Results(
        experiment.title,
        experiment.question,
        experiment.figure,
        systems,
        analyses,
        expected=experiment.expected,
        size=size,
        about=about,
        goals=experiment.goals,
    )


def checked(experiment: Experiment, folder: Path) -> list[Member]:
    """Every run, after a look at its configuration, directions, pivot and text, and at the place of it all.

    Raises ConfigError and DataError.
    """
    if folder.exists() and not folder.is_dir():
        raise ConfigError(
            f"--folder: {folder} is a file; name a folder, or one that is yet to be made"
        )
    if (folder / "config.yaml").is_file():
        raise ConfigError(f"--folder: {folder} is a run; name a folder of the experiment's own")
    members = list(members_of(experiment, folder))
    if experiment.protocol.test_sets:
        raise ConfigError(
            f"{experiment.named}: protocol.test_sets: an experiment has one test set; name it in `test`"
        )
    writers = writers_of(experiment, members)
    check_writers(writers, where=experiment.named)
    check_starts(members, where=experiment.named)
    check_text(members, lambda system: protocol_of(system, experiment), named=experiment.named)
    _check_directions(experiment, writers)
    return members


def _check_directions(experiment: Experiment, writers: Sequence[Writers]) -> None:
    """Raises ConfigError for a goal, or a paper's score, of a language that its system has not."""
    languages: dict[str, set[str]] = {}
    for each in writers:
        languages.setdefault(each.system, set()).update(
            *(member.settings.languages for member in each.members)
        )
    said = [
        (f"goals.{number}.scores", goal.system, goal.scores)
        for number, goal in enumerate(experiment.goals)
    ]
    said += [
        (f"systems.{name}.paper", name, pair)
        for name, system in experiment.systems.items()
        for pair in system.paper
    ]
    for place, name, direction in said:
        if name in languages and direction not in ("supervised", "zero-shot"):
            pair = LanguagePair.parse(direction)
            if unknown := {pair.source, pair.target} - languages[name]:
                raise ConfigError(
                    f"{experiment.named}: {place}: {direction}: {name!r} has no language {', '.join(sorted(unknown))}"
                )


def protocol_of(system: str, experiment: Experiment) -> Protocol:
    """The experiment's; a model of a single pair cannot translate in two hops."""
    separate = bool(experiment.systems[system].separately)
    return (
        experiment.protocol.model_copy(update={"pivot": None}) if separate else experiment.protocol
    )


def matrix_of(
    writers: Writers, experiment: Experiment, *, folder: Path, progress: Progress
) -> tuple[ScoreMatrix, TrainedRun]:
    """The matrix of one run or of several together, from the folder of the experiment or anew, and what is to be said of them."""
    runs = [Run.open(member.path) for member in writers.members]
    models = [Translator.load(run, checkpoint=experiment.checkpoint) for run in runs]
    translator = EnsembleTranslator(models) if writers.together else models[0]
    place = folder / "evaluation" / writers.name
    matrix = evaluate(
        runs[0],
        translator,
        protocol_of(writers.system, experiment),
        folder=place,
        progress=progress,
    )
    save_with_views(matrix, place)
    parameters = sum(
        parameter.numel() for model in models for parameter in model.model.parameters()
    )
    made = TrainedRun(writers.name, writers.command, matrix.checkpoint, parameters=parameters)
    said = None if writers.together else last_line(runs[0].path)
    if said is None:
        return matrix, made
    day = datetime.fromtimestamp(said["time"], UTC).date().isoformat() if "time" in said else None
    return matrix, replace(made, seconds=said.get("seconds"), day=day)


def analysis_of(member: Member, experiment: Experiment, *, folder: Path) -> Analysis:
    """The embeddings of one run, measured anew."""
    run = Run.open(member.path)
    found = analyse(
        run, Translator.load(run, checkpoint=experiment.checkpoint), experiment.embeddings
    )
    save_analysis(found, folder / "analysis" / member.name)
    return found
