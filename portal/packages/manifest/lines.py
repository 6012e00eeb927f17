"""Physical lines of a text file, with a limit and a memory of where the current record began. Pure."""

import io
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from portal.packages.manifest.reading import MAX_LINE, RAW, RAW_KEPT, BadRow, UnableToRead


class _Cut(str):
    """The beginning of a line that is longer than a line may be."""

    __slots__ = ()


class LineTooLong(ValueError):
    """The line that was asked for is too long to be read; the next one can be. Its beginning is in the record."""


class Lines:
    """An iterator over lines, ends kept. ``record`` collects the lines since the last :meth:`begin`."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._readline = text.readline
        self._again: deque[str] = deque()
        self._ends_in_return = False
        self.count = 0
        """Lines read so far."""
        self.record: list[str] = []
        self.ended = False

    def begin(self) -> None:
        """The next line begins a record."""
        self.record.clear()

    def give_back(self) -> None:
        """Read all lines of the current record but its first once more, the next of them as a record of its own."""
        self._again.extendleft(reversed(self.record[1:]))
        self.count -= len(self.record) - 1
        del self.record[1:]
        self.ended = False

    @property
    def first(self) -> int:
        """The number of the line where the current record begins."""
        return self.count - len(self.record) + 1

    @property
    def raw(self) -> str:
        """The current record as written, cut to what is kept of an unreadable one."""
        return "".join(self.record)[:RAW_KEPT].rstrip("\r\n")

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._again.popleft() if self._again else self._read()
        if not line:
            self.ended = True
            raise StopIteration
        self.count += 1
        self.record.append(line)
        if type(line) is _Cut:
            raise LineTooLong
        return line

    def _read(self) -> str:
        line = self._piece()
        if line == "\r\n" and self._ends_in_return and not self.record:
            line = self._piece()  # the second half of an end of line that was written as \r\r\n
        self._ends_in_return = line.endswith("\r")
        if len(line) == MAX_LINE and not line.endswith(("\n", "\r")):
            return self._cut(line)
        return line

    def _piece(self) -> str:
        try:
            return self._readline(MAX_LINE)
        except UnicodeDecodeError as error:
            raise UnableToRead("undecodable", line=self.count + 1) from error

    def _cut(self, line: str) -> _Cut:
        while (more := self._piece()) and not more.endswith(("\n", "\r")):
            pass
        return _Cut(line[:RAW_KEPT])


def too_long(lines: Lines) -> BadRow:
    """The bad row, still without its number, that a :class:`LineTooLong` makes of the current record."""
    detail = {"problem": "line_too_long", "line": lines.count, "limit": MAX_LINE}
    return BadRow(0, "malformed_row", detail, {RAW: lines.raw})


@contextmanager
def lines_of(stream: BinaryIO, encoding: str) -> Iterator[Lines]:
    """The lines of ``stream`` from where it stands; the stream stays open afterwards."""
    text = io.TextIOWrapper(stream, encoding, errors="strict", newline="")
    try:
        yield Lines(text)
    finally:
        text.detach()
