"""Sentences of all languages on a plane, and what the heads of the bridge attend to: numbers and PNG files."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy
import torch

from polyglot.evaluation.views.heat_map import BACKGROUND, DPI, LINE_COLOUR, TEXT_COLOUR
from polyglot.inference.embeddings.encoder import embedding_batches
from polyglot.inference.translator import Translator
from polyglot.tasks.batch import pad

BINS = 10  # tenths of a sentence
LINKED = 12  # sentences whose translations are joined by a line


# A map --------------------------------------------------------------------------------------------------------------------


def projections(vectors: numpy.ndarray, *, seed: int = 0) -> dict[str, numpy.ndarray]:
    """Every way to the plane that is installed: PCA always, t-SNE with scikit-learn, UMAP with umap-learn. (N, D) -> (N, 2) each"""
    centred = torch.from_numpy(numpy.asarray(vectors, dtype=numpy.float32))
    centred = centred - centred.mean(dim=0)
    left, lengths, _ = torch.linalg.svd(centred, full_matrices=False)
    share = float(lengths[:2].square().sum() / lengths.square().sum().clamp(min=1e-12))
    found = {f"PCA, {share:.0%} of the variance": (left[:, :2] * lengths[:2]).numpy()}
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        pass
    else:
        perplexity = min(30, (len(vectors) - 1) / 3)
        found["t-SNE"] = TSNE(
            perplexity=perplexity, init="pca", random_state=seed, metric="cosine"
        ).fit_transform(centred.numpy())
    try:
        from umap import UMAP
    except ImportError:
        pass
    else:
        found["UMAP"] = UMAP(random_state=seed, n_jobs=1, metric="cosine").fit_transform(
            centred.numpy()
        )
    return found


@dataclass(frozen=True)
class SentenceMap:
    """Sentences of all languages on a plane; row n of each language is the same sentence."""

    sentences: Mapping[str, Sequence[str]]
    """by language, N of them"""
    planes: Mapping[str, Mapping[str, numpy.ndarray]]
    """by projection and language (N, 2)"""


def sentence_map(
    vectors: Mapping[str, numpy.ndarray], sentences: Mapping[str, Sequence[str]]
) -> SentenceMap:
    """vectors: by language (N, D) of its sentences, in every projection that is installed"""
    planes = projections(numpy.concatenate(list(vectors.values())))
    return SentenceMap(
        sentences,
        {
            name: dict(zip(vectors, points.reshape(len(vectors), -1, 2)))
            for name, points in planes.items()
        },
    )


def map_png(found: SentenceMap, *, title: str) -> bytes:
    """A panel for each projection; the first few sentences are joined with their translations."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    count = len(found.sentences)
    figure = Figure(
        figsize=(5.2 * len(found.planes), 5.8), dpi=DPI, facecolor=BACKGROUND, layout="constrained"
    )
    figure.suptitle(title, size=12, weight="bold", color=TEXT_COLOUR, parse_math=False)
    colours = [
        colormaps["tab10" if count <= 10 else "turbo"](number if count <= 10 else number / count)
        for number in range(count)
    ]
    for axes, (name, places) in zip(
        figure.subplots(1, len(found.planes), squeeze=False)[0], found.planes.items()
    ):
        own = numpy.stack(list(places.values()))
        for number in range(min(LINKED, own.shape[1])):
            axes.plot(
                *numpy.concatenate([own[:, number], own[:1, number]]).T,
                color=LINE_COLOUR,
                linewidth=0.8,
                zorder=1,
            )
        for (language, points), colour in zip(places.items(), colours):
            axes.scatter(*points.T, s=14, color=colour, label=language, zorder=2)
        axes.set_title(name, size=10, color=TEXT_COLOUR)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color(LINE_COLOUR)
    figure.legend(
        *axes.get_legend_handles_labels(),
        loc="outside lower center",
        ncols=min(count, 12),
        frameon=False,
        fontsize=9,
    )
    return _png(figure)


