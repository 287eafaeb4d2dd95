"""Checks before training: initial runs, directions, and the texts of every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from polyglot.config.schema import Config
from polyglot.core import presets
from polyglot.core.errors import ConfigError, DataError, abbreviate
from polyglot.data.corpora import Corpora
from polyglot.evaluation.protocol import Protocol
from polyglot.experiments.runs import ExperimentRun
from polyglot.inference.directions import Directions
from polyglot.runs.detection import is_run


def check_initialization(runs: Sequence[ExperimentRun], *, where: str) -> None:
    """Raise ConfigError for runs whose initial run neither exists nor is trained before them."""
    own_paths = {run.path for run in runs}
    available: set[Path] = set()
    for run in runs:
        for path in run.initialized_from - own_paths:
            if is_run(path):
                available.add(path)

    waiting = list(runs)
    ready = waiting
    while ready:
        ready = [run for run in waiting if run.initialized_from <= available]
        available.update(run.path for run in ready)
        waiting = [run for run in waiting if run not in ready]

    problems = []
    for run in waiting:
        missing = abbreviate(sorted(run.initialized_from - available))
        problems.append(
            f"{run.name}: starts from {missing}, which does not exist and is not trained before it"
        )
    if problems:
        raise ConfigError(problems, where=where)


def check_texts(
    runs: Sequence[ExperimentRun],
    protocol_of: Callable[[str], Protocol],
    *,
    source: str,
) -> None:
    """Check the test text of every run, and the training text of every run to train.

    protocol_of: protocol of a system, by its name
    source: file or shipped name of the experiment

    Raise ConfigError for a direction without the necessary components, and DataError with all
    missing texts that can be noticed without reading them.
    """
    runs_by_problem: dict[str, dict[str, None]] = {}
    for run in runs:
        for problem in _text_problems(run, protocol_of(run.system), source=source):
            runs_by_problem.setdefault(problem, {})[run.name] = None
    if not runs_by_problem:
        return

    hint = ""
    if source in presets.names("evaluation/experiments"):
        hint = f"; `polyglot show {source}` shows the origin of the text"
    lines = []
    for problem, names in runs_by_problem.items():
        lines.append(f"{source}: {abbreviate(names, shown=2)}: {problem}{hint}")
    raise DataError("\n".join(lines))


def _text_problems(
    run: ExperimentRun,
    protocol: Protocol,
    *,
    source: str,
) -> list[str]:
    problems: list[str] = []
    try:
        check_test_text(run, protocol, where=source)
    except DataError as error:
        problems += str(error).splitlines()
    if not run.is_complete:
        try:
            check_training_text(run.config)
        except DataError as error:
            problems += str(error).splitlines()
    return problems


def check_training_text(config: Config) -> None:
    """Raise DataError with all missing texts that can be noticed without reading them."""
    folder = Path(config.data.folder)
    corpora = Corpora(config.data.train, folder=folder, languages=config.languages)
    problems = corpora.check()
    if problems:
        raise DataError("\n".join(problems))


def check_test_text(
    run: ExperimentRun,
    protocol: Protocol,
    *,
    where: str,
) -> None:
    """Check that a run can translate the pairs of the protocol, and that there is text for them.

    Raise ConfigError for a direction without the necessary components, and DataError without
    test text.
    """
    config = run.training_config
    directions = Directions.of(config.pairs)
    try:
        pairs = protocol.select_pairs(directions, config.languages, config.pairs)
        protocol.pivot_of(directions)
    except ConfigError as error:
        raise ConfigError(f"{where}: {run.name}: protocol.{error}") from None

    test = protocol.test or config.data.test
    if not test:
        raise ConfigError(
            f"{where}: {run.name}: data.test names no corpus; "
            "name one there, or in `test` of the protocol"
        )
    folder = Path(config.data.folder)
    Corpora(test, folder=folder, languages=config.languages).check_any(pairs)
