"""What in a line may be a name or an acronym, by its capitals alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
FUNCTIONAL = frozenset("of the de la le les du des van von der den di da del della dos".split())
"""Small words inside names, as in World of Warcraft."""
NOUNS_ARE_CAPITALISED = frozenset({"de", "lb"})
"""Languages in which capitals do not tell names from other nouns."""


class Word(NamedTuple):
    """A word of a line."""

    start: int
    end: int
    text: str

    @property
    def capitalised(self) -> bool:
        return self.text[0].isupper()


class Phrase(NamedTuple):
    """Words next to each other, a single space between them."""

    start: int
    end: int
    text: str
    words: int
    """how many of them are capitalised"""
    solid: bool
    """whether all of them are"""


def words(line: str) -> list[Word]:
    """Every word of a line, without digits and punctuation."""
    return [Word(found.start(), found.end(), found.group()) for found in WORD.finditer(line)]


def runs(line: str) -> Iterator[list[Word]]:
    """Maximal runs of capitalised words, functional words inside; none in a line that is all in capitals."""
    if line == line.upper():
        return
    run: list[Word] = []
    for word in words(line):
        adjacent = run and word.start == run[-1].end + 1 and line[run[-1].end] == " "
        if run and not (adjacent and (word.capitalised or word.text in FUNCTIONAL)):
            yield from _trimmed(run)
            run = []
        if word.capitalised or run:
            run.append(word)
    yield from _trimmed(run)


def _trimmed(run: list[Word]) -> Iterator[list[Word]]:
    """Without functional words at its end."""
    while run and not run[-1].capitalised:
        run = run[:-1]
    if run:
        yield run


def phrases(line: str, run: Sequence[Word], *, least: int) -> Iterator[Phrase]:
    """Every part of a run with so many capitalised words, the longest first, from left to right."""
    for length in range(len(run), 0, -1):
        for first in range(len(run) - length + 1):
            part = run[first : first + length]
            count = sum(word.capitalised for word in part)
            if part[0].capitalised and part[-1].capitalised and count >= least:
                yield Phrase(
                    part[0].start,
                    part[-1].end,
                    line[part[0].start : part[-1].end],
                    count,
                    count == len(part),
                )


def acronyms(line: str) -> Iterator[Word]:
    """Words of two letters or more, all of them capitals; none in a line that is all in capitals."""
    if line == line.upper():
        return
    yield from (
        word
        for word in words(line)
        if len(word.text) > 1 and word.text.isupper() and word.text.isalpha()
    )


def begins(line: str, word: Word | Phrase) -> bool:
    """Whether a sentence begins there, so that its capital says nothing."""
    before = line[: word.start].rstrip().rstrip("\"'“”„«»‹›‘’¿¡([-–—…").rstrip()
    return not before or before[-1] in ".!?:…"
