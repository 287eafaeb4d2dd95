"""Files of vectors, written chunk by chunk in the format of the file's suffix."""

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
    """Interface of all formats."""

    def __init__(self, path: Path, *, size: int, precision: str) -> None:
        """size: numbers in a vector. precision: `float32`, `float16` or `int8`."""

    def write(
        self,
        vectors: numpy.ndarray,
        *,
        sentences: Sequence[str],
        languages: Sequence[str],
    ) -> None:
        """vectors (N, D)"""

    def close(self) -> None: ...


class NpyFile:
    """NumPy array (N, D); `numpy.load` reads it, also with `mmap_mode="r"`."""

    def __init__(self, path: Path, *, size: int, precision: str) -> None:
        self._size = size
        self._type = numpy.dtype(precision)
        self._count = 0
        self._file = path.open("wb")
        self._write_header()

    def write(
        self,
        vectors: numpy.ndarray,
        *,
        sentences: Sequence[str],
        languages: Sequence[str],
    ) -> None:
        self._file.write(numpy.ascontiguousarray(vectors, dtype=self._type).data)
        self._count += len(vectors)

    def close(self) -> None:
        with self._file:
            self._file.seek(0)
            self._write_header()

    def _write_header(self) -> None:
        """Write the number of rows so far; NumPy's header has space for a larger number."""
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
        columns = [
            ("language", pyarrow.string()),
            ("sentence", pyarrow.string()),
            ("embedding", self._list),
        ]
        self._schema = pyarrow.schema(columns)
        self._writer = pyarrow.parquet.ParquetWriter(path, self._schema)

    def write(
        self,
        vectors: numpy.ndarray,
        *,
        sentences: Sequence[str],
        languages: Sequence[str],
    ) -> None:
        arrow = self._arrow
        numbers = arrow.array(vectors.reshape(-1))
        columns = [
            arrow.array(languages, arrow.string()),
            arrow.array(sentences, arrow.string()),
            arrow.FixedSizeListArray.from_arrays(numbers, type=self._list),
        ]
        self._writer.write_table(arrow.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()


class JsonLinesFile:
    """One object per line with `language`, `sentence` and `embedding`."""

    def __init__(self, path: Path, *, size: int, precision: str) -> None:
        self._file = path.open("w", encoding="utf-8")

    def write(
        self,
        vectors: numpy.ndarray,
        *,
        sentences: Sequence[str],
        languages: Sequence[str],
    ) -> None:
        for language, sentence, vector in zip(languages, sentences, vectors.tolist(), strict=True):
            record = {"language": language, "sentence": sentence, "embedding": vector}
            self._file.write(json.dumps(record, ensure_ascii=False) + "\n")

    def close(self) -> None:
        self._file.close()


FORMATS: dict[str, type[VectorFile]] = {
    ".npy": NpyFile,
    ".parquet": ParquetFile,
    ".jsonl": JsonLinesFile,
}


def vector_format(path: Path) -> type[VectorFile]:
    """Return the format of a file name. Raises ConfigError for an unknown suffix."""
    if path.suffix not in FORMATS:
        suffixes = ", ".join(FORMATS)
        description = f"the suffix {path.suffix!r}" if path.suffix else "a name without a suffix"
        raise ConfigError(f"{path}: no format of vectors has {description}. Known: {suffixes}")
    return FORMATS[path.suffix]


@contextmanager
def open_vector_file(path: Path, *, size: int, precision: str) -> Iterator[VectorFile]:
    """Open a new file that gets its name when it is complete.

    Raises DataError if it cannot be written; then nothing is left of it.
    """
    open_file = vector_format(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        file = open_file(temporary, size=size, precision=precision)
        try:
            yield file
        finally:
            file.close()
        temporary.replace(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        temporary.unlink(missing_ok=True)
