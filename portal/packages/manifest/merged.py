"""Merged cells. Pure.

The value of merged cells lies in the first of them. Where they span rows, each of these rows gets it, in the column
of the first cell: so people write a category once beside many rows. Further columns of merged cells stay empty. A
line above the heading whose only text is merged over several columns is a title, not a heading.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from portal.packages.manifest.reading import MAX_COLUMNS, UnableToRead
from portal.packages.manifest.tables import Fault, Line

MOST_RANGES: Final = 200_000


class Range(NamedTuple):
    """Merged cells from one corner to the other, both counted from 1 and both within."""

    top: int
    left: int
    bottom: int
    right: int


def without_merges(lines: Iterator[Line], ranges: Iterable[Range]) -> Iterator[Line]:
    """``lines`` with the values of ``ranges`` in every row that these span, titles left out."""
    spans = sorted(found for found in ranges if found.left <= MAX_COLUMNS)
    if not spans:
        return lines
    if len(spans) > MOST_RANGES:
        raise UnableToRead("workbook_too_large")
    wide = {(span.top, span.left) for span in spans if span.right > span.left}
    return _filled(_without_titles(lines, wide), [span for span in spans if span.bottom > span.top])


def _without_titles(lines: Iterator[Line], wide: set[tuple[int, int]]) -> Iterator[Line]:
    for line in lines:
        if len(line.texts) != 1 or line.fault or (line.number, next(iter(line.texts))) not in wide:
            yield line
            break
    yield from lines


def _filled(lines: Iterator[Line], tall: list[Range]) -> Iterator[Line]:
    waiting = iter([*tall, Range(2**62, 1, 2**62, 1)])
    span = next(waiting)
    open_: dict[int, tuple[int, str | Fault]] = {}
    for line in lines:
        filled = _with_open(line, open_)
        while span.top <= line.number:
            if span.top == line.number and (value := _value(line, span.left)):
                open_[span.left] = (span.bottom, value)
            span = next(waiting)
        yield filled


def _with_open(line: Line, open_: dict[int, tuple[int, str | Fault]]) -> Line:
    for column in [column for column, (bottom, _) in open_.items() if bottom < line.number]:
        del open_[column]
    values = {column: value for column, (_, value) in open_.items() if column not in line.texts}
    if not values:
        return line
    texts = line.texts | {column: value for column, value in values.items() if isinstance(value, str)}
    faults = (value for value in values.values() if isinstance(value, Fault))
    return Line(line.number, texts, line.fault or next(faults, None))


def _value(line: Line, column: int) -> str | Fault | None:
    if line.fault and line.fault.column == column:
        return line.fault
    return line.texts.get(column)
