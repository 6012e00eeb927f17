"""The manifest of a package, opened for reading."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import BinaryIO, Final

from django.conf import settings

from portal.packages.correcting.corrected import own_rows
from portal.packages.manifest import Reading, Rows, UnableToRead, rows
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound

_TOLD_BY_PLACE: Final = frozenset({"csv", "jsonl", "openai", "xlsx"})
"""Formats that are read where they lie; of others a copy is read that is laid out in another way."""


class Place:
    """How far into a manifest its reader has come."""

    def __init__(self) -> None:
        self._stream: BinaryIO | None = None
        self._size = 0

    def follow(self, stream: BinaryIO, package: Package) -> None:
        """From now on ``stream`` is the one that is read."""
        reading = package.reading
        if reading["format"] in _TOLD_BY_PLACE and not (reading["format"] == "xlsx" and reading.get("packing")):
            self._stream, self._size = stream, package.manifest_bytes

    def share(self) -> float | None:
        """The part of the file that was read, 0 to 1, or ``None`` where it cannot be told."""
        if self._stream is None or not self._size or self._stream.closed:
            return None
        return min(1.0, self._stream.tell() / self._size)


@contextmanager
def manifest_rows(package: Package, place: Place | None = None) -> Iterator[Rows]:
    """The rows of the manifest as it was uploaded; of a corrected file without what we had put into it.

    ``place`` tells meanwhile how far they were read. Raises :class:`UnableToRead`, also while they are read.
    """
    try:
        stream = objects().open_read(package.manifest_key)
    except ObjectNotFound as error:
        raise UnableToRead("file_lost") from error
    if place is not None:
        place.follow(stream, package)
    read = rows(stream, Reading.from_json(package.reading), expanded_limit=settings.EXPANDED_LIMIT_BYTES)
    with closing(stream), closing(own_rows(package, read) if package.corrects_id else read) as found:
        yield found
