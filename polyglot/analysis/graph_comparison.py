"""Latent graphs of several runs: one table and one picture of each run.

Tables 3 and 4 and Figure 2 of Bastings et al., who compare three encoders in two directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from polyglot.analysis.annotated_text import load_sentences, split_into_pieces
from polyglot.analysis.latent_graph import (
    Graph,
    default_examples,
    graph_statistics,
    graphs_of,
    heads_png,
    languages_with_graph,
)
from polyglot.analysis.page import Page, Table
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.language_codes import resolve_language
from polyglot.core.score_tables import format_mean
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run

Examples = Sequence[tuple[str, str]]
"""Language and text of sentences for pictures."""


class LoadedRun(NamedTuple):
    """Run with its translation model."""

    run: Run
    translator: Translator


def graph_comparison_page(
    runs: Mapping[str, LoadedRun],
    *,
    language: str | None = None,
    examples: Examples = (),
    count: int = 500,
) -> Page:
    """Compare the latent graphs of several runs.

    runs: by name. language: of the encoders; by default each run has the language of an example, or
    else its first one with a latent graph. examples: a run shows the first sentence in its
    language; by default a short sentence of its text.
    """
    rows = []
    values: dict[str, Any] = {}
    pictures = {}
    for name, loaded in runs.items():
        examples_of_run = _resolve_examples(loaded.translator, examples)
        if language:
            chosen = resolve_language(language, loaded.translator.sources)
        else:
            chosen = _choose_language(name, loaded.translator, examples_of_run)
        graphs = _graphs_of_text(name, loaded, chosen, count=count)
        statistics = graph_statistics(graphs)
        example = _example(loaded.translator, chosen, graphs, examples_of_run)
        rows.append(_row(name, chosen, statistics))
        values[name] = {"language": chosen, **statistics}
        pictures[f"{name}: {example.sentence.text}"] = heads_png(example, title=name)

    head = ["run", "language", "distance", "entropy by length", "of a uniform graph"]
    note = (
        "Mean ± standard deviation: of the distance to the most probable head over pieces (Table 3 "
        "of the paper), and of a sentence's entropy in nats, divided by its length, over sentences "
        "(Table 4)."
    )
    table = Table("Distance and entropy", head, rows, note=note)
    return Page("graphs", "Latent graphs of several runs", [table], values, pictures)


def _resolve_examples(translator: Translator, examples: Examples) -> Examples:
    """Return the examples with the languages as the run spells them."""
    return [(resolve_language(language, translator.sources), text) for language, text in examples]


def _choose_language(name: str, translator: Translator, examples: Examples) -> str:
    """Return the language of the first example that the run has, or its first language.

    Raises ConfigError for a run without a latent graph.
    """
    languages = languages_with_graph(translator)
    if not languages:
        raise ConfigError(f"graph: no encoder of {name} has a latent graph")
    for language, _ in examples:
        if language in languages:
            return language
    return languages[0]


def _graphs_of_text(name: str, loaded: LoadedRun, language: str, *, count: int) -> list[Graph]:
    sentences = load_sentences(loaded.run, loaded.translator, language, count=count)
    graphs = graphs_of(loaded.translator, language, sentences)
    graphs = [graph for graph in graphs if len(graph.heads) > 1]
    if not graphs:
        raise DataError(f"graph: {name} has no sentence of {language} with two pieces")
    return graphs


def _example(
    translator: Translator,
    language: str,
    graphs: Sequence[Graph],
    examples: Examples,
) -> Graph:
    """Graph of the first example in the language, or of a short sentence of the text."""
    lines = [text for other, text in examples if other == language]
    if lines:
        sentences = split_into_pieces(translator, lines[:1], language)
        return graphs_of(translator, language, sentences)[0]
    return (default_examples(graphs) or graphs)[-1]


def _row(name: str, language: str, statistics: Mapping[str, Any]) -> list[str]:
    distance = statistics["distance"]
    entropy = statistics["sentence_entropy"]
    return [
        name,
        language,
        format_mean(distance["mean"], distance["deviation"], 2),
        format_mean(entropy["mean"], entropy["deviation"], 2),
        f"{entropy['uniform']:.2f}",
    ]
