"""Excel manifests: one sheet, read as a stream; cells as Excel shows them. Pure but for a temporary file."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import BinaryIO

from portal.packages.manifest import tables
from portal.packages.manifest.archives import opened
from portal.packages.manifest.damage import damage_told
from portal.packages.manifest.merged import without_merges
from portal.packages.manifest.reading import AS_FOUND, Reading, Rows, UnableToRead, Wish
from portal.packages.manifest.shared_texts import SharedTexts
from portal.packages.manifest.sheet import Cell, lines, merged_ranges
from portal.packages.manifest.shown import text_of
from portal.packages.manifest.tables import line_of
from portal.packages.manifest.workbook import Book


def describe(stream: BinaryIO, wish: Wish = AS_FOUND) -> Reading:
    """The reading of a workbook: of the sheet that is wished, or its first one with cells.

    Raises :class:`UnableToRead` without a heading or rows.
    """
    with damage_told(), _book(stream) as book:
        sheet = wish.sheet or _first_filled(book)
        found = {"sheet": "chosen"} if wish.sheet else {}
        plain = Reading("xlsx", certainty="declared", sheet=sheet, sheets=book.sheets, certainties=found)
        return tables.described(_lines(book, sheet), wish, plain)


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    with damage_told(), _book(stream) as book:
        yield from tables.rows(_lines(book, reading.sheet), reading)


@contextmanager
def _book(stream: BinaryIO) -> Iterator[Book]:
    with opened(stream) as archive, closing(SharedTexts()) as texts:
        yield Book(archive, texts)


def _first_filled(book: Book) -> str:
    """The name of the first sheet with cells, hidden ones last; raises :class:`UnableToRead` without such."""
    for name in book.sheets:
        if next(_with_texts(book, name), None) is not None:
            return name
    raise UnableToRead("no_sheet")


def _lines(book: Book, sheet: str) -> Iterator[tables.Line]:
    """The rows in which something can be seen."""
    return without_merges(_with_texts(book, sheet), merged_ranges(lambda: book.sheet(sheet)))


def _with_texts(book: Book, sheet: str) -> Iterator[tables.Line]:
    shown = partial(text_of, book=book)
    for line in lines(book.sheet(sheet)):
        if any(_is_seen(cell, book) for cell in line.cells):
            yield line_of(line.number, line.cells, shown)


def _is_seen(cell: Cell, book: Book) -> bool:
    try:
        return cell.kind != "s" or not book.texts.is_blank(int(cell.stored))
    except (ValueError, IndexError):
        return True
