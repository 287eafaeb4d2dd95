"""Local charts: neighbours and axes of known vectors, and charts of a run."""

from __future__ import annotations

import warnings

import numpy
import pytest
import torch

from polyglot.analysis.figures import Panel
from polyglot.analysis.word_neighbours import (
    WordTable,
    _cosines_in_contexts,
    _gate,
    _nearest_words,
    chart_page,
    neighbours,
    piece_of,
    principal_axes,
    words_beside,
)
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.model.options import ContextGate
from tests.analysis.conftest import RecordResult


def word_of(translator: Translator, language: str) -> str:
    """Some word of the vocabulary."""
    (piece,) = translator.vocabularies[language].pieces([9])
    return piece.removeprefix("▁")


def word_table(vectors: list[list[float]], names: list[str]) -> WordTable:
    """Table with four special tokens, which are far away, before the vectors; word 4 is charted."""
    special = [[9.0] * len(vectors[0])] * 4
    return WordTable(torch.tensor([*special, *vectors]), [*"....", *names], 4, [0, 1, 2, 3])


# Neighbours and axes


@pytest.mark.parametrize("count", [3, 99])
def test_neighbours_are_the_nearest_by_cosine_without_special_tokens(count: int) -> None:
    table = word_table([[1, 1], [2, 2.1], [0, 1], [-1, -1]], list("abcd"))
    assert neighbours(table.vectors, 4, count=count, excluded=table.excluded) == [5, 6, 7]
    assert neighbours(table.vectors, 4, count=2, excluded=table.excluded) == [5, 6]


def test_the_first_axis_is_that_of_the_largest_variance() -> None:
    random = torch.Generator().manual_seed(0)
    vectors = torch.randn(200, 5, generator=random) * torch.tensor([9.0, 1, 1, 1, 0.1])
    axes = principal_axes(vectors)
    assert axes.shape == (200, 3)
    assert abs(numpy.corrcoef(axes[:, 0], vectors[:, 0])[0, 1]) > 0.99


def test_the_axes_are_the_eigenvectors_of_the_covariance() -> None:
    random = torch.Generator().manual_seed(1)
    vectors = torch.randn(30, 4, generator=random, dtype=torch.float64)
    centred = (vectors - vectors.mean(dim=0)).numpy()
    _, eigenvectors = numpy.linalg.eigh(centred.T @ centred)
    expected = centred @ eigenvectors[:, ::-1][:, :3]
    numpy.testing.assert_allclose(abs(principal_axes(vectors)), abs(expected), atol=1e-9)


# Contexts


def cosines_with(table: WordTable, *gates: list[float]) -> Panel:
    return _cosines_in_contexts(table, ["first", "second"], list(map(torch.tensor, gates)))


def test_the_neighbours_differ_by_context() -> None:
    """`a` is (1, 1), `b` and `c` share one half with it; each gate keeps one half."""
    table = word_table([[1, 1], [1, -1], [-1, 1], [-1, -1]], list("abcd"))
    cosines = cosines_with(table, [1.0, 0], [0, 1.0])
    by_word = dict(zip(cosines.columns, cosines.values.T.tolist()))
    assert by_word == {"b": [1, -1], "c": [-1, 1], "d": [-1, -1]}
    assert _nearest_words(cosines) == [["1", "first", "b, c, d"], ["2", "second", "c, b, d"]]


def test_a_gate_scales_the_dimensions() -> None:
    """cos of (1, 1) and (1, 0.5) with the gate (0.5, 2): (0.5, 2) · (0.5, 1) over the norms."""
    table = word_table([[1, 1], [1, 0.5]], ["a", "b"])
    cosines = cosines_with(table, [0.5, 2.0])
    expected = (0.25 + 2) / (numpy.hypot(0.5, 2) * numpy.hypot(0.5, 1))
    assert cosines.values[0, 0] == pytest.approx(expected)


def test_neighbours_in_a_context_need_not_be_neighbours_without_it() -> None:
    kinds = {"a": [1.0, 1, -5, -5], "b": [-5.0, -5, 1, 1], "c": [1.0, 0.9, 1, 0.9]}
    vectors = [[1.0] * 4]
    names = ["word"]
    for kind, vector in kinds.items():
        vectors += [vector] * 12
        names += [f"{kind}{number}" for number in range(12)]
    table = word_table(vectors, names)
    near = neighbours(table.vectors, 4, count=12, excluded=table.excluded)
    assert {name[0] for name in table.names_of(near)} == {"c"}
    cosines = cosines_with(table, [1.0, 1, 0, 0], [0, 0, 1.0, 1])
    assert {name[0] for name in cosines.columns} == {"a", "b"}


def test_the_gate_of_a_context_is_that_of_the_model(
    translator: Translator, record_result: RecordResult
) -> None:
    """The English encoder has roles before its gate."""
    text = "Is the old house here?"
    piece = piece_of(translator.vocabularies["en"], "the")
    gate = _gate(translator, "en", "encoder", piece, ("en", text))
    expected = record_result("en", text, ContextGate, "_gates_from_context")
    assert numpy.allclose(gate, expected, atol=1e-6)


