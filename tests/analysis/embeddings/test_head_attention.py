"""Attention of the bridge heads by tenths of the sentence."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
import torch

from polyglot.analysis.embeddings.head_attention import HeadAttention, head_attention, tenths
from tests.evaluation.tiny import TEXT, tiny_run, tiny_translator


def test_a_position_is_divided_among_tenths() -> None:
    """The second of three words lies in the 4th to the 7th tenth."""
    mask = torch.tensor([[True, True, True, False]])
    attention = torch.tensor([0.0, 1.0, 0.0, 0.0]).double()
    shares = attention @ tenths(mask)[0]
    numpy.testing.assert_allclose(shares, [0, 0, 0, 0.2, 0.3, 0.3, 0.2, 0, 0, 0], atol=1e-9)


def test_the_mean_similarity_is_that_of_different_heads() -> None:
    similarity = numpy.array([[1, 0.2, 0.4], [0.2, 1, 0.6], [0.4, 0.6, 1]])
    assert HeadAttention({}, similarity).mean_similarity == pytest.approx((0.2 + 0.4 + 0.6) / 3)
    assert HeadAttention({}, similarity[:1, :1]).mean_similarity is None


def test_the_attention_is_the_mean_over_sentences(tmp_path: Path) -> None:
    translator = tiny_translator(tiny_run(tmp_path))
    result = head_attention(translator, TEXT)
    assert result.positions.keys() == {"en", "de", "fr"}

    similarities = []
    for language, lines in TEXT.items():
        positions = []
        for line in lines:
            tokens = torch.tensor(translator.encode_text([line], language))
            mask = torch.ones_like(tokens, dtype=torch.bool)
            with torch.inference_mode():
                weights = translator.model.encode(language, tokens, mask).weights[0].double()
            positions.append(weights @ tenths(mask)[0])
            norms = weights.norm(dim=1)
            similarities.append(weights @ weights.T / torch.outer(norms, norms))
        expected = torch.stack(positions).mean(dim=0)
        numpy.testing.assert_allclose(result.positions[language], expected, atol=1e-6)
    expected = torch.stack(similarities).mean(dim=0)
    numpy.testing.assert_allclose(result.similarity, expected, atol=1e-6)
