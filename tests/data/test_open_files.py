"""The number of open files does not depend on the number of files that are read in turns."""

from __future__ import annotations

import gc
import gzip
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pyarrow
import pytest
from pyarrow import parquet

from polyglot.core.errors import DataError
from polyglot.data import open_files
from polyglot.data.compression import reading_errors
from polyglot.data.corpora import CORPORA, Corpora, table_streams
from polyglot.data.open_files import PooledFile
from polyglot.data.stream_reader import StreamReader
from polyglot.data.text_files import line_blocks
from polyglot.tasks.pairs import LanguagePair

LINES = 9000
READERS = 40


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def write_text(folder: Path) -> dict[str, list[str]]:
    """Write the same sentences in every format."""
    texts = {}
    for language in ("de", "en"):
        texts[language] = [f"{language} {number}" for number in range(LINES)]
        content = "".join(f"{line}\n" for line in texts[language]).encode()
        (folder / f"plain.{language}").write_bytes(content)
        (folder / f"zipped.{language}").write_bytes(gzip.compress(content))
    (folder / "hub").mkdir()
    table = pyarrow.table(texts)
    parquet.write_table(table, folder / "hub" / "train.parquet", row_group_size=2000)
    return texts


CORPUS_SETTINGS = {
    "plain": {"type": "text", "path": "plain.{language}"},
    "zipped": {"type": "text", "path": "zipped.{language}"},
    "parquet": {"type": "parquet", "path": "hub/train.parquet", "columns": "{language}"},
    "hub": {"type": "hub", "columns": "{language}"},
}


def stream_readers(form: str, folder: Path, count: int) -> list[StreamReader]:
    settings = dict(CORPUS_SETTINGS[form])
    corpus_type = settings.pop("type")
    if form == "hub":
        settings["name"] = str(folder / "hub")
    config = CORPORA.get(corpus_type).Config(**settings, streaming=True)
    corpora = Corpora([config], folder=folder, languages=("de", "en"))
    readers = []
    for number in range(count):
        [text] = corpora.streamed(LanguagePair("de", "en"))
        readers.append(StreamReader(text, seed="1", key=str(number)))
    return readers


@pytest.fixture
def small_pools(monkeypatch):
    monkeypatch.setattr(open_files, "MAX_OPEN", 6)
    monkeypatch.setattr(table_streams, "MAX_OPEN", 3)
    monkeypatch.setattr("polyglot.data.corpora.shards.SMALL_BLOCK", 1 << 14)


@pytest.mark.parametrize("form", CORPUS_SETTINGS)
def test_many_readers_keep_few_files_open(form, tmp_path, small_pools):
    texts = write_text(tmp_path)
    count = 20 if form == "hub" else READERS
    readers = stream_readers(form, tmp_path, count)
    before = open_descriptors()
    rows = [[] for _ in readers]
    while len(rows[0]) < LINES:
        for reader, reader_rows in zip(readers, rows, strict=True):
            reader_rows += reader.take(3000)
            assert open_descriptors() <= before + 12
    expected = list(zip(texts["de"], texts["en"], strict=True))
    for reader_rows in rows:
        assert [(source, target) for _, _, source, target in reader_rows] == expected


def test_closed_readers_leave_no_file_open(tmp_path):
    write_text(tmp_path)
    before = open_descriptors()
    for form in ("plain", "zipped", "parquet"):
        for reader in stream_readers(form, tmp_path, 3):
            list(reader.take(5))
    del reader
    gc.collect()  # a reader and its generator refer to each other
    assert open_descriptors() <= before


@pytest.fixture
def no_free_descriptors() -> Iterator[None]:
    """All descriptors of the process are in use."""
    gc.collect()  # files of earlier tests
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = [int(name) for name in os.listdir("/proc/self/fd")]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(used) + 4, limits[1]))
    extra = []
    try:
        while True:
            try:
                extra.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        yield
    finally:
        for descriptor in extra:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_without_free_descriptors_other_files_are_closed(tmp_path, request):
    texts = write_text(tmp_path)
    first = PooledFile(tmp_path / "plain.de")
    assert first.read(4) == b"de 0"
    request.getfixturevalue("no_free_descriptors")
    second = PooledFile(tmp_path / "plain.en")
    assert second.read(4) == b"en 0"
    assert first.read(6).split() == [b"de", b"1"]
    second.close()
    first.close()
    assert texts["de"][0] == "de 0"


def test_without_any_descriptor_the_message_names_the_limit(tmp_path, no_free_descriptors):
    with pytest.raises(DataError) as error, reading_errors("text"):
        PooledFile(Path("/dev/null"))
    assert "Too many open files; `ulimit -n` shows the limit" in str(error.value)


def test_a_file_that_was_replaced_while_it_was_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(open_files, "MAX_OPEN", 1)
    for name in ("a", "b"):
        (tmp_path / name).write_text("line\n" * 100)
    lines = line_blocks(tmp_path / "a", block=50)
    next(lines)
    other = PooledFile(tmp_path / "b")
    other.read(1)
    (tmp_path / "new").write_text("other\n" * 100)
    (tmp_path / "new").replace(tmp_path / "a")
    with pytest.raises(DataError, match="a: the file has changed while it was being read"):
        list(lines)
    other.close()


def test_seeking(tmp_path):
    (tmp_path / "a").write_bytes(bytes(range(100)))
    with PooledFile(tmp_path / "a") as file:
        assert file.seek(-3, os.SEEK_END) == 97
        assert file.read() == bytes([97, 98, 99])
        assert file.seek(10) == 10
        assert file.seek(5, os.SEEK_CUR) == 15
        assert file.read(2) == bytes([15, 16])
        assert file.tell() == 17
