"""Cosine similarity, nearest neighbours and bitext mining, in bounded memory.

The ratio margin of a pair is its cosine, divided by the mean cosine of both sentences with their k
nearest neighbours in the other language. So a sentence that is near to everything is not a good
match for anything (Artetxe and Schwenk 2019, section 3.2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from polyglot.core.errors import ConfigError, DataError
from polyglot.inference.embeddings.pooling import normalized

Vectors = Tensor | numpy.ndarray | Sequence[Tensor] | Sequence[numpy.ndarray]

BLOCK_SIZE = 1 << 12
"""Vectors of each side that are compared at once: 64 MB of similarities."""


class Neighbours(NamedTuple):
    """Nearest vectors of one side for each vector of the other side."""

    similarities: Tensor
    """(N, k) cosines, the largest first"""
    rows: Tensor
    """(N, k) row numbers of the neighbours"""


Search = Callable[[Vectors, Vectors, int], Neighbours]


def similarity(embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
    """Cosine of all pairs: (N, D) and (M, D), or a single vector (D,), -> (N, M).

    Raises DataError if the sizes of the vectors differ.
    """
    first = _unit_vectors(embeddings1)
    second = _unit_vectors(embeddings2)
    if first.dim() != 2 or second.dim() != 2 or first.shape[1] != second.shape[1]:
        raise DataError(
            f"similarity: the shapes are {tuple(first.shape)} and {tuple(second.shape)}; "
            "expected (N, D) and (M, D)"
        )
    return first @ second.T


def similarity_pairwise(embeddings1: Vectors, embeddings2: Vectors) -> Tensor:
    """Cosine of the vectors in the same row: (N, D) and (N, D) -> (N,).

    One side may be a single vector. Raises DataError if the numbers or sizes of the vectors differ.
    """
    first = _unit_vectors(embeddings1)
    second = _unit_vectors(embeddings2)
    is_single = 1 in (len(first), len(second))
    have_equal_sizes = first.shape[1:] == second.shape[1:]
    have_equal_counts = len(first) == len(second)
    if not have_equal_sizes or not (have_equal_counts or is_single):
        raise DataError(
            f"similarity_pairwise: the shapes are {tuple(first.shape)} and {tuple(second.shape)}; "
            "expected (N, D) for both"
        )
    return (first * second).sum(dim=-1)


def exact_neighbours(queries: Vectors, vectors: Vectors, k: int) -> Neighbours:
    """Find the k nearest vectors (or all, if there are fewer) by comparing all pairs.

    queries (N, D), vectors (M, D). Works block by block.
    """
    k = min(k, len(vectors))
    similarities = []
    rows = []
    for block in _unit_blocks(queries):
        nearest = _nearest(block, vectors, k)
        similarities.append(nearest.similarities)
        rows.append(nearest.rows)
    return Neighbours(torch.cat(similarities), torch.cat(rows))


def _nearest(queries: Tensor, vectors: Vectors, k: int) -> Neighbours:
    """Find the k nearest vectors of a block of queries with length 1."""
    best: Neighbours | None = None
    first_row = 0
    for block in _unit_blocks(vectors):
        cosines = queries @ block.T
        top = cosines.topk(min(k, len(block)))
        similarities = top.values
        rows = top.indices + first_row
        first_row += len(block)
        if best is not None:
            similarities = torch.cat([best.similarities, similarities], dim=1)
            rows = torch.cat([best.rows, rows], dim=1)
            top = similarities.topk(min(k, similarities.shape[1]))
            similarities = top.values
            rows = rows.gather(1, top.indices)
        best = Neighbours(similarities, rows)
    return best


def faiss_neighbours(queries: Vectors, vectors: Vectors, k: int) -> Neighbours:
    """Find k near vectors with an inverted index: fast for millions, but not always exact.

    The index has √M cells and searches the nearest 32 (Johnson et al. 2019). Raises ConfigError
    if faiss is not installed.
    """
    try:
        import faiss
    except ImportError:
        raise ConfigError(
            "search: 'faiss' is not installed; pip install 'polyglot-nmt[faiss]', "
            "or use exact search"
        ) from None
    k = min(k, len(vectors))
    size = vectors.shape[1]
    root = round(len(vectors) ** 0.5)
    most_cells = len(vectors) // 39  # faiss asks for at least 39 vectors to learn a cell
    cells = max(1, min(root, most_cells))
    index = faiss.IndexIVFFlat(faiss.IndexFlatIP(size), size, cells, faiss.METRIC_INNER_PRODUCT)
    index.nprobe = min(cells, 32)
    sample = numpy.random.default_rng(0).permutation(len(vectors))[: 256 * cells]
    training_vectors = _unit_vectors(vectors[numpy.sort(sample)])
    index.train(training_vectors.numpy())
    for block in _unit_blocks(vectors):
        index.add(block.numpy())

    similarities = []
    rows = []
    for block in _unit_blocks(queries):
        block_similarities, block_rows = index.search(block.numpy(), k)
        similarities.append(block_similarities)
        rows.append(block_rows)
    all_similarities = numpy.concatenate(similarities)
    all_rows = numpy.concatenate(rows)
    return Neighbours(torch.from_numpy(all_similarities), torch.from_numpy(all_rows))


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
    """Find the k nearest targets of each source and the k nearest sources of each target.

    With margin `ratio`, the similarities are ratio margins instead of cosines. Best first.
    """
    forwards = search(sources, targets, k)
    backwards = search(targets, sources, k)
    if margin == "cosine":
        return forwards, backwards
    return _ratio_margins(forwards, backwards), _ratio_margins(backwards, forwards)


def _ratio_margins(neighbours: Neighbours, reverse: Neighbours) -> Neighbours:
    """Divide cosines by the mean of both sides' mean cosines; sort again."""
    query_means = neighbours.similarities.mean(dim=1, keepdim=True)
    vector_means = reverse.similarities.mean(dim=1)
    means = (query_means + vector_means[neighbours.rows]) / 2
    margins = torch.where(means == 0, 0.0, neighbours.similarities / means)
    order = margins.argsort(dim=1, descending=True, stable=True)
    sorted_margins = margins.gather(1, order)
    sorted_rows = neighbours.rows.gather(1, order)
    return Neighbours(sorted_margins, sorted_rows)


