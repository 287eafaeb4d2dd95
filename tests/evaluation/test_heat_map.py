"""Heat map: the places of cells, numbers, languages and titles."""

from __future__ import annotations

import dataclasses

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from polyglot.evaluation.views import heat_map
from polyglot.evaluation.views.heat_map import heat_map_png
from tests.evaluation.by_hand import BLEU, LANGUAGES, PAIRS, matrix

REFERENCE = "attention_bridge_english_centric_with_copies"
PAPER_TITLE = "$odd_{$title"
"""Title that would be an error as a formula of TeX."""


@pytest.fixture(scope="module")
def figure() -> Figure:
    """Heat map of an invented matrix beside a paper's table; drawn once, to check its texts."""
    figures = []
    draw = heat_map.figure_bytes

    def keep_figure(drawn: Figure, *, background: str) -> bytes:
        figures.append(drawn)
        return draw(drawn, background=background)

    scores = matrix(reference=REFERENCE, run="$odd_{$run")
    paper = scores.reference.model_copy(update={"title": PAPER_TITLE})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heat_map, "figure_bytes", keep_figure)
        heat_map_png(dataclasses.replace(scores, reference=paper), "bleu")
    return figures[0]


def test_rows_are_sources_and_columns_are_targets(figure: Figure) -> None:
    axes = figure.axes[0]
    positions = [0.5, 1.5, 2.5, 3.5]
    assert [label.get_text() for label in axes.get_xticklabels()] == LANGUAGES
    assert [label.get_text() for label in axes.get_yticklabels()] == LANGUAGES
    assert axes.get_xticks().tolist() == axes.get_yticks().tolist() == positions
    assert axes.get_ylim() == (4, 0)  # the first row is at the top
    assert axes.get_xlim() == (0, 4)


def pair_at(x: float, y: float) -> str:
    """Direction of the cell at a point, which must be the centre of the cell."""
    assert (x % 1, y % 1) == pytest.approx((0.5, 0.5))
    return f"{LANGUAGES[int(y)]}-{LANGUAGES[int(x)]}"


def squares(figure: Figure, *, filled: bool) -> list[str]:
    """Directions of the squares of the first panel, filled ones or frames."""
    pairs = []
    for patch in figure.axes[0].patches:
        if isinstance(patch, Rectangle) and patch.get_fill() == filled:
            assert patch.get_width() == patch.get_height() < 1
            pairs.append(pair_at(*patch.get_center()))
    return pairs


def test_every_direction_is_a_square_with_its_score(figure: Figure) -> None:
    assert sorted(squares(figure, filled=True)) == sorted(map(str, PAIRS))
    scores = {}
    for text in figure.axes[0].texts:
        if text.get_text()[:1].isdecimal():
            scores[pair_at(*text.get_position())] = float(text.get_text())
    assert scores == BLEU


def test_zero_shot_directions_have_a_frame(figure: Figure) -> None:
    """Also those without a score: Finnish has no text."""
    expected = {"de-fr", "fr-de", "de-fi", "fi-de", "fr-fi", "fi-fr"}
    assert set(squares(figure, filled=False)) == expected


def test_means_are_below_their_panel(figure: Figure) -> None:
    [means] = [text for text in figure.axes[0].texts if text.get_text().startswith("means: ")]
    assert means.get_text() == "means: supervised 45.0 · zero-shot 15.5 · copy 80.0"
    box = means.get_window_extent()
    panel = figure.axes[0].get_window_extent()
    assert box.y1 < panel.y0
    assert box.x0 == pytest.approx(panel.x0, abs=2)


def test_each_panel_has_its_title_above_it(figure: Figure) -> None:
    titles = {text.get_text(): text for text in figure.texts}
    top = max(text.get_window_extent().y1 for text in figure.texts)
    for name, axes in zip(("this run", PAPER_TITLE), figure.axes, strict=True):
        title = titles[name].get_window_extent()
        panel = axes.get_window_extent()
        assert panel.y1 < title.y0 < title.y1 < top < figure.bbox.height
        assert title.x0 == pytest.approx(panel.x0, abs=2)
        assert not axes.spines["top"].get_visible()
