"""Charts of words, and the bridge's heads in several languages."""

from __future__ import annotations

import numpy
import pytest
import torch

from polyglot.analysis.charts import chart, neighbours, principal_axes
from polyglot.analysis.heads import heads
from polyglot.errors import ConfigError, DataError


def test_neighbours_are_the_nearest_by_cosine_and_no_special_pieces():
    table = torch.tensor([[9.0, 9], [9, 9], [9, 9], [9, 9], [1, 1], [2, 2.1], [0, 1], [-1, -1]])
    assert neighbours(table, 4, count=3) == [5, 6, 7] and neighbours(table, 4, count=99) == [5, 6, 7]


def test_the_first_axis_is_that_of_the_largest_spread():
    random = torch.Generator().manual_seed(0)
    vectors = torch.randn(200, 5, generator=random) * torch.tensor([9.0, 1, 1, 1, 0.1])
    axes = principal_axes(vectors)
    assert axes.shape == (200, 3)
    assert abs(numpy.corrcoef(axes[:, 0], vectors[:, 0])[0, 1]) > 0.99


def test_the_chart_of_a_word_and_of_the_same_word_in_contexts(translator):
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    texts = [f"{word} Haus .", f"alt {word} ist ."]
    page = chart(translator, word, "de", contexts=[("de", text) for text in texts])
    near, along, contexts = page.tables
    assert len(near.rows) == 12 and len(along.rows) == 3
    cosines = [float(row[1]) for row in near.rows]
    assert cosines == sorted(cosines, reverse=True)
    assert [row[0] for row in contexts.rows] == texts and len(page.pictures) == 2
    assert len(chart(translator, word, "de", side="decoder").tables) == 2


def test_a_decoder_s_words_in_the_context_of_what_was_read(translator):
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    gate = translator.model.decoders["de"].options["context_gate"].gate
    read = [("en", "the old house ."), ("fr", "le lac .")]
    before = gate.weight.detach().clone()
    with torch.no_grad():
        gate.weight.mul_(100)
    one, other = chart(translator, word, "de", side="decoder", contexts=read).values["contexts"]["cosines"]
    with torch.no_grad():
        gate.weight.zero_()
    same, without = chart(translator, word, "de", side="decoder", contexts=read).values["contexts"]["cosines"]
    with torch.no_grad():
        gate.weight.copy_(before)
    assert one != other and same == without


def test_contexts_that_change_nothing_or_are_not_read_are_refused(translator):
    word = translator.vocabularies["fr"].pieces([9])[0].removeprefix("▁")
    with pytest.raises(ConfigError, match="the encoder of fr has the same words in every --sentence"):
        chart(translator, word, "fr", contexts=[("fr", word)])
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    with pytest.raises(ConfigError, match="--sentence en=…: the encoder of de reads de alone"):
        chart(translator, word, "de", contexts=[("en", "house")])
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        chart(translator, word, "de", side="decoder", contexts=[("xx", "house")])


def test_what_is_no_piece_or_not_in_its_context_is_said(translator):
    with pytest.raises(DataError, match="chart: 'Nirgendwohin' is no piece in the vocabulary of de"):
        chart(translator, "Nirgendwohin", "de")
    word = translator.vocabularies["de"].pieces([9])[0].removeprefix("▁")
    with pytest.raises(DataError, match="is not in the sentence"):
        chart(translator, word, "de", contexts=[("de", "zzz")])


def test_heads_of_several_languages_side_by_side(run, translator):
    page = heads(run, translator)
    assert [one["language"] for one in page.values["sentences"]] == ["en", "de", "fr"]
    for one in page.values["sentences"]:
        assert numpy.allclose(numpy.sum(one["weights"], axis=1), 1, atol=1e-4) and len(one["weights"][0]) == len(one["pieces"])
    assert len(page.tables[0].rows) == len(page.values["sentences"][0]["weights"])
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        heads(run, translator, [("xx", "Ein Haus.")])
