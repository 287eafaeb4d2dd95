"""Sentences of held-out text that are also in the training text, equal or nearly equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy

from polyglot.data.cache import cached_dataset, fingerprint
from polyglot.data.corpora import Corpora
from polyglot.data.dataset_fingerprint import dataset_fingerprint
from polyglot.tasks.pairs import LanguagePair
from polyglot.text.comparison_key import NO_SENTENCE, Hashes, sentence_hashes

if TYPE_CHECKING:
    import pyarrow
    from datasets import Dataset

VERSION = 1
"""Part of the fingerprint of cached hashes; increase it if `comparison_key` changes."""

LINES = 1 << 15
"""Lines that are hashed at a time."""


@dataclass(frozen=True)
class Overlap:
    """Held-out sentences of a language, and those of them that are in the training text."""

    part: str
    """name of the held-out text, such as `test`"""
    language: str
    sentence_count: int
    shared_count: int

    @property
    def share(self) -> float:
        return self.shared_count / self.sentence_count


def find_overlaps(
    train: Corpora,
    held_out: Mapping[str, Corpora],
    languages: Sequence[str],
) -> list[Overlap]:
    """Compare the held-out text of each language with its training text.

    held_out: corpora by name of the part. A language with streamed text is not compared: a dry run
    does not read all of it. Returns an entry for each part and language with text. Raises DataError
    for text that cannot be used.
    """
    overlaps = []
    for part, corpora in held_out.items():
        for language in languages:
            if train.is_streamed(LanguagePair(language, language)):
                continue
            hashes = _all_hashes(corpora, language)
            if len(hashes):
                is_shared = _contained(hashes, _hash_chunks(train, language))
                shared_count = int(is_shared.sum())
                overlaps.append(Overlap(part, language, len(hashes), shared_count))
    return overlaps


def _all_hashes(corpora: Corpora, language: str) -> Hashes:
    """Hashes of all sentences of a language, without empty lines."""
    chunks = [numpy.zeros(0, dtype=numpy.uint64), *_hash_chunks(corpora, language)]
    hashes = numpy.concatenate(chunks)
    return hashes[hashes != NO_SENTENCE]


def _contained(hashes: Hashes, chunks: Iterator[Hashes]) -> numpy.ndarray:
    """True on the hashes that are in one of the chunks, (N,). Sorts only the hashes."""
    unique, places = numpy.unique(hashes, return_inverse=True)
    is_found = numpy.zeros(len(unique), dtype=bool)
    for chunk in chunks:
        positions = numpy.searchsorted(unique, chunk)
        positions[positions == len(unique)] = 0
        is_equal = unique[positions] == chunk
        is_found[positions[is_equal]] = True
    return is_found[places]


def _hash_chunks(corpora: Corpora, language: str) -> Iterator[Hashes]:
    """Yield the hashes of all text of a language; none without text, or if it is streamed."""
    copy = LanguagePair(language, language)
    if copy not in corpora.pairs() or corpora.is_streamed(copy):
        return
    for text in corpora.parallel(copy):
        yield from _text_hashes(text.source)


def _text_hashes(text: Dataset) -> Iterator[Hashes]:
    """Yield the hashes of the rows of a cached text; they are cached, too."""

    def tables() -> Iterator[pyarrow.Table]:
        import pyarrow

        for rows in text.with_format("arrow").iter(batch_size=LINES):
            hashes = sentence_hashes(rows.column("text").to_pylist())
            yield pyarrow.table({"hash": pyarrow.array(hashes, pyarrow.uint64())})

    name = fingerprint("comparison key", VERSION, dataset_fingerprint(text))
    for chunk in cached_dataset(name, tables).data.column("hash").chunks:
        yield chunk.to_numpy()
