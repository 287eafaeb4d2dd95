"""New text files of a folder that appear together, when all of them are complete."""

from __future__ import annotations

import contextlib
import gzip
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from polyglot.core.atomic_files import open_without_links, sync_folder, temporary_path
from polyglot.core.errors import DataError


class NewTextFile:
    """Text file that is being written under a temporary name; compressed if it ends in `.gz`.

    The same lines always give the same bytes.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._temporary = temporary_path(path.parent)
        self._file = open_without_links(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        self._stream: BinaryIO = self._file
        if path.suffix == ".gz":
            # Neither a time nor a name in the header.
            self._stream = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self._file, mtime=0)

    def write(self, lines: Iterable[str]) -> None:
        """Append lines."""
        text = "".join([f"{line}\n" for line in lines])
        self._stream.write(text.encode(errors="surrogatepass"))

    def finish(self) -> None:
        """Close the file; its content is then on the disk."""
        if self._stream is not self._file:
            self._stream.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def publish(self) -> None:
        """Give the file its name."""
        self._temporary.replace(self.path)

    def discard(self) -> None:
        """Remove the temporary file if there is one."""
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            self._temporary.unlink()


@contextmanager
def new_text_files(
    folder: Path,
    names: Sequence[str],
    *,
    obsolete: Sequence[Path] = (),
) -> Iterator[dict[str, NewTextFile]]:
    """Create text files in a folder; they get their names at the end, if no error occurs.

    obsolete: files that are then removed, unless they are among the new ones. Raises DataError for
    a file that cannot be written.
    """
    made_folders = _make_folders(folder)
    files: dict[str, NewTextFile] = {}
    is_complete = False
    try:
        for name in names:
            files[name] = NewTextFile(folder / name)
        yield files
        for file in files.values():
            file.finish()
        for file in files.values():
            file.publish()
        for path in obsolete:
            if path.name not in files:
                path.unlink(missing_ok=True)
        sync_folder(folder)
        is_complete = True
    except OSError as error:
        raise DataError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        if not is_complete:
            for file in files.values():
                file.discard()
            _remove_folders(made_folders)


def earlier_files(
    sources: Sequence[Path],
    folder: Path,
    names: Iterable[str],
    *,
    replace: bool,
    origin: str = "call",
) -> list[Path]:
    """Return the files of an earlier call in a folder, compressed or not.

    sources: files that are read. origin: what made the earlier files, for the message.
    Raises DataError if a file would replace one of the sources, or if there are earlier files that
    are not to be replaced.
    """
    paths = []
    for name in names:
        plain_name = name.removesuffix(".gz")
        for path in (folder / plain_name, folder / f"{plain_name}.gz"):
            if path.exists() or path.is_symlink():
                paths.append(path)
    resolved = {path.resolve() for path in paths}
    for path in sources:
        if path.resolve() in resolved:
            raise DataError(f"{path}: would be replaced; name another folder with --output")
    if paths and not replace:
        raise DataError(f"{paths[0]}: exists; --force replaces the files of an earlier {origin}")
    return paths


def _make_folders(folder: Path) -> list[Path]:
    """Make a folder and return all that were made, the innermost first."""
    missing = []
    for path in (folder, *folder.parents):
        if path.exists():
            break
        missing.append(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror}") from None
    return missing


def _remove_folders(folders: Iterable[Path]) -> None:
    for path in folders:
        with contextlib.suppress(OSError):
            path.rmdir()
