"""Charts of words, and the bridge's heads in several languages."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

from polyglot.analysis.bridge_attention import heads_page
from polyglot.analysis.figures import Panel, panels_png
from polyglot.analysis.word_neighbours import (
    _gate,
    _in_contexts,
    _nearest,
    chart_page,
    neighbours,
    piece_of,
    principal_axes,
)
from polyglot.core.errors import ConfigError, DataError
from polyglot.model.options import ContextGate
from tests.analysis.conftest import seen_in_encoding


def test_neighbours_are_the_nearest_by_cosine_and_no_special_pieces():
    table = torch.tensor([[9.0, 9], [9, 9], [9, 9], [9, 9], [1, 1], [2, 2.1], [0, 1], [-1, -1]])
    assert (
        neighbours(table, 4, count=3, without=range(4))
        == neighbours(table, 4, count=99, without=range(4))
        == [5, 6, 7]
    )


def test_the_first_axis_is_that_of_the_largest_spread():
    random = torch.Generator().manual_seed(0)
    vectors = torch.randn(200, 5, generator=random) * torch.tensor([9.0, 1, 1, 1, 0.1])
    axes = principal_axes(vectors)
    assert axes.shape == (200, 3)
    assert abs(numpy.corrcoef(axes[:, 0], vectors[:, 0])[0, 1]) > 0.99


def test_the_chart_of_a_word_and_of_the_same_word_in_contexts(translator):
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    texts = [f"{word} Haus .", f"alt {word} ist ."]
    page = chart_page(translator, word, "de", contexts=[("de", text) for text in texts])
    near, along, contexts = page.tables
    assert len(near.rows) == 12 and len(along.rows) == 3
    cosines = [float(row[1]) for row in near.rows]
    assert cosines == sorted(cosines, reverse=True)
    assert [row[:2] for row in contexts.rows] == [["1", texts[0]], ["2", texts[1]]] and len(
        page.pictures
    ) == 2
    assert len(chart_page(translator, word, "de", side="decoder").tables) == 2


def test_in_each_context_other_words_are_near():
    """`own` is (1, 1) beside two that have half of it each, and the gates see one half."""
    table = torch.tensor([[9.0, 9]] * 4 + [[1, 1], [1, -1], [-1, 1], [-1, -1]])
    found = _in_contexts(
        table,
        4,
        ["first", "second"],
        [torch.tensor([1.0, 0]), torch.tensor([0, 1.0])],
        list("....abcd"),
        without=range(4),
    )
    assert dict(zip(found.columns, found.values.T.tolist())) == {
        "b": [1, -1],
        "c": [-1, 1],
        "d": [-1, -1],
    }
    assert _nearest(found) == [["1", "first", "b, c, d"], ["2", "second", "c, b, d"]]


def test_what_is_near_without_a_gate_need_not_be_near_in_a_context():
    kinds = {"a": [1.0, 1, -5, -5], "b": [-5, -5, 1, 1], "c": [1, 0.9, 1, 0.9]}
    names = [
        ".",
        ".",
        ".",
        ".",
        "own",
        *(f"{kind}{number}" for kind in kinds for number in range(12)),
    ]
    table = torch.tensor([[9.0] * 4] * 4 + [[1.0] * 4] + [kinds[name[0]] for name in names[5:]])
    assert {names[one][0] for one in neighbours(table, 4, count=12, without=range(4))} == {"c"}
    found = _in_contexts(
        table,
        4,
        ["first", "second"],
        [torch.tensor([1.0, 1, 0, 0]), torch.tensor([0, 0, 1.0, 1])],
        names,
        without=range(4),
    )
    assert {name[0] for name in found.columns} == {"a", "b"}


def test_the_gate_of_a_context_is_the_model_s(translator, monkeypatch):
    """In English there are roles before it."""
    text, own = "Is the old house here?", piece_of(translator.vocabularies["en"], "the")
    found = _gate(translator, "en", "encoder", own, [], "en", text)
    assert numpy.allclose(
        found, seen_in_encoding(monkeypatch, translator, "en", text, ContextGate, "gates"), atol=1e-6
    )


def test_long_sentences_leave_room_for_the_picture(translator):
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chart_page(
            translator, word, "de", contexts=[("de", f"{word} " + "alt Haus " * 40), ("de", word)]
        )
        panels_png([Panel("", -numpy.eye(2), ["a" * 60, "b"], ["c", "d" * 20])], title="")


def test_letters_that_no_font_has_are_said_once_in_our_words(caplog):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panels_png([Panel("", numpy.eye(2), ["\U00013000", "\U00013001"], ["c", "d"])], title="")
    assert caplog.text.count("boxes stand for letters") == 1


def test_a_decoder_s_words_in_the_context_of_what_was_read(translator):
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    gate = translator.model.decoders["de"].options["context_gate"].gate
    read = [("en", "the old house ."), ("fr", "le lac .")]
    before = gate.weight.detach().clone()
    with torch.no_grad():
        gate.weight.mul_(100)
    one, other = chart_page(translator, word, "de", side="decoder", contexts=read).values["contexts"][
        "cosines"
    ]
    with torch.no_grad():
        gate.weight.zero_()
    same, without = chart_page(translator, word, "de", side="decoder", contexts=read).values["contexts"][
        "cosines"
    ]
    with torch.no_grad():
        gate.weight.copy_(before)
    assert one != other and same == without


def test_contexts_that_change_nothing_or_are_not_read_are_refused(translator):
    word = translator.vocabularies["fr"].pieces([9])[0].removeprefix("▁")
    with pytest.raises(
        ConfigError, match="the encoder of fr has the same words in every --sentence"
    ):
        chart_page(translator, word, "fr", contexts=[("fr", word)])
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    with pytest.raises(ConfigError, match="--sentence en=…: the encoder of de reads de alone"):
        chart_page(translator, word, "de", contexts=[("en", "house")])
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        chart_page(translator, word, "de", side="decoder", contexts=[("xx", "house")])


def test_what_is_no_piece_or_not_in_its_context_is_said(translator):
    with pytest.raises(
        DataError, match="chart: 'Nirgendwohin' is no piece in the vocabulary of de"
    ):
        chart_page(translator, "Nirgendwohin", "de")
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    with pytest.raises(DataError, match="is not in the sentence"):
        chart_page(translator, word, "de", contexts=[("de", "zzz")])


def test_heads_of_several_languages_side_by_side(run, translator):
    page = heads_page(run, translator)
    assert [one["language"] for one in page.values["sentences"]] == ["en", "de", "fr"]
    for one in page.values["sentences"]:
        assert numpy.allclose(numpy.sum(one["weights"], axis=1), 1, atol=1e-4) and len(
            one["weights"][0]
        ) == len(one["pieces"])
    assert len(page.tables[0].rows) == len(page.values["sentences"][0]["weights"])
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        heads_page(run, translator, [("xx", "Ein Haus.")])


def test_bytes_are_nobody_s_neighbours(translator, monkeypatch):
    vocabulary = translator.vocabularies["de"]
    pieces = [
        piece if number % 3 else f"<0x{number:02X}>"
        for number, piece in enumerate(vocabulary.pieces(list(range(len(vocabulary)))))
    ]
    monkeypatch.setattr(type(vocabulary), "pieces", lambda self, ids: [pieces[one] for one in ids])
    page = chart_page(translator, pieces[10].removeprefix("▁"), "de")
    assert not any("<0x" in cell for table in page.tables for row in table.rows for cell in row)
