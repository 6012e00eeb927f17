"""Physical lines of a text file, with a limit and a memory of where the current record began. Pure."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from portal.packages.manifest.reading import MAX_LINE, RAW_KEPT, UnableToRead


class Lines:
    """An iterator over lines, ends kept. ``record`` collects the lines since the last :meth:`begin`."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._readline = text.readline
        self.count = 0
        """Lines read so far."""
        self.record: list[str] = []
        self.ended = False

    def begin(self) -> None:
        """The next line begins a record."""
        self.record.clear()

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
        try:
            line = self._readline(MAX_LINE)
        except UnicodeDecodeError as error:
            raise UnableToRead("undecodable", line=self.count + 1) from error
        if not line:
            self.ended = True
            raise StopIteration
        self.count += 1
        if len(line) == MAX_LINE and not line.endswith(("\n", "\r")):
            raise UnableToRead("line_too_long", line=self.count, limit=MAX_LINE)
        self.record.append(line)
        return line


@contextmanager
def lines_of(stream: BinaryIO, encoding: str) -> Iterator[Lines]:
    """The lines of ``stream`` from its start; the stream stays open afterwards."""
    stream.seek(0)
    text = io.TextIOWrapper(stream, encoding, errors="strict", newline="")
    try:
        yield Lines(text)
    finally:
        text.detach()
