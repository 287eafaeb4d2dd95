"""Cache of tables: size limit, concurrent processes, damaged settings."""

from __future__ import annotations

import os
import time
from types import SimpleNamespace

import datasets
import pyarrow
import pytest

from polyglot.core.errors import DataError
from polyglot.data import cache, cache_checksums

ROWS = 1000


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path))
    return tmp_path / "polyglot"


def table(number):
    """Cached table whose rows contain its number."""
    dataset = cache.cached_dataset(
        f"table{number}", lambda: [pyarrow.table({"text": [f"{number} and some text"] * ROWS})]
    )
    assert dataset["text"][:] == [f"{number} and some text"] * ROWS
    return dataset


def names(folder):
    return sorted(path.stem for path in folder.glob("*.arrow"))


def age(folder, *hours):
    """Set the last use of tables 0, 1, … to these numbers of hours ago."""
    for number, ago in enumerate(hours):
        os.utime(folder / f"table{number}.arrow", times=(time.time() - ago * 3600,) * 2)


def set_limit(monkeypatch, folder, tables):
    """Set the size limit to this number of tables."""
    monkeypatch.setenv(
        "POLYGLOT_CACHE_GIB", str((tables + 0.5) * (folder / "table0.arrow").stat().st_size / 2**30)
    )


def test_least_recently_used_tables_are_removed_first(folder, monkeypatch):
    for number in range(4):
        table(number)
    assert names(folder) == ["table0", "table1", "table2", "table3"]
    age(folder, 5, 9, 7, 3)
    table(1)  # used again
    set_limit(monkeypatch, folder, 3)
    table(4)
    assert names(folder) == ["table1", "table3", "table4"]


def test_tables_used_in_the_last_hour_are_kept_above_the_limit(folder, monkeypatch):
    for number in range(3):
        table(number)
    age(folder, 0.5, 2, 0.9)
    set_limit(monkeypatch, folder, 0)
    table(3)
    assert names(folder) == ["table0", "table2", "table3"]


def test_incomplete_files_of_killed_processes_are_removed(folder, monkeypatch):
    table(0)
    (folder / "table9.12345").write_bytes(b"x" * 10**5)
    os.utime(folder / "table9.12345", times=(0, 0))
    set_limit(monkeypatch, folder, 2)
    table(1)
    assert {path.name for path in folder.iterdir()} == {"table0.arrow", "table1.arrow"}


def test_a_table_that_is_open_can_be_read_after_it_was_removed(folder, monkeypatch):
    opened = table(0)
    age(folder, 2)
    set_limit(monkeypatch, folder, 0)
    table(1)
    assert names(folder) == ["table1"]
    assert opened["text"][:] == ["0 and some text"] * ROWS
    assert table(0)["text"][:] == opened["text"][:]  # and it can be had again


def test_a_table_that_another_process_removes_at_that_moment_is_written_again(folder, monkeypatch):
    table(0)
    complete = cache.is_complete

    def removed(path):
        found = complete(path)
        path.unlink()
        return found

    monkeypatch.setattr(cache, "is_complete", removed)
    table(0)
    assert names(folder) == ["table0"]


@pytest.mark.parametrize("text", ["much", "inf", "-inf", "nan", "-5", "1e400", ""])
def test_invalid_size_limits_are_refused(text, monkeypatch):
    monkeypatch.setenv("POLYGLOT_CACHE_GIB", text)
    with pytest.raises(
        DataError, match=f"POLYGLOT_CACHE_GIB: found '{text}'; expected a number of GiB, such as 50"
    ):
        table(0)


@pytest.fixture
def damaged(folder):
    """Function that flips one bit of a cached table at a relative place of its file."""

    def flip(place):
        path = folder / "table0.arrow"
        content = bytearray(path.read_bytes())
        content[int(place * (len(content) - 1))] ^= 4
        path.write_bytes(content)

    return flip


@pytest.mark.parametrize("place", [0.0, 0.001, 0.3, 0.7, 0.9996, 1.0])
def test_a_flipped_bit_is_noticed_and_the_table_is_written_again(place, damaged, folder, caplog):
    table(0)
    before = (folder / "table0.arrow").read_bytes()
    damaged(place)
    table(0)
    assert (folder / "table0.arrow").read_bytes() == before
    assert f"{folder / 'table0.arrow'}: damaged, its checksum differs; it is a cache" in caplog.text


@pytest.mark.parametrize("size", [0, 5, 100, -1, -30, -40, -1000])
def test_a_table_that_was_cut_off_is_written_again(size, folder):
    table(0)
    path = folder / "table0.arrow"
    before = path.read_bytes()
    path.write_bytes(before[:size])
    table(0)
    assert path.read_bytes() == before


def test_a_table_of_an_older_version_without_checksum_is_written_again(folder):
    table(0)
    path = folder / "table0.arrow"
    before = path.read_bytes()
    path.write_bytes(before[: before.index(cache_checksums.MARK)])
    table(0)
    assert path.read_bytes() == before


def test_a_damaged_table_whose_text_is_gone_is_refused(damaged):
    table(0)
    damaged(0.5)

    def no_text():
        raise DataError("train.en: no such file")

    with pytest.raises(DataError, match="train.en: no such file"):
        cache.cached_dataset("table0", no_text)


def test_a_process_reads_a_file_once_to_compare_its_checksum(monkeypatch):
    table(0)
    compared = []

    def record(path):
        compared.append(path)
        return True

    monkeypatch.setattr(cache, "is_intact", record)
    table(0)
    assert compared == []
    cache._verified.clear()  # another process
    table(0)
    table(0)
    assert len(compared) == 1


@pytest.mark.parametrize(("seconds", "is_kept"), [(3599, True), (3600, False), (3601, False)])
def test_a_table_is_recent_for_less_than_an_hour(seconds, is_kept, folder, monkeypatch):
    table(0)
    now = 2_000_000_000.0
    os.utime(folder / "table0.arrow", times=(now - seconds, now - seconds))
    monkeypatch.setattr(cache, "time", SimpleNamespace(time=lambda: now))
    cache._prune(folder, 0)
    assert names(folder) == ["table0"] * is_kept


@pytest.mark.parametrize(("missing_bytes", "is_kept"), [(0, True), (1, False)])
def test_tables_that_just_fit_are_kept(missing_bytes, is_kept, folder):
    table(0)
    path = folder / "table0.arrow"
    os.utime(path, times=(0, 0))
    cache._prune(folder, path.stat().st_size - missing_bytes)
    assert path.exists() == is_kept
