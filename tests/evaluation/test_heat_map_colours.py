"""Shades of heat maps, with fixed limits for each metric; sizes of cells and panels."""

from __future__ import annotations

import pytest

from polyglot.core.score_tables import score_limits
from polyglot.evaluation.grid import Grid
from polyglot.evaluation.views.heat_map import (
    LETTER_WIDTH,
    POINTS_PER_INCH,
    Layout,
    _face_colour,
)
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


@pytest.mark.parametrize("panels", [1, 2])
@pytest.mark.parametrize("languages", [1, 2, 3, 4, 9, 10, 50, 200])
def test_numbers_fit_into_cells_and_panels_into_the_figure(panels: int, languages: int) -> None:
    """Few languages fill a panel of four inches; many have the smallest cells."""
    layout = Layout(panels, languages)
    assert layout.side == pytest.approx(max(4.0, 0.42 * languages))
    cell = layout.side / languages
    number_width = len("100.0") * LETTER_WIDTH * layout.font_size / POINTS_PER_INCH
    assert 0.2 < number_width < cell
    assert layout.head + layout.side < layout.height
    for number in range(panels):
        right = layout.left(number) + layout.side
        assert right < layout.left(number + 1)
        assert right < layout.width
