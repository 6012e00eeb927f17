"""Physical lines of a text file in blocks, with a limit and a memory of where the current record began. Pure.

A reader takes the lines of many records from :meth:`Lines.ahead` as fast as it can, and tells after each record where
the next one begins. What a record was made of can be looked at, or read once more in another way, until then.
"""

import io
from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from portal.packages.manifest.decoding import MARK, Decoding, readable
from portal.packages.manifest.reading import MAX_LINE, RAW, RAW_KEPT, BadRow

BLOCK = 256 * 1024
"""Bytes that are read at once."""
MAX_RECORD = 4 * MAX_LINE
"""Characters of one record, however many lines it has."""


def lines_of(text: str) -> list[str]:
    """The lines of ``text``, ends kept: carriage returns and line feeds end a line, and nothing else does."""
    return io.StringIO(text, newline="").readlines()


class CutLine(str):
    """The beginning of a line that is longer than a line may be."""

    __slots__ = ()


class RecordTooLong(ValueError):
    """The record has gone on for more than :data:`MAX_RECORD` characters and is not over."""


class Lines:
    """The lines of ``stream`` from where it stands, ends kept, numbered from 1."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._blocks = _Blocks(stream, encoding)
        self._kept: list[str] = []
        self._kept_from = 1
        self.first = 1
        """The line where the current record begins. Whoever has read a record sets it to the line after that."""
        self.is_suspect = False
        """May lines since ``first`` be cut, or hold broken bytes or NUL characters?"""
        self.ended = False

    def ahead(self) -> Iterator[str]:
        """The lines from ``first`` on. Raises :class:`RecordTooLong`."""
        return chain.from_iterable(self._ahead())

    def record(self, last: int) -> list[str]:
        """The lines of the current record up to ``last``."""
        start = self.first - self._kept_from
        return self._kept[start : start + last - self.first + 1]

    def raw(self, last: int) -> str:
        """The current record as written, cut to what is kept of an unreadable one."""
        return readable("".join(self.record(last)[:RAW_KEPT])[:RAW_KEPT].rstrip("\r\n"))

    def is_second_half(self) -> bool:
        r"""Is the line at ``first`` only the rest of an end of line that was written as ``\r\r\n``?"""
        at = self.first - self._kept_from
        return at > 0 and self._kept[at] == "\r\n" and self._kept[at - 1].endswith("\r")

    def _ahead(self) -> Iterator[list[str]]:
        yield self._kept[self.first - self._kept_from :]
        while lines := self._blocks.next():
            self._forget()
            self.is_suspect = self._blocks.is_suspect or (self.is_suspect and len(self._kept) > 1)
            self._kept += lines
            yield lines
        self.ended = True

    def _forget(self) -> None:
        """Let go of the lines before the current record, but for the last of them."""
        done = self.first - self._kept_from - 1
        if done > 0:
            del self._kept[:done]
            self._kept_from += done
        if sum(map(len, self._kept)) > MAX_RECORD:
            raise RecordTooLong


class _Blocks:
    """Lists of whole lines, one after the other."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        self._read = stream.read
        self._decoding = Decoding(encoding)
        self._tail = ""
        self._is_skipping = self._is_over = False
        self.is_suspect = False

    def next(self) -> list[str]:
        """The next lines; none only at the end."""
        while not self._is_over:
            data = self._read(BLOCK)
            self._is_over = not data
            if lines := self._lines(self._tail + self._decoding.text(data, final=self._is_over)):
                return lines
        return []

    def _lines(self, text: str) -> list[str]:
        lines = lines_of(text)
        self.is_suspect = MARK in text or "\0" in text
        self._tail = "" if self._is_over or not lines or lines[-1].endswith("\n") else lines.pop()
        if self._is_skipping and lines:
            del lines[0]
            self._is_skipping = False
        if len(text) > MAX_LINE:
            lines = self._cut(lines)
        elif self._is_skipping:
            self._drop_tail()
        return lines

    def _cut(self, lines: list[str]) -> list[str]:
        """``lines`` with the beginnings of those that are too long."""
        lines = [CutLine(line[:RAW_KEPT]) if len(line) > MAX_LINE else line for line in lines]
        if len(self._tail) > MAX_LINE and not self._tail.endswith("\r"):
            lines.append(CutLine(self._tail[:RAW_KEPT]))
            self._is_skipping = True
            self._drop_tail()
        self.is_suspect = self.is_suspect or any(type(line) is CutLine for line in lines)
        return lines

    def _drop_tail(self) -> None:
        """Forget a piece of a line that is skipped, but not its end."""
        self._tail = "\r" if self._tail.endswith("\r") else ""


def too_long(lines: Lines) -> BadRow:
    """The bad row, still without its number, that a cut line at the beginning makes of the current record."""
    detail = {"problem": "line_too_long", "line": lines.first, "limit": MAX_LINE}
    return BadRow(0, "malformed_row", detail, {RAW: lines.raw(lines.first)})
