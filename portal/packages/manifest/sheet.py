"""The rows of a sheet's XML, cells as they are stored. Pure.

Rows and cells must come in order, within the bounds of Excel: a sheet whose rows overlap has no one reading.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from portal.packages.manifest.looking import Budget
from portal.packages.manifest.merged import MOST_RANGES, Range
from portal.packages.manifest.places import MOST_CELLS, column_number, letters
from portal.packages.manifest.reading import MAX_FIELD, UnableToRead
from portal.packages.manifest.xml_stream import Attributes, Readable, local, steps

MOST_ROWS = 1_048_576
MOST_OTHER_ELEMENTS = 1_000_000
"""Within one row, or before the first: runs of formatted text, extensions."""

_LOOKED_THROUGH = 1 << 20


class Cell(NamedTuple):
    """A cell: its column from 1, the letters of its type (``n`` a number), its style, its text as stored."""

    column: int
    kind: str
    style: str
    stored: str


class Line(NamedTuple):
    """A row that has cells with content: its number in the sheet, and those cells."""

    number: int
    cells: list[Cell]


class _Sheet:
    """What is known while the sheet streams past."""

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        self.is_over = False
        self._in_data = self._in_row = self._in_cell = self._in_text = False
        self._number = self._column = self._others = self._phonetic = 0
        self._cells: list[Cell] = []
        self._kind = self._style = self._digits = ""
        self._pieces: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: Attributes) -> None:
        if name == "c" and self._in_row:
            self._start_cell(attributes)
        elif name in {"v", "t"} and self._in_cell:
            self._in_text = not self._phonetic and (name == "v") == (self._kind != "inlineStr")
            self._count_other()
        elif name == "row" and self._in_data:
            self._start_row(attributes)
        elif ":" in name:
            self.start(local(name), attributes)
        else:
            self._other(name)

    def _other(self, name: str) -> None:
        self._in_data = self._in_data or name == "sheetData"
        self._phonetic += name == "rPh"
        self._count_other()

    def _count_other(self) -> None:
        self._others += 1
        if self._others > MOST_OTHER_ELEMENTS:
            raise UnableToRead("workbook_too_large")

    def _start_row(self, attributes: Attributes) -> None:
        written = attributes.get("r")
        number = self._number + 1 if written is None else int(written)
        if self._in_row or number <= self._number:
            raise UnableToRead("unordered_sheet", line=self._number + 1)
        if number > MOST_ROWS:
            raise UnableToRead("beyond_excel")
        self._in_row, self._number, self._column, self._others = True, number, 0, 0
        self._digits = str(number)

    def _start_cell(self, attributes: Attributes) -> None:
        name = attributes.get("r")
        column = self._column + 1 if name is None else self._named(name)
        if self._in_cell or column <= self._column:
            raise UnableToRead("unordered_sheet", line=self._number)
        if column > MOST_CELLS:
            raise UnableToRead("beyond_excel")
        self._column, self._in_cell = column, True
        self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "0")
        self._length = 0

    def _named(self, name: str) -> int:
        if name.endswith(self._digits) and (column := _USUAL.get(name[: -len(self._digits)])):
            return column
        letters = name.rstrip("0123456789").replace("$", "")
        if not letters.isascii() or not letters.isalpha() or name[len(letters) :] not in {str(self._number), ""}:
            raise UnableToRead("unordered_sheet", line=self._number)
        return column_number(letters)

    def text(self, text: str) -> None:
        if self._in_text and self._length <= MAX_FIELD:
            self._pieces.append(text[: MAX_FIELD + 1 - self._length])
            self._length += len(text)

    def end(self, name: str) -> None:
        if name in {"v", "t"}:
            self._in_text = False
        elif name == "c":
            if self._pieces:
                self._cells.append(Cell(self._column, self._kind, self._style, "".join(self._pieces)))
                self._pieces.clear()
            self._in_cell = False
        elif name == "row":
            if self._cells:
                self.lines.append(Line(self._number, self._cells))
                self._cells = []
            self._in_row = False
        elif ":" in name:
            self.end(local(name))
        else:
            self._phonetic -= name == "rPh"
            self.is_over = self.is_over or name == "sheetData"


_USUAL = {letters(number): number for number in range(1, 703)}
"""Columns with one or two letters."""


def lines(part: Readable) -> Iterator[Line]:
    """The rows with content of the sheet in ``part``, in order."""
    sheet = _Sheet()
    for _step in steps(part, start=sheet.start, end=sheet.end, text=sheet.text):
        while sheet.lines:
            yield sheet.lines.popleft()
        if sheet.is_over:
            return


_MERGED = re.compile(r"\$?([A-Z]{1,4})\$?([0-9]{1,8})(?::\$?([A-Z]{1,4})\$?([0-9]{1,8}))?", re.IGNORECASE)


def merged_ranges(part: Callable[[], IO[bytes]], budget: Budget) -> list[Range]:
    """The merged cells of the sheet that ``part`` opens. They are told after all rows, so it is looked through first.

    Few sheets have any: whether one does is seen without parsing it, which ``budget`` bounds.
    """
    if not is_mentioned(part(), b"mergeCell"):
        return []
    found: list[Range] = []

    def start(name: str, attributes: Attributes) -> None:
        if local(name) != "mergeCell" or "ref" not in attributes:
            return
        if len(found) >= MOST_RANGES:
            raise UnableToRead("workbook_too_large")
        if match := _MERGED.fullmatch(attributes["ref"]):
            left, top, right, bottom = match.groups()
            found.append(Range(int(top), column_number(left), int(bottom or top), column_number(right or left)))

    for _step in steps(budget.counted(part()), start=start, end=lambda _name: None):
        pass
    return found


def is_mentioned(part: Readable, name: bytes) -> bool:
    """Does ``name`` stand anywhere in ``part``? Much faster than parsing it."""
    tail = b""
    while piece := part.read(_LOOKED_THROUGH):
        if name in tail + piece:
            return True
        tail = piece[-len(name) :]
    return False
