"""Excel manifests: one sheet, read as a stream; cells as Excel shows them. Pure but for a temporary file."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import BinaryIO

from portal.packages.manifest import tables
from portal.packages.manifest.archives import opened
from portal.packages.manifest.damage import damage_told
from portal.packages.manifest.looking import MOST_LOOKED_AT, MOST_LOOKED_THROUGH, Budget
from portal.packages.manifest.merged import Range, without_merges
from portal.packages.manifest.reading import AS_FOUND, Reading, Rows, UnableToRead, Wish
from portal.packages.manifest.shared_texts import SharedTexts
from portal.packages.manifest.sheet import Cell, Line, lines, merged_ranges
from portal.packages.manifest.shown import text_of
from portal.packages.manifest.tables import line_of
from portal.packages.manifest.workbook import Book


def describe(stream: BinaryIO, wish: Wish = AS_FOUND) -> Reading:
    """The reading of a workbook: of the sheet that is wished, or its first one with a heading and rows.

    Raises :class:`UnableToRead` without a heading or rows.
    """
    with damage_told(), _book(stream) as book:
        found = {"sheet": "chosen"} if wish.sheet else {}
        plain = Reading("xlsx", certainty="declared", sheets=book.sheets, certainties=found)

        ahead, merges = Budget(MOST_LOOKED_AT), Budget(MOST_LOOKED_THROUGH)

        def read(sheet: str) -> Reading:
            lines = without_merges(_seen(book, sheet, ahead), _merges(book, sheet, merges))
            return tables.described(lines, wish, replace(plain, sheet=sheet))

        return read(wish.sheet) if wish.sheet else tables.of_best_sheet(_filled(book, ahead), read)


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    with damage_told(), _book(stream) as book:
        merges = _merges(book, reading.sheet, Budget(MOST_LOOKED_THROUGH))
        yield from tables.rows(without_merges(_with_texts(book, lines(book.sheet(reading.sheet))), merges), reading)


@contextmanager
def _book(stream: BinaryIO) -> Iterator[Book]:
    with opened(stream) as archive, closing(SharedTexts()) as texts:
        yield Book(archive, texts)


def _filled(book: Book, ahead: Budget) -> Iterator[str]:
    """The names of the sheets with cells, hidden ones last; those with one line alone come after all others."""
    lone = []
    for name in book.distinct:
        size = sum(1 for _line in islice(_seen(book, name, ahead), 2))
        if size > 1:
            yield name
        elif size:
            lone.append(name)
    yield from lone


def _seen(book: Book, sheet: str, ahead: Budget) -> Iterator[tables.Line]:
    return _with_texts(book, lines(ahead.counted(book.sheet(sheet))))


def _merges(book: Book, sheet: str, budget: Budget) -> list[Range]:
    return merged_ranges(lambda: book.sheet(sheet), budget)


def _with_texts(book: Book, stored: Iterator[Line]) -> Iterator[tables.Line]:
    """The rows in which something can be seen."""
    shown = partial(text_of, book=book)
    for line in stored:
        if any(_is_seen(cell, book) for cell in line.cells):
            yield line_of(line.number, line.cells, shown)


def _is_seen(cell: Cell, book: Book) -> bool:
    try:
        return cell.kind != "s" or not book.texts.is_blank(int(cell.stored))
    except UnableToRead:
        raise
    except (ValueError, IndexError):
        return True
