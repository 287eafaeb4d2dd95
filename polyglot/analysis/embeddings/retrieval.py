"""Retrieval of translations by their embeddings, for all ordered pairs of languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from polyglot.evaluation.measures import Measure
from polyglot.evaluation.metrics import Score
from polyglot.evaluation.score_matrix import ScoreMatrix
from polyglot.inference.embeddings.similarity import BLOCK_SIZE, scored_neighbours, similarity

METRICS = ("p@1", "mrr", "xsim")


@dataclass(frozen=True)
class RetrievalMatrix(ScoreMatrix):
    """Retrieval scores of all pairs, in the form of translation scores, for the same views."""

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
    """Score the retrieval of N translations, in percent.

    sources and targets: vectors (N, D); row n of both is the same sentence. texts: the N target
    sentences. signature: start of the signature of each score.

    - `p@1`: share of sources whose nearest target by cosine is the translation
    - `mrr`: mean of 1 / rank of the translation, by cosine
    - `xsim`: share of sources whose best of k neighbours by ratio margin is not the translation
      (Artetxe and Schwenk 2019; NLLB Team 2022, section 5.1: xSIM)

    A target with the text of the translation counts as the translation. A wrong target that is as
    near as the translation comes before it.
    """
    text_ids = _text_ids(texts)
    rank = _ranks(sources, targets, text_ids).double()
    forwards, _ = scored_neighbours(sources, targets, k=k)
    is_wrong = text_ids[forwards.rows[:, 0]] != text_ids
    values = {
        "p@1": (rank == 1).double().mean(),
        "mrr": (1 / rank).mean(),
        "xsim": is_wrong.double().mean(),
    }
    methods = {"p@1": "cosine", "mrr": "cosine", "xsim": f"ratio|k:{k}"}

    scores = {}
    for name, value in values.items():
        full_signature = f"{signature}|score:{methods[name]}|n:{len(texts)}"
        scores[name] = Score(100 * float(value), full_signature)
    return scores


def _text_ids(texts: Sequence[str]) -> Tensor:
    """Number (N,) of each text; equal texts have the same number."""
    array = numpy.array(texts, dtype=object).astype(str)
    _, inverse = numpy.unique(array, return_inverse=True)
    return torch.from_numpy(inverse)


def _ranks(
    sources: numpy.ndarray,
    targets: numpy.ndarray,
    text_ids: Tensor,
) -> Tensor:
    """Rank (N,) of the translation of each source among all targets, by cosine."""
    ranks = []
    for start in range(0, len(sources), BLOCK_SIZE):
        block = slice(start, start + BLOCK_SIZE)
        cosines = similarity(sources[block], targets)
        is_correct = text_ids == text_ids[block].unsqueeze(1)
        best = cosines.masked_fill(~is_correct, -torch.inf).amax(dim=1, keepdim=True)
        is_before = (cosines >= best) & ~is_correct
        ranks.append(1 + is_before.sum(dim=1))
    return torch.cat(ranks)
