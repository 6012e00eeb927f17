"""The object store port: manifests, shards, parts, results (CONTRACTS §4 for the keys).

Keys are relative paths with ``/``. An object appears whole or not at all. Every adapter passes
tests/contract/test_objects.py.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO, NamedTuple, Protocol


class ObjectNotFound(LookupError):
    """There is no object under this key."""


class ObjectExists(FileExistsError):
    """``put_new`` found the key taken."""


class ObjectBusy(RuntimeError):
    """Somebody else is adding to this unfinished object, or ending it, right now."""


class OffsetMismatch(ValueError):
    """The unfinished object has ``size`` bytes; what was to be added begins elsewhere."""

    def __init__(self, key: str, size: int) -> None:
        super().__init__(f"{key} has {size} bytes")
        self.size = size


class ObjectInfo(NamedTuple):
    key: str
    size: int


class ObjectWriter(Protocol):
    """A file being written; leaving the ``with`` block by an exception discards it."""

    def write(self, data: bytes, /) -> int: ...

    def __enter__(self) -> "ObjectWriter": ...

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None: ...


class ObjectStore(Protocol):
    """Where bytes live. All methods may be called from several threads."""

    def open_read(self, key: str) -> BinaryIO:
        """A seekable binary stream; raises :class:`ObjectNotFound`."""
        ...

    def open_write(self, key: str) -> ObjectWriter:
        """A writer that replaces ``key`` when its block ends without an exception."""
        ...

    def put(self, key: str, data: bytes) -> None: ...

    def put_new(self, key: str, data: bytes) -> None:
        """Write ``key`` only if nobody has; raises :class:`ObjectExists`."""
        ...

    def get(self, key: str) -> bytes: ...

    def size(self, key: str) -> int: ...

    def exists(self, key: str) -> bool: ...

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """Objects whose key begins with ``prefix``, in key order."""
        ...

    def delete(self, key: str) -> None:
        """Delete ``key``; no error when there is none."""
        ...

    def delete_prefix(self, prefix: str) -> int:
        """Delete every object under ``prefix``; returns how many there were."""
        ...

    def begin(self, key: str) -> None:
        """Begin an object that arrives in pieces, with no byte; one that was begun before stays as it is.

        Nobody sees it under ``key`` until :meth:`finish`, and what lies there already stays until then.
        """
        ...

    def open_append(self, key: str, *, at: int) -> ObjectWriter:
        """A writer that adds to the unfinished object ``key``, which has ``at`` bytes.

        What :meth:`unfinished_size` counts stays, however the block ends and whatever becomes of the process.
        Raises :class:`OffsetMismatch`, :class:`ObjectBusy` while somebody else adds to it, :class:`ObjectNotFound`
        where none was begun.
        """
        ...

    def unfinished_size(self, key: str) -> int:
        """How many bytes of an unfinished object are kept; :class:`ObjectNotFound` where none was begun."""
        ...

    def finish(self, key: str) -> None:
        """Make the unfinished object ``key`` an object, whole, in the place of what lay there.

        Raises :class:`ObjectNotFound` where there is none, :class:`ObjectBusy` while somebody adds to it.
        """
        ...

    def discard(self, key: str) -> None:
        """Forget the unfinished object ``key``; no error when there is none."""
        ...

    def discard_unfinished(self, *, before: datetime) -> int:
        """Remove what writers that began ``before`` left behind when their process died; returns how many.

        Unfinished objects that nothing was added to since ``before`` are removed too.
        """
        ...
