"""Tables as Excel workbooks, written as a stream: texts stay texts, numbers are numbers, nothing is a formula.

The subset of SpreadsheetML (ECMA-376, part 1, §18.3) that a table needs. Why not a library: decision 0014.
"""

import re
from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from django.utils.translation import gettext as _

from portal.packages.delivering import excel_parts as parts

ROWS_PER_SHEET = 1_048_575
"""Of data: a sheet has one row more, which is the heading."""
MOST_ROWS = 3 * ROWS_PER_SHEET
"""Beyond that Excel does not open a workbook on an ordinary machine."""
MOST_COLUMNS = 16_384
MOST_IN_A_CELL = 32_767
"""UTF-16 code units; with more Excel calls the whole workbook broken."""
EXACT_BELOW = 10**15
"""Excel keeps 15 digits of a number: whole numbers from here on are written as text."""
BYTES_PER_SHEET = 2_000_000_000
"""Larger members of an archive need ZIP64, which not every reader of workbooks knows."""
AT_ONCE = 1 << 16
"""Characters of a sheet that are packed at once: each time costs as much as a line."""
MOST_TOLD = 1_000
"""Cells that were cut and are listed one by one."""
_LEVEL = 4
"""Of zlib: half the time of its default for a twentieth more bytes."""
_SPECIAL = re.compile(r"[&<>\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]|_x[0-9A-Fa-f]{4}_")
_NOT_XML = re.compile(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")


class _Cut(NamedTuple):
    """A cell that did not fit: where it is, the name of its column, and how many characters it has in truth."""

    sheet: str
    cell: str
    column: str
    characters: int


class CutCell(NamedTuple):
    """What a cell holds in place of a text that Excel could not; it ends with ``mark``."""

    text: str
    mark: str


class _Words(NamedTuple):
    """What the sheet of cut cells says."""

    title: str
    heading: tuple[str, ...]
    why: str
    more: str


class _Sink:
    """What the archive has written since it was taken last."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        pass

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken


class ExcelLines:
    """An .xlsx file in the making: the same cells give the same bytes.

    A further sheet begins where one is full. A cell that Excel cannot hold is cut, ends with ``…[+n]``, ``n`` being
    the characters that are missing, and is listed on a sheet of its own.
    """

    def __init__(self, heading: Sequence[str], *, title: str) -> None:
        self._heading, self._title = tuple(heading), title
        self._letters = [parts.letters(column) for column in range(max(4, len(heading)))]
        self._sink = _Sink()
        self._archive = ZipFile(self._sink, "w", ZIP_DEFLATED, compresslevel=_LEVEL)  # type: ignore[call-overload]
        self._names: list[str] = []
        self._cuts: list[_Cut] = []
        self._cut = 0
        self._words = _Words(  # now: the end may come when nobody's language is set any more
            _("Cut cells"),
            (_("Sheet"), _("Cell"), _("Column"), _("Characters")),
            _("Excel holds 32,767 characters in a cell; these have more. The CSV file has them whole."),
            _("and %(n)s more"),
        )

    def start(self) -> bytes:
        """The bytes before the first line."""
        self._begin_sheet(self._title)
        return self._sink.take()

    def line(self, content: Iterable[Any], /) -> bytes:
        """The bytes that are ready with this line; cells are text, numbers or ``None``."""
        if self._row > ROWS_PER_SHEET or self._bytes > BYTES_PER_SHEET:
            self._end_sheet()
            self._begin_sheet(f"{self._title} {len(self._names) + 1}")
        self._add(content, parts.TEXT)
        return self._sink.take()

    def end(self) -> bytes:
        """The bytes after the last line."""
        self._end_sheet()
        if self._cut:
            self._tell_cuts()
        for name, content in parts.around(self._names):
            with self._archive.open(name, "w") as part:
                part.write(content.encode())
        self._archive.close()
        return self._sink.take()

    # --- a sheet ---------------------------------------------------------------------------------------------
    def _begin_sheet(self, name: str) -> None:
        self._names.append(name)
        self._sheet = self._archive.open(parts.sheet_path(len(self._names)), "w")
        self._waiting = [parts.SHEET_START.format(columns=max(1, len(self._heading)))]
        self._waiting_characters = self._bytes = self._row = 0
        self._add(self._heading, parts.BOLD)

    def _end_sheet(self) -> None:
        self._waiting.append(parts.SHEET_END)
        self._pack()
        self._sheet.close()

    def _add(self, cells: Iterable[Any], style: int) -> None:
        self._row += 1
        made = "".join([self._cell(column, cell, style) for column, cell in enumerate(cells)])
        line = f'<row r="{self._row}">{made}</row>'
        self._waiting.append(line)
        self._waiting_characters += len(line)
        if self._waiting_characters >= AT_ONCE:
            self._pack()

    def _pack(self) -> None:
        data = "".join(self._waiting).encode()
        self._waiting.clear()
        self._waiting_characters = 0
        self._bytes += len(data)
        self._sheet.write(data)

    # --- a cell ----------------------------------------------------------------------------------------------
    def _cell(self, column: int, cell: Any, style: int) -> str:
        if isinstance(cell, str):
            return self._text(column, cell, style) if cell else ""
        if cell is None:
            return ""
        if isfinite(cell) and (isinstance(cell, float) or abs(cell) < EXACT_BELOW):
            return f'<c r="{self._letters[column]}{self._row}"><v>{cell!r}</v></c>'
        return self._text(column, str(cell), style)

    def _text(self, column: int, text: str, style: int) -> str:
        place = f"{self._letters[column]}{self._row}"
        if len(text) > MOST_IN_A_CELL // 2:
            text = self._that_fits(text, place, column)
        if _SPECIAL.search(text):
            text = _escaped(text)
        space = ' xml:space="preserve"' if text[0].isspace() or text[-1].isspace() else ""
        return f'<c r="{place}" s="{style}" t="inlineStr"><is><t{space}>{text}</t></is></c>'

    def _that_fits(self, text: str, place: str, column: int) -> str:
        cut = cut_cell(text)
        if cut is None:
            return text
        self._cut += 1
        if len(self._cuts) < MOST_TOLD:
            self._cuts.append(_Cut(self._names[-1], place, self._heading[column], len(text)))
        return cut.text

    def _tell_cuts(self) -> None:
        words, cuts, cut = self._words, self._cuts, self._cut
        self._cuts, self._heading = [], words.heading
        self._begin_sheet(words.title)
        for line in [(words.why,), *cuts]:
            self._add(line, parts.TEXT)
        if cut > len(cuts):
            self._add([words.more % {"n": cut - len(cuts)}], parts.TEXT)
        self._end_sheet()


def cut_cell(text: str) -> CutCell | None:
    """What a cell holds of ``text``, if Excel cannot hold all of it; ``None`` if it can."""
    if len(text) <= MOST_IN_A_CELL // 2:
        return None
    units = text.encode("utf-16-le", "surrogatepass")
    if len(units) <= 2 * MOST_IN_A_CELL:
        return None
    room = MOST_IN_A_CELL - len(f"…[+{len(text)}]")
    kept = units[: 2 * room].decode("utf-16-le", "ignore")
    mark = f"…[+{len(text) - len(kept)}]"
    return CutCell(kept + mark, mark)


def _escaped(text: str) -> str:
    """``text`` within XML; what XML cannot hold is written as Excel does, such as ``_x0001_``."""
    text = _NOT_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", text)
    text = text.encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
