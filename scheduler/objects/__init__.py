"""Where bytes live: the port is port.py, its adapters stand beside it."""

from urllib.parse import unquote, urlsplit

from scheduler.objects.port import (
    ObjectBusy,
    ObjectExists,
    ObjectInfo,
    ObjectNotFound,
    ObjectStore,
    ObjectWriter,
    OffsetMismatch,
)

__all__ = [
    "ObjectBusy",
    "ObjectExists",
    "ObjectInfo",
    "ObjectNotFound",
    "ObjectStore",
    "ObjectWriter",
    "OffsetMismatch",
    "open_store",
]


def open_store(url: str) -> ObjectStore:
    """The store that ``url`` names: ``file:///path`` or ``memory:`` (for tests)."""
    from scheduler.objects.file import FileStore
    from scheduler.objects.memory import MemoryStore

    parts = urlsplit(url)
    if parts.scheme == "file":
        return FileStore(unquote(parts.path))
    if parts.scheme == "memory":
        return MemoryStore()
    raise ValueError(f"OBJECTS_URL must begin with file: or memory:, not {url!r}")
