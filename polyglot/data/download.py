"""Downloads a data set file by file: continues what was cut, checks every byte, and never overwrites what it did not make."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPException, HTTPResponse, InvalidURL
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import yaml

from polyglot.core.errors import DataError, unknown_name

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the bytes that are here, and the bytes it will have."""

ATTEMPTS = 4  # requests for one file before we tell the user; a short outage passes, a long one is told after about two minutes
PAUSE = 1.0  # seconds before the second attempt, doubled before each further one
TIMEOUT = 30.0  # seconds without a byte until a connection counts as dead
CHUNK = 1 << 16
PASSING_STATUSES = frozenset(
    {408, 425, 429, 500, 502, 503, 504}
)  # the server may answer otherwise a moment later


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file as it must arrive."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DataSet:
    """What can be fetched under one name, and on which terms: `licence` is to be shown to whoever downloads it."""

    name: str
    title: str
    base_url: str
    licence: str
    citation: str
    files: tuple[RemoteFile, ...]


class _Interrupted(Exception):
    """The connection failed in a way that another attempt may mend."""


@cache
def data_sets() -> dict[str, DataSet]:
    """The table of what can be fetched, by name."""
    table = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {
        name: DataSet(
            name=name,
            **entry
            | {"files": tuple(RemoteFile(file, **facts) for file, facts in entry["files"].items())},
        )
        for name, entry in table.items()
    }


def data_set(name: str) -> DataSet:
    """The data set of that name. Raises DataError naming near and known ones."""
    if name not in data_sets():
        raise DataError(unknown_name("data set", name, data_sets()))
    return data_sets()[name]


def fetch_hint(folder: Path) -> str:
    """For whoever finds nothing in a folder that is called as a data set is: `; polyglot fetch multi30k data/multi30k gets it`."""
    lacking = folder.name in data_sets() and not any(
        (folder / file.name).is_file() for file in data_sets()[folder.name].files
    )
    return f"; `polyglot fetch {folder.name} {shlex.quote(str(folder))}` gets it" if lacking else ""


def fetch(
    name: str, folder: Path | str, *, progress: Progress | None = None, base_url: str | None = None
) -> list[Path]:
    """Brings all files of a data set into a folder and returns their paths; `base_url` is a mirror with the same files.

    Files that are there and right are not downloaded again. Raises DataError for whatever else stands in the way.
    """
    wanted = data_set(name)
    base_url = (base_url or wanted.base_url).rstrip("/")
    if not base_url.startswith(("https://", "http://")):
        raise DataError(
            f"{base_url}: not an address to download from; it must begin with 'https://' or 'http://'"
        )
    folder, report = Path(folder), progress or (lambda *_: None)
    with _disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
    missing = _missing(wanted, folder)
    for file in wanted.files:
        if file in missing:
            _download(file, f"{base_url}/{file.name}", folder / file.name, report)
        report(file.name, file.size, file.size)
    return [folder / file.name for file in wanted.files]


def _missing(wanted: DataSet, folder: Path) -> set[RemoteFile]:
    """The files to download; looks at all of them before the first download, because a wrong one stops everything."""
    there = [file for file in wanted.files if os.path.lexists(folder / file.name)]
    wrong = [
        f"{file.name} {difference}"
        for file in there
        if (difference := _difference(file, folder / file.name))
    ]
    if wrong:
        raise DataError(
            f"{folder}: already holds other files under the names of {wanted.name!r}: {'; '.join(wrong)}. "
            "Move them away or choose another folder; nothing was overwritten and nothing downloaded"
        )
    return set(wanted.files) - set(there)


def _difference(file: RemoteFile, path: Path) -> str:
    """What is wrong with a file, as the end of a sentence; empty when every byte is right."""
    with _disk(path):
        if not path.is_file():
            return "is not a file"
        if (size := path.stat().st_size) != file.size:
            return f"has {size} bytes, expected {file.size}"
        with path.open("rb") as handle:
            found = hashlib.file_digest(handle, "sha256").hexdigest()
    return "" if found == file.sha256 else f"has SHA-256 {found}, expected {file.sha256}"


