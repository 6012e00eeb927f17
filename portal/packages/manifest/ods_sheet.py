"""The sheets in the content of an OpenDocument spreadsheet, cells as they are stored and shown. Pure.

Rows and cells that are alike are written once, with a number; those with content are counted, as a small file may
stand for any number of them.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from portal.packages.manifest.merged import MOST_RANGES, Range
from portal.packages.manifest.places import MOST_CELLS
from portal.packages.manifest.reading import MAX_COLUMNS, MAX_FIELD, UnableToRead
from portal.packages.manifest.sheet import MOST_OTHER_ELEMENTS, MOST_ROWS
from portal.packages.manifest.xml_stream import Attributes, Readable, local, steps

MOST_SHEETS: Final = 1_000
MOST_NAME: Final = 255
MOST_CELLS_ALIKE: Final = 20_000_000
"""Cells that come of writing them once for many, in one sheet."""
_MOST_BESIDE: Final = MAX_COLUMNS + 1
"""Of cells that are written once for many beside each other: what is beyond all columns is not read, only the last."""
_ASIDE: Final = {"annotation", "note", "ruby-text", "shapes", "frame", "custom-shape", "dde-link"}
"""Elements within a cell whose text is not its own."""
_SPACES: Final = re.compile(r"[ \t\r\n]+")


class Cell(NamedTuple):
    """A cell: its column from 1, what it is, its exact value where it has one, and what is shown.

    It stands for ``alike`` cells beside each other, itself the first.
    """

    column: int
    kind: str
    value: str
    shown: str
    alike: int = 1


class Run(NamedTuple):
    """Rows that have the same cells with content: the number of the first, and how many there are."""

    first: int
    rows: int
    cells: list[Cell]


class Sheet:
    """What is known of one sheet while it streams past."""

    def __init__(self, name: str, style: str) -> None:
        self.name, self.style = name, style
        self.runs: deque[Run] = deque()
        self.ranges: list[Range] = []
        self.filled = 0
        """Rows with content."""
        self._row = self._column = self._alike = self._rows = self._others = self._more = 0
        self._cells: list[Cell] = []
        self._cell: Attributes | None = None
        self._paragraphs: list[str] = []
        self._text: list[str] | None = None
        self._length = self._aside = 0

    def start(self, name: str, attributes: Attributes) -> None:
        """An element by its local name, its attributes by theirs."""
        if self._aside or name in _ASIDE:
            self._aside += 1
        elif name in {"table-cell", "covered-table-cell"}:
            self._cell, self._paragraphs, self._length = attributes, [], 0
        elif name == "table-row":
            self._rows, self._column, self._cells, self._others = _count(attributes, "number-rows-repeated"), 0, [], 0
            self._more = 0
        elif self._cell is not None:
            self._start_text(name, attributes)
        self._others += 1
        if self._others > MOST_OTHER_ELEMENTS:
            raise UnableToRead("workbook_too_large")

    def _start_text(self, name: str, attributes: Attributes) -> None:
        if name == "p":
            self._text = []
        elif name == "s":
            self.text(" " * min(_count(attributes, "c"), MAX_FIELD), is_kept=True)
        elif name in {"tab", "line-break"}:
            self.text("\t" if name == "tab" else "\n", is_kept=True)

    def text(self, text: str, *, is_kept: bool = False) -> None:
        """A piece of text; runs of spaces within it count as one unless ``is_kept``."""
        if self._text is not None and not self._aside and self._length <= MAX_FIELD:
            piece = text if is_kept else _SPACES.sub(" ", text)
            self._text.append(piece[: MAX_FIELD + 1 - self._length])
            self._length += len(piece)

    def end(self, name: str) -> None:
        """The end of an element."""
        if self._aside:
            self._aside -= 1
        elif name == "p" and self._text is not None:
            self._paragraphs.append("".join(self._text))
            self._text = None
        elif name in {"table-cell", "covered-table-cell"}:
            self._end_cell(is_covered=name != "table-cell")
        elif name == "table-row":
            self._end_row()

    def _end_cell(self, *, is_covered: bool) -> None:
        attributes, self._cell = self._cell or {}, None
        first, alike = self._column + 1, _count(attributes, "number-columns-repeated")
        self._column += alike
        cell = None if is_covered else _cell_of(first, attributes, "\n".join(self._paragraphs))
        if cell is None:
            return
        if self._column > MOST_CELLS:
            raise UnableToRead("beyond_excel")
        self._cells.append(cell if alike == 1 else cell._replace(alike=alike))
        self._more += min(alike, _MOST_BESIDE) - 1
        if "number-rows-spanned" in attributes or "number-columns-spanned" in attributes:
            self._note_range(first, attributes)

    def _note_range(self, column: int, attributes: Attributes) -> None:
        down, across = (_count(attributes, f"number-{axis}-spanned") for axis in ("rows", "columns"))
        if down > 1 or across > 1:
            top = self._row + 1
            self.ranges.append(Range(top, column, top + down - 1, column + across - 1))
            if len(self.ranges) > MOST_RANGES:
                raise UnableToRead("workbook_too_large")

    def _end_row(self) -> None:
        first, self._row = self._row + 1, self._row + self._rows
        if not self._cells:
            return
        self.filled += self._rows
        self._alike += (self._rows - 1) * len(self._cells) + self._rows * self._more
        if self._row > MOST_ROWS:
            raise UnableToRead("beyond_excel")
        if self._alike > MOST_CELLS_ALIKE:
            raise UnableToRead("workbook_too_large")
        self.runs.append(Run(first, self._rows, self._cells))


def beside(cells: list[Cell]) -> list[Cell]:
    """``cells`` with each of those that are written once for many, as far as there may be columns, and the last."""
    if all(cell.alike == 1 for cell in cells):
        return cells
    return [cell._replace(column=column, alike=1) for cell in cells for column in _columns(cell)]


def _columns(cell: Cell) -> list[int]:
    last = cell.column + cell.alike - 1
    return sorted({*range(cell.column, min(last, _MOST_BESIDE) + 1), cell.column, last})


def _count(attributes: Attributes, name: str) -> int:
    if name not in attributes:
        return 1
    count = int(attributes[name])
    if count < 1:
        raise ValueError(name)
    return count


def _cell_of(column: int, attributes: Attributes, shown: str) -> Cell | None:
    kind = attributes.get("value-type", "string" if shown else "")
    if attributes.get("value-type-of-calc") == "error" or ("formula" in attributes and _ERROR.fullmatch(shown)):
        return Cell(column, "error", "", shown)
    if kind == "string":
        shown = shown or attributes.get("string-value", "")
        return Cell(column, kind, "", shown) if shown else None
    value = attributes.get({"date": "date-value", "time": "time-value", "boolean": "boolean-value"}.get(kind, "value"))
    return Cell(column, kind, value, shown) if kind and value is not None else None


_ERROR: Final = re.compile(r"#[A-Z0-9/]+[!?]?|(?:Err|错误|錯誤)[:：]\d+")


class _Content:
    """The content of a document: one sheet after the other.

    A brief look passes by what comes after the first two rows of a sheet.
    """

    def __init__(self, *, is_brief: bool = False) -> None:
        self.sheet: Sheet | None = None
        self.hidden: set[str] = set()
        self.over: list[Sheet] = []
        self._is_brief = is_brief
        self._names: dict[str, str] = {}
        self._style = ""
        self._depth = 0

    def _local(self, name: str) -> str:
        """The local name, looked up: names are few, and what they are is asked for every element."""
        return self._names.get(name) or self._names.setdefault(name, local(name))

    def start(self, name: str, attributes: Attributes) -> None:
        name = self._local(name)
        if name == "table":
            self._start_table(attributes)
        elif self._depth > 1 or self._is_passed_by():
            return
        elif self.sheet is not None:
            self.sheet.start(name, self._plain(attributes) if attributes else attributes)
        elif name in {"style", "table-properties"}:
            self._start_style(name, self._plain(attributes))

    def _is_passed_by(self) -> bool:
        return self._is_brief and self.sheet is not None and self.sheet.filled > 1

    def _start_table(self, attributes: Attributes) -> None:
        self._depth += 1
        plain = self._plain(attributes)
        if self._depth == 1 and plain.get("name"):  # else a table within a cell, or a copy of one elsewhere
            self.sheet = Sheet(plain["name"][:MOST_NAME], plain.get("style-name", ""))

    def _start_style(self, name: str, plain: Attributes) -> None:
        if name == "style":
            self._style = plain.get("name", "")
        elif plain.get("display") == "false" and len(self.hidden) < MOST_SHEETS:
            self.hidden.add(self._style)

    def _plain(self, attributes: Attributes) -> Attributes:
        """``attributes`` by their local names; what LibreOffice adds about a type has a name of its own."""
        plain = {self._local(name): value for name, value in attributes.items() if not name.startswith("calcext:")}
        if len(plain) < len(attributes) and (kind := attributes.get("calcext:value-type")):
            plain["value-type-of-calc"] = kind
        return plain

    def end(self, name: str) -> None:
        name = self._local(name)
        if name == "table":
            self._depth -= 1
            if not self._depth and self.sheet is not None:
                self.over.append(self.sheet)
                self.sheet = None
        elif self.sheet is not None and self._depth == 1 and not self._is_passed_by():
            self.sheet.end(name)

    def text(self, text: str) -> None:
        if self.sheet is not None and self._depth == 1:
            self.sheet.text(text)


def sheets_of(part: Readable, *, has_ranges: bool) -> tuple[list[Sheet], set[str]]:
    """All sheets, without their rows, and the styles that hide one; with their merged cells if ``has_ranges``."""
    content = _Content(is_brief=not has_ranges)
    for _step in _steps(part, content):
        for sheet in [*content.over, content.sheet]:
            if sheet is not None:
                sheet.runs.clear()
        if len(content.over) > MOST_SHEETS:
            raise UnableToRead("workbook_too_large")
    return content.over, content.hidden


def runs_of(part: Readable, name: str) -> Iterator[Run]:
    """The rows with content of the first sheet called ``name``."""
    content = _Content()
    for _step in _steps(part, content):
        for sheet in [*content.over, content.sheet]:
            if sheet is not None and sheet.name == name:
                while sheet.runs:
                    yield sheet.runs.popleft()
            elif sheet is not None:
                sheet.runs.clear()
        if any(sheet.name == name for sheet in content.over):
            return
        content.over.clear()


def _steps(part: Readable, content: _Content) -> Iterator[Any]:
    end: Callable[[str], Any] = content.end
    return steps(part, start=content.start, end=end, text=content.text)
