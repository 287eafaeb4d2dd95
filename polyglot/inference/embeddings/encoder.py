"""Sentences to vectors, with the names and shapes of sentence-transformers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

import numpy
import torch
from torch import Tensor

from polyglot.core.console import stderr_console
from polyglot.core.errors import ConfigError, DataError, unknown_name
from polyglot.core.language_codes import resolve_language
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
from polyglot.inference.length_batches import length_batches
from polyglot.inference.parallel import parallel_map
from polyglot.model.translation_model import TranslationModel
from polyglot.tasks.batch import pad
from polyglot.tasks.transfers import to_device, to_host

CHUNK_SIZE = 1 << 11
"""Sentences sorted by length together: enough for batches with little padding, in little memory."""
FIRST_CHUNK_SIZE = 1 << 8
"""Sentences of the first chunk: tokenised quickly, so that the computation starts early."""
MAX_POSITIONS = 1 << 14
"""Positions of a batch with padding, so that a very long sentence does not fill the memory."""
BATCH_SIZE = 128
BATCH_SIZE_ON_CPU = 64
"""Batch size for parallel batches on a CPU: less padding, and results stay in the core's cache."""

Item = TypeVar("Item")


class SentenceChunk(NamedTuple):
    """Consecutive sentences, each with its language."""

    sentences: Sequence[str]
    languages: Sequence[str]


class TokenizedChunk(NamedTuple):
    """Chunk with the vocabulary pieces of each sentence."""

    chunk: SentenceChunk
    pieces: Sequence[list[int]]


class EmbeddingBatch(NamedTuple):
    """Sentences of one language that are computed together."""

    language: str
    pieces: Sequence[list[int]]
    rows: Sequence[int]
    """rows of these sentences in `vectors`"""
    vectors: Tensor
    """(N, ·) vectors of the whole chunk"""
    complete_chunk: SentenceChunk | None
    """the chunk, in its last batch; None in the other batches"""


