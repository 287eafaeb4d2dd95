"""Vectors into a file, a portion at a time, in the format that its name ends with. A file is there when it is whole, or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy

from polyglot.core.errors import ConfigError, DataError


class VectorFile(Protocol):
    """What every format is: made with a path, the size of the vectors and their type."""

    def __init__(self, path: Path, *, size: int, precision: str) -> None: ...

    def write(
        self, vectors: numpy.ndarray, *, sentences: Sequence[str], languages: Sequence[str]
    ) -> None:
        """vectors (N, D)"""

    def close(self) -> None: ...


class NpyFile:
    """`numpy.load` reads it, also with `mmap_mode="r"`: (N, D) and nothing else."""

    def __init__(self, path: Path, *, size: int, precision: str) -> None:
        self._size, self._type, self._count = size, numpy.dtype(precision), 0
        self._file = path.open("wb")
        self._header()

    def write(
        self, vectors: numpy.ndarray, *, sentences: Sequence[str], languages: Sequence[str]
    ) -> None:
        self._file.write(numpy.ascontiguousarray(vectors, dtype=self._type).data)
        self._count += len(vectors)

    def close(self) -> None:
        with self._file:
            self._file.seek(0)
            self._header()

    def _header(self) -> None:
        """Of the rows so far; numpy leaves room in it for the number to grow."""
        fields = {
            "descr": numpy.lib.format.dtype_to_descr(self._type),
            "fortran_order": False,
            "shape": (self._count, self._size),
        }
        numpy.lib.format.write_array_header_1_0(self._file, fields)


class ParquetFile:
    """Columns `language`, `sentence` and `embedding`, a list of fixed size."""

    def __init__(self, path: Path, *, size: int, precision: str) -> None:
        import pyarrow
        import pyarrow.parquet

        self._arrow = pyarrow
        self._list = pyarrow.list_(pyarrow.from_numpy_dtype(numpy.dtype(precision)), size)
        self._schema = pyarrow.schema(
            [
                ("language", pyarrow.string()),
                ("sentence", pyarrow.string()),
                ("embedding", self._list),
            ]
        )
        self._writer = pyarrow.parquet.ParquetWriter(path, self._schema)

    def write(
        self, vectors: numpy.ndarray, *, sentences: Sequence[str], languages: Sequence[str]
    ) -> None:
        arrow = self._arrow
        embedding = arrow.FixedSizeListArray.from_arrays(
            arrow.array(vectors.reshape(-1)), type=self._list
        )
        columns = [
            arrow.array(languages, arrow.string()),
            arrow.array(sentences, arrow.string()),
            embedding,
        ]
        self._writer.write_table(arrow.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class JsonLinesFile:
    """One object a line with `language`, `sentence` and `embedding`."""

    def __init__(self, path: Path, *, size: int, precision: str) -> None:
        self._file = path.open("w", encoding="utf-8")

    def write(
        self, vectors: numpy.ndarray, *, sentences: Sequence[str], languages: Sequence[str]
    ) -> None:
        for language, sentence, vector in zip(languages, sentences, vectors.tolist(), strict=True):
            self._file.write(
                json.dumps(
                    {"language": language, "sentence": sentence, "embedding": vector},
                    ensure_ascii=False,
                )
                + "\n"
            )

    def close(self) -> None:
        self._file.close()


FORMATS: dict[str, type[VectorFile]] = {
    ".npy": NpyFile,
    ".parquet": ParquetFile,
    ".jsonl": JsonLinesFile,
}


def vector_format(path: Path) -> type[VectorFile]:
    """Raises ConfigError for a name that ends in none of them."""
    if path.suffix not in FORMATS:
        raise ConfigError(
            f"{path}: vectors cannot be written as {path.suffix or 'a file without an ending'!r}; end the name in {', '.join(FORMATS)}"
        )
    return FORMATS[path.suffix]


@contextmanager
def open_vector_file(path: Path, *, size: int, precision: str) -> Iterator[VectorFile]:
    """A new file that takes its name when everything is in it. Raises DataError when it cannot be written; nothing is left then."""
    kind, temporary = vector_format(path), path.with_name(f".{path.name}.{os.getpid()}")
    try:
        file = kind(temporary, size=size, precision=precision)
        try:
            yield file
        finally:
            file.close()
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)
