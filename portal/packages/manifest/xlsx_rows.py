"""Excel manifests: the first sheet, read as a stream; cells as Excel shows them. Pure but for a temporary file."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import BinaryIO

from portal.packages.manifest.archives import opened
from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.damage import damage_told
from portal.packages.manifest.reading import (
    MAX_FIELD,
    MAX_LINE,
    RAW,
    BadRow,
    Reading,
    Row,
    Rows,
    UnableToRead,
    checked_columns,
)
from portal.packages.manifest.shared_texts import SharedTexts
from portal.packages.manifest.sheet import Line, lines
from portal.packages.manifest.shown import UnableToShow, text_of
from portal.packages.manifest.workbook import Book


def describe(stream: BinaryIO) -> Reading:
    """The reading of a workbook; raises :class:`UnableToRead` without a heading or rows."""
    with damage_told(), _book(stream) as book:
        source = _lines(book)
        heading = next(source, None)
        if heading is None:
            raise UnableToRead("no_sheet")
        texts, hidden = _texts(heading, book)
        if hidden or not texts:
            raise UnableToRead("no_heading")
        columns = checked_columns(_filled(texts, max(texts)))
        if next(source, None) is None:
            raise UnableToRead("no_rows")
    return Reading("xlsx", columns=columns, certainty="declared")


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    numbering = Numbering()
    with damage_told(), _book(stream) as book:
        source = _lines(book)
        last = next(source).number
        for line in source:
            numbering.blank(last + 1, line.number - last - 1)
            yield from numbering.released()
            yield _row(numbering.next(), line, book, reading.columns)
            last = line.number


@contextmanager
def _book(stream: BinaryIO) -> Iterator[Book]:
    with opened(stream) as archive, closing(SharedTexts()) as texts:
        yield Book(archive, texts)


def _lines(book: Book) -> Iterator[Line]:
    """The rows in which something can be seen."""
    return (line for line in lines(book.sheet()) if any(_is_seen(cell.kind, cell.stored, book) for cell in line.cells))


def _is_seen(kind: str, stored: str, book: Book) -> bool:
    try:
        return kind != "s" or not book.texts.is_blank(int(stored))
    except (ValueError, IndexError):
        return True


def _texts(line: Line, book: Book) -> tuple[dict[int, str], int]:
    """The texts by column, as many as one row may have, and the first column that cannot be shown, or 0."""
    texts: dict[int, str] = {}
    left = MAX_LINE
    hidden = 0
    for cell in line.cells:
        try:
            text = text_of(cell, book)
        except UnableToShow:
            hidden = hidden or cell.column
            continue
        left -= len(text)
        if text and left >= 0:
            texts[cell.column] = text
    return texts, hidden


def _filled(texts: dict[int, str], width: int) -> list[str]:
    return [texts.get(column, "") for column in range(1, width + 1)]


def _row(number: int, line: Line, book: Book, columns: tuple[str, ...]) -> Row | BadRow:
    texts, hidden = _texts(line, book)
    values = dict(zip(columns, _filled(texts, len(columns)), strict=True))
    if hidden:
        detail = {"problem": "cell_not_shown", "line": line.number, "position": hidden}
        return BadRow(number, "malformed_row", detail, values)
    if any(len(text) > MAX_FIELD for text in texts.values()) or sum(map(len, values.values())) > MAX_LINE:
        return BadRow(number, "malformed_row", _too_long(line), {})
    width = max(texts, default=0)
    if width > len(columns):
        beyond = "\t".join(text for column, text in texts.items() if column > len(columns))
        detail = {"fields": width, "expected": len(columns), "line": line.number}
        return BadRow(number, "ragged_row", detail, {**values, RAW: beyond})
    return Row(number, values)


def _too_long(line: Line) -> dict[str, object]:
    return {"problem": "field_too_long", "line": line.number, "limit": MAX_FIELD}
