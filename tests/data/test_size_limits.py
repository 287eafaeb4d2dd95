"""Limits of the length of a line or a text: bombs and endless files do not fill the memory."""

from __future__ import annotations

import bz2
import gzip
import lzma
import resource
from pathlib import Path

import pyarrow
import pytest

from polyglot.core.errors import DataError
from polyglot.data.corpora.arrow_tables import select_texts, text_table
from polyglot.data.row_files import json_rows
from polyglot.data.text_files import line_blocks, pipe_blocks

MIB = 2**20
BOMB = b"x" * (8 * MIB)


@pytest.fixture(autouse=True)
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYGLOT_LINE_MIB", "1")


def zstd(content: bytes) -> bytes:
    return pyarrow.compress(content, codec="zstd", asbytes=True)


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress, lzma.compress, zstd])
def test_a_compressed_line_that_is_too_long_is_an_error(compress, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(compress(b"a line\n" + BOMB))
    with pytest.raises(DataError, match="line 2: longer than 1 MiB; a line holds one sentence"):
        list(line_blocks(path, block=MIB // 4))


def test_an_endless_device_is_an_error_in_constant_memory() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DataError, match="/dev/zero, line 1: longer than 1 MiB"):
        list(pipe_blocks(Path("/dev/zero")))
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 100 * 1024  # KiB


def test_a_json_line_that_is_too_long_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"de": "' + BOMB + b'"}\n')
    with pytest.raises(DataError, match="line 1: longer than 1 MiB"):
        list(json_rows(path, {"de": "de"}))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ("9" * 5000, "a number has too many digits"),
        ('{"de": -' + "9" * 5000 + "}", "a number has too many digits"),
        ('{"de": ', "Expecting value at character 8"),
    ],
)
def test_json_that_python_cannot_read_is_an_error(line: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"de": "ein Hund"}}\n{line}\n')
    with pytest.raises(DataError, match=f"line 2: no JSON: {reason}; every line is one object"):
        list(json_rows(path, {"de": "de"}))


def test_a_text_of_a_table_that_is_too_long_is_an_error() -> None:
    table = text_table({"de": ["ein Hund", "x" * (2 * MIB), None]})
    with pytest.raises(DataError, match="the column de has a text of 2 MiB, longer than 1 MiB"):
        select_texts(table, {"de": "de"}, place="rows.parquet")
    assert select_texts(table.slice(0, 1), {"de": "de"}, place="rows.parquet").num_rows == 1
    empty = text_table({"de": [None]})
    assert select_texts(empty, {"de": "de"}, place="rows.parquet").num_rows == 1
