"""Score runs, compare them, and show a run as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.progress import MofNCompleteColumn, Progress

from polyglot.cli import completion
from polyglot.cli.app import Checkpoint, Device, RunPath, app, logger, screen, sentences_of
from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, unknown_name


@app.command(
    epilog="polyglot evaluate runs/phrasebook · polyglot evaluate runs/phrasebook --pivot en --protocol quick --checkpoint last · "
    "polyglot evaluate runs/a runs/b --ensemble"
)
def evaluate(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Run directories, such as runs/phrasebook; several are compared.",
            autocompletion=completion.runs,
        ),
    ],
    protocol: Annotated[
        str,
        typer.Option(
            help="A YAML file or the name of a shipped protocol.",
            autocompletion=completion.shipped_in("evaluation"),
        ),
    ] = "default",
    checkpoint: Checkpoint = "best",
    pivot: Annotated[
        Optional[str],
        typer.Option(
            metavar="LANGUAGE",
            help="Also translate in two hops through it. Default: the protocol's.",
            autocompletion=completion.languages,
        ),
    ] = None,
    ensemble: Annotated[
        bool,
        typer.Option(
            "--ensemble",
            help="The runs write each translation together, in the place of being compared.",
        ),
    ] = False,
    select: Annotated[
        Optional[int],
        typer.Option(
            min=1, help="Search among so many words. Default: the protocol's, or the run's."
        ),
    ] = None,
    select_by: Annotated[
        Optional[str],
        typer.Option(
            help="Which words: by prediction of the decoder, or by a shortlist that was counted."
        ),
    ] = None,
    select_for: Annotated[
        Optional[str], typer.Option(help="Words of each sentence, or of the batch together.")
    ] = None,
    device: Device = None,
) -> None:
    """Score every direction into a matrix: tables here, JSON, CSV, Markdown and pictures in the run directory.

    What has been scored before with the same checkpoint, text and settings is not done again.
    """
    from polyglot.evaluation.evaluator import evaluate as evaluate_run
    from polyglot.evaluation.protocol import Protocol, folder_name
    from polyglot.evaluation.significance import compare_systems, distinct_names
    from polyglot.evaluation.views.export import save_with_views
    from polyglot.evaluation.views.terminal import comparison_table, matrix_tables
    from polyglot.inference.ensemble import EnsembleTranslator
    from polyglot.inference.translator import Translator
    from polyglot.runs.run import Run

    chosen = {
        key: value
        for key, value in {
            "select": select,
            "select_by": select_by,
            "select_for": select_for,
        }.items()
        if value is not None
    }
    settings = Protocol.load(protocol)
    settings = settings.model_copy(update={"pivot": pivot} if pivot else {}).with_search(chosen)
    opened_runs = list(map(Run.open, runs))
    name = "".join(
        [
            folder_name(protocol),
            *(f"+{run.path.resolve().name}" for run in opened_runs[1:] if ensemble),
            *(f"+{key}-{value}" for key, value in chosen.items()),
        ]
    )
    matrices = {}
    for called, opened in zip(distinct_names(runs), opened_runs[:1] if ensemble else opened_runs):
        if ensemble:
            translator = EnsembleTranslator.load(
                opened_runs, checkpoints=[checkpoint], device=device
            )
        else:
            translator = Translator.load(opened, checkpoint=checkpoint, device=device)
        for test_set in settings.corpora:
            folder = opened.evaluation / name / test_set
            with Progress(
                *Progress.get_default_columns(), MofNCompleteColumn(), console=stderr_console, transient=True
            ) as bar:
                row = bar.add_task("sentences")
                advance = lambda what, done, of: bar.update(
                    row, completed=done, total=of, description=what
                )  # noqa: E731
                matrix = evaluate_run(
                    opened, translator, settings, test_set=test_set, folder=folder, progress=advance
                )
            save_with_views(matrix, folder)
            matrices.setdefault(test_set, {})[called] = matrix
            screen.print(*matrix_tables(matrix), sep="\n")
            logger.info(
                f"written to {folder}: matrix.json, matrix.csv, matrix.md, a picture of each measure, hypotheses/, text/"
            )
    if len(runs) > 1 and not ensemble:
        for each in matrices.values():
            comparison = compare_systems({name: [matrix] for name, matrix in each.items()})
            screen.print(comparison_table(comparison))
    logger.info(f"next: polyglot report {runs[0]}")


@app.command(
    epilog="polyglot compare runs/phrasebook runs/phrasebook-without-copies --test randomisation"
)
def compare(
    runs: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Run directories that were evaluated; differences are from the first.",
            autocompletion=completion.runs,
        ),
    ],
    protocol: Annotated[
        str,
        typer.Option(
            help="The protocol that they were evaluated under, and /NAME of a test set where it has several."
        ),
    ] = "default",
    measure: Annotated[
        Optional[str],
        typer.Option(
            help="Such as bleu, chrf++ or bleu-paper. Default: the first of the protocol."
        ),
    ] = None,
    test: Annotated[
        Optional[str],
        typer.Option(
            help="bootstrap or randomisation, each of sacreBLEU. Default: bootstrap.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Put runs beside each other and mark what is significant, from matrices that are there."""
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

    test = DEFAULT_TEST if test is None else test
    if test not in TESTS:
        raise ConfigError(f"--test: {unknown_name('test', test, TESTS)}")
    matrices = {
        name: [ScoreMatrix.load(Run.open(run).evaluation / folder_name(protocol))]
        for name, run in zip(distinct_names(runs), runs)
    }
    known = [str(each) for each in next(iter(matrices.values()))[0].measures]
    if measure is not None and measure not in known:
        raise ConfigError(f"--measure: {unknown_name('measure', measure, known)}")
    comparison = compare_systems(
        matrices, measure=Measure.parse(measure) if measure else None, test=test
    )
    screen.print(comparison_table(comparison))


@app.command(epilog="polyglot report runs/phrasebook --sentence de='Der alte Bauer schläft.'")
def report(
    run: RunPath,
    sentence: Annotated[
        Optional[list[str]],
        typer.Option(
            metavar="LANGUAGE=TEXT", help="Show the bridge's attention on it; may be repeated."
        ),
    ] = None,
) -> None:
    """Write a run as one web page: scores, curves, examples, attention, text and settings. It needs no network."""
    from polyglot import report as reports
    from polyglot.runs.run import Run

    path = reports.write(Run.open(run), sentences=sentences_of(sentence))
    logger.info(f"written to {path}: one file that any browser shows")
