"""Find names and acronyms in a line by their capitals."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from polyglot.core.language_codes import find_code

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
FUNCTION_WORDS = frozenset("of the de la le les du des van von der den di da del della dos".split())
"""Function words inside names, as in World of Warcraft."""
NOUNS_ARE_CAPITALISED = frozenset({"de", "lb"})
"""Languages in which all nouns have capitals."""


def capitalises_nouns(language: str) -> bool:
    return find_code(language, NOUNS_ARE_CAPITALISED) is not None


class Word(NamedTuple):
    """Word of a line."""

    start: int
    end: int
    text: str

    @property
    def capitalised(self) -> bool:
        return self.text[0].isupper()


class Phrase(NamedTuple):
    """Adjacent words with single spaces between them."""

    start: int
    end: int
    text: str
    words: int
    """Number of capitalised words."""
    all_capitalised: bool


def words(line: str) -> list[Word]:
    """Words of a line, without digits and punctuation."""
    return [Word(match.start(), match.end(), match.group()) for match in WORD.finditer(line)]


def capitalised_runs(line: str) -> Iterator[list[Word]]:
    """Iterate over maximal runs of capitalised words, with function words inside.

    A line in upper case has none.
    """
    if line == line.upper():
        return
    run: list[Word] = []
    for word in words(line):
        adjacent = run and word.start == run[-1].end + 1 and line[run[-1].end] == " "
        if run and not (adjacent and (word.capitalised or word.text in FUNCTION_WORDS)):
            yield from _without_final_function_words(run)
            run = []
        if word.capitalised or run:
            run.append(word)
    yield from _without_final_function_words(run)


def _without_final_function_words(run: list[Word]) -> Iterator[list[Word]]:
    while run and not run[-1].capitalised:
        run = run[:-1]
    if run:
        yield run


def phrases(line: str, run: Sequence[Word], *, least: int) -> Iterator[Phrase]:
    """Parts of a run with at least `least` capitalised words, longest first, then from left."""
    for length in range(len(run), 0, -1):
        for first in range(len(run) - length + 1):
            part = run[first : first + length]
            count = sum(word.capitalised for word in part)
            if part[0].capitalised and part[-1].capitalised and count >= least:
                start = part[0].start
                end = part[-1].end
                yield Phrase(start, end, line[start:end], count, count == len(part))


def acronyms(line: str) -> Iterator[Word]:
    """Iterate over words of two or more capital letters; a line in upper case has none."""
    if line == line.upper():
        return
    for word in words(line):
        if len(word.text) > 1 and word.text.isupper() and word.text.isalpha():
            yield word


def starts_sentence(line: str, word: Word | Phrase) -> bool:
    """True if a sentence begins with the word, so that its capital says nothing."""
    before = line[: word.start].rstrip().rstrip("\"'“”„«»‹›‘’¿¡([-–—…").rstrip()
    return not before or before[-1] in ".!?:…"
