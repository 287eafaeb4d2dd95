"""Figures with long names and with letters that no font has."""

from __future__ import annotations

import warnings

import numpy
import pytest
from matplotlib.figure import Figure

from polyglot.analysis import figures as figures_module
from polyglot.analysis.figures import (
    Panel,
    arcs_png,
    bars_png,
    curves_png,
    panels_png,
    plane_png,
)
from polyglot.core.figure_fonts import _warn_once
from tests.builders.fonts import hide_fonts


def test_long_names_leave_room_for_the_matrix() -> None:
    panel = Panel("", -numpy.eye(2), ["a" * 60, "b"], ["c", "d" * 20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert panels_png([panel], title="").startswith(b"\x89PNG")


def test_words_without_a_font_are_replaced(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_fonts(monkeypatch, "Egyptian")
    _warn_once.cache_clear()
    panel = Panel("", numpy.eye(2), ["\U00013000", "\U00013001"], ["c", "d"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panels_png([panel], title="")
        panels_png([panel], title="")
    assert caplog.text.count("no font of this machine has Egyptian letters") == 1


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> list[Figure]:
    """Figures that are drawn during the test."""
    drawn: list[Figure] = []

    def keep_figure(figure: Figure) -> bytes:
        drawn.append(figure)
        return b""

    monkeypatch.setattr(figures_module, "figure_png", keep_figure)
    return drawn


WORDS = ["$x^$", "$", "a_b"]  # the first would be an error as a formula of TeX
POINTS = numpy.array([[0.0, 1.0], [2.0, -3.0], [0.5, 0.25]])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: panels_png([Panel("$x^$", numpy.eye(3), WORDS, WORDS)], title="$x^$"),
        lambda: arcs_png(WORDS, [None, 0, 0], [0.0, 0.5, 0.5], title="$x^$"),
        lambda: plane_png(WORDS, POINTS, title="$x^$"),
    ],
    ids=["panels", "arcs", "plane"],
)
def test_dollar_signs_of_words_are_no_formulas(draw) -> None:
    assert draw().startswith(b"\x89PNG")


def test_bars_are_shares_in_percent(figures: list[Figure]) -> None:
    bars_png([0.5, 0.25, 0.0], title="", x_label="role")
    [axes] = figures[0].axes
    assert [bar.get_height() for bar in axes.patches] == [50, 25, 0]
    assert [bar.get_x() + bar.get_width() / 2 for bar in axes.patches] == [0, 1, 2]


@pytest.mark.parametrize(
    ("values", "limits"),
    [
        ([[0.0, 2.0]], (0, 4)),
        ([[-5.0, 2.0]], (-5, 5)),
        ([[0.0, 0.0]], (0, 4)),
    ],
)
def test_panels_have_common_colours_and_white_is_zero(values, limits, figures) -> None:
    panels = [Panel("", numpy.array(rows), ["a"], ["c", "d"]) for rows in (values, [[1.0, 4.0]])]
    panels_png(panels, title="")
    images = [axes.images[0] for axes in figures[0].axes]
    assert [image.get_clim() for image in images] == [limits, limits]
    for image in images:
        assert image.cmap(image.norm(0.0))[:3] == pytest.approx((1, 1, 1), abs=0.04)


def test_panels_of_zeros_are_white(figures: list[Figure]) -> None:
    panels_png([Panel("", numpy.zeros((1, 2)), ["a"], ["c", "d"])], title="")
    [image] = figures[0].axes[0].images
    assert image.get_clim() == (0, 1)


def test_words_of_a_plane_are_at_their_points_and_the_first_is_bold(figures) -> None:
    plane_png(WORDS, POINTS, title="")
    [axes] = figures[0].axes
    assert [text.xy for text in axes.texts] == [tuple(point) for point in POINTS]
    assert [text.get_weight() for text in axes.texts] == ["bold", "normal", "normal"]
    assert axes.collections[0].get_offsets().tolist() == POINTS.tolist()


def test_curves_have_a_logarithmic_axis_and_start_at_zero(figures: list[Figure]) -> None:
    curves = {"recall": [(1, 0.2), (10, 0.4), (100, 0.8)], "other": [(1, 0.5), (10, 0.6)]}
    curves_png(curves, title="", x_label="words", y_label="share")
    [axes] = figures[0].axes
    assert axes.get_xscale() == "log"
    assert axes.get_ylim()[0] == 0
    for line, (name, points) in zip(axes.lines, curves.items(), strict=True):
        assert line.get_label() == name
        assert line.get_xydata().tolist() == [list(point) for point in points]


def places_of(words: list[str], figures: list[Figure]) -> list[float]:
    """Draw arcs, and return the horizontal position of each word."""
    arcs_png(words, [None, 0, 0], [0.0, 0.5, 0.5], title="")
    [axes] = figures[-1].axes
    return [text.get_position()[0] for text in axes.texts]


def test_words_from_right_to_left_are_in_their_order(figures: list[Figure]) -> None:
    places = places_of(["der", "Hund", "schläft"], figures)
    assert places == sorted(places)
    places = places_of(["الكلب", "ينام", "."], figures)
    assert places == sorted(places, reverse=True)
