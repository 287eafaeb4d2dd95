"""Shortlist: word translation probabilities from training text, for vocabulary selection."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from torch import Tensor

from polyglot.core.errors import CheckpointError
from polyglot.core.file_checks import require_regular_file

UNIGRAM_WEIGHT = 1e-3
"""Weight of the unigram probability: it only orders words that no source word supports."""

UNIGRAMS_KEY = "common"
"""Name of the tensor `unigrams` in shortlist files."""

CHECKSUM_KEY = "sha256"
"""Name of the checksum in the metadata of shortlist files."""


class Shortlist:
    """p(target word | source word) for the most probable target words of each source word."""

    def __init__(
        self,
        starts: NDArray[numpy.int64],
        words: NDArray[numpy.int32],
        values: NDArray[numpy.float32],
        unigrams: NDArray[numpy.float32],
    ) -> None:
        """Store the table.

        starts: (V_s + 2,) index of the first entry of each source word: of the V_s words, then of
        the empty word; at the end, the number of all entries.
        words: (M,) target words of the entries. values: (M,) their probabilities.
        unigrams: (V_t,) unigram probabilities of the target words.
        """
        self.starts = starts
        self.words = words
        self.values = values
        self.unigrams = unigrams

    @classmethod
    def learn(
        cls,
        sources: Sequence[NDArray[numpy.int32]],
        targets: Sequence[NDArray[numpy.int32]],
        sizes: tuple[int, int],
        *,
        words_per_source: int = 100,
        iterations: int = 5,
    ) -> Shortlist:
        """Train IBM model 1 with an empty source word (Brown et al. 1993, section 4.2).

        sizes: V_s and V_t. words_per_source: number of target words for each source word.
        """
        source_size, target_size = sizes
        if not any(len(target) for target in targets):
            return cls._uniform(source_size, target_size)
        pair_of_link, target_position = _links(sources, targets, sizes)
        word_pairs, pair_index = numpy.unique(pair_of_link, return_inverse=True)
        source_of_pair = word_pairs // target_size
        source_count = source_size + 1  # with the empty word

        # Expectation maximisation of p(target word | source word), for each word pair. Expectation:
        # share each target word among the source words of its sentence.
        probabilities = numpy.ones(len(word_pairs))
        for _ in range(iterations):
            shares = probabilities[pair_index]
            target_sums = numpy.bincount(target_position, weights=shares)
            shares /= target_sums[target_position]

            # Maximisation: the shares of a pair, divided by those of all pairs of its source word.
            counts = numpy.bincount(pair_index, weights=shares, minlength=len(word_pairs))
            source_sums = numpy.bincount(source_of_pair, weights=counts, minlength=source_count)
            probabilities = counts / source_sums[source_of_pair]

        # The best target words of each source word, by descending probability.
        order = numpy.lexsort((-probabilities, source_of_pair))
        sorted_sources = source_of_pair[order]
        # Rank among the pairs of the same source word: position minus that of the first pair.
        first_positions = numpy.searchsorted(sorted_sources, sorted_sources)
        rank = numpy.arange(len(order)) - first_positions
        kept = order[rank < words_per_source]  # still in the order of the source words

        source_words = numpy.arange(source_count + 1)  # the last one gives the end of the table
        target_words = word_pairs[kept] % target_size
        all_targets = numpy.concatenate(targets)
        word_counts = numpy.bincount(all_targets, minlength=target_size)
        unigrams = word_counts / len(all_targets)
        return cls(
            starts=numpy.searchsorted(source_of_pair[kept], source_words),
            words=target_words.astype(numpy.int32),
            values=probabilities[kept].astype(numpy.float32),
            unigrams=unigrams.astype(numpy.float32),
        )

    @classmethod
    def _uniform(cls, source_size: int, target_size: int) -> Shortlist:
        """Shortlist of empty text: every target word is equally probable."""
        return cls(
            starts=numpy.zeros(source_size + 2, numpy.int64),
            words=numpy.zeros(0, numpy.int32),
            values=numpy.zeros(0, numpy.float32),
            unigrams=numpy.full(target_size, 1 / target_size, numpy.float32),
        )

    @classmethod
    def load(cls, path: Path) -> Shortlist:
        """Raise CheckpointError for a file that is not a shortlist."""
        try:
            tensors, metadata = _read_tensors(path)
            expected = metadata.get(CHECKSUM_KEY)  # older files have none
            if expected not in (None, _checksum(tensors)):
                raise CheckpointError(
                    f"{path}: damaged, its own checksum differs; "
                    "`polyglot shortlist` writes it again"
                )
            tensors["unigrams"] = tensors.pop(UNIGRAMS_KEY)
            shortlist = cls(**tensors)
            shortlist._validate()
        except OSError as error:
            reason = error.strerror or error
            raise CheckpointError(f"{path}: cannot read the shortlist: {reason}") from None
        except (SafetensorError, KeyError, TypeError, ValueError):
            raise CheckpointError(
                f"{path}: not a shortlist; `polyglot shortlist` writes one"
            ) from None
        return shortlist

    def _validate(self) -> None:
        """Raise ValueError for types, shapes or numbers that do not belong to a shortlist."""
        for array, kind in (
            (self.starts, "i"),
            (self.words, "i"),
            (self.values, "f"),
            (self.unigrams, "f"),
        ):
            if array.dtype.kind != kind or array.ndim != 1:
                raise ValueError("an array has another type or shape")
        if len(self.starts) < 2 or len(self.words) != len(self.values):
            raise ValueError("the arrays have different lengths")
        if self.starts[0] < 0 or (numpy.diff(self.starts) < 0).any():
            raise ValueError("the positions of entries are not sorted")
        if self.starts[-1] > len(self.words):
            raise ValueError("positions of entries are outside the table")
        if len(self.words) and not 0 <= self.words.min() <= self.words.max() < len(self.unigrams):
            raise ValueError("words are outside the vocabulary")

    def to_bytes(self) -> bytes:
        tensors = {
            "starts": self.starts,
            "words": self.words,
            "values": self.values,
            UNIGRAMS_KEY: self.unigrams,
        }
        return save(tensors, metadata={CHECKSUM_KEY: _checksum(tensors)})

    def scores(self, sentences: Sequence[Sequence[int]]) -> Tensor:
        """Score each target word: sum over the source words, plus weighted unigrams; (B, V_t)."""
        unigram_scores = UNIGRAM_WEIGHT * self.unigrams
        scores = numpy.tile(unigram_scores, (len(sentences), 1))
        empty_word = len(self.starts) - 2
        for row, sentence in zip(scores, sentences):
            source_words = {*map(int, sentence), empty_word}
            for word in source_words:
                start = self.starts[word]
                end = self.starts[word + 1]
                target_words = self.words[start:end]
                row[target_words] += self.values[start:end]
        return torch.from_numpy(scores)


def _read_tensors(path: Path) -> tuple[dict[str, NDArray], dict[str, str]]:
    """Arrays and metadata of a safetensors file. Raises OSError and SafetensorError."""
    require_regular_file(path)
    tensors = {}
    with safe_open(path, framework="numpy") as file:
        for name in file.keys():  # noqa: SIM118: it is no mapping
            tensors[name] = file.get_tensor(name)
        return tensors, file.metadata() or {}


def _checksum(tensors: Mapping[str, NDArray]) -> str:
    """SHA-256 of names, types, shapes and values."""
    digest = hashlib.sha256()
    for name, array in sorted(tensors.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(numpy.ascontiguousarray(array))
    return digest.hexdigest()


def _links(
    sources: Sequence[NDArray[numpy.int32]],
    targets: Sequence[NDArray[numpy.int32]],
    sizes: tuple[int, int],
) -> tuple[NDArray[numpy.int64], NDArray[numpy.int64]]:
    """List every possible link of a source word (or the empty word) with a target word.

    Returns the word pair of each link as `source · V_t + target`, and the position of its target
    word in the whole text.
    """
    source_size, target_size = sizes
    empty_word = source_size
    pair_lists = []
    position_lists = []
    start = 0
    for source, target in zip(sources, targets):
        source_words = numpy.append(source, empty_word).astype(numpy.int64)
        sentence_pairs = source_words[:, None] * target_size + target
        pair_lists.append(sentence_pairs.ravel())

        end = start + len(target)
        sentence_positions = numpy.arange(start, end)
        position_lists.append(numpy.tile(sentence_positions, len(source_words)))
        start = end
    return numpy.concatenate(pair_lists), numpy.concatenate(position_lists)
