"""Old Excel manifests (.xls): one sheet, cells as Excel shows them. Pure but for the process that reads them."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

from portal.packages.manifest import tables
from portal.packages.manifest.foreign import table_of
from portal.packages.manifest.merged import Range, without_merges
from portal.packages.manifest.reading import AS_FOUND, Reading, Rows, Wish
from portal.packages.manifest.shown import value_of
from portal.packages.manifest.tables import line_of


class _Cell(NamedTuple):
    column: int
    kind: str
    code: str
    stored: str


def describe(stream: BinaryIO, wish: Wish = AS_FOUND) -> Reading:
    """The reading of the sheet that is wished, or of the first one with a heading and rows."""
    others: list[str] = []

    def read(sheet: str) -> Reading:
        with table_of(stream, "xls", sheet) as (about, found):
            names = tuple(about["sheets"])
            others.extend(name for name in names if name != about["sheet"] and not sheet)
            plain = Reading("xls", certainty="declared", sheet=about["sheet"], sheets=names)
            return tables.described(_lines(about, found), wish, plain)

    if wish.sheet:
        return replace(chosen := read(wish.sheet), certainties={**chosen.certainties, "sheet": "chosen"})
    return tables.of_best_sheet(_likely_first(others), read)


def _likely_first(others: list[str]) -> Iterator[str]:
    """The sheet that is found likely, which has no name here, then ``others``, which reading it brings."""
    yield ""
    yield from others


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    with table_of(stream, "xls", reading.sheet) as (about, found):
        yield from tables.rows(_lines(about, found), reading)


def _lines(about: dict[str, Any], found: Iterator[Any]) -> Iterator[tables.Line]:
    shown = partial(_shown, is_mac=about["is_mac"])
    lines = (line_of(number, [_Cell(*cell) for cell in cells], shown) for number, cells in chain.from_iterable(found))
    return without_merges(lines, [Range(*corners) for corners in about["merged"]])


def _shown(cell: _Cell, *, is_mac: bool) -> str:
    if cell.kind == "text":
        return tables.checked_text(cell.stored)
    return value_of(cell.kind, cell.stored, cell.code, is_mac=is_mac)
