"""Does a sentence find its translation among all others? Every ordered pair of languages as one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
import torch

from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.inference.embeddings.similarity import BLOCK_SIZE, scored_neighbours, similarity

METRICS = ("p@1", "mrr", "xsim")


@dataclass(frozen=True)
class RetrievalMatrix(ScoreMatrix):
    """What the views draw: as of translations, with other metrics."""

    representation: str = "bridge.flat"

    @property
    def measures(self) -> list[Measure]:
        return [Measure(metric) for metric in METRICS]


def retrieval(
    sources: numpy.ndarray,
    targets: numpy.ndarray,
    texts: Sequence[str],
    *,
    k: int = 4,
    signature: str = "",
) -> dict[str, Score]:
    """Row n of both is the same sentence. sources and targets (N, D), texts: the N target sentences -> scores in percent.

    `p@1`: the nearest by cosine is the translation; `mrr`: 100 times the mean of 1 / its rank; `xsim`: the share of sentences
    whose best of k neighbours by ratio margin is another one (Artetxe and Schwenk 2019; NLLB Team 2022, section 5.1: xSIM).
    A target that says the same in the same words is right too. Where a wrong one is as near as the right one, it comes first.
    """
    ids = torch.from_numpy(
        numpy.unique(numpy.array(texts, dtype=object).astype(str), return_inverse=True)[1]
    )
    ranks = []
    for start in range(0, len(sources), BLOCK_SIZE):
        cosines = similarity(sources[start : start + BLOCK_SIZE], targets)
        right = ids == ids[start : start + BLOCK_SIZE].unsqueeze(1)
        best = cosines.masked_fill(~right, -torch.inf).amax(dim=1, keepdim=True)
        ranks.append(1 + ((cosines >= best) & ~right).sum(dim=1))
    rank = torch.cat(ranks).double()
    forwards, _ = scored_neighbours(sources, targets, k=k)
    wrong = (ids[forwards.rows[:, 0]] != ids).double()
    values = {"p@1": (rank == 1).double().mean(), "mrr": (1 / rank).mean(), "xsim": wrong.mean()}
    ways = {"p@1": "cosine", "mrr": "cosine", "xsim": f"ratio|k:{k}"}
    return {
        name: Score(100 * float(value), f"{signature}|score:{ways[name]}|n:{len(texts)}")
        for name, value in values.items()
    }
