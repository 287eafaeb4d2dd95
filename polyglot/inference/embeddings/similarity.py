"""How alike vectors are, and which are nearest: cosine similarity and its margin, in bounded memory.

The ratio margin divides the cosine of a pair by the mean cosine of both with their k nearest neighbours on the other side, so
that a sentence near everything is no better a match for anything (Artetxe and Schwenk 2019, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.embeddings.pooling import normalized

Vectors = Tensor | numpy.ndarray | Sequence[Tensor] | Sequence[numpy.ndarray]

BLOCK_SIZE = 1 << 12  # vectors of each side compared at once: 64 MB of similarities


class Neighbours(NamedTuple):
    """The nearest of one side for each of the other."""

    similarities: Tensor
    """(N, k) cosines, the nearest first"""
    rows: Tensor
    """(N, k) which ones"""


Search = Callable[[Vectors, Vectors, int], Neighbours]


def similarity(embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
    """Cosine of every one with every other. (N, D) and (M, D), or one vector (D,) -> (N, M)

    Raises DataError where their sizes differ.
    """
    one, other = _unit(embeddings1), _unit(embeddings2)
    if one.dim() != 2 or other.dim() != 2 or one.shape[1] != other.shape[1]:
        raise DataError(
            f"similarity: shapes {tuple(one.shape)} and {tuple(other.shape)}; vectors of one size, (N, D) and (M, D), can be compared"
        )
    return one @ other.T


def similarity_pairwise(embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
    """Cosine of those of the same number. (N, D) and (N, D), or one vector for all of the other side -> (N,)

    Raises DataError where their numbers or sizes differ.
    """
    one, other = _unit(embeddings1), _unit(embeddings2)
    if one.shape[1:] != other.shape[1:] or (
        len(one) != len(other) and 1 not in (len(one), len(other))
    ):
        raise DataError(
            f"similarity_pairwise: shapes {tuple(one.shape)} and {tuple(other.shape)}; "
            "as many vectors of one size, (N, D) twice, are needed"
        )
    return (one * other).sum(dim=-1)


def exact_neighbours(queries: Vectors, vectors: Vectors, k: int) -> Neighbours:
    """By comparing all with all, a block at a time; of fewer than k vectors all. queries (N, D), vectors (M, D)"""
    k = min(k, len(vectors))
    found = []
    for start in range(0, len(queries), BLOCK_SIZE):
        wanted, best = _unit(queries[start : start + BLOCK_SIZE]), None
        for first in range(0, len(vectors), BLOCK_SIZE):
            cosines = wanted @ _unit(vectors[first : first + BLOCK_SIZE]).T
            near = cosines.topk(min(k, cosines.shape[1]))
            near = Neighbours(near.values, near.indices + first)
            if best is not None:
                values, rows = (
                    torch.cat([best.similarities, near.similarities], dim=1),
                    torch.cat([best.rows, near.rows], dim=1),
                )
                top = values.topk(min(k, values.shape[1]))
                near = Neighbours(top.values, rows.gather(1, top.indices))
            best = near
        found.append(best)
    return Neighbours(
        torch.cat([one.similarities for one in found]), torch.cat([one.rows for one in found])
    )


def faiss_neighbours(queries: Vectors, vectors: Vectors, k: int) -> Neighbours:
    """From an inverted index that looks into the nearest cells only: fast for millions, and not always exact.

    √M cells, the nearest 32 are searched (Johnson et al. 2019). Raises ConfigError where faiss is not installed.
    """
    try:
        import faiss
    except ImportError:
        raise ConfigError(
            "search: 'faiss' is not installed; pip install 'polyglot-nmt[faiss]', or use exact search"
        ) from None
    k, size = min(k, len(vectors)), vectors.shape[1]
    cells = max(
        1, min(round(len(vectors) ** 0.5), len(vectors) // 39)
    )  # fewer than 39 vectors a cell are too few to learn it from
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(size), size, cells, faiss.METRIC_INNER_PRODUCT)
    index.nprobe = min(cells, 32)
    sample = numpy.random.default_rng(0).permutation(len(vectors))[: 256 * cells]
    index.train(_unit(vectors[numpy.sort(sample)]).numpy())
    for start in range(0, len(vectors), BLOCK_SIZE):
        index.add(_unit(vectors[start : start + BLOCK_SIZE]).numpy())
    blocks = [
        index.search(_unit(queries[start : start + BLOCK_SIZE]).numpy(), k)
        for start in range(0, len(queries), BLOCK_SIZE)
    ]
    return Neighbours(*(torch.from_numpy(numpy.concatenate(part)) for part in zip(*blocks)))


SEARCHES: dict[str, Search] = {"exact": exact_neighbours, "faiss": faiss_neighbours}
MARGINS = ("ratio", "cosine")


def scored_neighbours(
    sources: Vectors,
    targets: Vectors,
    *,
    k: int = 4,
    margin: str = "ratio",
    search: Search = exact_neighbours,
) -> tuple[Neighbours, Neighbours]:
    """The k nearest on the other side of each source and of each target, by score instead of cosine where margin is `ratio`, best first."""
    forwards, backwards = search(sources, targets, k), search(targets, sources, k)
    if margin == "cosine":
        return forwards, backwards
    return _by_margin(forwards, backwards), _by_margin(backwards, forwards)


def _by_margin(near: Neighbours, other: Neighbours) -> Neighbours:
    own, theirs = near.similarities.mean(dim=1, keepdim=True), other.similarities.mean(dim=1)
    between = (own + theirs[near.rows]) / 2
    scores = torch.where(between == 0, 0.0, near.similarities / between)
    order = scores.argsort(dim=1, descending=True, stable=True)
    return Neighbours(scores.gather(1, order), near.rows.gather(1, order))


class Pair(NamedTuple):
    """Two sentences that belong together, as far as can be seen."""

    score: float
    source: int
    target: int


def mine_bitext(
    forwards: Neighbours, backwards: Neighbours, *, threshold: float = -float("inf")
) -> list[Pair]:
    """Bitext: the best of each side, best pairs first, every sentence used once (Artetxe and Schwenk 2019, section 3.3, "max")."""
    pairs = {Pair(score, row, other) for row, (score, other) in enumerate(_best(forwards))}
    pairs |= {Pair(score, other, row) for row, (score, other) in enumerate(_best(backwards))}
    kept, sources, targets = [], set(), set()
    for pair in sorted(pairs, key=lambda pair: (-pair.score, pair.source, pair.target)):
        if pair.score >= threshold and pair.source not in sources and pair.target not in targets:
            sources.add(pair.source)
            targets.add(pair.target)
            kept.append(pair)
    return kept


def _best(near: Neighbours) -> list[tuple[float, int]]:
    return list(zip(near.similarities[:, 0].tolist(), near.rows[:, 0].tolist()))


def _unit(vectors: Vectors) -> Tensor:
    """Any kind of vectors as float32 (N, D) of length 1. Raises DataError for a list of none, and of different shapes."""
    if isinstance(vectors, numpy.ndarray):
        vectors = torch.from_numpy(
            numpy.array(vectors, dtype=numpy.float32)
        )  # a copy: a memory map cannot be written to
    elif not isinstance(vectors, Tensor):
        every = [torch.as_tensor(one) for one in vectors]
        if len(shapes := dict.fromkeys(tuple(one.shape) for one in every)) != 1:
            found = " and ".join(map(str, list(shapes)[:2])) or "an empty list"
            raise DataError(f"similarity: the vectors of a list have one shape (D,), found {found}")
        vectors = torch.stack(every)
    vectors = vectors.float()
    return normalized(vectors if vectors.dim() > 1 else vectors.unsqueeze(0))
