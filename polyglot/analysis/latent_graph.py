"""Latent graph of an encoder: distance and entropy of heads, figures, comparison with true heads.

Tables and figures of Bastings et al., section 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

import numpy
import torch

from polyglot.analysis.annotated_text import (
    AnnotatedSentence,
    batches,
    display,
    load_sentences,
    split_into_pieces,
)
from polyglot.analysis.figures import Panel, arcs_png, panels_png
from polyglot.analysis.page import Page, Table
from polyglot.core.errors import ConfigError, DataError
from polyglot.core.score_tables import format_percent
from polyglot.inference.translator import Translator
from polyglot.model.options import apply_preceding
from polyglot.runs.run import Run

DEFAULT_EXAMPLES = 2  # sentences with figures if the user names none
LONGEST_DEFAULT_EXAMPLE = 16  # pieces

LATENT_GRAPH = "latent graph"
CHANCE = "chance"
WORD_BEFORE = "the word before"
WORD_AFTER = "the word after"


@dataclass(frozen=True)
class Graph:
    """Sentence with the head distributions of its pieces."""

    sentence: AnnotatedSentence
    heads: numpy.ndarray
    """(S, S): row i is the head distribution of piece i"""

    @property
    def most_probable_heads(self) -> list[int]:
        """Index of the most probable head of each piece."""
        return self.heads.argmax(axis=1).tolist()


def graph_page(
    run: Run,
    translator: Translator,
    language: str,
    *,
    examples: Sequence[tuple[str, str]] = (),
    count: int = 500,
) -> Page:
    """Analyse the latent graphs of the first sentences of a language.

    examples: language and text of the sentences for figures. Raises ConfigError if the encoder of
    the language has no latent graph or does not read an example, DataError if no sentence has two
    pieces.
    """
    for example_language, _ in examples:
        if example_language != language:
            raise ConfigError(
                f"graph: --sentence {example_language}=…: "
                f"the encoder of {language} reads only {language}"
            )
    sentences = load_sentences(run, translator, language, count=count)
    graphs = graphs_of(translator, language, sentences)
    graphs = [graph for graph in graphs if len(graph.heads) > 1]
    if not graphs:
        raise DataError(f"graph: no sentence of {language} has two pieces")

    if examples:
        lines = [text for _, text in examples]
        example_sentences = split_into_pieces(translator, lines, language)
        example_graphs = graphs_of(translator, language, example_sentences)
    else:
        example_graphs = default_examples(graphs)

    values = graph_statistics(graphs)
    values["graphs"] = list(map(_example_values, example_graphs))
    pictures = {}
    for graph in example_graphs:
        pictures.update(_example_pictures(graph))
    title = f"Latent graph of the encoder of {language}"
    return Page(f"graph.{language}", title, _tables(values), values, pictures)


def graphs_of(
    translator: Translator,
    language: str,
    sentences: Sequence[AnnotatedSentence],
) -> list[Graph]:
    """Compute the graph of each sentence that is not empty, the longest first.

    Raises ConfigError if the encoder of the language has no latent graph.
    """
    _check_encoder(translator, language)
    encoder = translator.model.encoders[language]
    option = encoder.options["latent_graph"]
    graphs = []
    for batch, tokens, mask in batches(sentences, translator.device):
        with torch.inference_mode():
            embedded = encoder.embedding(tokens)
            words = apply_preceding(encoder.options, "latent_graph", embedded, mask)
            heads_of_batch = option.graph(words, mask).cpu().numpy()
        for sentence, heads in zip(batch, heads_of_batch):
            length = len(sentence.ids)
            graphs.append(Graph(sentence, heads[:length, :length]))
    return graphs


def default_examples(graphs: Sequence[Graph]) -> list[Graph]:
    """Return the graphs for pictures if the user names no sentence: the shortest of a text."""
    short = [graph for graph in graphs if len(graph.heads) <= LONGEST_DEFAULT_EXAMPLE]
    return short[-DEFAULT_EXAMPLES:]


def languages_with_graph(translator: Translator) -> list[str]:
    """Return the languages whose encoder computes a graph from the sentence."""
    languages = []
    for language, encoder in translator.model.encoders.items():
        if "latent_graph" in encoder.options and encoder.options["latent_graph"].is_latent:
            languages.append(language)
    return languages


def _check_encoder(translator: Translator, language: str) -> None:
    with_graph = languages_with_graph(translator)
    if language in with_graph:
        return
    hint = "no encoder of this run has one"
    if with_graph:
        hint = f"encoders with a latent graph: {', '.join(with_graph)}"
    raise ConfigError(f"graph: the encoder of {language} has no latent graph; {hint}")


def graph_statistics(graphs: Sequence[Graph]) -> dict[str, Any]:
    """Return the numbers of the tables, as in `page.json`."""
    distances = _distances(graphs)
    entropies = _entropies(graphs)
    uniform_entropies = []
    for graph in graphs:
        uniform_entropies += [math.log(len(graph.heads) - 1)] * len(graph.heads)
    return {
        "sentences": len(graphs),
        "distance": {"mean": fmean(distances), "deviation": pstdev(distances)},
        "entropy": {
            "mean": fmean(entropies),
            "deviation": pstdev(entropies),
            "uniform": fmean(uniform_entropies),
        },
        "sentence_entropy": _sentence_entropy(graphs),
        "attachment": attachment(graphs),
    }


def _distances(graphs: Sequence[Graph]) -> list[int]:
    """Distance of each piece from its most probable head."""
    distances = []
    for graph in graphs:
        for piece, head in enumerate(graph.most_probable_heads):
            distances.append(abs(piece - head))
    return distances


def _entropies(graphs: Sequence[Graph]) -> list[float]:
    """Entropy of the head distribution of each piece, in nats."""
    entropies = []
    for graph in graphs:
        logarithms = numpy.log(numpy.clip(graph.heads, 1e-12, None))
        entropies += (-(graph.heads * logarithms).sum(axis=1)).tolist()
    return entropies


def _sentence_entropy(graphs: Sequence[Graph]) -> dict[str, float]:
    """Entropy of a sentence's heads divided by its length, over the sentences: table 4.

    The words choose their heads independently, so the entropies of a sentence add up. `choices` is
    the mean of exp(entropy), the number of equally probable heads with this entropy.
    """
    entropies = []
    uniform = []
    for graph in graphs:
        entropies.append(fmean(_entropies([graph])))
        uniform.append(math.log(len(graph.heads) - 1))
    return {
        "mean": fmean(entropies),
        "deviation": pstdev(entropies),
        "choices": fmean(map(math.exp, entropies)),
        "uniform": fmean(uniform),
        "uniform_choices": fmean(map(math.exp, uniform)),
    }


def attachment(graphs: Sequence[Graph]) -> dict[str, Any]:
    """Share of words whose most probable head is the true head; empty without annotation.

    Compared with a random choice, and with the word before and the word after. A word with
    several pieces counts by its first piece. Roots and punctuation are left out.
    """
    directed = dict.fromkeys((LATENT_GRAPH, CHANCE, WORD_BEFORE, WORD_AFTER), 0.0)
    undirected = dict(directed)
    words = 0
    for graph in graphs:
        heads = [token.head for token in graph.sentence.truth]
        for word in _words_with_head(graph.sentence):
            words += 1
            for system, guess in _guesses(graph, word).items():
                is_head = guess == heads[word]
                is_dependent = 0 <= guess < len(heads) and heads[guess] == word
                directed[system] += is_head
                undirected[system] += is_head or is_dependent
            candidates = len(heads) - 1
            directed[CHANCE] += 1 / candidates
            undirected[CHANCE] += (1 + heads.count(word)) / candidates
    if not words:
        return {}

    systems = {}
    for system in directed:
        systems[system] = {
            "directed": directed[system] / words,
            "undirected": undirected[system] / words,
        }
    return {"words": words, "systems": systems}


def _words_with_head(sentence: AnnotatedSentence) -> Iterator[int]:
    """Yield the words that have a true head and a piece that begins in them."""
    if sentence.word_of_piece is None:
        return
    for word, token in enumerate(sentence.truth):
        is_dependent = token.head >= 0 and token.category != "PUNCT"
        if is_dependent and word in sentence.word_of_piece:
            yield word


def _guesses(graph: Graph, word: int) -> dict[str, int]:
    """Head of a word according to the graph, and to the two baselines."""
    word_of_piece = graph.sentence.word_of_piece
    first_piece = word_of_piece.index(word)
    return {
        LATENT_GRAPH: word_of_piece[graph.most_probable_heads[first_piece]],
        WORD_BEFORE: word - 1,
        WORD_AFTER: word + 1,
    }


def _tables(values: dict[str, Any]) -> list[Table]:
    distance = values["distance"]
    entropy = values["entropy"]
    of_sentences = values["sentence_entropy"]
    rows = [
        [
            "distance to the most probable head, in pieces",
            f"{distance['mean']:.2f} ± {distance['deviation']:.2f}",
            "",
        ],
        [
            "entropy of the head distribution, in nats",
            f"{entropy['mean']:.2f} ± {entropy['deviation']:.2f}",
            f"{entropy['uniform']:.2f}",
        ],
        [
            "entropy of a sentence divided by its length, in nats",
            f"{of_sentences['mean']:.2f} ± {of_sentences['deviation']:.2f}",
            f"{of_sentences['uniform']:.2f}",
        ],
        [
            "equally probable heads: mean of exp(entropy) over sentences",
            f"{of_sentences['choices']:.2f}",
            f"{of_sentences['uniform_choices']:.2f}",
        ],
    ]
    head = ["", "mean ± standard deviation", "uniform graph"]
    note = (
        f"{values['sentences']} sentences. The deviations of the first two rows are over pieces, "
        "the third is over sentences."
    )
    tables = [Table("Distance and entropy", head, rows, note=note)]
    if values["attachment"]:
        tables.append(_attachment_table(values["attachment"]))
    return tables


def _attachment_table(scores: dict[str, Any]) -> Table:
    rows = []
    for system, shares in scores["systems"].items():
        directed = format_percent(shares["directed"])
        undirected = format_percent(shares["undirected"])
        rows.append([system, directed, undirected])
    note = (
        f"{scores['words']} words with a true head. "
        "Undirected: an edge is correct in either direction."
    )
    return Table("True heads", ["heads", "directed", "undirected"], rows, note=note)


def _example_values(graph: Graph) -> dict[str, Any]:
    return {
        "sentence": graph.sentence.text,
        "pieces": list(map(display, graph.sentence.pieces)),
        "heads": graph.heads.tolist(),
    }


def _example_pictures(graph: Graph) -> dict[str, bytes]:
    """Head distributions as a matrix, and the most probable heads as arcs."""
    text = graph.sentence.text
    pieces = list(map(display, graph.sentence.pieces))
    shares = graph.heads.max(axis=1)
    heads: list[int | None] = []
    for head, share in zip(graph.most_probable_heads, shares):
        heads.append(head if share > 0 else None)
    return {
        f"Heads: {text}": heads_png(graph, title=text),
        f"Arcs: {text}": arcs_png(pieces, heads, shares, title=text),
    }


def heads_png(graph: Graph, *, title: str) -> bytes:
    """Matrix of head distributions: figure 2 of the paper."""
    pieces = list(map(display, graph.sentence.pieces))
    matrix = Panel("row: word, column: its head", graph.heads, pieces, pieces)
    return panels_png([matrix], title=title)
