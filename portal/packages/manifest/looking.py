"""How much of a file may be gone through before it is known how it is read: people wait for that. Pure.

What costs time is elements, and a few bytes of a packed file can stand for any number of them.
"""

from typing import IO, Final

from portal.packages.manifest.reading import UnableToRead

MOST_LOOKED_AT: Final = 5_000_000
"""Elements up to the first rows, of all sheets together; some seconds."""
MOST_LOOKED_THROUGH: Final = 200_000_000
"""The same where everything has to be looked through, such as for what is merged: the size of the largest sheets."""
_BYTES_ALIKE: Final = 256
"""So many bytes cost as much as an element."""


class Budget:
    """What may still be looked at; spent by all streams that it counts together."""

    def __init__(self, elements: int) -> None:
        self._left = elements

    def spend(self, piece: bytes) -> None:
        """``piece`` was read; raises :class:`UnableToRead` once more was read than may be."""
        self._left -= piece.count(b"<") + len(piece) // _BYTES_ALIKE
        if self._left < 0:
            raise UnableToRead("workbook_too_large")

    def counted(self, stream: IO[bytes]) -> "Counted":
        """``stream``, with what is read from it counted."""
        return Counted(stream, self)


class Counted:
    """A stream of XML that spends a budget while it is read."""

    def __init__(self, stream: IO[bytes], budget: Budget) -> None:
        self._stream, self._budget = stream, budget

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, at most ``size``."""
        piece = self._stream.read(size)
        self._budget.spend(piece)
        return piece
