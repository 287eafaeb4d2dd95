"""Latent graphs: numbers for known heads, and pages of a run."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest

from polyglot.analysis import latent_graph
from polyglot.analysis.annotated_text import AnnotatedSentence, align_pieces, split_into_pieces
from polyglot.analysis.graph_comparison import LoadedRun, graph_comparison_page
from polyglot.analysis.latent_graph import Graph, attachment, graph_page, graphs_of
from polyglot.core.errors import ConfigError
from polyglot.inference.translator import Translator
from polyglot.model.options import LatentGraph
from polyglot.phrasebook import Token
from polyglot.runs.run import Run
from tests.analysis.conftest import RecordResult
from tests.builders.command_line import Program

WORDS = ["old", "men", "sleep", "."]
TRUE_HEADS = [1, 2, -1, 2]


def graph_with_heads(heads: Sequence[int], words: Sequence[str] = WORDS) -> Graph:
    """Graph over annotated words in which each word has exactly one head."""
    truth = []
    for word, head in zip(words, TRUE_HEADS):
        category = "PUNCT" if word == "." else "X"
        truth.append(Token(word, category, None, head, None))
    pieces = [f"▁{word}" for word in words]
    alignment = align_pieces(pieces, words)
    sentence = AnnotatedSentence("", range(len(words)), pieces, alignment, tuple(truth))
    return Graph(sentence, numpy.eye(len(words))[list(heads)])


def test_true_heads_count_and_roots_and_punctuation_do_not() -> None:
    result = attachment([graph_with_heads([1, 2, 0, 0])])
    assert result["words"] == 2
    systems = result["systems"]
    assert systems["latent graph"] == {"directed": 1.0, "undirected": 1.0}
    assert systems["the word after"] == {"directed": 1.0, "undirected": 1.0}
    assert systems["the word before"]["directed"] == 0.0


def test_a_reversed_edge_counts_as_undirected() -> None:
    """`men` has the head `old` here, which is its dependent."""
    result = attachment([graph_with_heads([3, 0, 0, 0])])
    assert result["systems"]["latent graph"] == {"directed": 0.0, "undirected": 0.5}


def test_chance_is_a_uniform_choice_of_another_word() -> None:
    """Each of two words has 3 candidates, one of them its head; `men` also has a dependent."""
    chance = attachment([graph_with_heads([1, 2, 0, 2])])["systems"]["chance"]
    assert chance["directed"] == pytest.approx(1 / 3)
    assert chance["undirected"] == pytest.approx((1 / 3 + 2 / 3) / 2)


def test_a_word_counts_by_its_first_piece() -> None:
    """`men` is `▁m en`; only the head of `▁m` counts, and a head inside `sleep` is `sleep`."""
    truth = graph_with_heads([1, 2, 0, 0]).sentence.truth
    pieces = ["▁old", "▁m", "en", "▁sl", "eep", "."]
    alignment = align_pieces(pieces, WORDS)
    sentence = AnnotatedSentence("", range(6), pieces, alignment, truth)
    graph = Graph(sentence, numpy.eye(6)[[2, 4, 0, 0, 0, 0]])
    assert attachment([graph])["systems"]["latent graph"]["directed"] == 1.0


def test_without_annotation_there_is_no_attachment() -> None:
    graph = Graph(AnnotatedSentence("", range(2), ["a", "b"]), numpy.eye(2))
    assert attachment([graph]) == {}


def test_the_page_of_a_run(run: Run, translator: Translator) -> None:
    examples = [("de", "Der alte Bauer schläft.")]
    page = graph_page(run, translator, "de", examples=examples, count=4)
    entropy = page.values["entropy"]
    assert 0 < entropy["mean"] <= entropy["uniform"] + 1e-6
    systems = page.values["attachment"]["systems"]
    assert list(systems) == ["latent graph", "chance", "the word before", "the word after"]
    assert len(page.pictures) == 2
    for picture in page.pictures.values():
        assert picture.startswith(b"\x89PNG")
    assert page.save(run).joinpath("picture-2.png").is_file()


def test_distance_and_entropy(
    run: Run, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sentence of four words with certain heads, and one of three words with uniform heads."""
    uniform = (1 - numpy.eye(3)) / 2
    uniform_graph = Graph(AnnotatedSentence("", range(3), ["a", "b", "c"]), uniform)
    graphs = [graph_with_heads([1, 2, 0, 0]), uniform_graph]
    monkeypatch.setattr(latent_graph, "graphs_of", lambda *arguments: graphs)

    values = graph_page(run, translator, "de").values
    distances = [1, 1, 2, 3, 1, 1, 2]
    expected = {"mean": numpy.mean(distances), "deviation": numpy.std(distances)}
    assert values["distance"] == pytest.approx(expected)

    entropies = [0] * 4 + [math.log(2)] * 3
    expected = {
        "mean": numpy.mean(entropies),
        "deviation": numpy.std(entropies),
        "uniform": (4 * math.log(3) + 3 * math.log(2)) / 7,
    }
    assert values["entropy"] == pytest.approx(expected)