class SentenceEncoder:
    """Base class of models that embed sentences.

    A vector does not depend on the other sentences. The vector of a blank sentence is all zeros.
    """

    model: TranslationModel

    def encode_text(self, sentences: Sequence[str], language: str) -> list[list[int]]:
        """Convert text to vocabulary pieces."""
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
        """Return sentence embeddings (N, K·D) for `flat`, (N, D) for `mean` and `max`.

        For a single string the result is (K·D,) or (D,).

        language: of all sentences, or one for each sentence. layer: `bridge`, `states` or `words`.
        batch_size: upper limit; by default 64 on a CPU, where each thread has its own batch, else
        128. precision: `float32`, `float16` or `int8`. The result is an array; a tensor on the
        model's device if `convert_to_tensor`; a list of tensors if neither is set. Raises
        ConfigError and DataError with a message for the user.
        """
        is_single = isinstance(sentences, str)
        chunks = self._check_input([sentences] if is_single else sentences, language)
        encoded = self.encode_chunks(
            iter(chunks),
            pooling=pooling,
            layer=layer,
            batch_size=batch_size,
            precision=precision,
            normalize_embeddings=normalize_embeddings,
        )
        if show_progress_bar:
            encoded = _with_progress_bar(encoded, chunks=len(chunks))
        parts = [vectors for _, vectors in encoded]
        if not parts:
            size = self._size_without_sentences(language, layer=layer, pooling=pooling)
            parts.append(cast(torch.zeros(0, size), precision))

        vectors = torch.cat(parts)
        if convert_to_tensor:
            result = vectors.to(next(self.model.parameters()).device)
        else:
            result = vectors.numpy() if convert_to_numpy else list(vectors)
        return result[0] if is_single else result

    def _check_input(
        self,
        sentences: Iterable[str],
        language: str | Iterable[str],
    ) -> list[SentenceChunk]:
        """Split the sentences into chunks. Raises ConfigError and DataError for invalid input."""
        if not isinstance(sentences, Iterable):
            raise DataError(
                f"encode: a string or a list of strings is expected, found {sentences!r}"
            )
        sentences = list(sentences)
        if isinstance(language, str):
            languages = self.resolve_languages([language]) * len(sentences)
        else:
            languages = list(language)
            if len(languages) != len(sentences):
                raise DataError(
                    f"encode: {len(sentences)} sentences and {len(languages)} languages; "
                    "give one language for all sentences or one for each"
                )
            languages = self.resolve_languages(languages)
        chunks = []
        for rows in split_chunks([range(len(sentences))]):
            place = slice(rows.start, rows.stop)
            chunks.append(SentenceChunk(sentences[place], languages[place]))
        return chunks

    def _size_without_sentences(
        self,
        language: str | Iterable[str],
        *,
        layer: str,
        pooling: str,
    ) -> int:
        if not isinstance(language, str):
            language = next(iter(self.model.encoders))
        [language] = self.resolve_languages([language])
        return vector_size(self.model, language, layer=layer, pooling=pooling)

    def encode_chunks(
        self,
        chunks: Iterable[SentenceChunk],
        *,
        pooling: str = "flat",
        layer: str = "bridge",
        batch_size: int | None = None,
        precision: str = "float32",
        normalize_embeddings: bool = False,
    ) -> Iterator[tuple[SentenceChunk, Tensor]]:
        """Yield each chunk with its vectors (N, K·D) or (N, D) in main memory.

        The memory needed does not depend on the number of chunks. Raises ConfigError for invalid
        settings.
        """
        check_pooling(self.model, layer=layer, pooling=pooling, precision=precision)
        if batch_size is not None and batch_size < 1:
            raise ConfigError(f"batch_size: found {batch_size}; expected at least 1")
        batches = self._make_batches(
            prefetch(map(self._tokenize, chunks)),
            batch_size=batch_size or self._default_batch_size,
            vector_size=self.vector_size(layer=layer, pooling=pooling),
        )
        embed = partial(self._embed_batch, layer=layer, pooling=pooling)
        return _complete_chunks(
            parallel_map(embed, batches, self._device),
            precision=precision,
            normalize=normalize_embeddings,
        )

    def vector_size(self, *, layer: str = "bridge", pooling: str = "flat") -> int:
        """Return the size of a vector. Raises ConfigError if the sizes would differ."""
        check_pooling(self.model, layer=layer, pooling=pooling, precision="float32")
        language = next(iter(self.model.encoders))
        return vector_size(self.model, language, layer=layer, pooling=pooling)

    def resolve_languages(self, languages: Iterable[str]) -> list[str]:
        """Return the languages as the model spells them, such as `deu_Latn` for `de`.

        Raises ConfigError for a language without an encoder, and for an ambiguous spelling.
        """
        languages = list(languages)
        names = {}
        for language in dict.fromkeys(languages):
            name = resolve_language(language, self.model.encoders)
            if name not in self.model.encoders:
                message = unknown_name("encoder", language, self.model.encoders)
                raise ConfigError(f"language: {message}")
            names[language] = name
        return [names[language] for language in languages]

    similarity = staticmethod(similarity)
    similarity_pairwise = staticmethod(similarity_pairwise)

    @property
    def _device(self) -> torch.device:
        return next(self.model.parameters()).device

    @property
    def _default_batch_size(self) -> int:
        return BATCH_SIZE_ON_CPU if self._device.type == "cpu" else BATCH_SIZE

    def _tokenize(self, chunk: SentenceChunk) -> TokenizedChunk:
        pieces: list[list[int]] = [[]] * len(chunk.sentences)
        for language in dict.fromkeys(chunk.languages):
            rows = _rows_of_language(chunk.languages, language)
            sentences = [chunk.sentences[row] for row in rows]
            pieces_of_sentences = self.encode_text(sentences, language)
            for row, sentence_pieces in zip(rows, pieces_of_sentences):
                pieces[row] = sentence_pieces
        return TokenizedChunk(chunk, pieces)

    def _make_batches(
        self,
        tokenized: Iterable[TokenizedChunk],
        *,
        batch_size: int,
        vector_size: int,
    ) -> Iterator[EmbeddingBatch]:
        for chunk, pieces in tokenized:
            vectors = torch.empty(len(pieces), vector_size, device=self._device)
            blank_rows = [row for row, sentence_pieces in enumerate(pieces) if not sentence_pieces]
            vectors[blank_rows] = 0

            batches = list(language_batches(chunk.languages, pieces, size=batch_size))
            if not batches:
                batches = [("", [])]  # the chunk has only blank sentences
            for number, (language, rows) in enumerate(batches, start=1):
                yield EmbeddingBatch(
                    language,
                    [pieces[row] for row in rows],
                    rows,
                    vectors,
                    chunk if number == len(batches) else None,
                )

    def _embed_batch(self, batch: EmbeddingBatch, *, layer: str, pooling: str) -> EmbeddingBatch:
        """Write the vectors of a batch into the vectors of its chunk."""
        if batch.rows:
            # Tensors made in inference mode have restrictions; `batch.vectors` is a normal tensor.
            with torch.inference_mode():
                tokens, mask = pad(batch.pieces)
                tokens = to_device(tokens, self._device)
                mask = to_device(mask, self._device)
                rows = layer_rows(self.model, batch.language, tokens, mask, layer=layer)
                places = to_device(torch.tensor(batch.rows), self._device)
                batch.vectors.index_copy_(0, places, pool(rows, pooling))
        return batch


