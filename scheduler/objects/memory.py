"""Objects in a dictionary: for tests."""

import io
from collections.abc import Iterator
from datetime import datetime
from threading import Lock
from typing import BinaryIO

from scheduler.objects.port import (
    ObjectBusy,
    ObjectExists,
    ObjectInfo,
    ObjectNotFound,
    OffsetMismatch,
)


class _MemoryWriter:
    def __init__(self, store: "MemoryStore", key: str) -> None:
        self._store, self._key, self._buffer = store, key, io.BytesIO()

    def write(self, data: bytes, /) -> int:
        return self._buffer.write(data)

    def __enter__(self) -> "_MemoryWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        if kind is None:
            self._store.put(self._key, self._buffer.getvalue())


class _Unfinished:
    """The pieces of one object so far, and whether somebody adds to them."""

    def __init__(self) -> None:
        self.pieces = bytearray()
        self.is_busy = False

    def write(self, data: bytes, /) -> int:
        self.pieces += data
        return len(data)

    def __enter__(self) -> "_Unfinished":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self.is_busy = False


class MemoryStore:
    """An object store that lives as long as the process."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        self._unfinished: dict[str, _Unfinished] = {}
        self._lock = Lock()

    @staticmethod
    def _checked(key: str) -> str:
        if not key or "\0" in key or any(part in {"", ".", ".."} for part in key.split("/")):
            raise ValueError(f"not an object key: {key!r}")
        return key

    def open_read(self, key: str) -> BinaryIO:
        return io.BytesIO(self.get(key))

    def open_write(self, key: str) -> _MemoryWriter:
        return _MemoryWriter(self, self._checked(key))

    def put(self, key: str, data: bytes) -> None:
        with self._lock:
            self._objects[self._checked(key)] = bytes(data)

    def put_new(self, key: str, data: bytes) -> None:
        with self._lock:
            if self._checked(key) in self._objects:
                raise ObjectExists(key)
            self._objects[key] = bytes(data)

    def get(self, key: str) -> bytes:
        try:
            return self._objects[self._checked(key)]
        except KeyError as error:
            raise ObjectNotFound(key) from error

    def size(self, key: str) -> int:
        return len(self.get(key))

    def exists(self, key: str) -> bool:
        return self._checked(key) in self._objects

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        with self._lock:
            found = [ObjectInfo(k, len(v)) for k, v in self._objects.items() if k.startswith(prefix)]
        yield from sorted(found)

    def delete(self, key: str) -> None:
        with self._lock:
            self._objects.pop(self._checked(key), None)

    def delete_prefix(self, prefix: str) -> int:
        doomed = list(self.list(prefix))
        for found in doomed:
            self.delete(found.key)
        return len(doomed)

    def begin(self, key: str) -> None:
        with self._lock:
            self._unfinished.setdefault(self._checked(key), _Unfinished())

    def open_append(self, key: str, *, at: int) -> _Unfinished:
        with self._lock:
            found = self._idle(key)
            if len(found.pieces) != at:
                raise OffsetMismatch(key, len(found.pieces))
            found.is_busy = True
        return found

    def _idle(self, key: str) -> _Unfinished:
        found = self._unfinished.get(key)
        if found is None:
            raise ObjectNotFound(key)
        if found.is_busy:
            raise ObjectBusy(key)
        return found

    def unfinished_size(self, key: str) -> int:
        with self._lock:
            if key not in self._unfinished:
                raise ObjectNotFound(key)
            return len(self._unfinished[key].pieces)

    def finish(self, key: str) -> None:
        with self._lock:
            self._objects[key] = bytes(self._idle(key).pieces)
            del self._unfinished[key]

    def discard(self, key: str) -> None:
        with self._lock:
            self._unfinished.pop(key, None)

    def discard_unfinished(self, *, before: datetime) -> int:  # noqa: ARG002 - writers die with their process
        return 0
