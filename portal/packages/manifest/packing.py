"""Files that lie packed within an upload, unpacked as a stream in flat memory, with limits on what comes out. Pure."""

import io
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any, BinaryIO, Final

import zstandard

from portal.packages.manifest.archives import only_file, opened
from portal.packages.manifest.damage import damage_told
from portal.packages.manifest.reading import UnableToRead

EXPANDED_LIMIT: Final = 8 * 1024**3
"""Bytes that a packed file may have once unpacked, unless the installation says otherwise."""
MOST_COPIED: Final = 1024**3
"""The same of a workbook or a table, which is copied to disk because it cannot be read from front to back."""
MOST_RATIO: Final = 250
"""Unpacked to packed, of what is larger than ``UNSUSPECTED`` once unpacked; real manifests stay below 100."""
UNSUSPECTED: Final = 128 * 1024**2
MOST_MEMBERS: Final = 300_000
"""Pieces that a gzip or zstd file may consist of: each costs time, also an empty one."""

_CHUNK = 1 << 18
_ZSTD_CHUNK = 1 << 10
"""Packed bytes that are unpacked at once; each may become 32 KiB, and nothing bounds that from within."""
_MOST_WINDOW = 1 << 27
"""What zstd may hold in memory: enough for all of its levels, not for its ``--long`` beyond 27."""


@contextmanager
def unpacked(stream: BinaryIO, packing: str, limit: int = EXPANDED_LIMIT) -> Iterator[BinaryIO]:
    """The file that lies in ``stream`` packed by ``packing`` (as in ``Reading``), from its beginning, not seekable.

    Raises :class:`UnableToRead`, also while it is read: for what is damaged, locked, or more than ``limit`` bytes.
    """
    packed_size = stream.seek(0, 2)
    stream.seek(0)
    with closing(_PIECES[packing](stream)) as pieces:
        yield io.BufferedReader(_Unpacked(pieces, packed_size, limit), _CHUNK)


@contextmanager
def seekable(stream: BinaryIO) -> Iterator[BinaryIO]:
    """What is left of ``stream`` in a temporary file; raises :class:`UnableToRead` beyond ``MOST_COPIED``."""
    with tempfile.TemporaryFile() as copy:
        while piece := stream.read(_CHUNK):
            if copy.tell() + len(piece) > MOST_COPIED:
                raise expands_too_far(MOST_COPIED)
            copy.write(piece)
        copy.seek(0)
        yield copy


class _Unpacked(io.RawIOBase):
    """Pieces as a stream, counted."""

    def __init__(self, pieces: Iterator[bytes], packed_size: int, limit: int) -> None:
        self._pieces, self._limit = pieces, limit
        self._unsuspected = max(UNSUSPECTED, MOST_RATIO * packed_size)
        self._piece = memoryview(b"")
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._piece:
            with damage_told("broken_archive"):
                piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._count(len(piece))
            self._piece = memoryview(piece)
        size = min(len(buffer), len(self._piece))
        buffer[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size

    def _count(self, size: int) -> None:
        self._size += size
        if self._size > self._limit:
            raise expands_too_far(self._limit)
        if self._size > self._unsuspected:
            raise UnableToRead("archive_too_large")


def _gunzipped(stream: BinaryIO) -> Iterator[bytes]:
    data = stream.read(_CHUNK)
    for _member in range(MOST_MEMBERS):
        member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not member.eof:
            yield member.decompress(_more(data, stream, _CHUNK), _CHUNK)
            data = member.unconsumed_tail
        data = member.unused_data.lstrip(b"\0") or stream.read(_CHUNK).lstrip(b"\0")
        if not data:
            return
    raise UnableToRead("archive_too_large")


def _unzstd(stream: BinaryIO) -> Iterator[bytes]:
    context = zstandard.ZstdDecompressor(max_window_size=_MOST_WINDOW)
    data = stream.read(_ZSTD_CHUNK)
    for _frame in range(MOST_MEMBERS):
        frame = context.decompressobj()
        while not frame.eof:
            yield _of_zstd(frame, _more(data, stream, _ZSTD_CHUNK))
            data = b""
        data = frame.unused_data or stream.read(_ZSTD_CHUNK)
        if not data:
            return
    raise UnableToRead("archive_too_large")


def _of_zstd(frame: "zstandard.ZstdDecompressionObj", data: bytes) -> bytes:
    try:
        return frame.decompress(data)
    except zstandard.ZstdError as error:
        raise UnableToRead("unusual_packing" if "too much memory" in str(error) else "broken_archive") from error


def _more(data: bytes, stream: BinaryIO, size: int) -> bytes:
    """``data``, or what comes next; that something has to come is the caller's knowledge."""
    data = data or stream.read(size)
    if not data:
        raise EOFError
    return data


def _unzipped(stream: BinaryIO) -> Iterator[bytes]:
    with opened(stream, "archive_too_large") as archive, archive.open(only_file(archive)) as inner:
        while piece := inner.read(_CHUNK):
            yield piece


_PIECES: Final[dict[str, Callable[[BinaryIO], Any]]] = {"gzip": _gunzipped, "zstd": _unzstd, "zip": _unzipped}


def expands_too_far(limit: int) -> UnableToRead:
    """The refusal of a file from which more than ``limit`` bytes come."""
    return UnableToRead("expands_too_far", limit=_size(limit))


def _size(limit: int) -> str:
    """A limit as people read it, the same in every language."""
    return f"{limit / 1024**3:.3g} GiB" if limit >= 1024**3 else f"{limit / 1024**2:.3g} MiB"
