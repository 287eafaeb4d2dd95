"""Who is whose head in the latent graph of an encoder: tables and figure of Bastings et al., section 4, and true heads beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

import numpy
import torch

from polyglot.analysis.annotated_text import Sentence, as_read, batches, sentences, shown
from polyglot.analysis.figures import Panel, arcs_png, panels_png
from polyglot.analysis.page import Page, Table
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.model.options import apply_preceding
from polyglot.runs.run import Run

DRAWN = 2  # sentences that are drawn when none are asked for
LONGEST = 16  # pieces of those


@dataclass(frozen=True)
class Graph:
    """A sentence and the head distributions of its pieces."""

    sentence: Sentence
    heads: numpy.ndarray
    """(m, m): row i is the distribution of piece i's head"""

    @property
    def likeliest(self) -> list[int]:
        return self.heads.argmax(axis=1).tolist()


def graph_page(
    run: Run,
    translator: Translator,
    language: str,
    *,
    examples: Sequence[tuple[str, str]] = (),
    count: int = 500,
) -> Page:
    """The graphs of a language's sentences; of those that are given, a language and a text, each is drawn.

    Raises ConfigError where the encoder of the language has no latent graph or does not read a sentence, DataError where no sentence has
    two pieces.
    """
    if other := next((one for one, _ in examples if one != language), None):
        raise ConfigError(
            f"graph: --sentence {other}=…: the encoder of {language} reads {language} alone"
        )
    found = [
        one
        for one in graphs_of(
            translator, language, sentences(run, translator, language, count=count)
        )
        if len(one.heads) > 1
    ]
    if not found:
        raise DataError(f"graph: no sentence of {language} has two pieces")
    distances, entropies, uniform = (
        _distances(found),
        _entropies(found),
        [math.log(len(one.heads) - 1) for one in found for _ in one.heads],
    )
    values: dict[str, Any] = {
        "sentences": len(found),
        "distance": {"mean": fmean(distances), "deviation": pstdev(distances)},
        "entropy": {
            "mean": fmean(entropies),
            "deviation": pstdev(entropies),
            "uniform": fmean(uniform),
        },
        "attachment": attachment(found),
    }
    rows = [
        [
            "distance to the likeliest head, in pieces",
            f"{fmean(distances):.2f} ± {pstdev(distances):.2f}",
            "",
        ],
        [
            "entropy of the head distribution, in nats",
            f"{fmean(entropies):.2f} ± {pstdev(entropies):.2f}",
            f"{fmean(uniform):.2f}",
        ],
    ]
    tables = [
        Table(
            "Distance and entropy",
            ["", "mean ± deviation over words", "uniform graph"],
            rows,
            note=f"{len(found)} sentences.",
        )
    ]
    if scores := values["attachment"]:
        shown_scores = [
            [name, f"{one['directed']:.1%}", f"{one['undirected']:.1%}"]
            for name, one in scores["systems"].items()
        ]
        note = f"{scores['words']} words with a true head; an edge counts as right in either direction where it is undirected."
        tables.append(
            Table("True heads", ["heads", "directed", "undirected"], shown_scores, note=note)
        )
    wanted = (
        graphs_of(translator, language, as_read(translator, [text for _, text in examples], language))
        if examples
        else [one for one in found if len(one.heads) <= LONGEST][-DRAWN:]
    )
    pictures, values["graphs"] = {}, []
    for one in wanted:
        pieces = [shown(piece) for piece in one.sentence.pieces]
        pictures[f"Heads: {one.sentence.text}"] = panels_png(
            [Panel("row: word, column: its head", one.heads, pieces, pieces)],
            title=one.sentence.text,
        )
        shares = one.heads.max(axis=1)
        heads = [head if share > 0 else None for head, share in zip(one.likeliest, shares)]
        pictures[f"Arcs: {one.sentence.text}"] = arcs_png(
            pieces, heads, shares, title=one.sentence.text
        )
        values["graphs"].append(
            {"sentence": one.sentence.text, "pieces": pieces, "heads": one.heads.tolist()}
        )
    return Page(
        f"graph.{language}", f"Latent graph of the encoder of {language}", tables, values, pictures
    )


def graphs_of(translator: Translator, language: str, given: Sequence[Sentence]) -> list[Graph]:
    """The graph of each sentence that is not empty, the longest first."""
    encoders = translator.model.encoders
    having = [
        name
        for name, one in encoders.items()
        if "latent_graph" in one.options and one.options["latent_graph"].latent
    ]
    if language not in having:
        where = f"that of {', '.join(having)} has" if having else "no encoder of this run has"
        raise ConfigError(f"graph: the encoder of {language} has no latent graph; {where} one")
    encoder, found = encoders[language], []
    for part, tokens, mask in batches(given, translator.device):
        with torch.inference_mode():
            words = apply_preceding(encoder.options, "latent_graph", encoder.embedding(tokens), mask)
            graphs = encoder.options["latent_graph"].graph(words, mask).cpu().numpy()
        found += [Graph(one, own[: len(one.ids), : len(one.ids)]) for one, own in zip(part, graphs)]
    return found


def _distances(found: Sequence[Graph]) -> list[int]:
    return [abs(word - head) for one in found for word, head in enumerate(one.likeliest)]


def _entropies(found: Sequence[Graph]) -> list[float]:
    return [
        float(value)
        for one in found
        for value in -(one.heads * numpy.log(numpy.clip(one.heads, 1e-12, None))).sum(axis=1)
    ]


def attachment(found: Sequence[Graph]) -> dict[str, Any]:
    """Share of words whose likeliest head is the true one, beside chance and beside the neighbour on either side; nothing without truth.

    Of a word in pieces the first one speaks. Roots and punctuation have no head to be found.
    """
    sums: dict[str, list[float]] = {
        name: [0.0, 0.0] for name in ("latent graph", "chance", "the word before", "the word after")
    }
    words = 0
    for one in found:
        place_of = one.sentence.words
        if place_of is None:
            continue
        truth = [token.head for token in one.sentence.truth]
        for word, head in enumerate(truth):
            if head < 0 or one.sentence.truth[word].category == "PUNCT" or word not in place_of:
                continue
            words += 1
            others = len(truth) - 1
            guesses = {
                "latent graph": place_of[one.likeliest[place_of.index(word)]],
                "the word before": word - 1,
                "the word after": word + 1,
            }
            for name, guess in guesses.items():
                sums[name][0] += guess == head
                sums[name][1] += guess == head or (0 <= guess < len(truth) and truth[guess] == word)
            sums["chance"][0] += 1 / others
            sums["chance"][1] += (1 + truth.count(word)) / others
    if not words:
        return {}
    return {
        "words": words,
        "systems": {
            name: {"directed": one / words, "undirected": other / words}
            for name, (one, other) in sums.items()
        },
    }
