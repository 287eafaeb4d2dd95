"""Attention of the bridge heads in several languages."""

from __future__ import annotations

import numpy
import pytest

from polyglot.analysis.bridge_attention import heads_page
from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.translator import Translator
from polyglot.runs.run import Run


def test_every_language_has_a_sentence_by_default(run: Run, translator: Translator) -> None:
    page = heads_page(run, translator)
    sentences = page.values["sentences"]
    assert [sentence["language"] for sentence in sentences] == ["en", "de", "fr"]
    for sentence in sentences:
        weights = numpy.array(sentence["weights"])
        assert weights.shape[1] == len(sentence["pieces"])
        assert numpy.allclose(weights.sum(axis=1), 1, atol=1e-4)
    assert len(page.tables[0].rows) == len(sentences[0]["weights"])


def test_the_table_shows_the_position_with_the_most_attention(
    run: Run, translator: Translator
) -> None:
    page = heads_page(run, translator, [("de", "Der alte Bauer schläft.")])
    (sentence,) = page.values["sentences"]
    for row, weights in zip(page.tables[0].rows, sentence["weights"]):
        position = weights.index(max(weights))
        assert row[1] == f"{sentence['pieces'][position]} ({100 * max(weights):.0f} %)"


def test_unknown_languages_and_empty_sentences_are_refused(
    run: Run, translator: Translator
) -> None:
    with pytest.raises(ConfigError, match="no encoder named 'xx'"):
        heads_page(run, translator, [("xx", "Ein Haus.")])
    with pytest.raises(DataError, match="heads: the sentence of de is empty"):
        heads_page(run, translator, [("de", " ")])
