"""Commands `evaluate`, `compare` and `report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.cli.parameters import (
    Checkpoint,
    Device,
    RunPath,
    Select,
    SelectBy,
    SelectFor,
    choice,
    parse_sentences,
)
from polyglot.cli.progress import described_progress
from polyglot.core.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from polyglot.evaluation.protocol import Protocol
    from polyglot.evaluation.score_matrix import ScoreMatrix
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

# The package that defines these choices loads torch; a test compares the two.
SIGNIFICANCE_TESTS = ("bootstrap", "randomisation")

RunPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Run directories, such as runs/phrasebook. Several are compared with the first.",
        autocompletion=completion.runs,
    ),
]
ProtocolName = Annotated[
    str,
    typer.Option(
        "--protocol",
        metavar="PROTOCOL",
        help="A YAML file or the name of a preset protocol.",
        autocompletion=completion.presets_of("evaluation"),
    ),
]
Pivot = Annotated[
    Optional[str],
    typer.Option(
        metavar="LANGUAGE",
        help="Also score pivot translation through this language. "
        "Default: the setting of the protocol.",
        autocompletion=completion.languages,
    ),
]
IsEnsemble = Annotated[
    bool,
    typer.Option("--ensemble", help="Evaluate the runs as one ensemble; do not compare them."),
]


@command(
    "polyglot evaluate runs/phrasebook",
    "polyglot evaluate runs/phrasebook --pivot en --protocol quick --checkpoint last",
    "polyglot evaluate runs/a runs/b --ensemble",
)
def evaluate(
    paths: RunPaths,
    protocol: ProtocolName = "default",
    checkpoint: Checkpoint = "best",
    pivot: Pivot = None,
    ensemble: IsEnsemble = False,
    select: Select = None,
    select_by: SelectBy = None,
    select_for: SelectFor = None,
    device: Device = None,
) -> None:
    """Score every direction of a run, and print the scores as a matrix.

    The run directory gets the scores as JSON, CSV and Markdown, pictures, and the translations.
    Results with the same checkpoint, text and settings are reused.
    """
    from polyglot.evaluation.protocol import Protocol
    from polyglot.evaluation.significance import distinct_names
    from polyglot.runs.run import Run

    search = {"select": select, "select_by": select_by, "select_for": select_for}
    search = {key: value for key, value in search.items() if value is not None}
    settings = Protocol.load(protocol)
    if pivot:
        settings = settings.model_copy(update={"pivot": pivot})
    settings = settings.with_search(search)

    runs = [Run.open(path) for path in paths]
    names = distinct_names(paths)
    evaluated_runs = runs[:1] if ensemble else runs
    folder = _result_folder(protocol, runs[1:] if ensemble else [], search)
    matrices: dict[str, dict[str, ScoreMatrix]] = {}
    for name, run in zip(names, evaluated_runs):
        members = runs if ensemble else [run]
        translator = _load_translator(members, ensemble, checkpoint=checkpoint, device=device)
        for test_set, matrix in _evaluate_test_sets(run, translator, settings, folder=folder):
            matrices.setdefault(test_set, {})[name] = matrix

    if len(evaluated_runs) > 1:
        _print_comparisons(matrices)
    logger.info(f"next: polyglot report {paths[0]}")


def _result_folder(
    protocol: str,
    ensemble_members: Sequence[Run],
    search: dict[str, object],
) -> str:
    """Folder below `evaluation` of the first run; different members or settings have their own."""
    from polyglot.evaluation.protocol import folder_name

    parts = [folder_name(protocol)]
    parts += [run.path.resolve().name for run in ensemble_members]
    parts += [f"{key}-{value}" for key, value in search.items()]
    return "+".join(parts)


def _load_translator(
    runs: Sequence[Run],
    ensemble: bool,
    *,
    checkpoint: str,
    device: str | None,
) -> Translator | EnsembleTranslator:
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator

    if ensemble:
        return EnsembleTranslator.load(runs, checkpoints=[checkpoint], device=device)
    return Translator.load(runs[0], checkpoint=checkpoint, device=device)


def _evaluate_test_sets(
    run: Run,
    translator: Translator | EnsembleTranslator,
    protocol: Protocol,
    *,
    folder: str,
) -> Iterator[tuple[str, ScoreMatrix]]:
    """Evaluate each test set of the protocol, print its tables, and write its files."""
    from polyglot.evaluation.evaluator import evaluate as evaluate_run
    from polyglot.evaluation.views.export import save_with_views
    from polyglot.evaluation.views.terminal import matrix_tables

    for test_set in protocol.corpora:
        path = run.evaluation / folder / test_set
        with described_progress("sentences") as advance:
            matrix = evaluate_run(
                run, translator, protocol, test_set=test_set, folder=path, progress=advance
            )
        save_with_views(matrix, path)
        screen.print(*matrix_tables(matrix), sep="\n")
        logger.info(
            f"written to {path}: matrix.json, matrix.csv, matrix.md, a picture of each measure, "
            "hypotheses/, text/"
        )
        yield test_set, matrix


def _print_comparisons(matrices: dict[str, dict[str, ScoreMatrix]]) -> None:
    """Print one table per test set that compares the runs."""
    from polyglot.evaluation.significance import compare_systems
    from polyglot.evaluation.views.terminal import comparison_table

    for matrix_by_name in matrices.values():
        comparison = compare_systems({name: [matrix] for name, matrix in matrix_by_name.items()})
        screen.print(comparison_table(comparison))


EvaluatedRunPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Evaluated run directories; each is compared with the first.",
        autocompletion=completion.runs,
    ),
]
ProtocolOfResults = Annotated[
    str,
    typer.Option(
        "--protocol",
        metavar="PROTOCOL[/TEST_SET]",
        help="The protocol of the evaluation, and the test set if it has several.",
    ),
]
MeasureName = Annotated[
    Optional[str],
    typer.Option(
        metavar="MEASURE",
        help="The measure, such as bleu, chrf++ or bleu-paper. Default: the first of the protocol.",
    ),
]
SignificanceTest = Annotated[
    Optional[str],
    choice(
        SIGNIFICANCE_TESTS,
        help="Significance test of sacreBLEU. Default: bootstrap.",
        show_default=False,
    ),
]


@command(
    "polyglot compare runs/phrasebook runs/phrasebook-without-copies",
    "polyglot compare runs/a runs/b --measure chrf --test randomisation",
)
def compare(
    paths: EvaluatedRunPaths,
    protocol: ProtocolOfResults = "default",
    measure: MeasureName = None,
    test: SignificanceTest = None,
) -> None:
    """Compare evaluated runs and mark significant differences.

    Nothing is translated or scored again.
    """
    from polyglot.evaluation.measures import Measure
    from polyglot.evaluation.protocol import folder_name
    from polyglot.evaluation.score_matrix import ScoreMatrix
    from polyglot.evaluation.significance import (
        DEFAULT_TEST,
        TESTS,
        compare_systems,
        distinct_names,
    )
    from polyglot.evaluation.views.terminal import comparison_table
    from polyglot.runs.run import Run

    if test is None:
        test = DEFAULT_TEST
    if test not in TESTS:
        raise ConfigError(f"--test: {unknown_name('test', test, TESTS)}")

    systems = {}
    measures: list[Measure] = []
    for name, path in zip(distinct_names(paths), paths):
        matrix = ScoreMatrix.load(Run.open(path).evaluation / folder_name(protocol))
        systems[name] = [matrix]
        measures = measures or matrix.measures
    known_measures = list(map(str, measures))
    if measure is not None and measure not in known_measures:
        raise ConfigError(f"--measure: {unknown_name('measure', measure, known_measures)}")
    chosen_measure = Measure.parse(measure) if measure else None
    comparison = compare_systems(systems, measure=chosen_measure, test=test)
    screen.print(comparison_table(comparison))


@command("polyglot report runs/phrasebook --sentence de='Der alte Bauer schläft.'")
def report(
    run: RunPath,
    sentences: Annotated[
        Optional[list[str]],
        typer.Option(
            "--sentence",
            metavar="LANGUAGE=TEXT",
            help="Show the attention of the bridge on this sentence. Can be repeated.",
        ),
    ] = None,
) -> None:
    """Write the report of a run: one web page that needs no network.

    It shows scores, learning curves, translations, attention, the data and the settings.
    """
    from polyglot import report as reports
    from polyglot.runs.run import Run

    path = reports.write(Run.open(run), sentences=parse_sentences(sentences))
    logger.info(f"written to {path}: one file that any browser shows")
