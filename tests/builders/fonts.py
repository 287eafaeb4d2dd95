"""Fonts of the machine, which a test must not depend on."""

from __future__ import annotations

import pytest
from matplotlib import font_manager
from matplotlib.font_manager import fontManager

from polyglot.core import figure_fonts


def hide_fonts(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Hide the fonts with the letters of a script, such as `Noto Sans Cuneiform`."""
    others = [entry for entry in fontManager.ttflist if script not in entry.name]
    monkeypatch.setattr(fontManager, "ttflist", others)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda *_, **__: [])
    figure_fonts._characters.cache_clear()
