"""Figures with long names and with letters that no font has."""

from __future__ import annotations

import warnings

import numpy
import pytest

from polyglot.analysis.figures import Panel, panels_png


def test_long_names_leave_room_for_the_matrix() -> None:
    panel = Panel("", -numpy.eye(2), ["a" * 60, "b"], ["c", "d" * 20])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert panels_png([panel], title="").startswith(b"\x89PNG")


def test_letters_without_a_font_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    panel = Panel("", numpy.eye(2), ["\U00013000", "\U00013001"], ["c", "d"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        panels_png([panel], title="")
    assert caplog.text.count("boxes stand for letters") == 1
