"""Analysis of sentence embeddings, of `analyse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from polyglot.cli.app import logger, screen
from polyglot.cli.progress import described_progress
from polyglot.core.errors import ConfigError

if TYPE_CHECKING:
    from polyglot.analysis.embeddings.analysis import Analysis
    from polyglot.analysis.embeddings.config import AnalysisSettings
    from polyglot.runs.run import Run


def analyse_embeddings(
    paths: Sequence[Path],
    settings_file: Path | None,
    folder: Path | None,
    output: Path | None,
    *,
    checkpoint: str,
    device: str | None,
) -> None:
    """Analyse the sentence embeddings of runs. Print the page of one run, or a comparison."""
    from polyglot.analysis.embeddings.config import AnalysisSettings
    from polyglot.analysis.embeddings.page import markdown
    from polyglot.core.terminal_markdown import FoldedMarkdown
    from polyglot.runs.run import Run

    if output and len(paths) < 2:
        raise ConfigError(
            "analyse: --output is for the comparison of several runs, and there is one; "
            "its page is in its run directory"
        )
    settings = AnalysisSettings.load(settings_file) if settings_file else AnalysisSettings()
    name = settings_file.stem if settings_file else "default"
    analyses = {}
    for run in [Run.open(path) for path in paths]:
        analyses[run.address] = _analyse_and_save(
            run, settings, name, folder=folder, checkpoint=checkpoint, device=device
        )
    if len(analyses) == 1:
        (analysis,) = analyses.values()
        screen.print(FoldedMarkdown(markdown(analysis)))
    if len(paths) > 1:
        _print_comparison(analyses, output)
    logger.info(f"next: polyglot report {paths[0]}")


def _analyse_and_save(
    run: Run,
    settings: AnalysisSettings,
    name: str,
    *,
    folder: Path | None,
    checkpoint: str,
    device: str | None,
) -> Analysis:
    from polyglot.analysis.embeddings.analysis import analyse as analyse_run
    from polyglot.analysis.embeddings.page import save
    from polyglot.inference.translator import Translator

    with described_progress("representations") as advance:
        translator = Translator.load(run, checkpoint=checkpoint, device=device)
        analysis = analyse_run(run, translator, settings, folder=folder, progress=advance)
    place = run.results / "analysis" / name
    save(analysis, place)
    logger.info(
        f"written to {place}: analysis.md, analysis.json, retrieval of each representation, "
        f"{', '.join(analysis.pictures)}"
    )
    return analysis


def _print_comparison(analyses: Mapping[str, Analysis], output: Path | None) -> None:
    from polyglot.analysis.embeddings.comparison import comparison
    from polyglot.core.atomic_files import replace_file
    from polyglot.core.terminal_markdown import FoldedMarkdown

    table = comparison(analyses)
    screen.print(FoldedMarkdown(table))
    if output:
        replace_file(output, f"# Sentence embeddings, run by run\n\n{table}\n")
        logger.info(f"written to {output}: the comparison of all runs")
