"""Objects as files under one directory."""

import os
import secrets
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from scheduler.objects.port import ObjectExists, ObjectInfo, ObjectNotFound, ObjectWriter
from scheduler.objects.unfinished import UnfinishedFiles

_STAGING = ".staging"
_UNFINISHED = ".unfinished"
_OURS = (_STAGING, _UNFINISHED)


class _FileWriter:
    def __init__(self, staged: Path, final: Path) -> None:
        self._staged, self._final = staged, final
        self._file = staged.open("wb")

    def write(self, data: bytes, /) -> int:
        return self._file.write(data)

    def __enter__(self) -> "_FileWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._final.parent.mkdir(parents=True, exist_ok=True)
            self._staged.replace(self._final)
        else:
            self._file.close()
            self._staged.unlink(missing_ok=True)


class FileStore:
    """An object store on a local disk: written beside, synced, then renamed into place."""

    def __init__(self, root: str | Path) -> None:
        self._root = Path(root)
        (self._root / _STAGING).mkdir(parents=True, exist_ok=True)
        self._unfinished = UnfinishedFiles(self._root / _UNFINISHED)

    def _path(self, key: str) -> Path:
        parts = key.split("/")
        if not key or key.startswith(_OURS) or any(part in {"", ".", ".."} for part in parts) or "\0" in key:
            raise ValueError(f"not an object key: {key!r}")
        return self._root.joinpath(*parts)

    def _staged(self) -> Path:
        return self._root / _STAGING / secrets.token_hex(12)

    def open_read(self, key: str) -> BinaryIO:
        try:
            return self._path(key).open("rb")
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError) as error:
            raise ObjectNotFound(key) from error

    def open_write(self, key: str) -> _FileWriter:
        return _FileWriter(self._staged(), self._path(key))

    def put(self, key: str, data: bytes) -> None:
        with self.open_write(key) as writer:
            writer.write(data)

    def put_new(self, key: str, data: bytes) -> None:
        final, staged = self._path(key), self._staged()
        with _FileWriter(staged, staged) as writer:
            writer.write(data)
        final.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(staged, final)  # fails if the name is taken, also by another process
        except FileExistsError as error:
            raise ObjectExists(key) from error
        finally:
            staged.unlink()

    def get(self, key: str) -> bytes:
        with self.open_read(key) as stream:
            return stream.read()

    def size(self, key: str) -> int:
        path = self._path(key)
        if not path.is_file():
            raise ObjectNotFound(key)
        return path.stat().st_size

    def exists(self, key: str) -> bool:
        return self._path(key).is_file()

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        folder = self._root / prefix.rpartition("/")[0]
        if not folder.is_dir():
            return
        found = (
            ObjectInfo(path.relative_to(self._root).as_posix(), path.stat().st_size)
            for path in folder.rglob("*")
            if path.is_file()
        )
        yield from sorted(o for o in found if o.key.startswith(prefix) and not o.key.startswith(_OURS))

    def delete(self, key: str) -> None:
        self._path(key).unlink(missing_ok=True)

    def delete_prefix(self, prefix: str) -> int:
        doomed = list(self.list(prefix))
        for found in doomed:
            self.delete(found.key)
        if prefix.endswith("/"):
            shutil.rmtree(self._path(prefix.rstrip("/")), ignore_errors=True)
        return len(doomed)

    def begin(self, key: str) -> None:
        self._path(key)  # refuses what is not a key
        self._unfinished.begin(key)

    def open_append(self, key: str, *, at: int) -> ObjectWriter:
        return self._unfinished.open_append(key, at=at)

    def unfinished_size(self, key: str) -> int:
        return self._unfinished.size(key)

    def finish(self, key: str) -> None:
        self._unfinished.finish(key, self._path(key))

    def discard(self, key: str) -> None:
        self._unfinished.discard(key)

    def sweep_staging(self, older_than_s: float, now_s: float) -> int:
        """Remove unfinished writes whose last byte came more than ``older_than_s`` before ``now_s`` (epoch)."""
        stale = [p for p in (self._root / _STAGING).iterdir() if now_s - p.stat().st_mtime > older_than_s]
        for path in stale:
            path.unlink(missing_ok=True)
        return len(stale)

    def discard_unfinished(self, *, before: datetime) -> int:
        stale = [path for path in (self._root / _STAGING).iterdir() if _began_before(path, before)]
        for path in stale:
            path.unlink(missing_ok=True)
        return len(stale) + self._unfinished.discard_older(before)


def _began_before(path: Path, moment: datetime) -> bool:
    try:
        return path.stat().st_mtime < moment.timestamp()
    except FileNotFoundError:  # its writer has just finished
        return False