def _download(file: RemoteFile, url: str, path: Path, report: Progress) -> None:
    """One file by way of `name.part`, which stays when the connection fails and goes when its bytes are wrong."""
    part = path.with_name(f"{path.name}.part")
    for attempt in range(ATTEMPTS):
        try:
            _receive(file, url, part, report)
            break
        except _Interrupted as error:
            reason = error
            if attempt + 1 < ATTEMPTS:
                time.sleep(PAUSE * 2**attempt)
    else:
        here = _size(part)
        kept, then = (
            ("Nothing of it has come", "")
            if not here
            else (f"{here} of {file.size} bytes are in {part}", ": it continues where it stopped")
        )
        raise DataError(
            f"{url}: could not be downloaded in {ATTEMPTS} attempts, the last one ended with: {reason}. {kept}. "
            f"Check the connection and fetch again{then}"
        ) from reason
    if difference := _difference(file, part):
        _discard(part)
        raise DataError(
            f"{url}: what came {difference}, so it was removed. Fetch again; if it stays wrong, this address no longer has the file we know"
        )
    with _disk(path):
        part.replace(path)


def _receive(file: RemoteFile, url: str, part: Path, report: Progress) -> None:
    """One request, for what `part` still lacks. Raises _Interrupted when less than that came."""
    here = _size(part)
    if here >= file.size:
        return
    with _network(url, part):
        response = urlopen(
            Request(url, headers={"Range": f"bytes={here}-"} if here else {}), timeout=TIMEOUT
        )
    with response:
        if (start := _start(response)) not in (0, here):
            _discard(part)
            raise _Interrupted(f"asked for byte {here} onwards, the server sent from byte {start}")
        here, expected = (
            start,
            response.length,
        )  # a server that does not know Range sends everything: begin again
        with _writing(part, "ab" if here else "wb") as handle:
            while (
                here < file.size
            ):  # and not to the end of the body: a wrong one, however long, must not fill the disk
                report(file.name, here, file.size)
                with _network(url, part):
                    chunk = response.read(CHUNK)
                if not chunk:
                    break
                with _disk(part):
                    handle.write(chunk)
                    handle.flush()
                here += len(chunk)
            with _disk(part):
                os.fsync(
                    handle.fileno()
                )  # so that a power cut cannot leave the right name on missing bytes
    if here < file.size and (expected is None or here - start < expected):
        raise _Interrupted(f"the connection was closed after {here} of {file.size} bytes")


@contextmanager
def _writing(part: Path, mode: str) -> Iterator[BinaryIO]:
    """An open file whose own failures are told as the disk's; closing is one of them, because it writes what a full disk refused."""
    with _disk(part):
        handle = part.open(mode)
    try:
        yield handle
    finally:
        with _disk(part):
            handle.close()


def _start(response: HTTPResponse) -> int:
    """The position of the first byte the server sends: 0 unless it answered the Range."""
    if response.status != 206:
        return 0
    content_range = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(content_range[1]) if content_range else -1


def _size(part: Path) -> int:
    with _disk(part):
        return part.stat().st_size if part.exists() else 0


def _discard(part: Path) -> None:
    with _disk(part):
        part.unlink(missing_ok=True)


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    """Says in a sentence what the operating system refuses: no permission, no room, no folder."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read or written ({error.strerror or error}). "
            "Give it room and permission, or choose another folder, and fetch again: finished files are kept"
        ) from error


@contextmanager
def _network(url: str, part: Path) -> Iterator[None]:
    """Tells failures that pass (_Interrupted) from answers that stay (DataError)."""
    try:
        yield
    except HTTPError as error:
        error.close()
        if (
            error.code == 416
        ):  # no such range: `part` is longer than what the server has, so it is of another file
            _discard(part)
        elif error.code not in PASSING_STATUSES:
            raise DataError(
                f"{url}: the server answered {error.code} {error.reason}, so this address does not offer the file. "
                "What was fetched before is kept; a mirror with the same files can be given: --mirror ADDRESS (base_url in Python)"
            ) from error
        raise _Interrupted(f"{error.code} {error.reason}") from error
    except (ValueError, InvalidURL) as error:
        raise DataError(f"{url}: not an address to download from ({error})") from error
    except (OSError, HTTPException) as error:
        raise _Interrupted(str(getattr(error, "reason", error)) or type(error).__name__) from error
