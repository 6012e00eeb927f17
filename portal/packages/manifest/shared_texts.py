"""The table of texts of a workbook, on disk: its cells name a text by its place in the table. Pure but for a file."""

import os
import re
import tempfile
from array import array
from collections.abc import Iterator
from typing import Final

from portal.packages.manifest.reading import MAX_FIELD, UnableToRead
from portal.packages.manifest.xml_stream import Attributes, Readable, local, steps

MOST_TEXTS = 10_000_000
TEXTS_UNSUSPECTED: Final = 1_000_000
BYTES_PER_TEXT: Final = 2
"""Of packed size, that each text beyond these has at least: a table holds every text once, and packs no tighter."""
MOST_OTHER_ELEMENTS = 20_000_000
"""Runs of formatted text and what formats them."""
_WRITTEN_AT_ONCE = 1 << 20
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def unescaped(text: str) -> str:
    """``text`` with what XML cannot hold, such as ``_x0001_``, as the character that Excel means by it.

    NUL and halves of surrogate pairs come out too (ST_Xstring of ECMA-376): a reader has to look for them.
    """
    if "_x" not in text:
        return text
    text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    return _PAIR.sub(lambda found: found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)


class SharedTexts:
    """Texts by number. A text longer than a field may be is cut one character above that."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._ends = array("Q", [0])
        self._unwritten = bytearray()
        self._pieces: list[str] = []
        self._length = 0
        self._is_open = self._is_text = False
        self._phonetic = 0
        self._others = self._written = 0
        self._most = MOST_TEXTS
        self._steps: Iterator[None] = iter(())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def read(self, part: Readable, packed: int) -> None:
        """Take the texts from this table, of ``packed`` bytes, as far as they are asked for.

        What is asked for raises :class:`UnableToRead` when the table is out of bounds.
        """
        self._most = min(MOST_TEXTS, TEXTS_UNSUSPECTED + packed // BYTES_PER_TEXT)
        self._steps = steps(part, start=self._start, end=self._end, text=self._text)

    def _read_up_to(self, number: int) -> None:
        while number >= len(self._ends) - 1:
            if next(self._steps, self) is self:
                return
            if len(self._unwritten) > _WRITTEN_AT_ONCE:
                self._write()

    def is_blank(self, number: int) -> bool:
        """Is there no text under ``number``?"""
        begin, end = self._place(number)
        return begin == end

    def _place(self, number: int) -> tuple[int, int]:
        self._read_up_to(number)
        if not 0 <= number < len(self._ends) - 1:
            raise IndexError(number)
        return self._ends[number], self._ends[number + 1]

    def __getitem__(self, number: int) -> str:
        begin, end = self._place(number)
        if end > self._written:
            self._write()
        return os.pread(self._file.fileno(), end - begin, begin).decode("utf-8", "surrogatepass")

    def _write(self) -> None:
        self._file.write(self._unwritten)
        self._file.flush()
        self._written += len(self._unwritten)
        self._unwritten.clear()

    def _start(self, name: str, _attributes: Attributes) -> None:
        name = local(name)
        if name == "si":
            if self._is_open or len(self._ends) > self._most:
                raise UnableToRead("workbook_too_large")
            self._is_open, self._length = True, 0
        elif name == "t":
            self._is_text = self._is_open and not self._phonetic
        elif name == "rPh":
            self._phonetic += 1
        self._others += name != "si"
        if self._others > MOST_OTHER_ELEMENTS + len(self._ends):
            raise UnableToRead("workbook_too_large")

    def _text(self, text: str) -> None:
        if self._is_text and self._length <= MAX_FIELD:
            self._pieces.append(text[: MAX_FIELD + 1 - self._length])
            self._length += len(text)

    def _end(self, name: str) -> None:
        name = local(name)
        if name == "t":
            self._is_text = False
        elif name == "rPh":
            self._phonetic -= 1
        elif name == "si":
            raw = unescaped("".join(self._pieces)).encode("utf-8", "surrogatepass")
            self._pieces.clear()
            self._unwritten += raw
            self._ends.append(self._ends[-1] + len(raw))
            self._is_open = False
