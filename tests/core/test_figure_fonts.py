"""Fonts of figures: fallbacks that are installed, and replacements of words without a font."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from polyglot.core import figure_fonts
from polyglot.core.figure_fonts import figure_bytes, is_right_to_left, prepare_text, script_of
from tests.builders.fonts import hide_fonts

UNKNOWN = ("\U00012000", "\U00012001")
"""Cuneiform signs, for which the tests have no font."""


@pytest.fixture(autouse=True)
def fresh_reports() -> None:
    figure_fonts._warn_once.cache_clear()


@pytest.fixture(autouse=True)
def no_cuneiform_font(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide the fonts of this machine that have cuneiform signs."""
    hide_fonts(monkeypatch, "Cuneiform")
    yield
    figure_fonts._characters.cache_clear()


@pytest.fixture
def cuneiform_font(tmp_path: Path):
    """Add a font with the first cuneiform sign to the fonts of matplotlib."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    pen.lineTo((500, 0))
    pen.lineTo((250, 700))
    pen.closePath()
    glyph = pen.glyph()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "sign"])
    builder.setupCharacterMap({ord(UNKNOWN[0]): "sign"})
    builder.setupGlyf({".notdef": glyph, "sign": glyph})
    builder.setupHorizontalMetrics({".notdef": (600, 0), "sign": (600, 0)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "Test Cuneiform", "styleName": "Regular"})
    builder.setupOS2()
    builder.setupPost()
    path = tmp_path / "cuneiform.ttf"
    builder.save(path)

    before = list(fontManager.ttflist)
    fontManager.addfont(path)
    figure_fonts._characters.cache_clear()
    yield "Test Cuneiform"
    fontManager.ttflist[:] = before
    figure_fonts._characters.cache_clear()


def drawn_without_warnings(figure: Figure) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return figure_bytes(figure, background="white")


def test_words_without_a_font_are_replaced_and_the_log_names_the_script_once(caplog) -> None:
    figure = Figure()
    axes = figure.subplots()
    first, second = UNKNOWN
    title = figure.suptitle(f"signs {first} and {second}, {first}")
    text = axes.text(0, 0, second)
    axes.set_xticks([0, 1], [first, "de"])
    assert drawn_without_warnings(figure).startswith(b"\x89PNG")
    assert drawn_without_warnings(figure).startswith(b"\x89PNG")

    assert text.get_text() == "[Cuneiform 2]" or text.get_text() == "[Cuneiform 1]"
    assert "signs [Cuneiform" in title.get_text()
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels[0].startswith("[Cuneiform ")
    assert labels[1] == "de"
    assert labels[0] in title.get_text()
    assert caplog.text.count("no font of this machine has Cuneiform letters") == 1
    assert "Noto Sans Cuneiform" in caplog.text


def test_an_installed_font_is_used(cuneiform_font, caplog) -> None:
    figure = Figure()
    text = figure.text(0, 0, f"a {UNKNOWN[0]}", weight="bold")
    drawn_without_warnings(figure)
    assert text.get_text() == f"a {UNKNOWN[0]}"
    assert text.get_fontfamily()[-1] == cuneiform_font
    assert caplog.text == ""


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize(
    "content", ["Größe – 1.5", "Ελληνικά", "русский", "العربية", "e\u0301", "a\u200db"]
)
def test_letters_of_the_usual_font_stay(content: str, weight: str, caplog) -> None:
    figure = Figure()
    text = figure.text(0, 0, content, weight=weight)
    prepare_text(figure)
    assert text.get_text() == content
    assert caplog.text == ""


@pytest.mark.parametrize(
    "content",
    ["日本語", "한국어", "עברית", "हिन्दी", "ไทย", "မြန်မာ", "አማርኛ", "日本 ไทย", "\U0001f600"],
)
def test_every_script_is_drawn_or_replaced_without_a_warning(content: str, caplog) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set_title(content, weight="bold")
    axes.set_yticks([0], [content])
    drawn_without_warnings(figure)
    is_replaced = "[" in axes.get_title()
    assert is_replaced == ("no font of this machine" in caplog.text)


@pytest.mark.parametrize("content", ["a\x1b[31mb", "caf\udce9"])
def test_control_characters_are_drawn_as_escapes(content: str) -> None:
    figure = Figure()
    axes = figure.subplots()
    axes.set_title(content)
    axes.set_yticks([0], [content])
    drawn_without_warnings(figure)
    assert axes.get_title() == content.encode("unicode_escape").decode()


@pytest.mark.parametrize(
    ("character", "script"),
    [("ไ", "Thai"), ("日", "Chinese"), ("あ", "Japanese"), ("한", "Korean"), ("ב", "Hebrew")],
)
def test_names_of_scripts(character: str, script: str) -> None:
    assert script_of(character) == script


def test_direction_of_words() -> None:
    assert is_right_to_left(["שלום", "(2)", "abc"])
    assert not is_right_to_left(["Haus", "שם"])
    assert not is_right_to_left(["12", "日本"])