# The heads of the bridge --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Heads:
    """What the K heads of a bridge attend to."""

    positions: Mapping[str, numpy.ndarray]
    """by language (K, BINS): the share of a head's attention in each tenth of the sentence, mean over sentences"""
    similarity: numpy.ndarray
    """(K, K): cosine of the attention of two heads, mean over sentences of all languages; what the penalty keeps small"""

    @property
    def alike(self) -> float | None:
        """The mean cosine of two different heads; None where there is one head."""
        count = len(self.similarity)
        return (
            float(self.similarity.sum() - self.similarity.trace()) / (count * (count - 1))
            if count > 1
            else None
        )


def heads(translator: Translator, sentences: Mapping[str, Sequence[str]]) -> Heads | None:
    """sentences: by language. None for a bridge whose memory is not mixed from positions by weights."""
    positions, likeness, count = {}, 0.0, 0
    for language, texts in sentences.items():
        pieces = translator.encode_text(texts, language)
        total, own = 0.0, 0
        for rows in embedding_batches([len(one) for one in pieces], size=128):
            tokens, mask = (
                tensor.to(translator.device) for tensor in pad([pieces[row] for row in rows])
            )
            with torch.inference_mode():
                weights = translator.model.encode(language, tokens, mask).weights
            if weights is None:
                return None
            weights = weights.double().cpu()
            unit = torch.nn.functional.normalize(weights, dim=-1)
            likeness += (unit @ unit.transpose(1, 2)).sum(dim=0)
            total += (weights @ _tenths(mask.cpu())).sum(dim=0)
            own += len(rows)
        positions[language] = (total / own).numpy()
        count += own
    return Heads(positions, (likeness / count).numpy())


def _tenths(mask: torch.Tensor) -> torch.Tensor:
    """The share of each position that lies in each tenth of its sentence. mask (B, S) -> (B, S, BINS)"""
    lengths = mask.sum(dim=1, keepdim=True).double()
    places = torch.arange(mask.shape[1]).double()
    begin, end = (places / lengths).unsqueeze(-1), ((places + 1) / lengths).unsqueeze(-1)
    lower = torch.arange(BINS).double() / BINS
    overlap = (torch.minimum(end, lower + 1 / BINS) - torch.maximum(begin, lower)).clamp(min=0)
    return overlap * lengths.unsqueeze(-1) * mask.unsqueeze(-1)


def heads_png(found: Heads, *, title: str) -> bytes:
    """For each language heads by tenths of a sentence, and beside them how alike heads are."""
    from matplotlib.figure import Figure

    count = len(found.similarity)
    order = numpy.argsort(
        numpy.mean([own @ numpy.arange(BINS) for own in found.positions.values()], axis=0),
        kind="stable",
    )  # from front to end
    panels = len(found.positions) + 1
    figure = Figure(
        figsize=(2.6 * panels + 1, max(3.2, 0.18 * count + 1.6)),
        dpi=DPI,
        facecolor=BACKGROUND,
        layout="constrained",
    )
    figure.suptitle(title, size=12, weight="bold", color=TEXT_COLOUR, parse_math=False)
    axes = figure.subplots(1, panels)
    top = max(own.max() for own in found.positions.values())
    for place, (language, own) in zip(axes, found.positions.items()):
        picture = place.imshow(own[order], aspect="auto", cmap="Blues", vmin=0, vmax=top)
        place.set_title(f"{language}: share of attention", size=9, color=TEXT_COLOUR)
        place.set_xlabel("tenth of the sentence", size=8, color=TEXT_COLOUR)
        place.set_xticks(range(BINS), range(1, BINS + 1), size=7)
        place.set_yticks(range(count), order + 1, size=6)
    figure.colorbar(picture, ax=axes[-2], fraction=0.08)
    picture = axes[-1].imshow(
        found.similarity[numpy.ix_(order, order)], cmap="Blues", vmin=0, vmax=1
    )
    axes[-1].set_title("how alike two heads are", size=9, color=TEXT_COLOUR)
    axes[-1].set_xticks(range(count), order + 1, size=6, rotation=90)
    axes[-1].set_yticks(range(count), order + 1, size=6)
    figure.colorbar(picture, ax=axes[-1], fraction=0.08)
    axes[0].set_ylabel("head", size=8, color=TEXT_COLOUR)
    return _png(figure)


def _png(figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", facecolor=BACKGROUND)
    return file.getvalue()
