"""Rules for rows of parallel text that are removed before training.

The rules on lengths, duplicates and languages are those of the filters in a configuration
(`filters`, `content_filters`), applied to lines instead of pieces. Memory holds hashes and the
number of a rule for each row, no text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy
from numpy.typing import NDArray

from polyglot.core.errors import DataError
from polyglot.core.language_codes import has_spaces
from polyglot.data.arrays import Lengths, Mask
from polyglot.data.content_filters import (
    DUPLICATE,
    OTHER_LANGUAGE,
    duplicates,
    in_other_language,
    pair_hashes,
)
from polyglot.data.filters import RATIO, TOO_LONG, TOO_SHORT, FilterConfig, length_violations
from polyglot.data.parallel_files import ParallelText, RowBlock
from polyglot.data.text_files import SMALL_BLOCK, line_blocks
from polyglot.text.comparison_key import NO_SENTENCE, Hashes, hash_keys, sentence_hashes
from polyglot.text.letters import letter_shares

EMPTY = "empty"
FEW_LETTERS = "few letters"
TEST_TEXT = "test text"
NEAR_DUPLICATE = "near duplicate"
LOW_MARGIN = "low margin"

RULES = {
    EMPTY: "no sentence in a language",
    TOO_SHORT: "shorter than --min-length",
    TOO_LONG: "longer than --max-length",
    RATIO: "the longest side has more than --max-ratio times the length of the shortest",
    FEW_LETTERS: "a smaller share of letters than --min-letters",
    TEST_TEXT: "a sentence of the text of --test, equal or nearly equal",
    DUPLICATE: "equal to an earlier row in all languages",
    NEAR_DUPLICATE: "differs from an earlier row only in case, punctuation, spaces or numbers",
    OTHER_LANGUAGE: "another language, with a larger probability than --max-other-language",
    LOW_MARGIN: "a smaller margin of the sentence embeddings than --margin",
}
"""Meaning of each rule, in the order in which they are applied: a row counts for the first one."""

RULE_NAMES = tuple(RULES)

KEPT = 0
"""Code of a row that no rule removes; the codes of the rules start at 1."""

WORDS = "words"
CHARACTERS = "characters"

LONGEST_IN_CHARACTERS = 600
"""Default of the greatest length in characters; that in words is the default of `FilterConfig`."""

Progress = Callable[[int], None]
"""Called with the number of rows that are done."""

Scorer = Callable[[Mapping[str, Sequence[str]]], NDArray]
"""Returns the margin of each row, (N,), from the lines of each language."""


@dataclass(frozen=True)
class CleaningSettings:
    """Limits of the rules."""

    filters: FilterConfig
    """lengths, duplicates and languages; lengths are in `unit`"""
    unit: str = WORDS
    min_letters: float = 0.5
    near_duplicates: bool = False
    margin: float | None = None


class RemovedRows:
    """Rule that removes each row."""

    def __init__(self, codes: NDArray[numpy.uint8]) -> None:
        """codes: `KEPT`, or the number of the rule from 1, of each row, (N,)."""
        self.codes = codes

    def mark(self, mask: Mask, rule: str, *, start: int = 0) -> None:
        """Mark rows that are not marked yet. mask: (n,), of the rows from `start` on."""
        codes = self.codes[start : start + len(mask)]
        is_new = mask & (codes == KEPT)
        codes[is_new] = RULE_NAMES.index(rule) + 1

    def is_kept(self, rows: slice = slice(None)) -> Mask:
        """True on the rows without a mark."""
        return self.codes[rows] == KEPT

    def counts(self) -> dict[str, int]:
        """Number of removed rows by rule."""
        counts = numpy.bincount(self.codes, minlength=len(RULE_NAMES) + 1)
        return dict(zip(RULE_NAMES, counts[1:].tolist(), strict=True))

    @property
    def kept_count(self) -> int:
        return int(self.is_kept().sum())


def default_unit(languages: Sequence[str]) -> str:
    """Unit of lengths: characters if a language is written without spaces between words."""
    if all(has_spaces(language) for language in languages):
        return WORDS
    return CHARACTERS


def find_removed_rows(
    text: ParallelText,
    settings: CleaningSettings,
    *,
    test_hashes: Mapping[str, Hashes],
    scorer: Scorer | None = None,
    progress: Progress = lambda done: None,
) -> RemovedRows:
    """Apply all rules to a text, which is read once or several times.

    test_hashes: hashes of the sentences of the test text, by language. scorer: computes margins.
    Raises DataError if a file cannot be used, or if no row is kept.
    """
    removed = _first_reading(text, settings, test_hashes, progress)
    if settings.filters.max_other_language is not None:
        _mark_other_languages(text, settings, removed, progress)
    if scorer is not None:
        _mark_low_margins(text, settings, removed, scorer)
    if not removed.kept_count:
        raise DataError(f"{text.paths[0]}: {_nothing_left_message(removed)}")
    return removed


def _nothing_left_message(removed: RemovedRows) -> str:
    parts = []
    for rule, count in removed.counts().items():
        if count:
            parts.append(f"{count} {rule}")
    total = len(removed.codes)
    return (
        f"the rules leave none of {total} rows: {', '.join(parts)}; "
        "change the options of these rules"
    )


def _first_reading(
    text: ParallelText,
    settings: CleaningSettings,
    test_hashes: Mapping[str, Hashes],
    progress: Progress,
) -> RemovedRows:
    """Apply the rules that need no model: one reading of the text."""
    codes = []
    equal_hashes = []
    near_hashes = []
    row_count = 0
    for block in text.blocks():
        removed = RemovedRows(numpy.zeros(len(block), dtype=numpy.uint8))
        _mark_block(block, settings, removed)

        keys = {}
        if settings.near_duplicates or test_hashes:
            for language, lines in block.texts.items():
                keys[language] = sentence_hashes(lines)
        for language, hashes in test_hashes.items():
            in_test = numpy.isin(keys[language], hashes)
            removed.mark(in_test, TEST_TEXT)

        if settings.filters.remove_duplicates:
            line_hashes = [hash_lines(lines) for lines in block.texts.values()]
            equal_hashes.append(reduce(pair_hashes, line_hashes))
        if settings.near_duplicates:
            near_hashes.append(reduce(pair_hashes, keys.values()))
        codes.append(removed.codes)
        row_count += len(block)
        progress(row_count)

    removed = RemovedRows(numpy.concatenate(codes))
    _mark_duplicates(equal_hashes, DUPLICATE, removed)
    _mark_duplicates(near_hashes, NEAR_DUPLICATE, removed)
    return removed


def _mark_block(block: RowBlock, settings: CleaningSettings, removed: RemovedRows) -> None:
    """Apply the rules that look at one row alone."""
    count = len(block)
    is_empty = numpy.zeros(count, dtype=bool)
    has_few_letters = numpy.zeros(count, dtype=bool)
    all_lengths = []
    for lines in block.texts.values():
        lengths = measure(lines, settings.unit)
        all_lengths.append(lengths)
        is_empty |= lengths == 0
        if settings.min_letters > 0:
            has_few_letters |= letter_shares(lines) < settings.min_letters

    if settings.filters.min_length > 0:
        removed.mark(is_empty, EMPTY)
    for rule, violates in length_violations(all_lengths, settings.filters).items():
        removed.mark(violates, rule)
    removed.mark(has_few_letters, FEW_LETTERS)


def measure(lines: Sequence[str], unit: str) -> Lengths:
    """Length of each line in words or in characters other than spaces at its ends, (N,)."""
    if unit == WORDS:
        lengths = [len(line.split()) for line in lines]
    else:
        lengths = [len(line.strip()) for line in lines]
    return numpy.array(lengths, dtype=numpy.int32)


def hash_lines(lines: Sequence[str]) -> Hashes:
    """Hash lines so that equal sentences have equal hashes; the number of spaces means nothing."""
    return hash_keys(" ".join(line.split()) for line in lines)


def _mark_duplicates(hashes: list[Hashes], rule: str, removed: RemovedRows) -> None:
    """Mark the rows that are equal to an earlier kept row. hashes: of all rows, or no array."""
    if not hashes:
        return
    rows = numpy.flatnonzero(removed.is_kept())
    repeated = duplicates(numpy.concatenate(hashes)[rows])
    mask = numpy.zeros(len(removed.codes), dtype=bool)
    mask[rows[repeated]] = True
    removed.mark(mask, rule)


def _mark_other_languages(
    text: ParallelText,
    settings: CleaningSettings,
    removed: RemovedRows,
    progress: Progress,
) -> None:
    """Identify the languages of the lines that are left, in another reading of the text."""
    start = 0
    for block in text.blocks():
        for language, lines in block.texts.items():
            kept = removed.is_kept(slice(start, start + len(block)))
            rows = numpy.flatnonzero(kept)
            kept_lines = [lines[row] for row in rows.tolist()]
            is_other = in_other_language(
                kept_lines,
                language,
                settings.filters.max_other_language,
            )
            mask = numpy.zeros(len(block), dtype=bool)
            mask[rows[is_other]] = True
            removed.mark(mask, OTHER_LANGUAGE, start=start)
        start += len(block)
        progress(start)


def _mark_low_margins(
    text: ParallelText,
    settings: CleaningSettings,
    removed: RemovedRows,
    scorer: Scorer,
) -> None:
    """Score the rows that are left; all of them are in memory."""
    kept_texts: dict[str, list[str]] = {language: [] for language in text.languages}
    start = 0
    for block in text.blocks():
        rows = numpy.flatnonzero(removed.is_kept(slice(start, start + len(block))))
        for language, lines in block.texts.items():
            kept_texts[language] += [lines[row] for row in rows.tolist()]
        start += len(block)

    kept_rows = numpy.flatnonzero(removed.is_kept())
    if not len(kept_rows):
        return
    is_low = scorer(kept_texts) < settings.margin
    mask = numpy.zeros(len(removed.codes), dtype=bool)
    mask[kept_rows[is_low]] = True
    removed.mark(mask, LOW_MARGIN)


def read_hashes(files: Mapping[str, Sequence[Path]], *, shortest: int = 0) -> dict[str, Hashes]:
    """Hash the sentences of files of each language; equal and nearly equal ones have one hash.

    shortest: sentences with fewer letters are left out. Returns sorted hashes.
    """
    all_hashes = {}
    for language, paths in files.items():
        hashes = [numpy.zeros(0, dtype=numpy.uint64)]
        for path in paths:
            for lines in line_blocks(path, block=SMALL_BLOCK):
                hashes.append(sentence_hashes(lines, shortest=shortest))
        unique = numpy.unique(numpy.concatenate(hashes))
        all_hashes[language] = unique[unique != NO_SENTENCE]
    return all_hashes
