"""Division of parallel text into training, validation and test text without common sentences.

Rows with an equal or nearly equal sentence in any language belong to one group, and so do the rows
of a document. A group is in one part as a whole. Groups are drawn in an order that depends on their
sentences and the seed, not on the order of the rows. Memory holds hashes, no text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

import numpy
from numpy.typing import NDArray

from polyglot.core.errors import DataError, pluralize
from polyglot.data.arrays import Mask
from polyglot.data.new_text_files import earlier_files, new_text_files
from polyglot.data.parallel_files import ParallelText, RowBlock
from polyglot.data.row_groups import Labels, RowGroups
from polyglot.text.comparison_key import (
    NO_SENTENCE,
    Hashes,
    comparison_key,
    hash_keys,
)

TRAINING = 0
VALIDATION = 1
TEST = 2
PART_NAMES = ("train", "val", "test")
"""Name of each part, which the names of its files begin with."""

CHUNK = 1 << 16
"""Groups that are Python objects at a time."""

LARGEST_SHARE = 10
"""A group of repeated sentences may fill one in so many rows of the test text: a test text of one
sentence in many forms measures little. Groups with documents may be larger."""

Parts = NDArray[numpy.uint8]
"""Part of each row, (N,)."""

Progress = Callable[[int], None]
"""Called with the number of rows that are done."""


@dataclass(frozen=True)
class SplitSettings:
    """Sizes and choice of the parts."""

    validation: int = 1000
    """rows of the validation text, at most"""
    test: int = 1000
    """rows of the test text, at most"""
    seed: int = 1
    ignore_shorter: int = 0
    """sentences with fewer letters may be in several parts"""
    blank_lines: bool = False
    """rows without text in any language are no sentences, but separate documents"""


@dataclass(frozen=True)
class Split:
    """Part of every row of a text, and counts for the user."""

    parts: Parts
    is_separator: Mask
    """True on blank rows between documents, which are in no part, (N,)"""
    row_counts: tuple[int, ...]
    """rows of each part"""
    group_counts: tuple[int, ...]
    """groups of each part"""
    repeated_rows: int
    """rows of groups with several rows"""
    largest_group: int
    """rows of the largest group"""


@dataclass(frozen=True)
class _Rows:
    """Groups of the rows of a text and what the choice depends on."""

    labels: Labels
    ranks: Hashes
    """mixed hash of the sentences of each row, (N,)"""
    is_incomplete: Mask
    """True on rows without a sentence in some language, (N,)"""
    is_separator: Mask
    has_documents: bool


def plan_split(
    text: ParallelText,
    settings: SplitSettings,
    *,
    progress: Progress = lambda done: None,
) -> Split:
    """Choose the part of every row.

    Raises DataError if the text is too small, or if a part would be empty.
    """
    rows = _read_rows(text, settings, progress)
    separators = int(rows.is_separator.sum())
    row_count = len(rows.labels) - separators
    held_out = settings.validation + settings.test
    if row_count <= held_out:
        raise DataError(
            f"{text.paths[0]}: {pluralize(row_count, 'row')}; --validation and --test take "
            f"{held_out}, which leaves none for training; take fewer"
        )
    parts = _choose_parts(rows, settings)

    is_sentence = ~rows.is_separator
    labels = rows.labels[is_sentence]
    sizes = numpy.bincount(labels, minlength=len(rows.labels))
    first_rows = numpy.flatnonzero(sizes)
    repeated = sizes[sizes > 1]
    split = Split(
        parts,
        rows.is_separator,
        row_counts=_count_by_part(parts[is_sentence]),
        group_counts=_count_by_part(parts[first_rows]),
        repeated_rows=int(repeated.sum()),
        largest_group=int(sizes.max()),
    )
    _check_parts(split, settings)
    return split


def _count_by_part(parts: Parts) -> tuple[int, ...]:
    counts = numpy.bincount(parts, minlength=len(PART_NAMES))
    return tuple(counts.tolist())


def _read_rows(text: ParallelText, settings: SplitSettings, progress: Progress) -> _Rows:
    """Read the text once; join rows with a common sentence and rows of one document."""
    reader = _RowReader(text.languages, settings)
    for block in text.blocks():
        reader.add(block)
        progress(reader.row_count)
    return reader.finish()


class _RowReader:
    """Collects the hashes of rows, block by block."""

    def __init__(self, languages: Sequence[str], settings: SplitSettings) -> None:
        self.row_count = 0
        self._settings = settings
        self._hashes: dict[str, list[Hashes]] = {}
        """hashes by which rows are joined, by language"""
        for language in sorted(languages):
            self._hashes[language] = []
        self._document_hashes: list[Hashes] = []
        self._ranks: list[Hashes] = []
        self._incomplete: list[Mask] = []
        self._separators: list[Mask] = []

    def add(self, block: RowBlock) -> None:
        """Add the rows of a block."""
        count = len(block)
        ranks = numpy.zeros(count, dtype=numpy.uint64)
        is_incomplete = numpy.zeros(count, dtype=bool)
        is_blank = numpy.ones(count, dtype=bool)
        for language, collected in self._hashes.items():
            keys = [comparison_key(line) for line in block.texts[language]]
            hashes = hash_keys(keys)
            ranks = mix(ranks + hashes, self._settings.seed)

            is_empty = hashes == NO_SENTENCE
            is_incomplete |= is_empty
            is_blank &= is_empty

            lengths = numpy.array([len(key) for key in keys])
            is_short = lengths < self._settings.ignore_shorter
            hashes[is_short] = NO_SENTENCE
            collected.append(hashes)

        if block.documents is not None:
            hashes = hash_keys(block.documents)
            self._document_hashes.append(hashes)
        if not self._settings.blank_lines:
            is_blank[:] = False
        self._separators.append(is_blank)
        self._incomplete.append(is_incomplete)
        self._ranks.append(ranks)
        self.row_count += count

    def finish(self) -> _Rows:
        """Join the rows; the collected hashes are then given up."""
        is_separator = numpy.concatenate(self._separators)
        groups = RowGroups(self.row_count)
        for collected in self._hashes.values():
            hashes = numpy.concatenate(collected)
            collected.clear()
            groups.join_equal(hashes)

        has_documents = bool(self._document_hashes)
        if has_documents:
            hashes = numpy.concatenate(self._document_hashes)
            groups.join_equal(hashes)
        if self._settings.blank_lines:
            has_documents = True
            numbers = _numbered_documents(is_separator)
            groups.join_equal(numbers)

        return _Rows(
            labels=groups.labels(),
            ranks=numpy.concatenate(self._ranks),
            is_incomplete=numpy.concatenate(self._incomplete),
            is_separator=is_separator,
            has_documents=has_documents,
        )


def _numbered_documents(is_separator: Mask) -> Hashes:
    """Number of the document of each row, from 1; separators have none."""
    numbers = numpy.cumsum(is_separator, dtype=numpy.uint64)
    numbers += numpy.uint64(1)
    numbers[is_separator] = NO_SENTENCE
    return numbers


def _choose_parts(rows: _Rows, settings: SplitSettings) -> Parts:
    """Fill the test text, then the validation text, with whole groups in their random order.

    A group that is too large for the rest of a part is passed over. Rows without a sentence in some
    language cannot be scored, so their groups are training text.
    """
    labels = rows.labels
    part_of_group = numpy.full(len(labels), TRAINING, dtype=numpy.uint8)
    sizes = numpy.bincount(labels, minlength=len(labels))
    remaining = {TEST: settings.test, VALIDATION: settings.validation}
    largest = dict(remaining)
    if not rows.has_documents:
        for part, count in remaining.items():
            tenth = count // LARGEST_SHARE
            largest[part] = max(1, tenth)

    for group in _random_order(rows, sizes, seed=settings.seed):
        size = int(sizes[group])
        for part, place in remaining.items():
            if size <= min(place, largest[part]):
                part_of_group[group] = part
                remaining[part] -= size
                break
        if not any(remaining.values()):
            break
    return part_of_group[labels]


def _random_order(rows: _Rows, sizes: NDArray[numpy.int64], *, seed: int) -> Iterator[int]:
    """Yield the groups that may be held out, each by its smallest row.

    The smallest rank of its rows stands for a group. It is mixed again, so that a large group does
    not come earlier than a small one.
    """
    ranks = numpy.full(len(rows.labels), numpy.iinfo(numpy.uint64).max, dtype=numpy.uint64)
    numpy.minimum.at(ranks, rows.labels, rows.ranks)
    is_usable = sizes > 0
    incomplete_groups = rows.labels[rows.is_incomplete]
    is_usable[incomplete_groups] = False

    groups = numpy.flatnonzero(is_usable)
    mixed = mix(ranks[groups], seed)
    order = numpy.argsort(mixed, kind="stable")
    for start in range(0, len(order), CHUNK):
        chunk = order[start : start + CHUNK]
        yield from groups[chunk].tolist()


def mix(hashes: Hashes, seed: int) -> Hashes:
    """Scramble hashes with a seed, so that their order is random: SplitMix64.

    Steele, Lea and Flood 2014, figure 16.
    """
    offset = 0x9E3779B97F4A7C15 * (seed + 1)
    mixed = hashes + numpy.uint64(offset % 2**64)
    mixed ^= mixed >> numpy.uint64(30)
    mixed *= numpy.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> numpy.uint64(27)
    mixed *= numpy.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> numpy.uint64(31)
    return mixed


def _check_parts(split: Split, settings: SplitSettings) -> None:
    """Raise DataError for an empty part."""
    wanted = {TEST: ("--test", settings.test), VALIDATION: ("--validation", settings.validation)}
    for part, (option, count) in wanted.items():
        if count and not split.row_counts[part]:
            raise DataError(
                f"{option} {count}: nothing can be held out, because rows with a common sentence "
                f"stay together: of {sum(split.row_counts)} rows, the largest group has "
                f"{split.largest_group}; --ignore-shorter 20 lets sentences with fewer than 20 "
                "letters be in several parts"
            )
    if not split.row_counts[TRAINING]:
        raise DataError("nothing is left for training; lower --validation and --test")


def earlier_split(text: ParallelText, folder: Path, *, replace: bool) -> list[Path]:
    """Return the files of an earlier split in a folder, compressed or not.

    Raises DataError if there are some and they are not to be replaced, or if they are the text.
    """
    names = [f"{part}.{language}" for part in PART_NAMES for language in text.languages]
    return earlier_files(text.paths, folder, names, replace=replace, origin="split")


def write_split(
    text: ParallelText,
    split: Split,
    folder: Path,
    *,
    suffix: str = "",
    obsolete: Sequence[Path] = (),
    progress: Progress = lambda done: None,
) -> list[str]:
    """Read the text again and write the files of all parts; return their names.

    suffix: `.gz` for compressed files. obsolete: files that the new ones replace. Raises DataError
    if a file cannot be written, or if the text has changed.
    """
    names: dict[tuple[int, str], str] = {}
    for part, part_name in enumerate(PART_NAMES):
        if split.row_counts[part]:
            for language in text.languages:
                names[part, language] = f"{part_name}.{language}{suffix}"

    row = 0
    with new_text_files(folder, list(names.values()), obsolete=obsolete) as files:
        for block in text.blocks():
            rows = slice(row, row + len(block))
            row += len(block)
            for part, mask in _masks(split, rows):
                for language, lines in block.texts.items():
                    name = names.get((part, language))
                    if name is not None:
                        files[name].write(compress(lines, mask))
            progress(row)
        if row != len(split.parts):
            raise DataError(f"{text.paths[0]}: the file has changed while it was being read")
    return list(names.values())


def _masks(split: Split, rows: slice) -> Iterator[tuple[int, list[bool]]]:
    """Yield each part with the rows of a block that are in it."""
    parts = split.parts[rows]
    is_sentence = ~split.is_separator[rows]
    for part in range(len(PART_NAMES)):
        mask = (parts == part) & is_sentence
        yield part, mask.tolist()
