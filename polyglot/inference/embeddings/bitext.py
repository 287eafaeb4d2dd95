"""Two files of sentences side by side: nearest neighbours across languages, and which lines are translations of each other."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

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
    scored_neighbours,
)
from polyglot.inference.embeddings.tagged_lines import chunks_in_language
from polyglot.inference.embeddings.vector_files import open_vector_file

Progress = Callable[[int, int], None]
"""Told of the lines that are embedded, and of all."""


@dataclass(frozen=True)
class BitextNeighbours:
    """The candidates of every sentence on the other side; blank lines are no candidates and have none."""

    sources: list[str]
    targets: list[str]
    forwards: Neighbours
    backwards: Neighbours
    source_lines: numpy.ndarray
    """the lines, from 0, that the rows of `forwards` are"""
    target_lines: numpy.ndarray

    def nearest(self, *, top: int = 1, threshold: float = -float("inf")) -> Iterator[Pair]:
        """For each line its best ones, best first."""
        for row, (scores, others) in enumerate(
            zip(self.forwards.similarities[:, :top].tolist(), self.forwards.rows[:, :top].tolist())
        ):
            for score, other in zip(scores, others):
                if score >= threshold:
                    yield self._by_line(Pair(score, row, other))

    def mined(self, *, threshold: float = -float("inf")) -> Iterator[Pair]:
        """Bitext, best pairs first, every line at most once."""
        return map(self._by_line, mine_bitext(self.forwards, self.backwards, threshold=threshold))

    def _by_line(self, pair: Pair) -> Pair:
        return Pair(
            pair.score, int(self.source_lines[pair.source]), int(self.target_lines[pair.target])
        )


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
    """Embed two files, each with its language, and look for the neighbours of every line.

    Vectors wait on disk, so that memory holds the text and a block of each side. Raises ConfigError and DataError as sentences.
    """
    for kind, name, known in (("margin", margin, MARGINS), ("search", search, SEARCHES)):
        if name not in known:
            raise ConfigError(f"{kind}: {unknown_name(kind, name, known)}")
    sides = (source, target)
    encoder.check_languages(language for _, language in sides)
    texts = [[line for lines in line_blocks(path) for line in lines] for path, _ in sides]
    numbers = [
        numpy.array(
            [number for number, line in enumerate(lines) if line.strip()], dtype=numpy.int64
        )
        for lines in texts
    ]
    for (path, _), rows in zip(sides, numbers):
        if not len(rows):
            raise DataError(f"{path}: every line is empty")
    total, done = sum(map(len, numbers)), 0
    size = encoder.vector_size(layer=layer, pooling=pooling)
    with tempfile.TemporaryDirectory(prefix="polyglot-similar-") as folder:
        files = []
        for side, (lines, rows, (_, language)) in enumerate(zip(texts, numbers, sides)):
            files.append(Path(folder) / f"{side}.npy")
            with (
                open_vector_file(files[-1], size=size, precision="float32") as written,
                async_writer(written.write) as write,
            ):
                portions = chunks_in_language([[lines[row] for row in rows]], language)
                for portion, vectors in encoder.encode_chunks(
                    portions, pooling=pooling, layer=layer
                ):
                    write(vectors.numpy(), sentences=portion.sentences, languages=portion.languages)
                    done += len(portion.sentences)
                    progress(done, total)
        one, other = (numpy.load(file, mmap_mode="r") for file in files)
        forwards, backwards = scored_neighbours(
            one, other, k=neighbours, margin=margin, search=SEARCHES[search]
        )
    return BitextNeighbours(*texts, forwards, backwards, *numbers)
