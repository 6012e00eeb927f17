"""Streams that begin with what was read of them already, or that somebody watches being read. Pure."""

import io
from collections.abc import Callable
from typing import Any, BinaryIO

_PIECE = 1 << 18


class Replayed(io.RawIOBase):
    """``head``, then what is left of ``rest``; it cannot be sought in, and closing it leaves ``rest`` open."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = memoryview(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._head:
            piece = self._rest.read(len(buffer))
        else:
            piece = self._head[: len(buffer)].tobytes()
            self._head = self._head[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


class Watched(io.BytesIO):
    """What ``source`` gives, told to ``seen`` as it is read."""

    def __init__(self, source: BinaryIO, seen: Callable[[bytes], None]) -> None:
        super().__init__()
        self._source, self._seen = source, seen

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes."""
        piece = self._source.read(-1 if size is None else size)
        self._seen(piece)
        return piece

    def drain(self) -> None:
        """Read on to the end."""
        while self.read(_PIECE):
            pass


def head_of(stream: BinaryIO, size: int) -> bytes:
    """The next ``size`` bytes, fewer only where the stream ends, however little it gives at a time."""
    pieces = []
    while size and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def replayed(head: bytes, rest: BinaryIO) -> BinaryIO:
    """``head`` and then ``rest`` as one stream."""
    return io.BufferedReader(Replayed(head, rest))
