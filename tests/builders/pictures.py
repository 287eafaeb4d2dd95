"""Pictures of one pixel for tests that look at other files."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from matplotlib.figure import Figure

ONE_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAA"
    "AABJRU5ErkJggg=="
)


def save_one_pixel(figure: Figure, file: Any, **settings: object) -> None:
    """Write a picture of one pixel. file: open for bytes"""
    file.write(ONE_PIXEL)


def limit_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let figures be composed, but not drawn: matplotlib draws one in a tenth of a second."""
    monkeypatch.setattr(Figure, "savefig", save_one_pixel)
