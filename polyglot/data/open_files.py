"""Files that are read gradually, of which only a limited number is open at a time.

Streamed training reads thousands of files in turns. The operating system allows a process about
1024 open files, on some systems 256. A file that was not read for the longest time is closed, and
opened again at its position when its next bytes are needed.
"""

from __future__ import annotations

import errno
import io
import os
from collections import OrderedDict
from pathlib import Path
from threading import RLock

from polyglot.core.errors import DataError

MAX_OPEN = 64
"""Files that are open at a time. Opening one takes microseconds, so that a larger number would not
make reading faster."""

TOO_MANY_OPEN = (errno.EMFILE, errno.ENFILE)
"""Errors of a process, and of a system, without free file descriptors."""


class PooledFile(io.RawIOBase):
    """Regular file for reading, closed and reopened as needed.

    It works under `io.BufferedReader`, the decompressors and the Parquet reader.
    Raises DataError if the file was replaced or cut while it was closed.
    """

    def __init__(self, path: Path) -> None:
        """Open the file; raises OSError if this is impossible."""
        self.path = path
        self._position = 0
        self._identity: tuple[int, int] | None = None
        _POOL.read(self, 0, 0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self._position
        elif whence == os.SEEK_END:
            offset += self.path.stat().st_size
        self._position = offset
        return offset

    def readinto(self, buffer: memoryview) -> int:
        data = _POOL.read(self, self._position, len(buffer))
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        _POOL.close(self)
        super().close()

    def verify(self, status: os.stat_result) -> None:
        """Check that a file that was opened again is the file that was open before."""
        identity = (status.st_dev, status.st_ino)
        is_same = self._identity in (None, identity) and status.st_size >= self._position
        if not is_same:
            raise DataError(f"{self.path}: the file has changed while it was being read")
        self._identity = identity


class _Pool:
    """Open descriptors of pooled files, least recently used first."""

    def __init__(self) -> None:
        self._descriptors: OrderedDict[PooledFile, int] = OrderedDict()
        # The garbage collector may close a file of this thread while the pool is in use.
        self._lock = RLock()

    def read(self, file: PooledFile, position: int, size: int) -> bytes:
        """Read at a position; opens the file if it is closed."""
        with self._lock:
            descriptor = self._descriptors.get(file)
            if descriptor is None:
                descriptor = self._open(file)
            self._descriptors.move_to_end(file)
            return os.pread(descriptor, size, position)

    def close(self, file: PooledFile) -> None:
        with self._lock:
            descriptor = self._descriptors.pop(file, None)
            if descriptor is not None:
                os.close(descriptor)

    def check(self, path: Path) -> None:
        """Open and close a file; raises OSError if this is impossible."""
        with self._lock:
            os.close(self._descriptor(path))

    def _open(self, file: PooledFile) -> int:
        while len(self._descriptors) >= MAX_OPEN:
            self._close_oldest()
        descriptor = self._descriptor(file.path)
        try:
            file.verify(os.fstat(descriptor))
        except DataError:
            os.close(descriptor)
            raise
        self._descriptors[file] = descriptor
        return descriptor

    def _descriptor(self, path: Path) -> int:
        """Open a file; if the process has no free descriptor, close other files of the pool."""
        while True:
            try:
                return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                if error.errno not in TOO_MANY_OPEN or not self._descriptors:
                    raise
                self._close_oldest()

    def _close_oldest(self) -> None:
        if not self._descriptors:
            return
        _, descriptor = self._descriptors.popitem(last=False)
        os.close(descriptor)


_POOL = _Pool()


def check_readable(path: Path) -> None:
    """Open and close a file; raises OSError if this is impossible."""
    _POOL.check(path)