def _complete_chunks(
    batches: Iterable[EmbeddingBatch],
    *,
    precision: str,
    normalize: bool,
) -> Iterator[tuple[SentenceChunk, Tensor]]:
    """Yield the chunks whose last batch is finished, with their vectors in main memory."""
    for batch in batches:
        if batch.complete_chunk is not None:
            # Normalise first: float16 has too few digits and too small a range for long vectors.
            vectors = normalized(batch.vectors) if normalize else batch.vectors
            yield batch.complete_chunk, to_host(cast(vectors, precision))


def _with_progress_bar(items: Iterable[Item], *, chunks: int) -> Iterable[Item]:
    from rich.progress import track

    return track(items, "chunks of sentences", total=chunks, console=stderr_console, transient=True)


def split_chunks(blocks: Iterable[Sequence[Item]]) -> Iterator[Sequence[Item]]:
    """Cut blocks of any length into chunks.

    The first chunk has `FIRST_CHUNK_SIZE` items; the size doubles up to `CHUNK_SIZE`.
    """
    size = FIRST_CHUNK_SIZE
    for block in blocks:
        start = 0
        while start < len(block):
            yield block[start : start + size]
            start += size
            size = min(2 * size, CHUNK_SIZE)


def _rows_of_language(languages: Sequence[str], language: str) -> list[int]:
    return [row for row, row_language in enumerate(languages) if row_language == language]


def language_batches(
    languages: Sequence[str],
    pieces: Sequence[list[int]],
    *,
    size: int,
) -> Iterator[tuple[str, list[int]]]:
    """Yield the language and the rows of each batch; blank sentences are in no batch."""
    for language in dict.fromkeys(languages):
        language_rows = _rows_of_language(languages, language)
        lengths = [len(pieces[row]) for row in language_rows]
        for batch in embedding_batches(lengths, size=size):
            yield language, [language_rows[index] for index in batch]


def embedding_batches(lengths: Sequence[int], *, size: int) -> Iterator[list[int]]:
    """Yield batches of at most `size` sentences and `MAX_POSITIONS` positions, longest first."""
    return length_batches(lengths, max_sentences=size, max_positions=MAX_POSITIONS)