def pair_margins(
    sources: Vectors,
    targets: Vectors,
    *,
    k: int = 4,
    search: Search = exact_neighbours,
) -> Tensor:
    """Compute the ratio margin of the vectors in the same row: (N, D) and (N, D) -> (N,).

    The cosine of a pair is divided by the mean cosine of both vectors with their k neighbours. A
    pair with the mean 0 has the margin 0.
    """
    forwards = search(sources, targets, k)
    backwards = search(targets, sources, k)
    source_means = forwards.similarities.mean(dim=1)
    target_means = backwards.similarities.mean(dim=1)
    means = (source_means + target_means) / 2

    cosines = []
    for start in range(0, len(sources), BLOCK_SIZE):
        block = slice(start, start + BLOCK_SIZE)
        cosines.append(similarity_pairwise(sources[block], targets[block]))
    return torch.where(means == 0, 0.0, torch.cat(cosines) / means)


class Pair(NamedTuple):
    """Two sentences that are probably translations of each other."""

    score: float
    source: int
    target: int


def mine_bitext(
    forwards: Neighbours,
    backwards: Neighbours,
    *,
    threshold: float = -float("inf"),
) -> list[Pair]:
    """Select pairs greedily, best first, each sentence at most once.

    The candidates are the best neighbours of both sides (Artetxe and Schwenk 2019, section 3.3,
    "max").
    """
    candidates = set()
    for row, (score, neighbour) in enumerate(_best_neighbours(forwards)):
        candidates.add(Pair(score, source=row, target=neighbour))
    for row, (score, neighbour) in enumerate(_best_neighbours(backwards)):
        candidates.add(Pair(score, source=neighbour, target=row))

    selected = []
    used_sources = set()
    used_targets = set()
    best_first = sorted(candidates, key=lambda pair: (-pair.score, pair.source, pair.target))
    for pair in best_first:
        if pair.score < threshold:
            continue
        if pair.source in used_sources or pair.target in used_targets:
            continue
        used_sources.add(pair.source)
        used_targets.add(pair.target)
        selected.append(pair)
    return selected


def _best_neighbours(neighbours: Neighbours) -> Iterable[tuple[float, int]]:
    """Similarity and row of the nearest neighbour of each vector."""
    similarities = neighbours.similarities[:, 0]
    rows = neighbours.rows[:, 0]
    return zip(similarities.tolist(), rows.tolist())


def _unit_blocks(vectors: Vectors) -> Iterator[Tensor]:
    """Yield blocks of at most BLOCK_SIZE vectors of length 1."""
    for start in range(0, len(vectors), BLOCK_SIZE):
        yield _unit_vectors(vectors[start : start + BLOCK_SIZE])


def _unit_vectors(vectors: Vectors) -> Tensor:
    """Convert vectors of any kind to float32 (N, D) of length 1.

    Raises DataError for an empty list or a list of different shapes.
    """
    if isinstance(vectors, numpy.ndarray):
        # A copy, because PyTorch needs writable memory and a memory map may be read-only.
        vectors = torch.from_numpy(numpy.array(vectors, dtype=numpy.float32))
    elif not isinstance(vectors, Tensor):
        vectors = _stack(vectors)
    vectors = vectors.float()
    if vectors.dim() < 2:
        vectors = vectors.unsqueeze(0)
    return normalized(vectors)


def _stack(vectors: Sequence[Tensor] | Sequence[numpy.ndarray]) -> Tensor:
    tensors = [torch.as_tensor(vector) for vector in vectors]
    shapes = list(dict.fromkeys(tuple(tensor.shape) for tensor in tensors))
    if len(shapes) != 1:
        listed = " and ".join(map(str, shapes[:2])) or "an empty list"
        raise DataError(
            f"similarity: all vectors of a list must have the same shape (D,), found {listed}"
        )
    return torch.stack(tensors)