def test_head_distributions_are_those_of_the_model(
    translator: Translator, record_result: RecordResult
) -> None:
    text = "Der alte Bauer schläft."
    (graph,) = graphs_of(translator, "de", split_into_pieces(translator, [text], "de"))
    expected = record_result("de", text, LatentGraph, "graph")
    assert numpy.allclose(graph.heads, expected, atol=1e-6)
    assert numpy.allclose(graph.heads.sum(1), 1, atol=1e-5)
    assert (graph.heads.diagonal() == 0).all()
    entropies = -(graph.heads * numpy.log(graph.heads + 1e-12)).sum(1)
    assert entropies.max() <= math.log(len(graph.heads) - 1) + 1e-6


def test_an_encoder_without_a_graph_is_refused(run: Run, translator: Translator) -> None:
    message = "the encoder of fr has no latent graph; encoders with a latent graph: en, de"
    with pytest.raises(ConfigError, match=message):
        graph_page(run, translator, "fr")


def test_an_example_in_another_language_is_refused(run: Run, translator: Translator) -> None:
    message = "graph: --sentence en=…: the encoder of de reads only de"
    with pytest.raises(ConfigError, match=message):
        graph_page(run, translator, "de", examples=[("en", "The old farmer sleeps.")])


def test_entropy_of_a_sentence_is_divided_by_its_length() -> None:
    """One of three words chooses between two heads; another sentence has only sure heads."""
    sure = graph_with_heads([1, 2, 0, 2])
    words = AnnotatedSentence("", range(3), ["a", "b", "c"])
    unsure = Graph(words, numpy.array([[0, 0.5, 0.5], [1, 0, 0], [1, 0, 0]]))
    entropy = latent_graph.graph_statistics([sure, unsure])["sentence_entropy"]
    of_unsure = math.log(2) / 3
    assert entropy["mean"] == pytest.approx(of_unsure / 2)
    assert entropy["deviation"] == pytest.approx(of_unsure / 2)
    assert entropy["uniform"] == pytest.approx((math.log(3) + math.log(2)) / 2)
    assert entropy["choices"] == pytest.approx((1 + 2 ** (1 / 3)) / 2)
    assert entropy["uniform_choices"] == pytest.approx(2.5)


def test_the_page_of_several_runs_has_a_picture_of_each(run: Run, translator: Translator) -> None:
    examples = [("de", "Der alte Bauer schläft."), ("en", "The old farmer sleeps.")]
    loaded = LoadedRun(run, translator)
    page = graph_comparison_page({"cnn": loaded, "lstm": loaded}, examples=examples, count=4)
    assert list(page.pictures) == ["cnn: Der alte Bauer schläft.", "lstm: Der alte Bauer schläft."]
    (table,) = page.tables
    assert [row[:2] for row in table.rows] == [["cnn", "de"], ["lstm", "de"]]
    single = graph_page(run, translator, "de", examples=examples[:1], count=4).values
    assert page.values["cnn"]["sentence_entropy"] == single["sentence_entropy"]
    english = graph_comparison_page({"a": loaded}, language="en", examples=examples, count=4)
    assert list(english.pictures) == ["a: The old farmer sleeps."]


def test_the_command_compares_several_runs(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    small_pictures: None,
) -> None:
    other = tmp_path / "other"
    shutil.copytree(run.path, other)
    program = Program(monkeypatch, capsys)
    result = program("analyse", other, run.path, "graph", "--sentences", "4")
    assert result.status == 0, result.errors
    assert "Latent graphs of several runs" in result.output
    content = json.loads((other / "analysis/graphs/page.json").read_text(encoding="utf-8"))
    assert len(content["pictures"]) == 2
    refused = program("analyse", other, run.path, "roles")
    assert "analyse: roles takes one run; found 2" in refused.errors
