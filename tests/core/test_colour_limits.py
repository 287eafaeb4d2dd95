"""Colours of scores: fixed limits for each metric, the same in pages and pictures."""

from __future__ import annotations

import pytest

from polyglot.core.score_tables import (
    LOWER_IS_BETTER,
    METRIC_TITLES,
    RETRIEVAL_TITLES,
    SCORE_LIMITS,
    colour_share,
    score_limits,
)


def test_limits_of_every_metric_follow_its_direction() -> None:
    metrics = {*METRIC_TITLES, *RETRIEVAL_TITLES}
    assert set(SCORE_LIMITS) <= metrics
    for metric in metrics:
        lightest, darkest = score_limits(metric)
        assert (lightest > darkest) == (metric in LOWER_IS_BETTER)


def test_a_metric_without_limits_has_those_of_a_percentage() -> None:
    assert score_limits("exact") == (0.0, 100.0)


@pytest.mark.parametrize(
    ("measure", "score", "share"),
    [
        ("bleu", 0, 0),
        ("bleu-paper", 25, 0.5),
        ("bleu", 80, 1),
        ("chrf", 40, 0.5),
        ("ter", 100, 0),
        ("ter-lowercased", 25, 0.75),
        ("ter", 130, 0),
        ("xsim", 2.5, 0.975),
    ],
)
def test_the_colour_depends_on_score_and_metric_only(
    measure: str, score: float, share: float
) -> None:
    assert colour_share(score, score_limits(measure)) == pytest.approx(share)
