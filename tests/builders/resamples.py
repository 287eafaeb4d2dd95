"""Few bootstrap resamples for evaluations of tests."""

from __future__ import annotations

import pytest

from polyglot.evaluation.metrics import Scorer

MOST_RESAMPLES = 20


def limit_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an evaluation draw at most 20 bootstrap resamples, to save time."""
    score = Scorer.score

    def score_with_few_resamples(scorer, hypotheses, references, *, resamples=0):
        return score(scorer, hypotheses, references, resamples=min(resamples, MOST_RESAMPLES))

    monkeypatch.setattr(Scorer, "score", score_with_few_resamples)
