"""Commands on the results of evaluations: `compare` and `report`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

import typer

from polyglot.cli import completion
from polyglot.cli.app import command, logger, screen
from polyglot.cli.parameters import RunPath, choice, parse_sentences
from polyglot.core.errors import ConfigError, unknown_name
from polyglot.core.hub_address import is_hub_address
from polyglot.core.path_names import distinct_names

if TYPE_CHECKING:
    from polyglot.evaluation.measures import Measure
    from polyglot.evaluation.score_matrix import ScoreMatrix

# The package that defines these choices loads torch; a test compares the two.
SIGNIFICANCE_TESTS = ("bootstrap", "randomisation")

ComparedPaths = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN|FILE...",
        help="Evaluated run directories, runs on the hub (hub:user/name), or folders of evaluate "
        "--output, and outputs of other programs: a text file with one line for each sentence, "
        "or a folder of files such as de-fr.txt. Each is compared with the first.",
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


DirectionName = Annotated[
    Optional[str],
    typer.Option(
        "--pair",
        metavar="SOURCE-TARGET",
        help="Compare only this direction; the outputs of other programs belong to it. "
        "Default: all directions; that of an output is in its name, such as moses.de-fr.txt.",
    ),
]


@command(
    "polyglot compare runs/phrasebook runs/phrasebook-without-copies",
    "polyglot compare runs/a runs/b --measure chrf --test randomisation",
    "polyglot compare runs/phrasebook moses.fr --pair de-fr",
    "polyglot compare runs/phrasebook runs/other moses.de-fr.txt outputs/",
)
def compare(
    paths: ComparedPaths,
    protocol: ProtocolOfResults = "default",
    measure: MeasureName = None,
    test: SignificanceTest = None,
    pair: DirectionName = None,
) -> None:
    """Compare evaluated runs and outputs of other programs; mark significant differences.

    Nothing is translated again. Outputs are scored like the first run, on its references.
    """
    from polyglot.evaluation.external_outputs import output_matrix
    from polyglot.evaluation.grid import matrix_title
    from polyglot.evaluation.significance import DEFAULT_TEST, TESTS, compare_systems
    from polyglot.evaluation.views.terminal import comparison_table

    if test is None:
        test = DEFAULT_TEST
    if test not in TESTS:
        raise ConfigError(f"--test: {unknown_name('test', test, TESTS)}")

    names = distinct_names(paths)
    matrices = _load_matrices(paths, protocol, pair)
    first_run = next(iter(matrices.values()))
    chosen_measure = _choose_measure(measure, first_run)

    systems = {}
    for name, path in zip(names, paths):
        if path not in matrices:
            matrices[path] = output_matrix(path, first_run, chosen_measure)
        systems[name] = [matrices[path]]
    comparison = compare_systems(systems, measure=chosen_measure, test=test)
    screen.print(comparison_table(comparison))
    for path, matrix in matrices.items():
        logger.info(f"{path}: {matrix_title(matrix)}")


def _load_matrices(
    paths: Sequence[Path],
    protocol: str,
    pair: str | None,
) -> dict[Path, ScoreMatrix]:
    """Load the results of the runs among the paths, of one direction or all.

    Raises ConfigError if all paths are outputs of other programs.
    """
    from polyglot.evaluation.external_outputs import is_output, only_direction

    matrices = {}
    for path in paths:
        if not is_hub_address(path) and is_output(path):
            continue
        matrix = _load_matrix(path, protocol)
        if pair:
            matrix = only_direction(matrix, pair)
        matrices[path] = matrix
    if not matrices:
        raise ConfigError(
            "compare needs an evaluated run: its references and its signature are used for the "
            "outputs of other programs"
        )
    return matrices


def _load_matrix(path: Path, protocol: str) -> ScoreMatrix:
    """Load the results of a protocol from a run, or from the folder that holds them."""
    from polyglot.evaluation.protocol import folder_name
    from polyglot.evaluation.results_cache import MATRIX_FILE
    from polyglot.evaluation.score_matrix import ScoreMatrix
    from polyglot.runs.run import Run
    from polyglot.runs.stored_results import results_folder

    if (path / MATRIX_FILE).is_file():
        matrix = ScoreMatrix.load(path)
    else:
        run = Run.open(path)
        folder = results_folder(run, f"evaluation/{folder_name(protocol)}")
        matrix = ScoreMatrix.load(folder)
    if not matrix.hypotheses:
        raise ConfigError(
            f"{path}: its scores were published without the translations, which a comparison "
            f"needs; `polyglot evaluate {path}` translates the test text here"
        )
    return matrix


def _choose_measure(name: str | None, matrix: ScoreMatrix) -> Measure:
    """Measure of this name; without a name, the first of a matrix."""
    from polyglot.evaluation.measures import Measure

    if name is None:
        return matrix.measures[0]
    known_measures = list(map(str, matrix.measures))
    if name not in known_measures:
        raise ConfigError(f"--measure: {unknown_name('measure', name, known_measures)}")
    return Measure.parse(name)


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
