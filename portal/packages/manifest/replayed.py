"""A stream of which the beginning was read already, and is read once more. Pure."""

import io
from typing import Any, BinaryIO


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
