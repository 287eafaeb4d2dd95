"""Texts of requests as lines to translate, and what is between the lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

LINE = re.compile(r"\S(?:[^\r\n]*\S)?")
"""Line of a text without the spaces around it."""


@dataclass(frozen=True)
class Mark:
    """Markup inside of a line, such as a tag, or a space beside it."""

    text: str
    place: float
    """share of the line's words before it"""

    @property
    def is_closing(self) -> bool:
        return self.text.startswith("</")

    @property
    def is_space(self) -> bool:
        return self.text == " "


@dataclass(frozen=True)
class Line:
    """Text to translate."""

    text: str
    marks: Sequence[Mark] = ()
    """in order"""

    def join(self, translation: str, escape: Callable[[str], str], *, with_spaces: bool) -> str:
        """Return the escaped translation with the marks at the same shares of its words.

        with_spaces: False for a language without spaces, where marks are between characters.
        """
        if not self.marks:
            return escape(translation)
        separator = " " if with_spaces else ""
        units = translation.split(" ") if separator else list(translation)
        marks_by_unit: dict[int, list[Mark]] = {}
        for mark in self.marks:
            number = round(mark.place * len(units))
            marks_by_unit.setdefault(number, []).append(mark)

        parts = []
        for number in range(len(units) + 1):
            is_inside = 0 < number < len(units)
            marks = marks_by_unit.get(number, [])
            parts.append(_boundary(marks, separator, is_inside=is_inside))
            if number < len(units):
                parts.append(escape(units[number]))
        return "".join(parts)


def _boundary(marks: Sequence[Mark], separator: str, *, is_inside: bool) -> str:
    """Return the marks between two words, with the space of the words.

    The space is where the source has it, else behind closing tags. separator: a space, or nothing
    for text without spaces. is_inside: there are words on both sides.
    """
    texts = []
    for mark in marks:
        texts.append(separator if mark.is_space else mark.text)
    has_space = any(mark.is_space for mark in marks)
    if is_inside and not has_space:
        closing = 0
        while closing < len(marks) and marks[closing].is_closing:
            closing += 1
        texts.insert(closing, separator)
    return "".join(texts)


@dataclass
class Document:
    """Lines of a text, and what is before, between and after them."""

    parts: list[str | Line] = field(default_factory=list)
    escape: Callable[[str], str] = str
    """for the translation of a line"""

    @property
    def lines(self) -> list[str]:
        """Text of each line."""
        return [part.text for part in self.parts if isinstance(part, Line)]

    def join(self, translations: Sequence[str], *, with_spaces: bool = True) -> str:
        """Return the document with a translation in place of each line.

        with_spaces: True if the language of the translations has spaces between words.
        """
        return "".join(self._joined_parts(iter(translations), with_spaces))

    def _joined_parts(self, translations: Iterator[str], with_spaces: bool) -> Iterator[str]:
        for part in self.parts:
            if isinstance(part, Line):
                yield part.join(next(translations), self.escape, with_spaces=with_spaces)
            else:
                yield part


def text_document(text: str) -> Document:
    """Return the lines of plain text; line breaks and spaces at the ends of lines stay."""
    document = Document()
    start = 0
    for match in LINE.finditer(text):
        document.parts += [text[start : match.start()], Line(match[0])]
        start = match.end()
    document.parts.append(text[start:])
    return document
