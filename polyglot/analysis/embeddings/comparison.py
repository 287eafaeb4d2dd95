"""Several runs side by side: what their embeddings find, by representation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from polyglot.analysis.embeddings.analysis import Analysis
from polyglot.analysis.embeddings.retrieval import METRICS
from polyglot.core.markdown import escape, table
from polyglot.core.score_tables import RETRIEVAL_TITLES, format_number
from polyglot.evaluation.grid import KIND_MARKS, LEGEND

Columns = Callable[[Analysis, str], dict[str, str]]
"""Of one run and representation: what stands in each column."""


def comparison(analyses: Mapping[str, Analysis]) -> str:
    """Tables as Markdown, one row for each representation of each run. analyses: by the name of the run, at least one"""
    return "\n\n".join(_blocks(analyses))


def _blocks(analyses: Mapping[str, Analysis]) -> Iterator[str]:
    yield _rows(analyses, _retrieval)
    yield f"Retrieval in percent: P@1 and MRR by cosine; xSIM error by ratio margin, lower is better. {LEGEND}."
    if any(any(one.similarity.values()) for one in analyses.values()):
        yield "Similarity: Spearman's correlation with people's scores, times 100."
        yield _rows(analyses, _similarity)
    if any(any(one.probes.values()) for one in analyses.values()):
        yield "Linear probes: accuracy in percent, in brackets that of the most frequent label."
        yield _rows(analyses, _probes)
    if any(one.heads for one in analyses.values()):
        yield "Heads: the mean cosine of the attention of two of them, 1 for all the same, 0 for apart."
        having = {name: one.heads for name, one in analyses.items() if one.heads}
        rows = (
            [escape(name), len(own.similarity), format_number(own.alike, 3)]
            for name, own in having.items()
        )
        yield table(["run", "heads", "alike"], rows)
    tests = {
        name: "; ".join(next(iter(one.retrieval.values())).test) for name, one in analyses.items()
    }
    each = [f"{name}: {test}" for name, test in tests.items()]
    yield "Test text: " + escape(
        next(iter(tests.values())) if len(set(tests.values())) == 1 else "; ".join(each)
    )


def _rows(analyses: Mapping[str, Analysis], columns: Columns) -> str:
    """Grouped by representation, so that runs stand below each other."""
    found = {
        (representation, name): columns(analyses[name], representation)
        for representation in dict.fromkeys(
            each for one in analyses.values() for each in one.retrieval
        )
        for name in analyses
        if representation in analyses[name].retrieval
    }
    head = list(dict.fromkeys(title for values in found.values() for title in values))
    sizes = {
        (representation, name): analyses[name].sizes[representation]
        for representation, name in found
    }
    rows = (
        [key[0], escape(key[1]), sizes[key], *(values.get(title, "–") for title in head)]
        for key, values in found.items()
    )
    return table(["representation", "run", "numbers", *map(escape, head)], rows)


def _retrieval(analysis: Analysis, representation: str) -> dict[str, str]:
    matrix = analysis.retrieval[representation]
    means = {metric: matrix.means(metric) for metric in METRICS}
    kinds = [kind for kind in KIND_MARKS if kind in means["p@1"]]
    return {
        f"{KIND_MARKS[kind].format(kind)} {RETRIEVAL_TITLES[metric]}": format_number(means[metric].get(kind))
        for kind in kinds
        for metric in METRICS
    }


def _similarity(analysis: Analysis, representation: str) -> dict[str, str]:
    return {
        one.name: format_number(None if one.spearman is None else 100 * one.spearman)
        for one in analysis.similarity[representation]
    }


def _probes(analysis: Analysis, representation: str) -> dict[str, str]:
    return {
        f"{one.name}, {one.language} ({one.majority:.1f})": format_number(one.accuracy)
        for one in analysis.probes[representation]
    }
