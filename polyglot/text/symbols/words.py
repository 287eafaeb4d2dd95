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
    line_words = []
    for match in WORD.finditer(line):
        start, end = match.span()
        line_words.append(Word(start, end, match.group()))
    return line_words


def capitalised_runs(line: str) -> Iterator[list[Word]]:
    """Iterate over maximal runs of capitalised words, with function words inside.

    A line in upper case has none.
    """
    if line == line.upper():
        return
    run: list[Word] = []
    for word in words(line):
        if run and not _continues(line, run[-1], word):
            yield from _without_final_function_words(run)
            run = []
        if word.capitalised or run:
            run.append(word)
    yield from _without_final_function_words(run)


def _continues(line: str, last: Word, word: Word) -> bool:
    """True if a word belongs to the run that ends with the word `last`."""
    between = line[last.end : word.start]
    can_be_inside = word.capitalised or word.text in FUNCTION_WORDS
    return between == " " and can_be_inside


def _without_final_function_words(run: list[Word]) -> Iterator[list[Word]]:
    while run and not run[-1].capitalised:
        run = run[:-1]
    if run:
        yield run


def phrases(line: str, run: Sequence[Word], *, least: int) -> Iterator[Phrase]:
    """Parts of a run with at least `least` capitalised words, longest first, then from left."""
    for length in range(len(run), 0, -1):
        last_start = len(run) - length
        for start in range(last_start + 1):
            part = run[start : start + length]
            if not part[0].capitalised or not part[-1].capitalised:
                continue
            phrase = _phrase(line, part)
            if phrase.words >= least:
                yield phrase


def _phrase(line: str, part: Sequence[Word]) -> Phrase:
    start = part[0].start
    end = part[-1].end
    capitalised = sum(word.capitalised for word in part)
    return Phrase(
        start,
        end,
        text=line[start:end],
        words=capitalised,
        all_capitalised=capitalised == len(part),
    )


def acronyms(line: str) -> Iterator[Word]:
    """Iterate over words of two or more capital letters; a line in upper case has none."""
    if line == line.upper():
        return
    for word in words(line):
        text = word.text
        if len(text) > 1 and text.isupper() and text.isalpha():
            yield word


def starts_sentence(line: str, word: Word | Phrase) -> bool:
    """True if a sentence begins with the word, so that its capital says nothing."""
    before = line[: word.start].rstrip()
    before = before.rstrip("\"'“”„«»‹›‘’¿¡([-–—…").rstrip()
    return not before or before[-1] in ".!?:…"
