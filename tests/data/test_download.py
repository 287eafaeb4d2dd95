"""Download from a local test server, with and without failures."""

from __future__ import annotations

import hashlib
import os
import random
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from polyglot.core.errors import DataError
from polyglot.data import download as fetching
from polyglot.data.download import DataSet, RemoteFile, data_set, fetch

CONTENT = {
    "one.gz": random.Random(1).randbytes(300_001),
    "two.gz": random.Random(2).randbytes(70_000),
}


class Server(ThreadingHTTPServer):
    """Serves bytes from memory and notes every request; `faults` happen to the next answers, one
    each.
    """

    daemon_threads = False  # closing waits for the last answer: no thread outlives its test

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files = dict(CONTENT)
        self.knows_range = True
        self.faults: list[str] = []
        self.requests: list[tuple[str, str | None]] = []
        self.closing = threading.Event()
        self.waited_in_vain = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        name, wanted = self.path.lstrip("/"), self.headers.get("Range")
        self.server.requests.append((name, wanted))
        fault = self.server.faults.pop(0) if self.server.faults else ""
        body = self.server.files.get(name)
        if body is None or fault == "busy":
            return self.send_error(503 if fault else 404)
        start = (
            int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
            if wanted and self.server.knows_range
            else 0
        )
        start += 1000 if fault == "elsewhere" else 0
        if start >= len(body):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if fault != "cut without length":
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        rest = body[start:]
        self.wfile.write(rest[: len(rest) // 2] if fault else rest)
        if fault == "stall":
            self.server.waited_in_vain = not self.server.closing.wait(10)

    def log_message(self, *_: object) -> None:
        """Tests are silent."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(fetching, "PAUSE", 0.0)
    files = tuple(
        RemoteFile(name, len(body), hashlib.sha256(body).hexdigest())
        for name, body in CONTENT.items()
    )
    with Server() as server:
        small = DataSet(
            "small", "Two files", server.address, "do as you like", "nobody 2024", files
        )
        monkeypatch.setattr(fetching, "data_sets", lambda: {"small": small})
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.closing.set()
            server.shutdown()
            thread.join()


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def ranges(server: Server, name: str) -> list[str | None]:
    return [wanted for requested, wanted in server.requests if requested == name]


def test_brings_every_file_and_nothing_else(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    assert fetch("small", folder) == [folder / "one.gz", folder / "two.gz"]
    assert contents(folder) == CONTENT


def test_takes_a_folder_by_name_and_a_mirror(server: Server, tmp_path: Path) -> None:
    server.files = {f"mirror/{name}": body for name, body in CONTENT.items()}
    fetch("small", str(tmp_path), base_url=f"{server.address}/mirror/")
    assert contents(tmp_path) == CONTENT


def test_progress_grows_to_the_size_of_each_file(server: Server, tmp_path: Path) -> None:
    server.faults = ["cut"]
    reports: list[tuple[str, int, int]] = []
    fetch("small", tmp_path, progress=lambda *report: reports.append(report))
    for name, body in CONTENT.items():
        here = [now for reported, now, _ in reports if reported == name]
        assert here == sorted(here) and here[0] == 0 and here[-1] == len(body)
    assert len({now for name, now, _ in reports if name == "one.gz"}) > 3
    assert {(name, size) for name, _, size in reports} == {
        (name, len(body)) for name, body in CONTENT.items()
    }
    reports.clear()
    fetch("small", tmp_path, progress=lambda *report: reports.append(report))
    assert reports == [(name, len(body), len(body)) for name, body in CONTENT.items()]


@pytest.mark.parametrize("fault", ["cut", "cut without length"])
def test_continues_where_the_connection_was_cut(server: Server, tmp_path: Path, fault: str) -> None:
    server.faults = [fault]
    fetch("small", tmp_path)
    assert contents(tmp_path) == CONTENT
    assert ranges(server, "one.gz") == [None, "bytes=150000-"]


def test_continues_when_the_server_falls_silent(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "TIMEOUT", 0.5)
    server.faults = ["stall"]
    fetch("small", tmp_path)
    assert contents(tmp_path) == CONTENT
    first, second = ranges(server, "one.gz")
    assert first is None and second is not None
    assert not server.waited_in_vain, "the client hung up only when the server did"


def test_continues_in_a_later_call(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "ATTEMPTS", 1)
    server.faults = ["cut"]
    with pytest.raises(
        DataError,
        match=(
            r"/one\.gz: could not be .* closed after 150000 of 300001 bytes.* continues where it "
            r"stopped"
        ),
    ):
        fetch("small", tmp_path)
    assert contents(tmp_path) == {"one.gz.part": CONTENT["one.gz"][:150_000]}
    fetch("small", tmp_path)
    assert contents(tmp_path) == CONTENT
    assert ranges(server, "one.gz") == [None, "bytes=150000-"]


def test_begins_again_when_the_server_knows_no_range(server: Server, tmp_path: Path) -> None:
    server.knows_range = False
    server.faults = ["cut"]
    fetch("small", tmp_path)
    assert contents(tmp_path) == CONTENT
    assert ranges(server, "one.gz") == [None, "bytes=150000-"]


def test_begins_again_when_the_server_continues_elsewhere(server: Server, tmp_path: Path) -> None:
    server.faults = ["cut", "elsewhere"]
    fetch("small", tmp_path)
    assert contents(tmp_path) == CONTENT
    assert ranges(server, "one.gz") == [None, "bytes=150000-", None]


def test_a_complete_part_needs_no_server(server: Server, tmp_path: Path) -> None:
    (tmp_path / "one.gz.part").write_bytes(CONTENT["one.gz"])
    fetch("small", tmp_path)
    assert contents(tmp_path) == CONTENT
    assert ranges(server, "one.gz") == []


def test_a_busy_server_is_asked_again(server: Server, tmp_path: Path) -> None:
    server.faults = ["busy", "busy"]
    fetch("small", tmp_path)
    assert contents(tmp_path) == CONTENT


def test_a_server_that_stays_busy_is_given_up(server: Server, tmp_path: Path) -> None:
    server.faults = ["busy"] * 100
    with pytest.raises(
        DataError,
        match=(
            r"one\.gz: could not be downloaded in 4 attempts, .*503 .*\. Nothing was received\. "
            r"Check"
        ),
    ):
        fetch("small", tmp_path)
    assert len(server.requests) == 4


def test_a_missing_server_is_an_error(server: Server, tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=(
            r"127\.0\.0\.1:1/one\.gz: could not be downloaded .* Check the connection and fetch "
            r"again"
        ),
    ):
        fetch("small", tmp_path, base_url="http://127.0.0.1:1")


def test_wrong_bytes_are_removed_and_both_checksums_named(server: Server, tmp_path: Path) -> None:
    wrong = bytes(len(CONTENT["one.gz"]))
    server.files["one.gz"] = wrong
    with pytest.raises(DataError) as caught:
        fetch("small", tmp_path)
    for part in (
        "one.gz",
        hashlib.sha256(wrong).hexdigest(),
        f"expected {hashlib.sha256(CONTENT['one.gz']).hexdigest()}",
    ):
        assert part in str(caught.value)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("size", "found"), [(120, "has 120 bytes"), (900_000, r"has 3\d{5} bytes")]
)
def test_a_file_of_another_size_is_removed_and_not_read_to_its_end(
    server: Server, tmp_path: Path, size: int, found: str
) -> None:
    server.files["one.gz"] = bytes(size)
    with pytest.raises(
        DataError,
        match=rf"one\.gz: the downloaded file {found}, expected 300001, so it was removed",
    ):
        fetch("small", tmp_path)
    assert contents(tmp_path) == {}
    assert len(server.requests) == 1


def test_a_part_of_another_file_is_an_error(server: Server, tmp_path: Path) -> None:
    (tmp_path / "one.gz.part").write_bytes(bytes(200_000))
    server.files["one.gz"] = bytes(120)  # the server refuses to send from byte 200000
    with pytest.raises(DataError, match="has 120 bytes, expected 300001"):
        fetch("small", tmp_path)
    assert contents(tmp_path) == {}


def test_a_missing_file_is_asked_for_once(server: Server, tmp_path: Path) -> None:
    del server.files["two.gz"]
    with pytest.raises(
        DataError,
        match=(
            r"/two\.gz: the server answered 404 Not Found.* fetched before are kept; "
            r"a mirror .*: --mirror ADDRESS"
        ),
    ):
        fetch("small", tmp_path)
    assert contents(tmp_path) == {"one.gz": CONTENT["one.gz"]}
    assert len(ranges(server, "two.gz")) == 1


def test_complete_files_are_not_downloaded_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "one.gz").write_bytes(CONTENT["one.gz"])
    assert fetch("small", tmp_path) == [tmp_path / "one.gz", tmp_path / "two.gz"]
    assert [name for name, _ in server.requests] == ["two.gz"]
    fetch("small", tmp_path)
    assert len(server.requests) == 1


@pytest.mark.parametrize("wrong", [b"my own notes", bytes(len(CONTENT["two.gz"]))])
def test_wrong_existing_files_are_kept_and_nothing_is_downloaded(
    server: Server, tmp_path: Path, wrong: bytes
) -> None:
    (tmp_path / "two.gz").write_bytes(wrong)
    with pytest.raises(
        DataError,
        match=(
            r"already holds other files .*'small': two\.gz has .*, "
            r"expected .*nothing was overwritten"
        ),
    ):
        fetch("small", tmp_path)
    assert contents(tmp_path) == {"two.gz": wrong}
    assert server.requests == []


def test_a_folder_under_the_name_of_a_file_stays(server: Server, tmp_path: Path) -> None:
    (tmp_path / "two.gz").mkdir()
    with pytest.raises(DataError, match=r"two\.gz is not a file"):
        fetch("small", tmp_path)


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(
        DataError, match=r"no data set named 'multi3k'\. Did you mean 'multi30k'\? Known: multi30k"
    ):
        fetch("multi3k", "nowhere")
    assert not Path("nowhere").exists()


@pytest.mark.parametrize(
    "address",
    [
        "ftp://127.0.0.1",
        "file:///somewhere",
        "mirror",
        "http://127.0.0.1:port",
        "http://127.0.0.1/ä",
    ],
)
def test_an_invalid_address_is_an_error(server: Server, tmp_path: Path, address: str) -> None:
    with pytest.raises(DataError, match="not an address to download from"):
        fetch("small", tmp_path, base_url=address)


def test_a_folder_that_cannot_be_created_is_an_error(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        DataError, match=r"file/folder: cannot be read or written \(Not a directory\)"
    ):
        fetch("small", tmp_path / "file" / "folder")


@pytest.mark.parametrize(
    "chunk", [1000, 1 << 16]
)  # below and above the buffer of an open file: closing writes again, or does not
def test_a_full_disk_is_an_error(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(fetching, "CHUNK", chunk)
    if not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full, the device that is always full")
    (tmp_path / "one.gz.part").symlink_to("/dev/full")
    with pytest.raises(
        DataError, match=r"one\.gz\.part: cannot be read or written \(No space left on device\)"
    ):
        fetch("small", tmp_path)


def test_a_folder_without_permission_is_an_error(server: Server, tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("this user may write into folders that forbid it (the superuser may)")
    with pytest.raises(DataError, match=r"cannot be read or written \(Permission denied\)"):
        fetch("small", tmp_path)


def test_the_table_is_complete() -> None:
    multi30k = data_set("multi30k")
    splits = [
        (split, language)
        for split in ("train", "val", "test_2016_flickr", "test_2017_flickr")
        for language in ("en", "de", "fr", "cs")
    ]
    splits.remove(("test_2017_flickr", "cs"))
    assert [file.name for file in multi30k.files] == [
        f"{split}.{language}.gz" for split, language in splits
    ]
    assert all(
        re.fullmatch("[0-9a-f]{64}", file.sha256) and file.size > 0 for file in multi30k.files
    )
    assert len({file.sha256 for file in multi30k.files}) == len(multi30k.files)
    assert multi30k.base_url.endswith(
        "multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw"
    )
    assert "non-commercial research" in multi30k.licence and "Elliott" in multi30k.citation


@pytest.fixture
def shared_data() -> Path:
    folder = (
        Path(os.environ.get("POLYGLOT_DATA") or Path(__file__).parents[3] / "shared" / "data")
        / "multi30k"
    )
    if not folder.is_dir():
        pytest.skip(f"no Multi30k in {folder}; POLYGLOT_DATA names the folder that holds multi30k/")
    return folder


def test_the_table_describes_the_real_files(shared_data: Path) -> None:
    real = {path.name: path.read_bytes() for path in shared_data.glob("*.gz")}
    table = {file.name: (file.size, file.sha256) for file in data_set("multi30k").files}
    assert table == {
        name: (len(body), hashlib.sha256(body).hexdigest()) for name, body in real.items()
    }


def test_multi30k_can_be_fetched_from_a_server_that_has_it(
    shared_data: Path, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the real table
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server.files = {path.name: path.read_bytes() for path in shared_data.glob("*.gz")}
    fetch("multi30k", tmp_path, base_url=server.address)
    assert contents(tmp_path) == server.files
