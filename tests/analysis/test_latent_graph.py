"""Graphs: numbers of heads that are known, and pages of a run."""

from __future__ import annotations

import math

import numpy
import pytest

from polyglot.analysis import latent_graph
from polyglot.analysis.annotated_text import Sentence, as_read, words_of
from polyglot.analysis.latent_graph import Graph, attachment, graph_page, graphs_of
from polyglot.core.errors import ConfigError
from polyglot.model.options import LatentGraph
from polyglot.phrasebook import Token
from tests.analysis.conftest import seen_in_encoding

WORDS = ["old", "men", "sleep", "."]
TRUE = [1, 2, -1, 2]


def known(heads):
    """A graph over WORDS with one head for each."""
    truth = tuple(
        Token(word, "PUNCT" if word == "." else "X", None, head, None)
        for word, head in zip(WORDS, TRUE)
    )
    pieces = [f"▁{word}" for word in WORDS]
    return Graph(
        Sentence("", range(4), pieces, words_of(pieces, WORDS), truth), numpy.eye(4)[heads]
    )


def test_true_heads_are_all_found_and_others_counted():
    found = attachment([known([1, 2, 0, 0])])
    assert found["words"] == 2 and found["systems"]["latent graph"] == {
        "directed": 1.0,
        "undirected": 1.0,
    }
    assert found["systems"]["the word after"] == {"directed": 1.0, "undirected": 1.0}
    assert found["systems"]["the word before"]["directed"] == 0.0
    assert attachment([known([3, 0, 0, 0])])["systems"]["latent graph"] == {
        "directed": 0.0,
        "undirected": 0.5,
    }  # men – old is an edge, the other way round


def test_chance_is_a_choice_among_the_others():
    """Each of two words has 3 others, one of them its head; `men` is the head of one besides."""
    chance = attachment([known(TRUE)])["systems"]["chance"]
    assert chance["directed"] == pytest.approx(1 / 3) and chance["undirected"] == pytest.approx(
        (1 / 3 + 2 / 3) / 2
    )


def test_the_page_of_a_run(run, translator):
    page = graph_page(run, translator, "de", examples=[("de", "Der alte Bauer schläft.")], count=4)
    entropy = page.values["entropy"]
    assert 0 < entropy["mean"] <= entropy["uniform"] + 1e-6
    assert page.values["attachment"]["systems"].keys() == {
        "latent graph",
        "chance",
        "the word before",
        "the word after",
    }
    assert len(page.pictures) == 2 and all(
        picture.startswith(b"\x89PNG") for picture in page.pictures.values()
    )
    assert page.save(run).joinpath("picture-2.png").is_file()


def test_distances_and_entropies_are_those_of_the_heads(run, translator, monkeypatch):
    """One sentence of four words whose heads are sure, one of three whose heads are anybody."""
    anybody = Graph(Sentence("", range(3), ["a", "b", "c"]), (1 - numpy.eye(3)) / 2)
    monkeypatch.setattr(latent_graph, "graphs_of", lambda *given: [known([1, 2, 0, 0]), anybody])
    values = graph_page(run, translator, "de").values
    distances, entropies = [1, 1, 2, 3, 1, 1, 2], [0] * 4 + [math.log(2)] * 3
    assert values["distance"] == pytest.approx(
        {"mean": numpy.mean(distances), "deviation": numpy.std(distances)}
    )
    uniform = (4 * math.log(3) + 3 * math.log(2)) / 7
    assert values["entropy"] == pytest.approx(
        {"mean": numpy.mean(entropies), "deviation": numpy.std(entropies), "uniform": uniform}
    )


def test_distributions_are_those_of_the_model(run, translator, monkeypatch):
    text = "Der alte Bauer schläft."
    (found,) = graphs_of(translator, "de", as_read(translator, [text], "de"))
    assert numpy.allclose(
        found.heads,
        seen_in_encoding(monkeypatch, translator, "de", text, LatentGraph, "graph"),
        atol=1e-6,
    )
    assert numpy.allclose(found.heads.sum(1), 1, atol=1e-5) and (found.heads.diagonal() == 0).all()
    assert (
        -(found.heads * numpy.log(found.heads + 1e-12)).sum(1).max()
        <= math.log(len(found.heads) - 1) + 1e-6
    )


def test_an_encoder_without_a_graph_is_said(run, translator):
    with pytest.raises(
        ConfigError, match="the encoder of fr has no latent graph; that of en, de has one"
    ):
        graph_page(run, translator, "fr")


def test_a_sentence_of_another_language_is_refused(run, translator):
    with pytest.raises(
        ConfigError, match="graph: --sentence en=…: the encoder of de reads de alone"
    ):
        graph_page(run, translator, "de", examples=[("en", "The old farmer sleeps.")])
