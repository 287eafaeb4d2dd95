"""Fonts of figures: letters of every script for which the machine has a font.

matplotlib orders and joins the letters of complex scripts itself (from version 3.11). It draws
each text with one list of fonts; this module adds the fonts that a text needs. Words without any
font are replaced by the name of their script and a number, such as [Thai 1], and the log says so.
"""

from __future__ import annotations

import io
import logging
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from polyglot.core.console import visible

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

logger = logging.getLogger("polyglot")

INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
"""Unicode categories of characters that need no glyph."""
SCRIPT_TITLES = {
    "CJK": "Chinese",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "HANGUL": "Korean",
}
"""Scripts whose name in Unicode is not their usual name."""
FONT_WORDS = {"Chinese": "CJK", "Japanese": "CJK", "Korean": "CJK"}
"""Words in the names of fonts for a script, if they differ from its title."""
LAST_RESORT = "Last Resort"
"""Beginning of the name of a font that has a box for every letter."""


def figure_bytes(figure: Figure, *, background: str) -> bytes:
    """Return a figure as a PNG file, with a font for every letter or a replacement for its word."""
    file = io.BytesIO()
    with _without_font_messages():
        prepare_text(figure)
        figure.savefig(file, format="png", facecolor=background)
    return file.getvalue()


@contextmanager
def _without_font_messages() -> Iterator[None]:
    """Hide messages of matplotlib about fonts that have no bold letters."""
    font_logger = logging.getLogger("matplotlib.font_manager")
    level = font_logger.level
    font_logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        font_logger.setLevel(level)


def prepare_text(figure: Figure) -> None:
    """Give every text of a figure the fonts that it needs; replace words without a font."""
    from matplotlib.text import Text

    replacements: dict[str, str] = {}
    for axes in figure.axes:
        _prepare_labels(axes.xaxis, replacements)
        _prepare_labels(axes.yaxis, replacements)
    for text in figure.findobj(Text):
        content = _prepare(text, replacements)
        text.set_text(content)


def _prepare_labels(axis: Axis, replacements: dict[str, str]) -> None:
    """Prepare the labels of ticks, which an axis writes again when it is drawn."""
    old_texts = []
    new_texts = []
    for label in axis.get_ticklabels():
        old_texts.append(label.get_text())
        new_texts.append(_prepare(label, replacements))
    if new_texts != old_texts:
        positions = axis.get_ticklocs()
        axis.set_ticks(positions, labels=new_texts)


def _prepare(text: Text, replacements: dict[str, str]) -> str:
    """Add the fonts that a text needs, and return it without words that no font has.

    Control characters become escapes.

    replacements: replaced words of this figure so far.
    """
    content = visible(text.get_text())
    if content.isascii():
        return content
    families = list(text.get_fontfamily())
    weight = text.get_fontweight()
    missing = _without_font(content, families, weight)
    if missing:
        fallbacks, missing = _fallback_families(missing, weight)
        text.set_fontfamily([*families, *fallbacks])
    if not missing:
        return content

    words = []
    for word in content.split(" "):
        words.append(_replaced_word(word, missing, replacements))
    return " ".join(words)


def _without_font(content: str, families: Sequence[str], weight: str | int) -> set[str]:
    """Return the visible characters that none of these fonts has."""
    missing = set()
    for character in set(content):
        category = unicodedata.category(character)
        if category not in INVISIBLE_CATEGORIES:
            missing.add(character)
    for family in families:
        missing -= _characters(family, weight)
    return missing


def _fallback_families(missing: set[str], weight: str | int) -> tuple[list[str], set[str]]:
    """Return the fonts that have missing characters, and the characters that no font has."""
    _add_new_fonts()
    families = []
    remaining = set(missing)
    first_character = min(missing)
    script = script_of(first_character)
    script_word = FONT_WORDS.get(script, script)
    for family in _installed_families(script_word):
        if not remaining:
            break
        characters = _characters(family, weight)
        if remaining & characters:
            families.append(family)
            remaining -= characters
    return families, remaining


def _installed_families(script_word: str) -> list[str]:
    """Return the names of all fonts; those named after a script and without serifs come first."""
    from matplotlib.font_manager import fontManager

    names = set()
    for entry in fontManager.ttflist:
        if not entry.name.startswith(LAST_RESORT):
            names.add(entry.name)

    def preference(name: str) -> tuple[bool, bool, bool, str]:
        is_other_script = script_word not in name
        is_other_family = "Noto" not in name
        may_have_serifs = "Sans" not in name
        return is_other_script, is_other_family, may_have_serifs, name

    return sorted(names, key=preference)


@cache
def _characters(family: str, weight: str | int) -> frozenset[str]:
    """Return the characters of a font."""
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    properties = FontProperties(family=family, weight=weight)
    path = findfont(properties)
    codes = FT2Font(path).get_charmap()
    return frozenset(map(chr, codes))


@cache
def _add_new_fonts() -> None:
    """Add fonts that were installed after matplotlib made its list."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    known_files = {entry.fname for entry in fontManager.ttflist}
    new_files = set(findSystemFonts()) - known_files
    for path in sorted(new_files):
        try:
            fontManager.addfont(path)
        except (OSError, RuntimeError, ValueError) as error:
            logger.debug(f"{path}: the font cannot be used: {error}")


def _replaced_word(word: str, missing: Iterable[str], replacements: dict[str, str]) -> str:
    """Return the replacement of a word with a missing character, or the word itself."""
    missing_letters = [character for character in word if character in missing]
    if not missing_letters:
        return word
    script = script_of(missing_letters[0])
    _warn_once(script)
    if word not in replacements:
        number = 1
        for replacement in replacements.values():
            if replacement.startswith(f"[{script} "):
                number += 1
        replacements[word] = f"[{script} {number}]"
    return replacements[word]


@cache
def _warn_once(script: str) -> None:
    """Log that no font has the letters of a script."""
    font = FONT_WORDS.get(script, script)
    logger.warning(
        f"figures: no font of this machine has {script} letters. [{script} 1], [{script} 2] … "
        f"stand for the words. Install a font such as Noto Sans {font}"
    )


def script_of(character: str) -> str:
    """Return the usual name of the script of a character, such as `Thai`."""
    name = unicodedata.name(character, "unknown")
    first_word, *_ = re.split("[ -]", name)
    return SCRIPT_TITLES.get(first_word, first_word.title())


def is_right_to_left(words: Iterable[str]) -> bool:
    """True if most letters of the words are written from right to left."""
    directions = list(map(unicodedata.bidirectional, "".join(words)))
    right_to_left = directions.count("R") + directions.count("AL")
    return right_to_left > directions.count("L")
