"""Download of data sets, file by file.

An interrupted download continues where it stopped. The checksum of every file is verified. Existing
files that this module did not write are never overwritten.
"""

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
from typing import Any, BinaryIO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import yaml

from polyglot.core.errors import DataError, unknown_name

Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the bytes received so far, and its size in bytes."""

ATTEMPTS = 4
"""Requests for a file until the download fails; a short interruption is over by then. With a dead
connection it takes about two minutes."""

PAUSE = 1.0
"""Seconds before the second attempt, doubled before each further one."""

TIMEOUT = 30.0
"""Seconds without a byte after which a connection counts as dead."""

CHUNK = 1 << 16
"""Bytes that are received at a time."""

TEMPORARY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
"""HTTP statuses that may be different a moment later."""

PARTIAL_CONTENT = 206
RANGE_NOT_SATISFIABLE = 416


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a data set, with size and checksum."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set that can be downloaded. Show `licence` to the user before the download."""

    name: str
    title: str
    base_url: str
    licence: str
    citation: str
    files: tuple[RemoteFile, ...]


class _Interrupted(Exception):
    """A failure of the connection after which another attempt may succeed."""


@cache
def data_sets() -> dict[str, DataSet]:
    """All data sets that can be downloaded, by name."""
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    return {name: _parse_data_set(name, entry) for name, entry in yaml.safe_load(text).items()}


def _parse_data_set(name: str, entry: dict[str, Any]) -> DataSet:
    files = []
    for file_name, properties in entry.pop("files").items():
        files.append(RemoteFile(file_name, **properties))
    return DataSet(name=name, files=tuple(files), **entry)


def data_set(name: str) -> DataSet:
    """Data set with this name. Raises DataError naming similar and known names."""
    if name not in data_sets():
        raise DataError(unknown_name("data set", name, data_sets()))
    return data_sets()[name]


def fetch_hint(folder: Path) -> str:
    """Command that downloads the files missing in a folder, as the end of a sentence.

    Empty unless the folder has the name of a data set and holds none of its files.
    """
    if folder.name not in data_sets():
        return ""
    files = data_sets()[folder.name].files
    if any((folder / file.name).is_file() for file in files):
        return ""
    return f"; `polyglot fetch {folder.name} {shlex.quote(str(folder))}` gets it"


def fetch(
    name: str,
    folder: Path | str,
    *,
    progress: Progress | None = None,
    base_url: str | None = None,
) -> list[Path]:
    """Download all files of a data set into a folder and return their paths.

    base_url: address of a mirror with the same files. Complete files are not downloaded again.
    Raises DataError for every failure.
    """
    requested = data_set(name)
    base_url = (base_url or requested.base_url).rstrip("/")
    if not base_url.startswith(("https://", "http://")):
        raise DataError(
            f"{base_url}: not an address to download from; "
            "it must begin with 'https://' or 'http://'"
        )

    folder = Path(folder)
    report = progress or (lambda *_: None)
    with _disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    missing = _missing_files(requested, folder)
    for file in requested.files:
        if file in missing:
            _download(file, f"{base_url}/{file.name}", folder / file.name, report)
        report(file.name, file.size, file.size)
    return [folder / file.name for file in requested.files]


def _missing_files(requested: DataSet, folder: Path) -> set[RemoteFile]:
    """Files to download.

    All existing files are verified first: a wrong one raises DataError before any download.
    """
    missing = set()
    wrong = []
    for file in requested.files:
        path = folder / file.name
        if not os.path.lexists(path):
            missing.add(file)
            continue
        difference = _difference(file, path)
        if difference:
            wrong.append(f"{file.name} {difference}")
    if wrong:
        raise DataError(
            f"{folder}: already holds other files under the names of {requested.name!r}: "
            f"{'; '.join(wrong)}. Move them away or choose another folder; "
            "nothing was overwritten and nothing downloaded"
        )
    return missing


def _difference(file: RemoteFile, path: Path) -> str:
    """Difference between a file and its description, as the end of a sentence; empty if equal."""
    with _disk_errors(path):
        if not path.is_file():
            return "is not a file"
        size = path.stat().st_size
        if size != file.size:
            return f"has {size} bytes, expected {file.size}"
        with path.open("rb") as handle:
            checksum = hashlib.file_digest(handle, "sha256").hexdigest()
    if checksum == file.sha256:
        return ""
    return f"has SHA-256 {checksum}, expected {file.sha256}"


def _download(file: RemoteFile, url: str, path: Path, report: Progress) -> None:
    """Download a file as `name.part`, verify it, and rename it.

    The partial file is kept if the connection fails, and removed if its content is wrong.
    """
    part = path.with_name(f"{path.name}.part")
    _receive_with_retries(file, url, part, report)
    difference = _difference(file, part)
    if difference:
        _remove(part)
        raise DataError(
            f"{url}: the downloaded file {difference}, so it was removed. Fetch again; "
            "if it stays wrong, this address no longer has the expected file"
        )
    with _disk_errors(path):
        part.replace(path)


