"""The table of texts of a workbook, on disk: its cells name a text by its place in the table. Pure but for a file."""

import os
import re
import tempfile
from array import array
from typing import IO

from portal.packages.manifest.reading import MAX_FIELD, UnableToRead
from portal.packages.manifest.xml_stream import Attributes, local, steps

MOST_TEXTS = 10_000_000
MOST_OTHER_ELEMENTS = 20_000_000
"""Runs of formatted text and what formats them."""
_WRITTEN_AT_ONCE = 1 << 20
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")


def unescaped(text: str) -> str:
    """``text`` with what XML cannot hold, such as ``_x000D_``, as the character that Excel means by it."""
    return _ESCAPED.sub(_character, text) if "_x" in text else text


def _character(found: re.Match[str]) -> str:
    code = int(found[1], 16)
    is_text = code in {0x9, 0xA, 0xD} or (code >= 0x20 and not 0xD800 <= code < 0xE000)
    return chr(code) if is_text else found[0]


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
        self._others = 0

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def read(self, part: IO[bytes]) -> None:
        """Take in the table; raises :class:`UnableToRead` when it is out of bounds."""
        for _step in steps(part, start=self._start, end=self._end, text=self._text):
            if len(self._unwritten) > _WRITTEN_AT_ONCE:
                self._write()
        self._write()

    def is_blank(self, number: int) -> bool:
        """Is there no text under ``number``?"""
        begin, end = self._place(number)
        return begin == end

    def _place(self, number: int) -> tuple[int, int]:
        if not 0 <= number < len(self._ends) - 1:
            raise IndexError(number)
        return self._ends[number], self._ends[number + 1]

    def __getitem__(self, number: int) -> str:
        begin, end = self._place(number)
        return os.pread(self._file.fileno(), end - begin, begin).decode()

    def _write(self) -> None:
        self._file.write(self._unwritten)
        self._file.flush()
        self._unwritten.clear()

    def _start(self, name: str, _attributes: Attributes) -> None:
        name = local(name)
        if name == "si":
            if self._is_open or len(self._ends) > MOST_TEXTS:
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
            raw = unescaped("".join(self._pieces)).encode()
            self._pieces.clear()
            self._unwritten += raw
            self._ends.append(self._ends[-1] + len(raw))
            self._is_open = False
