"""Command `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.cli.parameters import (
    AcceptChanges,
    Checkpoint,
    Device,
    Engine,
    Precision,
    Select,
    SelectBy,
    SelectFor,
    without_unset,
)
from polyglot.cli.progress import described_progress
from polyglot.core.path_names import distinct_names
from polyglot.core.score_tables import METRIC_TITLES

if TYPE_CHECKING:
    from polyglot.evaluation.choices import Output, TestSet
    from polyglot.evaluation.protocol import Protocol
    from polyglot.evaluation.score_matrix import ScoreMatrix
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

RunPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN...",
        help="Run directories, such as runs/phrasebook, or runs on the hub: hub:user/name. "
        "Several are compared with the first.",
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


Metrics = Annotated[
    Optional[list[str]],
    typer.Option(
        "--metrics",
        metavar="METRIC,...",
        help="Metrics instead of those of the protocol: bleu, chrf, chrf++, ter, comet. "
        "Can be repeated.",
        autocompletion=completion.choices(list(METRIC_TITLES)),
    ),
]
CometModel = Annotated[
    Optional[str],
    typer.Option(
        "--comet",
        metavar="FILE",
        help="The file of a COMET model, for the metric comet. Default: that of the protocol.",
    ),
]
TestTexts = Annotated[
    Optional[list[str]],
    typer.Option(
        "--test",
        metavar="TEST_SET",
        help="The text: test or valid of the run, a test set of the protocol, two files "
        '(de-en=news.de,news.en), or a file for each language ("news.{language}"). '
        "Can be repeated. Default: all test sets of the protocol.",
    ),
]
Beam = Annotated[
    Optional[int],
    typer.Option(
        "--beam",
        min=1,
        metavar="N",
        help="Size of the beam; 1 is greedy search. Default: the setting of the run.",
    ),
]
OutputPath = Annotated[
    Optional[Path],
    typer.Option(
        "--output",
        metavar="FOLDER|FILE",
        help="Write the results to this folder instead of the run directory, or also write the "
        "matrix to this file, which ends in .json, .csv or .md.",
    ),
]


@command(
    "polyglot evaluate runs/phrasebook",
    "polyglot evaluate runs/phrasebook --pivot en --protocol quick --checkpoint last",
    "polyglot evaluate runs/phrasebook --metrics bleu,chrf++,ter --beam 1",
    "polyglot evaluate runs/phrasebook --test valid",
    "polyglot evaluate runs/phrasebook --test de-en=news.de,news.en --output news.csv",
    "polyglot evaluate runs/a runs/b --ensemble",
)
def evaluate(
    paths: RunPaths,
    protocol: ProtocolName = "default",
    metrics: Metrics = None,
    comet: CometModel = None,
    test: TestTexts = None,
    checkpoint: Checkpoint = "best",
    beam: Beam = None,
    pivot: Pivot = None,
    ensemble: IsEnsemble = False,
    select: Select = None,
    select_by: SelectBy = None,
    select_for: SelectFor = None,
    output: OutputPath = None,
    device: Device = None,
    precision: Precision = "float32",
    engine: Engine = "polyglot",
    accept_changes: AcceptChanges = False,
) -> None:
    """Score every direction of a run, and print the scores as a matrix.

    The run directory gets the scores as JSON, CSV and Markdown, pictures, and the translations.
    Results with the same checkpoint, text and settings are reused.
    """
    from polyglot.evaluation.choices import Output, choose_metrics

    search = without_unset(
        beam=beam, select=select, select_by=select_by, select_for=select_for
    )
    chosen_metrics = choose_metrics(metrics) if metrics else []
    settings = _load_protocol(protocol, search, metrics=chosen_metrics, comet=comet, pivot=pivot)

    runs = _open_runs(paths, accept_changes=accept_changes)
    evaluated_runs = dict(zip(distinct_names(paths), runs))
    other_members = []
    if ensemble:  # it counts as its first run
        other_members = runs[1:]
        evaluated_runs = dict(islice(evaluated_runs.items(), 1))
    test_sets = _choose_test_sets(settings, test or (), evaluated_runs)
    place = Output(output, run_count=len(evaluated_runs))
    place.check(next(iter(test_sets.values())))
    folder = _result_folder(protocol, other_members, search, chosen_metrics)

    matrices: dict[str, dict[str, ScoreMatrix]] = {}
    options = {"device": device, "precision": precision, "engine": engine}
    for name, run in evaluated_runs.items():
        members = [run, *other_members]
        translator = _load_translator(members, ensemble, checkpoint, **options)
        folders = _matrix_folders(place, run, test_sets[name], name=name, folder=folder)
        for test_set, path in zip(test_sets[name], folders):
            matrix = _evaluate_test_set(run, translator, test_set, path)
            place.copy_matrix(path)
            matrices.setdefault(test_set.name, {})[name] = matrix

    if len(evaluated_runs) > 1:
        _print_comparisons(matrices)
    if output is None or output.suffix:
        logger.info(f"next: polyglot report {paths[0]}")


def _open_runs(paths: Sequence[Path], *, accept_changes: bool) -> list[Run]:
    from polyglot.runs.run import Run
    from polyglot.runs.stored_settings import EVALUATION

    runs = []
    for path in paths:
        runs.append(Run.open(path, sections=EVALUATION, accept_changes=accept_changes))
    return runs


def _load_protocol(
    name: str,
    search: dict[str, object],
    *,
    metrics: list[str],
    comet: str | None,
    pivot: str | None,
) -> Protocol:
    """Load a protocol, and replace what the options name."""
    from polyglot.evaluation.choices import with_metrics
    from polyglot.evaluation.protocol import Protocol

    settings = Protocol.load(name)
    if pivot:
        settings = settings.model_copy(update={"pivot": pivot})
    settings = with_metrics(settings, metrics, comet)
    return settings.with_search(search)


def _choose_test_sets(
    protocol: Protocol,
    texts: Sequence[str],
    runs: Mapping[str, Run],
) -> dict[str, list[TestSet]]:
    """Return the test sets by the name of the run. The text of `valid` differs between runs."""
    from polyglot.evaluation.choices import choose_test_sets

    test_sets = {}
    for name, run in runs.items():
        test_sets[name] = choose_test_sets(protocol, texts, run)
    return test_sets


def _matrix_folders(
    place: Output,
    run: Run,
    test_sets: Sequence[TestSet],
    *,
    name: str,
    folder: str,
) -> list[Path]:
    """Return the folder of the matrix of each test set.

    name: name of the run. folder: folder for the protocol and the options, below `evaluation`.
    """
    is_only_set = len(test_sets) == 1
    folders = []
    for test_set in test_sets:
        path = place.folder(
            run,
            test_set,
            run_name=name,
            protocol_folder=folder,
            is_only_set=is_only_set,
        )
        folders.append(path)
    return folders


def _result_folder(
    protocol: str,
    ensemble_members: Sequence[Run],
    search: dict[str, object],
    metrics: Sequence[str],
) -> str:
    """Folder below `evaluation` of the first run; different members or settings have their own."""
    from polyglot.evaluation.protocol import folder_name

    parts = [folder_name(protocol)]
    parts += [_folder_name(run) for run in ensemble_members]
    parts += [f"{key}-{value}" for key, value in search.items()]
    parts += metrics
    return "+".join(parts)


def _folder_name(run: Run) -> str:
    return run.name if run.hub is not None else run.path.resolve().name


def _load_translator(
    runs: Sequence[Run],
    ensemble: bool,
    checkpoint: str,
    *,
    device: str | None,
    precision: str,
    engine: str,
) -> Translator | EnsembleTranslator:
    from polyglot.inference.devices import check_ensemble_engine
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator

    if ensemble:
        check_ensemble_engine(engine)
        return EnsembleTranslator.load(
            runs,
            checkpoints=[checkpoint],
            device=device,
            precision=precision,
        )
    return Translator.load(
        runs[0],
        checkpoint=checkpoint,
        device=device,
        precision=precision,
        engine=engine,
    )


def _evaluate_test_set(
    run: Run,
    translator: Translator | EnsembleTranslator,
    test_set: TestSet,
    path: Path,
) -> ScoreMatrix:
    """Evaluate one test set, print its tables, and write its files."""
    from polyglot.evaluation.choices import result_folders
    from polyglot.evaluation.evaluator import evaluate as evaluate_run
    from polyglot.evaluation.grid import matrix_title
    from polyglot.evaluation.results_cache import results_lock
    from polyglot.evaluation.views.export import save_with_views
    from polyglot.evaluation.views.terminal import matrix_tables

    with results_lock(path):
        replaced = _stored_title(path)
        with described_progress("sentences") as advance:
            matrix = evaluate_run(
                run,
                translator,
                test_set.protocol,
                test_set=test_set.name,
                folder=path,
                other_folders=result_folders(run),
                progress=advance,
            )
        save_with_views(matrix, path)
    screen.print(*matrix_tables(matrix), sep="\n")
    if replaced not in ("", matrix_title(matrix)):
        logger.info(f"{path}: replaced the scores of {replaced}")
    logger.info(
        f"written to {path}: matrix.json, matrix.csv, matrix.md, a picture of each measure, "
        "hypotheses/, text/"
    )
    return matrix


def _stored_title(path: Path) -> str:
    """Run and checkpoint of the scores in a folder; empty without usable scores."""
    from polyglot.core.stored_json import read_stored
    from polyglot.core.stored_matrix import STORED_MATRIX
    from polyglot.evaluation.grid import scores_title
    from polyglot.evaluation.results_cache import MATRIX_FILE

    try:
        stored = read_stored(path / MATRIX_FILE, STORED_MATRIX)
    except (OSError, ValueError):  # there are none, or the evaluation has replaced damaged ones
        return ""
    return scores_title(stored.checkpoint, stored.test_set)


def _print_comparisons(matrices: dict[str, dict[str, ScoreMatrix]]) -> None:
    """Print one table per test set that compares the runs."""
    from polyglot.evaluation.significance import compare_systems
    from polyglot.evaluation.views.terminal import comparison_table

    for matrix_by_name in matrices.values():
        comparison = compare_systems({name: [matrix] for name, matrix in matrix_by_name.items()})
        screen.print(comparison_table(comparison))