def _receive_with_retries(file: RemoteFile, url: str, part: Path, report: Progress) -> None:
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _receive(file, url, part, report)
            return
        except _Interrupted as error:
            reason = error
        if attempt < ATTEMPTS:
            time.sleep(PAUSE * 2 ** (attempt - 1))

    size = _size(part)
    if size:
        received = f"{size} of {file.size} bytes are in {part}"
        continuation = ": it continues where it stopped"
    else:
        received = "Nothing was received"
        continuation = ""
    raise DataError(
        f"{url}: could not be downloaded in {ATTEMPTS} attempts, "
        f"the last one ended with: {reason}. {received}. "
        f"Check the connection and fetch again{continuation}"
    ) from reason


def _receive(file: RemoteFile, url: str, part: Path, report: Progress) -> None:
    """Request the missing end of a partial file. Raises _Interrupted if not all of it arrives."""
    size = _size(part)
    if size >= file.size:
        return

    headers = {"Range": f"bytes={size}-"} if size else {}
    with _network_errors(url, part):
        response = urlopen(Request(url, headers=headers), timeout=TIMEOUT)
    with response:
        start = _first_byte(response)
        if start not in (0, size):
            _remove(part)
            raise _Interrupted(f"asked for byte {size} onwards, the server sent from byte {start}")
        announced = response.length
        # A server that ignores the range sends the whole file: start again.
        mode = "ab" if start else "wb"
        with _open_writing(part, mode) as handle:
            size = _copy(response, handle, part, file, url, start, report)
    is_shorter = announced is None or size - start < announced
    if size < file.size and is_shorter:
        raise _Interrupted(f"the connection was closed after {size} of {file.size} bytes")


def _copy(
    response: HTTPResponse,
    handle: BinaryIO,
    part: Path,
    file: RemoteFile,
    url: str,
    start: int,
    report: Progress,
) -> int:
    """Write the response into the partial file and return the size of the file.

    Stops at the expected size: a wrong file, however long, must not fill the disk.
    """
    size = start
    while size < file.size:
        report(file.name, size, file.size)
        with _network_errors(url, part):
            chunk = response.read(CHUNK)
        if not chunk:
            break
        with _disk_errors(part):
            handle.write(chunk)
            handle.flush()
        size += len(chunk)
    with _disk_errors(part):
        # After a power failure, no file with the right name may lack bytes.
        os.fsync(handle.fileno())
    return size


@contextmanager
def _open_writing(part: Path, mode: str) -> Iterator[BinaryIO]:
    """Open a file for writing; failures to open and close it are disk errors.

    Closing writes again what a full disk refused before.
    """
    with _disk_errors(part):
        handle = part.open(mode)
    try:
        yield handle
    finally:
        with _disk_errors(part):
            handle.close()


def _first_byte(response: HTTPResponse) -> int:
    """Position of the first byte of the response: 0 if it ignores the range, -1 if unknown."""
    if response.status != PARTIAL_CONTENT:
        return 0
    content_range = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return int(content_range[1]) if content_range else -1


def _size(part: Path) -> int:
    with _disk_errors(part):
        return part.stat().st_size if part.exists() else 0


def _remove(part: Path) -> None:
    with _disk_errors(part):
        part.unlink(missing_ok=True)


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system (permission, space, folder) into DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read or written ({error.strerror or error}). "
            "Give it space and permission, or choose another folder, and fetch again: "
            "complete files are kept"
        ) from error


@contextmanager
def _network_errors(url: str, part: Path) -> Iterator[None]:
    """Raise _Interrupted for temporary failures and DataError for permanent ones."""
    try:
        yield
    except HTTPError as error:
        error.close()
        if error.code == RANGE_NOT_SATISFIABLE:
            # The partial file is longer than the file on the server: it is part of another file.
            _remove(part)
        elif error.code not in TEMPORARY_STATUSES:
            raise DataError(
                f"{url}: the server answered {error.code} {error.reason}, so this address does "
                "not offer the file. Files that were fetched before are kept; a mirror with the "
                "same files can be given: --mirror ADDRESS (base_url in Python)"
            ) from error
        raise _Interrupted(f"{error.code} {error.reason}") from error
    except (ValueError, InvalidURL) as error:
        raise DataError(f"{url}: not an address to download from ({error})") from error
    except (OSError, HTTPException) as error:
        reason = str(getattr(error, "reason", error)) or type(error).__name__
        raise _Interrupted(reason) from error
