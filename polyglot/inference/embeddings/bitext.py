"""Nearest neighbours and translations between two files of sentences."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy

from polyglot.core.errors import ConfigError, DataError, unknown_name
from polyglot.data.text_files import line_blocks
from polyglot.inference.embeddings.encoder import SentenceEncoder
from polyglot.inference.embeddings.prefetch import async_writer
from polyglot.inference.embeddings.similarity import (
    MARGINS,
    SEARCHES,
    Neighbours,
    Pair,
    mine_bitext,
    pair_margins,
    scored_neighbours,
)
from polyglot.inference.embeddings.tagged_lines import chunks_in_language
from polyglot.inference.embeddings.vector_files import open_vector_file

Progress = Callable[[int, int], None]
"""Called with the number of embedded lines and the number of all lines."""


@dataclass(frozen=True)
class BitextNeighbours:
    """Neighbours of every line in the other file; blank lines have none and are none."""

    sources: list[str]
    targets: list[str]
    forwards: Neighbours
    backwards: Neighbours
    source_lines: numpy.ndarray
    """line number, from 0, of each row of `forwards`"""
    target_lines: numpy.ndarray
    """line number, from 0, of each row of `backwards`"""

    def nearest(self, *, top: int = 1, threshold: float = -float("inf")) -> Iterator[Pair]:
        """Yield the best pairs of each source line, best first."""
        all_scores = self.forwards.similarities[:, :top].tolist()
        all_neighbours = self.forwards.rows[:, :top].tolist()
        for row, scores in enumerate(all_scores):
            neighbours = all_neighbours[row]
            for score, neighbour in zip(scores, neighbours):
                if score >= threshold:
                    pair = Pair(score, row, neighbour)
                    yield self._to_lines(pair)

    def mined(self, *, threshold: float = -float("inf")) -> Iterator[Pair]:
        """Yield pairs of translations, best first, each line at most once."""
        for pair in mine_bitext(self.forwards, self.backwards, threshold=threshold):
            yield self._to_lines(pair)

    def _to_lines(self, pair: Pair) -> Pair:
        source_line = int(self.source_lines[pair.source])
        target_line = int(self.target_lines[pair.target])
        return Pair(pair.score, source_line, target_line)


class _Side(NamedTuple):
    """Text of one file."""

    language: str
    lines: list[str]
    numbers: numpy.ndarray
    """lines that are not blank, from 0"""

    @classmethod
    def read(cls, path: Path, language: str) -> _Side:
        """Read a file. Raises DataError if it has only blank lines."""
        lines: list[str] = []
        for block in line_blocks(path):
            lines += block
        numbers = [number for number, line in enumerate(lines) if line.strip()]
        if not numbers:
            raise DataError(f"{path}: every line is empty")
        return cls(language, lines, numpy.array(numbers, dtype=numpy.int64))


def find_neighbours(
    encoder: SentenceEncoder,
    source: tuple[Path, str],
    target: tuple[Path, str],
    *,
    pooling: str = "flat",
    layer: str = "bridge",
    neighbours: int = 4,
    margin: str = "ratio",
    search: str = "exact",
    progress: Progress = lambda done, total: None,
) -> BitextNeighbours:
    """Embed two files, each with its language, and find the neighbours of every line.

    Vectors are stored on disk; memory holds the text and one block of vectors of each side. Raises
    ConfigError and DataError with a message for the user.
    """
    if margin not in MARGINS:
        raise ConfigError(f"margin: {unknown_name('margin', margin, MARGINS)}")
    if search not in SEARCHES:
        raise ConfigError(f"search: {unknown_name('search', search, SEARCHES)}")
    sides = []
    for path, language in (source, target):
        [name] = encoder.resolve_languages([language])
        sides.append(_Side.read(path, name))
    with tempfile.TemporaryDirectory(prefix="polyglot-similar-") as folder:
        source_vectors, target_vectors = _embed_sides(
            encoder,
            sides,
            Path(folder),
            pooling=pooling,
            layer=layer,
            progress=progress,
        )
        forwards, backwards = scored_neighbours(
            source_vectors,
            target_vectors,
            k=neighbours,
            margin=margin,
            search=SEARCHES[search],
        )
    source_side, target_side = sides
    return BitextNeighbours(
        source_side.lines,
        target_side.lines,
        forwards,
        backwards,
        source_side.numbers,
        target_side.numbers,
    )


def score_pairs(
    encoder: SentenceEncoder,
    texts: Mapping[str, Sequence[str]],
    *,
    neighbours: int = 4,
    progress: Progress = lambda done, total: None,
) -> numpy.ndarray:
    """Compute the ratio margin of each row of a parallel text in two languages, (N,).

    texts: lines of each language, none of them blank. Every line is compared with all lines of the
    other language. Raises ConfigError for a language without an encoder.
    """
    sides = []
    for language, lines in texts.items():
        [name] = encoder.resolve_languages([language])
        sides.append(_Side(name, list(lines), numpy.arange(len(lines))))
    with tempfile.TemporaryDirectory(prefix="polyglot-margins-") as folder:
        source_vectors, target_vectors = _embed_sides(
            encoder,
            sides,
            Path(folder),
            pooling="flat",
            layer="bridge",
            progress=progress,
        )
        margins = pair_margins(source_vectors, target_vectors, k=neighbours)
    return margins.numpy()


def _embed_sides(
    encoder: SentenceEncoder,
    sides: Sequence[_Side],
    folder: Path,
    *,
    pooling: str,
    layer: str,
    progress: Progress,
) -> list[numpy.ndarray]:
    """Embed the lines of each side to a file; return the memory maps of the files."""
    size = encoder.vector_size(layer=layer, pooling=pooling)
    total = sum(len(side.numbers) for side in sides)
    done = 0
    arrays = []
    for number, side in enumerate(sides):
        path = folder / f"{number}.npy"
        lines = [side.lines[line] for line in side.numbers]
        chunks = chunks_in_language([lines], side.language)
        with (
            open_vector_file(path, size=size, precision="float32") as file,
            async_writer(file.write) as write,
        ):
            for chunk, vectors in encoder.encode_chunks(chunks, pooling=pooling, layer=layer):
                write(vectors.numpy(), sentences=chunk.sentences, languages=chunk.languages)
                done += len(chunk.sentences)
                progress(done, total)
        arrays.append(numpy.load(path, mmap_mode="r"))
    return arrays
