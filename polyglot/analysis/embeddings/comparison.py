"""Tables that compare the sentence embeddings of several runs, by representation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from polyglot.analysis.embeddings.analysis import Analysis
from polyglot.analysis.embeddings.page import format_correlation, has_results, retrieval_columns
from polyglot.core.markdown import escape, table
from polyglot.core.score_tables import NO_VALUE, format_number
from polyglot.evaluation.grid import KIND_MARKS, LEGEND

Columns = Callable[[Analysis, str], dict[str, str]]
"""Function of a run's analysis and a representation: formatted values by the titles of columns."""


def comparison(analyses: Mapping[str, Analysis]) -> str:
    """Return Markdown tables with one row for each representation and run.

    analyses: at least one, by the name of the run.
    """
    return "\n\n".join(_blocks(analyses))


def _blocks(analyses: Mapping[str, Analysis]) -> Iterator[str]:
    yield _rows(analyses, _retrieval_columns)
    yield (
        "P@1 and MRR with cosine similarity; xSIM error with the ratio margin (lower is better). "
        f"{LEGEND}."
    )
    if any(has_results(analysis.similarity) for analysis in analyses.values()):
        yield "Similarity: Spearman correlation with human scores, times 100."
        yield _rows(analyses, _similarity_columns)
    if any(has_results(analysis.probes) for analysis in analyses.values()):
        yield (
            "Linear probes: accuracy in percent. "
            "In brackets: the accuracy of the most frequent label."
        )
        yield _rows(analyses, _probe_columns)
    if any(analysis.heads for analysis in analyses.values()):
        yield (
            "Heads: mean cosine similarity between the attention of two heads. "
            "1: all heads attend to the same positions; 0: no overlap."
        )
        yield _heads_table(analyses)
    yield f"Test text: {escape(_test_text(analyses))}"


def _rows(analyses: Mapping[str, Analysis], columns: Columns) -> str:
    """Table whose rows are grouped by representation, so that runs stand below each other."""
    representations: dict[str, None] = {}
    for analysis in analyses.values():
        representations.update(dict.fromkeys(analysis.retrieval))

    cells = {}
    titles: dict[str, None] = {}
    for representation in representations:
        for name, analysis in analyses.items():
            if representation in analysis.retrieval:
                values = columns(analysis, representation)
                titles.update(dict.fromkeys(values))
                cells[representation, name] = values

    rows = []
    for (representation, name), values in cells.items():
        row = [representation, escape(name), analyses[name].sizes[representation]]
        row += [values.get(title, NO_VALUE) for title in titles]
        rows.append(row)
    return table(["representation", "run", "dimensions", *map(escape, titles)], rows)


def _retrieval_columns(analysis: Analysis, representation: str) -> dict[str, str]:
    matrix = analysis.retrieval[representation]
    kinds = [kind for kind in KIND_MARKS if kind in matrix.means("p@1")]
    return retrieval_columns(matrix, kinds)


def _similarity_columns(analysis: Analysis, representation: str) -> dict[str, str]:
    columns = {}
    for result in analysis.similarity[representation]:
        columns[result.name] = format_correlation(result.spearman)
    return columns


def _probe_columns(analysis: Analysis, representation: str) -> dict[str, str]:
    columns = {}
    for result in analysis.probes[representation]:
        title = f"{result.name}, {result.language} ({result.majority:.1f})"
        columns[title] = format_number(result.accuracy)
    return columns


def _heads_table(analyses: Mapping[str, Analysis]) -> str:
    rows = []
    for name, analysis in analyses.items():
        if analysis.heads:
            similarity = format_number(analysis.heads.mean_similarity, 3)
            rows.append([escape(name), len(analysis.heads.similarity), similarity])
    return table(["run", "heads", "similarity"], rows)


def _test_text(analyses: Mapping[str, Analysis]) -> str:
    """Test text of all runs, or of each run if they differ."""
    texts = {}
    for name, analysis in analyses.items():
        matrix = next(iter(analysis.retrieval.values()))
        texts[name] = "; ".join(matrix.test)
    different = set(texts.values())
    if len(different) == 1:
        return different.pop()
    lines = [f"{name}: {text}" for name, text in texts.items()]
    return "; ".join(lines)
