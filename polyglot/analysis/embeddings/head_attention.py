"""Attention of the bridge heads: positions in the sentence, and similarity of the heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy
import torch
from torch import Tensor
from torch.nn import functional

from polyglot.analysis.embeddings.titled_figure import titled_figure
from polyglot.analysis.figures import figure_png
from polyglot.evaluation.views.heat_map import TEXT_COLOUR
from polyglot.inference.embeddings.encoder import embedding_batches
from polyglot.inference.translator import Translator
from polyglot.tasks.batch import pad

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 10  # tenths of a sentence
BATCH_SIZE = 128  # sentences


@dataclass(frozen=True)
class HeadAttention:
    """Mean attention of the K heads of a bridge."""

    positions: Mapping[str, numpy.ndarray]
    """(K, BINS) by language: share of the attention on each tenth of the sentence"""
    similarity: numpy.ndarray
    """(K, K): cosine of the attention of two heads, which the penalty reduces; all languages"""

    @property
    def mean_similarity(self) -> float | None:
        """Mean cosine of two different heads; None for a single head."""
        count = len(self.similarity)
        if count == 1:
            return None
        different_heads = float(self.similarity.sum() - self.similarity.trace())
        return different_heads / (count * (count - 1))


def head_attention(
    translator: Translator,
    sentences: Mapping[str, Sequence[str]],
) -> HeadAttention | None:
    """Measure the attention on sentences by language.

    None for a bridge whose rows are not weighted sums of positions.
    """
    positions = {}
    similarity = 0.0
    total_count = 0
    for language, texts in sentences.items():
        pieces = translator.encode_text(texts, language)
        position_sum = 0.0
        count = 0
        for rows in embedding_batches([len(ids) for ids in pieces], size=BATCH_SIZE):
            tokens, mask = pad([pieces[row] for row in rows])
            weights = _weights(translator, language, tokens, mask)
            if weights is None:
                return None
            unit_weights = functional.normalize(weights, dim=-1)
            similarity += (unit_weights @ unit_weights.transpose(1, 2)).sum(dim=0)
            position_sum += (weights @ tenths(mask)).sum(dim=0)
            count += len(rows)
        positions[language] = (position_sum / count).numpy()
        total_count += count
    return HeadAttention(positions, (similarity / total_count).numpy())


def _weights(
    translator: Translator,
    language: str,
    tokens: Tensor,
    mask: Tensor,
) -> Tensor | None:
    """Attention weights (B, K, S) of the bridge, in float64."""
    device = translator.device
    with torch.inference_mode():
        memory = translator.model.encode(language, tokens.to(device), mask.to(device))
    if memory.weights is None:
        return None
    return memory.weights.double().cpu()


def tenths(mask: Tensor) -> Tensor:
    """Share of each position that lies in each tenth of its sentence.

    mask (B, S) -> (B, S, BINS).
    """
    lengths = mask.sum(dim=1, keepdim=True).double()
    positions = torch.arange(mask.shape[1]).double()
    start = (positions / lengths).unsqueeze(-1)
    end = ((positions + 1) / lengths).unsqueeze(-1)
    bin_start = torch.arange(BINS).double() / BINS
    bin_end = bin_start + 1 / BINS
    overlap = (torch.minimum(end, bin_end) - torch.maximum(start, bin_start)).clamp(min=0)
    return overlap * lengths.unsqueeze(-1) * mask.unsqueeze(-1)


def heads_png(heads: HeadAttention, *, title: str) -> bytes:
    """Figure with the attention of the heads in each language, and the similarity of the heads."""
    count = len(heads.similarity)
    panels = len(heads.positions) + 1
    width = 2.6 * panels + 1
    height = max(3.2, 0.18 * count + 1.6)
    figure = titled_figure(title, width=width, height=height)
    *language_axes, similarity_axes = figure.subplots(1, panels)

    order = _order(heads)
    largest = max(shares.max() for shares in heads.positions.values())
    for axes, (language, shares) in zip(language_axes, heads.positions.items()):
        image = axes.imshow(
            shares[order],
            aspect="auto",
            cmap="Blues",
            vmin=0,
            vmax=largest,
        )
        _label_panel(axes, f"{language}: share of attention", order)
        axes.set_xlabel("tenth of the sentence", size=8, color=TEXT_COLOUR)
        axes.set_xticks(range(BINS), range(1, BINS + 1), size=7)
    figure.colorbar(image, ax=language_axes[-1], fraction=0.08)

    _draw_similarity(similarity_axes, heads.similarity[numpy.ix_(order, order)], order)
    language_axes[0].set_ylabel("head", size=8, color=TEXT_COLOUR)
    return figure_png(figure)


def _draw_similarity(axes: Axes, similarity: numpy.ndarray, order: numpy.ndarray) -> None:
    image = axes.imshow(similarity, cmap="Blues", vmin=0, vmax=1)
    _label_panel(axes, "similarity of two heads", order)
    axes.set_xticks(range(len(order)), order + 1, size=6, rotation=90)
    axes.figure.colorbar(image, ax=axes, fraction=0.08)


def _order(heads: HeadAttention) -> numpy.ndarray:
    """Heads from the start to the end of the sentence, by the mean position of their attention."""
    bins = numpy.arange(BINS)
    means = [shares @ bins for shares in heads.positions.values()]
    return numpy.argsort(numpy.mean(means, axis=0), kind="stable")


def _label_panel(
    axes: Axes,
    title: str,
    order: numpy.ndarray,
) -> None:
    axes.set_title(title, size=9, color=TEXT_COLOUR)
    axes.set_yticks(range(len(order)), order + 1, size=6)
