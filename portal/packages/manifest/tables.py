"""Rows of a table whose cells are texts already: heading, numbering, and what sets a row aside. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple, Protocol, TypeVar

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.decoding import NO_TEXT, no_text_in, readable
from portal.packages.manifest.heading import heading_found
from portal.packages.manifest.places import letters
from portal.packages.manifest.reading import (
    MAX_COLUMNS,
    MAX_FIELD,
    MAX_LINE,
    RAW,
    BadRow,
    Reading,
    Row,
    Rows,
    UnableToRead,
    Wish,
    checked_columns,
)

LOOKED_AT = 200
"""Lines from which it is told whether there is a heading, and how many columns there are without one."""

MOST_TRIED = 20
"""Sheets that are looked at for a table."""
_NO_TABLE = frozenset({"no_sheet", "no_rows", "no_heading", "long_column"})
"""What a sheet is refused for that is a cover, or a remark: it may be the next one that is meant."""
_BEGINNING = 100


class Fault(NamedTuple):
    """A cell that has no text: its column from 1, the code of the problem, and what is shown in its place."""

    column: int
    problem: str
    shown: str = ""


class Line(NamedTuple):
    """A line with content: its number in the table from 1, its texts by column from 1, its first cell without text."""

    number: int
    texts: dict[int, str]
    fault: Fault | None = None


Lines = Iterator[Line]


def described(lines: Lines, wish: Wish, plain: Reading) -> Reading:
    """``plain`` with columns and heading; raises :class:`UnableToRead` for a table without heading or rows."""
    first = next(lines, None)
    if first is None:
        raise _unusable("no_sheet", plain.sheet)
    looked_at = [first, *map(_cut, islice(lines, LOOKED_AT))]
    has_heading, sure = _heading(looked_at)
    if wish.has_heading is not None:
        has_heading, sure = wish.has_heading, "chosen"
    if has_heading and len(looked_at) == 1:
        raise _unusable("no_rows", plain.sheet)
    columns = _named(looked_at[0], plain.sheet) if has_heading else _numbered(looked_at)
    certainties = {**plain.certainties, "heading": sure}
    return replace(
        plain, columns=columns, has_heading=has_heading, certainties=certainties, first_line=looked_at[0].number
    )


def of_best_sheet(names: Iterable[str], read: Callable[[str], Reading]) -> Reading:
    """What ``read`` says of the first sheet with a heading and a row, such as the one after a cover.

    ``names`` are those with cells, likely ones first; of one that has no table it raises :class:`UnableToRead`. Where
    all are like that, what is wrong with the first is raised.
    """
    refusal = UnableToRead("no_sheet")
    for number, name in enumerate(islice(names, MOST_TRIED)):
        try:
            return read(name)
        except UnableToRead as error:
            if error.code not in _NO_TABLE:
                raise
            refusal = refusal if number else error
    raise refusal


def _unusable(code: str, sheet: str) -> UnableToRead:
    """The refusal of a table, which names its sheet where it has one."""
    return UnableToRead(code, **({"problem": f"{code}_called", "sheet": sheet} if sheet else {}))


def _cut(line: Line) -> Line:
    """``line`` with the beginnings of its texts: many long ones are not held."""
    return Line(line.number, {column: text[:_BEGINNING] for column, text in line.texts.items()})


def _heading(lines: list[Line]) -> tuple[bool, str]:
    first = lines[0]
    width = min(max(first.texts, default=1), MAX_COLUMNS)
    return heading_found([_filled(line.texts, width) for line in lines])


def _named(heading: Line, sheet: str) -> tuple[str, ...]:
    if not heading.texts or (heading.fault and heading.fault.column not in heading.texts):
        raise _unusable("no_heading", sheet)
    return checked_columns(_filled(heading.texts, max(heading.texts)))


def _numbered(lines: list[Line]) -> tuple[str, ...]:
    width = max(max(line.texts, default=1) for line in lines)
    return checked_columns([f"column_{place}" for place in range(1, width + 1)])


def rows(lines: Lines, reading: Reading) -> Rows:
    """The rows of a table, blank ones between them included; see ``portal.packages.manifest.rows``."""
    first = next(lines, None)
    if first is None:
        raise UnableToRead("no_sheet")
    if reading.has_heading:
        return _rows(lines, reading, first.number, first.texts)
    return _rows(chain([first], lines), reading, first.number - 1, {})


def _rows(lines: Lines, reading: Reading, last: int, heading: dict[int, str]) -> Rows:
    numbering = Numbering()
    for line in lines:
        numbering.blank(last + 1, line.number - last - 1)
        yield from numbering.released()
        yield row_of(numbering.next(), line, reading.columns, heading)
        last = line.number


def _filled(texts: dict[int, str], width: int) -> list[str]:
    return [texts.get(column, "") for column in range(1, width + 1)]


def row_of(number: int, line: Line, columns: tuple[str, ...], heading: Mapping[int, str] | None = None) -> Row | BadRow:
    """The row that ``line`` is; ``heading`` are the texts of the line that names the columns."""
    texts = line.texts
    values = dict(zip(columns, _filled(texts, len(columns)), strict=True))
    place = {"line": line.number}
    if line.fault:
        where = _where(line, columns)
        return BadRow(number, "malformed_row", {"problem": line.fault.problem, **place, **where}, values)
    if any(len(text) > MAX_FIELD for text in texts.values()) or sum(map(len, texts.values())) > MAX_LINE:
        return BadRow(number, "malformed_row", {"problem": "field_too_long", **place, "limit": MAX_FIELD}, {})
    width = max(texts, default=0)
    if width > len(columns):
        beyond = "\t".join(text for column, text in texts.items() if column > len(columns))
        detail = {"fields": width, "expected": len(columns), **place}
        return BadRow(number, "ragged_row", detail, {**values, RAW: beyond})
    if heading and len(heading) > 1 and texts == heading:
        return BadRow(number, "repeated_heading", place, values)
    return Row(number, values)


def _where(line: Line, columns: tuple[str, ...]) -> dict[str, object]:
    fault = line.fault
    if fault is None:
        return {}
    where: dict[str, object] = {"position": fault.column, "cell": f"{letters(fault.column)}{line.number}"}
    if fault.problem in NO_TEXT and fault.column <= len(columns):
        where["column"] = columns[fault.column - 1]
    return {**where, "shown": fault.shown} if fault.shown else where


class _Placed(Protocol):
    @property
    def column(self) -> int: ...


_CellT = TypeVar("_CellT", bound=_Placed)


def line_of(number: int, cells: Iterable[_CellT], text_of: Callable[[_CellT], str]) -> Line:
    """The line that ``cells`` make, as much of it as shows that it is longer than a line may be.

    ``text_of`` raises :class:`UnableToShow` for a cell without a text; the first of these becomes the fault.
    """
    texts: dict[int, str] = {}
    fault: Fault | None = None
    left = MAX_LINE
    for cell in cells:
        try:
            text = text_of(cell)
        except UnableToShow as error:
            fault = fault or Fault(cell.column, error.problem, error.shown)
            text = error.kept
        if text and left >= 0:
            texts[cell.column] = text
        left -= len(text)
    return Line(number, texts, fault)


class UnableToShow(ValueError):
    """A cell holds something that has no text: ``problem`` is its code, ``shown`` what stands there instead.

    ``kept`` is what of it can be read.
    """

    def __init__(self, problem: str = "cell_not_shown", shown: str = "", kept: str = "") -> None:
        super().__init__(problem)
        self.problem, self.shown, self.kept = problem, shown, kept


def checked_text(text: str) -> str:
    """``text`` as it is; raises :class:`UnableToShow` for one with NUL or half a surrogate pair, its rest kept."""
    if problem := no_text_in(text):
        raise UnableToShow(problem, kept=readable(text))
    return text