def test_an_encoder_has_gates_in_a_run_with_a_single_target_language(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ("en", "Is the old house here?")
    piece = piece_of(translator.vocabularies["en"], "the")
    expected = _gate(translator, "en", "encoder", piece, context)
    monkeypatch.setattr(Translator, "targets", ["fr"])
    assert _gate(translator, "en", "encoder", piece, context).equal(expected)


def test_words_next_to_the_word_along_an_axis() -> None:
    """Four words are on the left of the word, and two on its right; three and two are shown."""
    table = WordTable(torch.zeros(7, 1), list("wabcdef"), 0, [])
    coordinates = numpy.array([0.0, -4.0, 0.5, -1.0, -3.0, 9.0, -2.0])
    assert words_beside(table, range(1, 7), coordinates) == ["d", "f", "c", "(w)", "b", "e"]


# Pages


def test_the_chart_of_a_word(translator: Translator) -> None:
    word = word_of(translator, "de")
    nearest, along_axes = chart_page(translator, word, "de", side="decoder").tables
    assert len(nearest.rows) == 12
    assert len(along_axes.rows) == 3
    cosines = [float(row[1]) for row in nearest.rows]
    assert cosines == sorted(cosines, reverse=True)


def test_the_chart_of_a_word_in_contexts(translator: Translator) -> None:
    word = word_of(translator, "de")
    texts = [f"{word} Haus .", f"alt {word} ist ."]
    page = chart_page(translator, word, "de", contexts=[("de", text) for text in texts])
    assert len(page.pictures) == 2
    _, _, contexts = page.tables
    assert [row[0] for row in contexts.rows] == ["1", "2"]
    assert [row[1] for row in contexts.rows] == texts


def test_rows_of_the_picture_have_the_numbers_of_the_table(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table has the sentences, which are too long for the picture."""
    panels = []

    def keep_panels(drawn: list[Panel], *, title: str) -> bytes:
        panels.extend(drawn)
        return b""

    monkeypatch.setattr("polyglot.analysis.word_neighbours.panels_png", keep_panels)
    word = word_of(translator, "de")
    contexts = [("de", text) for text in (word, f"alt {word} ist .", f"{word} Haus .")]
    page = chart_page(translator, word, "de", contexts=contexts)
    [panel] = panels
    assert panel.rows == [row[0] for row in page.tables[-1].rows] == ["1", "2", "3"]
    assert panel.values.tolist() == page.values["contexts"]["cosines"]
    assert panel.columns == page.values["contexts"]["words"]


def test_the_gate_of_a_decoder_depends_on_the_source_sentence(translator: Translator) -> None:
    word = word_of(translator, "de")
    weight = translator.model.decoders["de"].options["context_gate"].gate.weight
    original = weight.detach().clone()

    def cosines_by_context(scale: float) -> list[list[float]]:
        contexts = [("en", "the old house ."), ("fr", "le lac .")]
        with torch.no_grad():
            weight.copy_(scale * original)
        page = chart_page(translator, word, "de", side="decoder", contexts=contexts)
        with torch.no_grad():
            weight.copy_(original)
        return page.values["contexts"]["cosines"]

    english, french = cosines_by_context(100)
    assert english != french
    english, french = cosines_by_context(0)
    assert english == french


def test_byte_pieces_are_not_neighbours(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocabulary = translator.vocabularies["de"]
    pieces = vocabulary.pieces(list(range(len(vocabulary))))
    for number in range(0, len(pieces), 3):
        pieces[number] = f"<0x{number:02X}>"
    monkeypatch.setattr(
        type(vocabulary), "pieces", lambda self, ids: [pieces[number] for number in ids]
    )
    page = chart_page(translator, pieces[10].removeprefix("▁"), "de")
    assert "<0x" not in page.markdown()
    assert "0x" not in str(page.values)


def test_long_sentences_leave_room_for_the_figure(translator: Translator) -> None:
    word = word_of(translator, "de")
    contexts = [("de", f"{word} " + "alt Haus " * 40), ("de", word)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chart_page(translator, word, "de", contexts=contexts)


# Errors


def test_contexts_need_a_context_gate(translator: Translator) -> None:
    word = word_of(translator, "fr")
    with pytest.raises(ConfigError, match="chart: the encoder of fr has no context gate"):
        chart_page(translator, word, "fr", contexts=[("fr", word)])


def test_contexts_must_be_in_a_language_that_is_read(translator: Translator) -> None:
    word = word_of(translator, "de")
    with pytest.raises(ConfigError, match="--sentence en=…: the encoder of de reads only de"):
        chart_page(translator, word, "de", contexts=[("en", "house")])
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        chart_page(translator, word, "de", side="decoder", contexts=[("xx", "house")])


def test_unknown_words_are_refused(translator: Translator) -> None:
    message = "chart: 'Nirgendwohin' is not a piece in the vocabulary of de"
    with pytest.raises(DataError, match=message):
        chart_page(translator, "Nirgendwohin", "de")


def test_a_context_of_an_encoder_contains_the_word(translator: Translator) -> None:
    with pytest.raises(DataError, match="is not in the sentence 'zzz'"):
        chart_page(translator, word_of(translator, "de"), "de", contexts=[("de", "zzz")])
