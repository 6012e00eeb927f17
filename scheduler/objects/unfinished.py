"""Objects of the file store that arrive in several pieces, and may be interrupted between any two bytes."""

import fcntl
import os
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from scheduler.objects.port import ObjectBusy, ObjectNotFound, OffsetMismatch


class _Appender:
    """One piece on its way to the end of a file that nobody else adds to meanwhile."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def write(self, data: bytes, /) -> int:
        left = memoryview(data)
        while left:
            left = left[os.write(self._descriptor, left) :]
        return len(data)

    def __enter__(self) -> "_Appender":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        try:
            os.fsync(self._descriptor)
        finally:
            os.close(self._descriptor)


class UnfinishedFiles:
    """A folder with one file for each unfinished object, locked while a piece is added: also between processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / sha256(key.encode()).hexdigest()

    def begin(self, key: str) -> None:
        """See :meth:`ObjectStore.begin`."""
        self._path(key).touch()

    def open_append(self, key: str, *, at: int) -> _Appender:
        """See :meth:`ObjectStore.open_append`."""
        descriptor = self._locked(key)
        if (size := os.fstat(descriptor).st_size) != at:
            os.close(descriptor)
            raise OffsetMismatch(key, size)
        return _Appender(descriptor)

    def size(self, key: str) -> int:
        """See :meth:`ObjectStore.unfinished_size`."""
        try:
            return self._path(key).stat().st_size
        except FileNotFoundError as error:
            raise ObjectNotFound(key) from error

    def finish(self, key: str, final: Path) -> None:
        """Move the file to ``final``; :class:`ObjectNotFound` if there is none."""
        descriptor = self._locked(key)
        try:
            final.parent.mkdir(parents=True, exist_ok=True)
            self._path(key).replace(final)
        finally:
            os.close(descriptor)

    def discard(self, key: str) -> None:
        """See :meth:`ObjectStore.discard`."""
        self._path(key).unlink(missing_ok=True)

    def discard_older(self, moment: datetime) -> int:
        """Remove those that nothing was added to since ``moment``; returns how many."""
        stale = [path for path in self._folder.iterdir() if path.stat().st_mtime < moment.timestamp()]
        for path in stale:
            path.unlink(missing_ok=True)
        return len(stale)

    def _locked(self, key: str) -> int:
        try:
            descriptor = os.open(self._path(key), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise ObjectNotFound(key) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(descriptor).st_nlink:  # finished or discarded between the two lines above
                raise ObjectNotFound(key)
        except BlockingIOError as error:
            os.close(descriptor)
            raise ObjectBusy(key) from error
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
