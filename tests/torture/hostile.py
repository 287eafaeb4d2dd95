"""Run directories and download servers that want to do harm."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from polyglot.core.file_locks import LOCK_FILES
from polyglot.core.stored_json import with_checksum
from polyglot.data import download
from polyglot.data.download import DataSet, RemoteFile
from tests.torture.trial import CORRECT, Finding, Outcome, Trial
from tests.torture.workplace import COMMANDS, Workplace, call, files_below

PRECIOUS = "a file outside of the run"
OUTSIDE = "outside"
"""Name of an empty folder outside of the run."""

BAD_NAMES = (
    "../../precious",
    "../../../precious",
    "/etc/polyglot-precious",
    "encoder.de/../../precious",
    "a" * 300,
    "\x1b[31mred",
    "\0",
    "",
)
BAD_VALUES = (
    None,
    True,
    -1,
    1e400,
    10**400,
    "text",
    [],
    {},
    [[[[]]]],
    "../../precious",
    "\x1b]0;title\x07",
    float("nan"),
)


class Payload:
    """Object whose unpickling removes the precious file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return os.unlink, (self.path,)


def hostile_runs(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """A run directory of somebody else may be refused, but not touch anything outside."""
    changes = {
        "names in the manifest": _bad_names,
        "wrong values in a JSON file": _bad_value,
        "deep nesting": _deep_nesting,
        "symbolic link in place of a file": _link,
        "symbolic link in place of a folder": _linked_folder,
        "named pipe in place of a file": _pipe,
        "folder in place of a file": _folder,
        "pickle in place of a file": _pickle,
        "links with the names of temporary files": _temporary_links,
    }
    for _ in range(count):
        kind = random.choice(tuple(changes))
        name = random.choice(tuple(COMMANDS))
        seed = random.randrange(1 << 30)

        def attempt(folder: Path, kind: str = kind, name: str = name, seed: int = seed) -> Finding:
            run = workplace.copy(folder / "inside")
            precious = folder / "precious"
            precious.write_text(PRECIOUS)
            (folder / OUTSIDE).mkdir()
            changes[kind](run, precious, Random(seed))
            result = call(folder / "inside", *COMMANDS[name])
            if not precious.is_file() or precious.read_text() != PRECIOUS:
                return Finding(Outcome.LOST_DATA, "a file outside of the run was changed")
            if list((folder / OUTSIDE).iterdir()):
                return Finding(Outcome.LOST_DATA, "a folder outside of the run was changed")
            if Path("/etc/polyglot-precious").exists():
                return Finding(Outcome.LOST_DATA, "an absolute name was followed")
            problem = result.problem()
            if problem:
                return problem
            if "\x1b" in result.errors:
                return Finding(Outcome.SILENT_ERROR, "an escape sequence reached the terminal")
            return CORRECT

        yield Trial("hostile run directories", f"{kind} ({seed}), then {name}", attempt)


def _json_files(run: Path) -> list[Path]:
    return [path for path in files_below(run) if path.suffix == ".json"]


def _bad_names(run: Path, precious: Path, random: Random) -> None:
    """Replace one name or text value in a manifest."""
    path = random.choice(sorted(run.glob("checkpoints/*/manifest.json")) or _json_files(run))
    content = json.loads(path.read_text())
    _replace_somewhere(content, random.choice(BAD_NAMES), random, keys=True)
    _write_with_checksum(path, content)


def _bad_value(run: Path, precious: Path, random: Random) -> None:
    path = random.choice(_json_files(run))
    content = json.loads(path.read_text())
    _replace_somewhere(content, random.choice(BAD_VALUES), random, keys=False)
    _write_with_checksum(path, content)


def _write_with_checksum(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file as the program does: only its schema can notice the change."""
    path.write_text(json.dumps(with_checksum(content)))


def _replace_somewhere(content: object, value: object, random: Random, *, keys: bool) -> None:
    """Replace one value, or one key, at a random place of a JSON tree."""
    while True:
        if isinstance(content, dict) and content:
            key = random.choice(list(content))
            inner = content[key]
            if isinstance(inner, dict | list) and inner and random.random() < 0.7:
                content = inner
                continue
            if keys:
                content[str(value)] = content.pop(key)
            else:
                content[key] = value
        elif isinstance(content, list) and content:
            index = random.randrange(len(content))
            inner = content[index]
            if isinstance(inner, dict | list) and inner and random.random() < 0.7:
                content = inner
                continue
            content[index] = value
        return


def _deep_nesting(run: Path, precious: Path, random: Random) -> None:
    path = random.choice([*_json_files(run), run / "config.yaml", run / "log.jsonl"])
    path.write_text("[" * 100_000)


def _link(run: Path, precious: Path, random: Random) -> None:
    path = random.choice(files_below(run))
    path.unlink()
    path.symlink_to(precious)


def _linked_folder(run: Path, precious: Path, random: Random) -> None:
    folders = sorted(path for path in run.rglob("*") if path.is_dir())
    path = random.choice(folders)
    shutil.rmtree(path)
    path.symlink_to(precious.with_name(OUTSIDE))


def _pipe(run: Path, precious: Path, random: Random) -> None:
    path = random.choice(files_below(run))
    path.unlink()
    os.mkfifo(path)


def _folder(run: Path, precious: Path, random: Random) -> None:
    path = random.choice(files_below(run))
    path.unlink()
    path.mkdir()


def _pickle(run: Path, precious: Path, random: Random) -> None:
    path = random.choice(files_below(run))
    path.write_bytes(pickle.dumps(Payload(precious)))


def _temporary_links(run: Path, precious: Path, random: Random) -> None:
    """Links to the precious file under names that a program might use while it writes."""
    for path in files_below(run):
        for name in (f".{path.name}.writing", f"{path.name}.tmp", f".{path.name}.part"):
            link = path.with_name(name)
            if not os.path.lexists(link):
                link.symlink_to(precious)
    for name in LOCK_FILES:
        for lock in run.rglob(name):
            lock.unlink()
        (run / name).symlink_to(precious)


# Download servers ----------------------------------------------------------------------------

CONTENT = bytes(range(256)) * 300
FAULTS = (
    "cut off",
    "wrong bytes",
    "endless",
    "wrong range",
    "status 500",
    "status 404",
    "redirect to itself",
    "escape sequences in the status",
    "no answer",
    "huge header",
    "too short a length",
    "negative length",
    "not HTTP",
)


class Server(ThreadingHTTPServer):
    """Server that answers the next requests with the given faults, then correctly."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults = faults
        self.daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """The client may close the connection at any moment."""


class Handler(BaseHTTPRequestHandler):
    """Answers with CONTENT, or with a fault."""

    server: Server

    def log_message(self, *_: object) -> None:
        """Trials are silent."""

    def do_GET(self) -> None:
        fault = self.server.faults.pop(0) if self.server.faults else ""
        if fault == "no answer":
            return
        if fault == "not HTTP":
            self.wfile.write(b"\x1b[31m\0\xff" * 100)
            return
        if fault.startswith("status"):
            self.send_error(int(fault.split()[1]))
            return
        if fault == "escape sequences in the status":
            self.send_response(500, "\x1b]0;title\x07\x1b[31m")
            self.end_headers()
            return
        if fault == "redirect to itself":
            self.send_response(302)
            self.send_header("Location", self.path)
            self.end_headers()
            return
        self._send_body(fault)

    def _send_body(self, fault: str) -> None:
        requested = self.headers.get("Range", "bytes=0-")
        first = int(requested.removeprefix("bytes=").removesuffix("-"))
        body = CONTENT[first:]
        length = str(len(body))
        if fault == "too short a length":
            length = str(len(body) // 3)
        if fault == "negative length":
            length = "-5"
        shown_first = first + 7 if fault == "wrong range" else first
        self.send_response(206 if first else 200)
        if first:
            end = len(CONTENT)
            self.send_header("Content-Range", f"bytes {shown_first}-{end - 1}/{end}")
        if fault == "huge header":
            self.send_header("X-Huge", "x" * 200_000)
        if fault != "endless":
            self.send_header("Content-Length", length)
        self.end_headers()
        if fault == "cut off":
            body = body[: len(body) // 2]
        if fault == "wrong bytes":
            body = bytes(len(body))
        self.wfile.write(body)
        while fault == "endless":
            self.wfile.write(CONTENT)


def hostile_servers(workplace: Workplace, random: Random, count: int) -> Iterator[Trial]:
    """Only a file with the right checksum gets its name; a later request brings it."""
    for _ in range(count):
        faults = [random.choice(FAULTS) for _ in range(random.randint(1, 6))]

        def attempt(folder: Path, faults: list[str] = faults) -> Finding:
            return _fetch(folder, list(faults))

        yield Trial("hostile download servers", ", ".join(faults), attempt)


def _fetch(folder: Path, faults: list[str]) -> Finding:
    with Server(faults) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            return _fetch_twice(folder, f"http://127.0.0.1:{server.server_port}", server)
        finally:
            server.shutdown()
            thread.join()


def _fetch_twice(folder: Path, address: str, server: Server) -> Finding:
    """Fetch from the server with faults, then from one that answers correctly."""

    def prepare() -> None:
        checksum = hashlib.sha256(CONTENT).hexdigest()
        files = (RemoteFile("text.gz", len(CONTENT), checksum),)
        small = DataSet("small", "One file", address, "free", "nobody", files)
        download.data_sets = lambda: {"small": small}
        download.PAUSE = 0.0
        download.TIMEOUT = 0.5
        os.environ["no_proxy"] = "127.0.0.1"

    target = folder / "text" / "text.gz"
    first = call(folder, "fetch", "small", "text", prepare=prepare)
    problem = first.problem()
    if problem:
        return problem
    if target.exists() and target.read_bytes() != CONTENT:
        return Finding(Outcome.SILENT_ERROR, "a wrong file has the right name")
    if not first.status and not target.exists():
        return Finding(Outcome.SILENT_ERROR, "exit code 0 without the file")
    if "\x1b" in first.errors:
        return Finding(Outcome.SILENT_ERROR, "an escape sequence reached the terminal")
    server.faults.clear()
    second = call(folder, "fetch", "small", "text", prepare=prepare)
    if second.status or not target.exists() or target.read_bytes() != CONTENT:
        return Finding(Outcome.LOST_DATA, f"not fetched afterwards: {second.errors[-500:]}")
    shutil.rmtree(folder / "text")
    return CORRECT
