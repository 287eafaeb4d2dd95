"""Compressed text: recognized by its content, wherever text is read."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import tarfile
import zipfile
from pathlib import Path

import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot.core.errors import DataError
from polyglot.data import text_files
from polyglot.data.text_files import estimate_line_count, line_blocks, stream_blocks

LINES = [f"Satz {number}: ein Mann liest ein Buch." for number in range(300)]


def zstd(data: bytes) -> bytes:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


COMPRESSORS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}
compressed_formats = pytest.mark.parametrize("name", sorted(set(COMPRESSORS) - {"plain"}))


def joined(lines: list[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def read_file(path: Path, **options) -> list[str]:
    return [line for lines in line_blocks(path, **options) for line in lines]


def read_stream(data: bytes) -> list[str]:
    stream = io.BufferedReader(io.BytesIO(data))
    return [line for lines in stream_blocks(stream, name="standard input") for line in lines]


@pytest.mark.parametrize("name", COMPRESSORS)
@given(lines=st.lists(st.text(st.characters(exclude_characters="\r\n", codec="utf-8"))))
def test_every_text_is_read_from_a_stream_in_every_format(name, lines):
    lines = ["first", *lines]  # a byte order mark in front would be dropped
    assert read_stream(COMPRESSORS[name](joined(lines))) == lines


@pytest.mark.parametrize("block", [16, 100, text_files.BLOCK])
@pytest.mark.parametrize("name", COMPRESSORS)
def test_every_format_is_read_from_a_file_with_any_name(name, block, tmp_path):
    path = tmp_path / "text.de"
    path.write_bytes(COMPRESSORS[name](joined(LINES)))
    assert read_file(path, block=block) == LINES
    assert read_file(path, block=block, start=123) == LINES[123:]


@compressed_formats
def test_parts_that_were_compressed_separately(name, tmp_path):
    path = tmp_path / "text"
    parts = [COMPRESSORS[name](joined(LINES[:100])), COMPRESSORS[name](joined(LINES[100:]))]
    path.write_bytes(b"".join(parts))
    assert read_file(path) == LINES


@compressed_formats
def test_a_compressed_text_that_was_cut_off(name, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(COMPRESSORS[name](joined(LINES))[:-9])
    message = "the compressed file is damaged or was cut off"
    with pytest.raises(DataError, match=f"text: {message}"):
        read_file(path)
    with pytest.raises(DataError, match=f"standard input: {message}"):
        read_stream(path.read_bytes())


@compressed_formats
def test_damaged_bytes_never_give_another_error(name, tmp_path):
    whole = COMPRESSORS[name](joined(LINES))
    for seed in range(30):
        damaged = bytearray(whole)
        position = random.Random(seed).randrange(len(whole))
        damaged[position] ^= 0xFF
        try:
            read_stream(bytes(damaged))
        except DataError:
            pass


def zip_archive(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("text.de", data)
    return file.getvalue()


def tar_archive(data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        member = tarfile.TarInfo("text.de")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


@pytest.mark.parametrize(
    "data, name",
    [
        (zip_archive(joined(LINES)), "zip archive"),
        (tar_archive(joined(LINES)), "tar archive"),
        (gzip.compress(tar_archive(joined(LINES))), "tar archive"),
        (zstd(tar_archive(joined(LINES))), "tar archive"),
        (b"7z\xbc\xaf\x27\x1c" + bytes(100), "7z archive"),
        (b"Rar!\x1a\x07\x01\x00" + bytes(100), "rar archive"),
        (b"\x04\x22\x4d\x18" + bytes(100), "lz4 file"),
        (lzma.compress(joined(LINES), format=lzma.FORMAT_ALONE), "lzma file"),
        (b"\x1f\x9d\x90" + bytes(100), r"compress \(\.Z\) file"),
    ],
)
def test_other_formats_are_named(data, name, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(data)
    advice = "cannot be read; unpack it, or compress the text with gzip, bzip2, xz or zstd"
    with pytest.raises(DataError, match=f"text: a {name}, which {advice}$"):
        read_file(path)
    with pytest.raises(DataError, match=f"standard input: a {name}"):
        read_stream(data)


@pytest.mark.parametrize("start", ["BZh", "BZh9", "(", "P", "PK", "7z", "L", "]", "B", "Rar!"])
def test_text_that_starts_like_a_compressed_file(start):
    assert read_stream(start.encode()) == [start]
    assert read_stream(f"{start}\nText".encode()) == [start, "Text"]


def test_lines_that_arrive_together_stay_together():
    stream = io.BufferedReader(io.BytesIO(joined(LINES[:20])))
    assert list(stream_blocks(stream, name="standard input")) == [LINES[:20]]


def test_a_line_is_passed_on_when_it_arrives():
    reading, writing = os.pipe()
    with open(reading, "rb") as stream, open(writing, "wb", buffering=0) as typed:
        blocks = stream_blocks(stream, name="standard input")
        for line in ("B", "BZh", "eins", "(", "zwei"):
            typed.write(f"{line}\n".encode())
            assert next(blocks) == [line]


class Endless(io.RawIOBase):
    """Stream without a line break and without an end."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:
        buffer[:] = bytes(len(buffer))
        return len(buffer)


def test_a_line_without_an_end_is_an_error():
    blocks = stream_blocks(io.BufferedReader(Endless()), name="standard input")
    message = "standard input, line 1: longer than 16 MiB; a line holds one sentence"
    with pytest.raises(DataError, match=message):
        next(blocks)


@pytest.mark.parametrize("block", [64, text_files.BLOCK])
@pytest.mark.parametrize("name", COMPRESSORS)
def test_the_limit_of_a_line_is_a_setting(name, block, tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes(COMPRESSORS[name](joined([*LINES, "x" * 2048, "end"])))
    monkeypatch.setenv("POLYGLOT_LINE_MIB", str(2048 / 2**20))
    assert len(read_file(path, block=block)) == len(LINES) + 2
    monkeypatch.setenv("POLYGLOT_LINE_MIB", str(2047 / 2**20))
    with pytest.raises(DataError, match="text, line 301: longer than .* MiB"):
        read_file(path, block=block)


def test_a_limit_that_is_no_number(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_bytes(joined(LINES))
    monkeypatch.setenv("POLYGLOT_LINE_MIB", "many")
    with pytest.raises(DataError, match="POLYGLOT_LINE_MIB: found 'many'; expected a number of"):
        read_file(path)


@pytest.mark.parametrize("name", COMPRESSORS)
def test_the_number_of_lines_is_estimated(name, tmp_path):
    path = tmp_path / "text"
    path.write_bytes(COMPRESSORS[name](joined(LINES * 100)))
    assert 0.7 * 30_000 < estimate_line_count(path) < 1.4 * 30_000
