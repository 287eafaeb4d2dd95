"""Sentences to vectors, in order and in batches of similar length; names and shapes as in sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy
import torch
from torch import Tensor

from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, DataError, unknown_name
from polyglot.inference.embeddings.pooling import (
    cast,
    check_pooling,
    layer_rows,
    normalized,
    pool,
    vector_size,
)
from polyglot.inference.embeddings.prefetch import prefetch
from polyglot.inference.embeddings.similarity import similarity, similarity_pairwise
from polyglot.inference.parallel import parallel_map
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import pad

CHUNK_SIZE = (
    1 << 11
)  # sentences sorted by length together: enough for batches without much padding, little memory
FIRST_CHUNK_SIZE = 1 << 8  # of the first portion: soon tokenised, so that computing begins
MAX_POSITIONS = (
    1 << 14
)  # positions of a batch, padding included, so that a sentence without end does not multiply by its batch
BATCH_SIZE = 128
BATCH_SIZE_ON_CPU = 64  # where batches are computed side by side: less padding, and what is computed stays near its core

Item = TypeVar("Item")


class SentenceChunk(NamedTuple):
    """Some sentences in their order, each with its language."""

    sentences: Sequence[str]
    languages: Sequence[str]


class Group(NamedTuple):
    """Sentences of one language that are computed together, and where their vectors go."""

    language: str
    pieces: Sequence[list[int]]
    rows: Sequence[int]
    vectors: Tensor
    """(N, ·) of the whole portion"""
    whole: SentenceChunk | None
    """the portion, in its last group"""


class SentenceEncoder:
    """What a translator inherits: one vector for each sentence, the same whatever else is embedded with it.

    A blank sentence has no pieces; its vector is all zeros.
    """

    model: TranslationModel

    def encode_text(self, sentences: Sequence[str], language: str) -> list[list[int]]:
        """Text to pieces."""
        raise NotImplementedError

    def encode(
        self,
        sentences: str | Iterable[str],
        *,
        language: str | Iterable[str],
        pooling: str = "flat",
        layer: str = "bridge",
        batch_size: int | None = None,
        precision: str = "float32",
        normalize_embeddings: bool = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        show_progress_bar: bool = False,
    ) -> numpy.ndarray | Tensor | list[Tensor]:
        """Sentence embeddings (N, K·D) of `flat`, (N, D) of `mean` and `max`; of one string (K·D,) or (D,).

        language: of all sentences, or one for each. layer: `bridge`, `states` or `words`. precision: `float32`, `float16`,
        `int8`. The result is an array, with convert_to_tensor a tensor on the model's device, and without either a list of
        tensors. batch_size: at most; None is 64 on a CPU, where each thread has a batch of its own, and 128 elsewhere. Raises ConfigError
        and DataError as sentences.
        """
        if isinstance(sentences, str):
            many = self.encode([sentences], language=language, pooling=pooling, layer=layer, batch_size=batch_size, precision=precision,
                               normalize_embeddings=normalize_embeddings, convert_to_numpy=convert_to_numpy,
                               convert_to_tensor=convert_to_tensor, show_progress_bar=show_progress_bar)  # fmt: skip
            return many[0]
        if not isinstance(sentences, Iterable):
            raise DataError(
                f"encode: a string or a list of strings is expected, found {sentences!r}"
            )
        sentences = list(sentences)
        languages = [language] * len(sentences) if isinstance(language, str) else list(language)
        if len(languages) != len(sentences):
            raise DataError(
                f"encode: {len(sentences)} sentences and {len(languages)} languages; one for all or one for each is needed"
            )
        self.check_languages([language] if isinstance(language, str) else languages)
        places = list(split_chunks([range(len(sentences))]))
        portions = (
            SentenceChunk(sentences[place.start : place.stop], languages[place.start : place.stop])
            for place in places
        )
        found = self.encode_chunks(
            portions,
            pooling=pooling,
            layer=layer,
            batch_size=batch_size,
            precision=precision,
            normalize_embeddings=normalize_embeddings,
        )
        if show_progress_bar:
            from rich.progress import track

            found = track(
                found, "portions of sentences", total=len(places), console=stderr_console, transient=True
            )
        parts = [vectors for _, vectors in found]
        if not parts:
            size = vector_size(
                self.model,
                language if isinstance(language, str) else next(iter(self.model.encoders)),
                layer=layer,
                pooling=pooling,
            )
            parts = [cast(torch.zeros(0, size), precision)]
        vectors = torch.cat(parts)
        if convert_to_tensor:
            return vectors.to(next(self.model.parameters()).device)
        return vectors.numpy() if convert_to_numpy else list(vectors)

    def encode_chunks(
        self,
        portions: Iterable[SentenceChunk],
        *,
        pooling: str = "flat",
        layer: str = "bridge",
        batch_size: int | None = None,
        precision: str = "float32",
        normalize_embeddings: bool = False,
    ) -> Iterator[tuple[SentenceChunk, Tensor]]:
        """Each portion with its vectors (N, K·D) or (N, D) in main memory, as they are ready: any number in constant memory."""
        check_pooling(self.model, layer=layer, pooling=pooling, precision=precision)
        if batch_size is not None and batch_size < 1:
            raise ConfigError(f"batch_size: {batch_size}; at least 1")
        return self._encoded(
            prefetch(map(self._tokenised, portions)),
            layer,
            pooling,
            batch_size,
            precision,
            normalize_embeddings,
        )

    def vector_size(self, *, layer: str = "bridge", pooling: str = "flat") -> int:
        """Numbers in a vector. Raises ConfigError where there is no one size."""
        check_pooling(self.model, layer=layer, pooling=pooling, precision="float32")
        return vector_size(
            self.model, next(iter(self.model.encoders)), layer=layer, pooling=pooling
        )

    def check_languages(self, languages: Iterable[str]) -> None:
        """Raises ConfigError for a language without an encoder."""
        for language in dict.fromkeys(languages):
            if language not in self.model.encoders:
                raise ConfigError(
                    f"language: {unknown_name('encoder', language, self.model.encoders)}"
                )

    similarity = staticmethod(similarity)
    similarity_pairwise = staticmethod(similarity_pairwise)

    def _tokenised(self, portion: SentenceChunk) -> tuple[SentenceChunk, list[list[int]]]:
        """The pieces of each sentence."""
        pieces: list[list[int]] = [[]] * len(portion.sentences)
        for language in dict.fromkeys(portion.languages):
            rows = [row for row, one in enumerate(portion.languages) if one == language]
            for row, own in zip(
                rows, self.encode_text([portion.sentences[row] for row in rows], language)
            ):
                pieces[row] = own
        return portion, pieces

    def _encoded(
        self,
        tokenised,
        layer: str,
        pooling: str,
        batch_size: int | None,
        precision: str,
        normalize: bool,
    ) -> Iterator[tuple[SentenceChunk, Tensor]]:
        device, size = (
            next(self.model.parameters()).device,
            self.vector_size(layer=layer, pooling=pooling),
        )
        together = batch_size or (BATCH_SIZE_ON_CPU if device.type == "cpu" else BATCH_SIZE)

        def groups() -> Iterator[Group]:
            for portion, pieces in tokenised:
                vectors = torch.empty(len(pieces), size, device=device)
                vectors[[row for row, own in enumerate(pieces) if not own]] = 0
                parts = list(by_language(portion.languages, pieces, size=together)) or [("", [])]
                for number, (language, rows) in enumerate(parts, start=1):
                    yield Group(
                        language,
                        [pieces[row] for row in rows],
                        rows,
                        vectors,
                        portion if number == len(parts) else None,
                    )

        def embed(group: Group) -> Group:
            if group.rows:
                with (
                    torch.inference_mode()
                ):  # whose tensors cannot be used everywhere, but those that they are copied to
                    tokens, mask = (
                        tensor.to(device, non_blocking=True) for tensor in pad(group.pieces)
                    )
                    group.vectors[group.rows] = pool(
                        layer_rows(self.model, group.language, tokens, mask, layer=layer), pooling
                    )
            return group

        for group in parallel_map(embed, groups(), device):
            if group.whole is not None:
                yield (
                    group.whole,
                    cast(
                        normalized(group.vectors) if normalize else group.vectors, precision
                    ).cpu(),
                )


def split_chunks(blocks: Iterable[Sequence[Item]]) -> Iterator[Sequence[Item]]:
    """Blocks of any lengths, each cut into portions: of FIRST, then twice as long as the one before until they are PORTION."""
    size = FIRST_CHUNK_SIZE
    for block in blocks:
        start = 0
        while start < len(block):
            yield block[start : start + size]
            start, size = start + size, min(2 * size, CHUNK_SIZE)


def by_language(
    languages: Sequence[str], pieces: Sequence[list[int]], *, size: int
) -> Iterator[tuple[str, list[int]]]:
    """Each language with the rows of its batches."""
    for language in dict.fromkeys(languages):
        own = [row for row, one in enumerate(languages) if one == language]
        for places in batches([len(pieces[row]) for row in own], size=size):
            yield language, [own[place] for place in places]


def batches(lengths: Sequence[int], *, size: int) -> Iterator[list[int]]:
    """Places of similar length together, the longest first, at most `size` sentences and TOKENS positions; blank ones are left out."""
    order = [
        int(place)
        for place in numpy.argsort(-numpy.asarray(lengths, dtype=numpy.int64), kind="stable")
        if lengths[place]
    ]
    start = 0
    while start < len(order):
        count = min(size, max(1, MAX_POSITIONS // lengths[order[start]]))
        yield order[start : start + count]
        start += count
