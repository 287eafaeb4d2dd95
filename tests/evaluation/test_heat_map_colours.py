"""Shades of heat maps: fixed limits for each metric."""

from __future__ import annotations

from polyglot.core.score_tables import score_limits
from polyglot.evaluation.grid import Grid
from polyglot.evaluation.views.heat_map import _face_colour
from polyglot.tasks.pairs import LanguagePair

PAIR = LanguagePair("de", "en")
REVERSE = LanguagePair("en", "de")


def shade(measure: str, score: float, *, other_score: float) -> str:
    """Colour of a score in a heat map with one other score."""
    grid = Grid(
        title=measure,
        languages=["de", "en"],
        kinds={PAIR: "supervised", REVERSE: "supervised"},
        values={PAIR: score, REVERSE: other_score},
    )
    return _face_colour(grid, PAIR, limits=score_limits(measure))


def red(colour: str) -> int:
    """Red part of a colour: small in a dark blue."""
    return int(colour[1:3], 16)


def test_the_shade_of_a_score_does_not_depend_on_other_scores() -> None:
    assert shade("bleu", 12.5, other_score=30) == shade("bleu", 12.5, other_score=90)


def test_better_scores_are_darker() -> None:
    assert red(shade("bleu", 45, other_score=0)) < red(shade("bleu", 5, other_score=0))
    assert red(shade("ter", 20, other_score=0)) < red(shade("ter", 90, other_score=0))
