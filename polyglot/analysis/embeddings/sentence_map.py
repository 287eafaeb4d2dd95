"""Map of sentences: embeddings of all languages, projected on a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy
import torch

from polyglot.analysis.embeddings.titled_figure import titled_figure
from polyglot.analysis.figures import figure_png
from polyglot.evaluation.views.heat_map import LINE_COLOUR, TEXT_COLOUR

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINKED_SENTENCES = 12  # sentences with a line to their translations
SEED = 0  # of t-SNE and UMAP


@dataclass(frozen=True)
class SentenceMap:
    """N sentences of all languages on planes; row n of each language is the same sentence."""

    sentences: Mapping[str, Sequence[str]]
    """by language"""
    planes: Mapping[str, Mapping[str, numpy.ndarray]]
    """points (N, 2) by projection and language"""


def sentence_map(
    vectors: Mapping[str, numpy.ndarray],
    sentences: Mapping[str, Sequence[str]],
) -> SentenceMap:
    """Project the vectors with every installed method. vectors: (N, D) by language."""
    planes = {}
    for name, points in projections(numpy.concatenate(list(vectors.values()))).items():
        by_language = points.reshape(len(vectors), -1, 2)
        planes[name] = dict(zip(vectors, by_language))
    return SentenceMap(sentences, planes)


def projections(vectors: numpy.ndarray) -> dict[str, numpy.ndarray]:
    """Project vectors (N, D) on planes (N, 2) by PCA, t-SNE and UMAP.

    t-SNE needs scikit-learn and UMAP needs umap-learn; without them the projection is left out.
    """
    matrix = torch.from_numpy(numpy.asarray(vectors, dtype=numpy.float32))
    centred = matrix - matrix.mean(dim=0)
    title, points = _pca(centred)
    planes = {title: points}
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        pass
    else:
        perplexity = min(30, (len(vectors) - 1) / 3)
        tsne = TSNE(
            perplexity=perplexity,
            init="pca",
            random_state=SEED,
            metric="cosine",
        )
        planes["t-SNE"] = tsne.fit_transform(centred.numpy())
    try:
        from umap import UMAP
    except ImportError:
        pass
    else:
        umap = UMAP(random_state=SEED, n_jobs=1, metric="cosine")
        planes["UMAP"] = umap.fit_transform(centred.numpy())
    return planes


def _pca(centred: torch.Tensor) -> tuple[str, numpy.ndarray]:
    """Title with the share of the variance, and first two principal components (N, 2)."""
    left, lengths, _ = torch.linalg.svd(centred, full_matrices=False)
    variance = lengths.square().sum().clamp(min=1e-12)
    share = float(lengths[:2].square().sum() / variance)
    points = left[:, :2] * lengths[:2]
    return f"PCA, {share:.0%} of the variance", points.numpy()


def map_png(sentences: SentenceMap, *, title: str) -> bytes:
    """Figure with a panel for each projection. Lines join some sentences to translations."""
    panels = len(sentences.planes)
    languages = len(sentences.sentences)
    figure = titled_figure(title, width=5.2 * panels, height=5.8)
    all_axes = figure.subplots(1, panels, squeeze=False)[0]
    for axes, (name, points_by_language) in zip(all_axes, sentences.planes.items()):
        _draw_plane(axes, points_by_language)
        axes.set_title(name, size=10, color=TEXT_COLOUR)
    figure.legend(
        *all_axes[-1].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=min(languages, 12),
        frameon=False,
        fontsize=9,
    )
    return figure_png(figure)


def _draw_plane(axes: Axes, points_by_language: Mapping[str, numpy.ndarray]) -> None:
    points = numpy.stack(list(points_by_language.values()))
    for number in range(min(LINKED_SENTENCES, points.shape[1])):
        translations = points[:, number]
        closed_line = numpy.concatenate([translations, translations[:1]])
        axes.plot(*closed_line.T, color=LINE_COLOUR, linewidth=0.8, zorder=1)

    colours = _colours(len(points_by_language))
    for (language, points_of_language), colour in zip(points_by_language.items(), colours):
        axes.scatter(
            *points_of_language.T,
            s=14,
            color=colour,
            label=language,
            zorder=2,
        )
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color(LINE_COLOUR)


def _colours(count: int) -> list[tuple[float, ...]]:
    """Different colours for the languages."""
    from matplotlib import colormaps

    if count <= 10:
        return [colormaps["tab10"](number) for number in range(count)]
    return [colormaps["turbo"](number / count) for number in range(count)]
