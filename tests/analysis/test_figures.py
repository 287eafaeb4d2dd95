"""Figures with long names and with letters that no font has."""

from __future__ import annotations

import warnings

import numpy
import pytest
from matplotlib.figure import Figure

from polyglot.analysis import figures as figures_module
from polyglot.analysis.figures import Panel, arcs_png, panels_png
from polyglot.core.figure_fonts import _warn_once


def test_long_names_leave_room_for_the_matrix() -> None:
    panel = Panel("", -numpy.eye(2), ["a" * 60, "b"], ["c", "d" * 20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert panels_png([panel], title="").startswith(b"\x89PNG")


def test_words_without_a_font_are_replaced(caplog: pytest.LogCaptureFixture) -> None:
    _warn_once.cache_clear()
    panel = Panel("", numpy.eye(2), ["\U00013000", "\U00013001"], ["c", "d"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panels_png([panel], title="")
        panels_png([panel], title="")
    assert caplog.text.count("no font of this machine has Egyptian letters") == 1


def places_of(words: list[str], monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Draw arcs, and return the horizontal position of each word."""
    figures: list[Figure] = []

    def keep_figure(figure: Figure) -> bytes:
        figures.append(figure)
        return b""

    monkeypatch.setattr(figures_module, "figure_png", keep_figure)
    arcs_png(words, [None, 0, 0], [0.0, 0.5, 0.5], title="")
    [axes] = figures[0].axes
    return [text.get_position()[0] for text in axes.texts]


def test_words_from_right_to_left_are_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    places = places_of(["der", "Hund", "schläft"], monkeypatch)
    assert places == sorted(places)
    places = places_of(["الكلب", "ينام", "."], monkeypatch)
    assert places == sorted(places, reverse=True)
