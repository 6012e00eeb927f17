"""How a corrected file is read: it is the quarantine that we gave out, so what we put into it is taken out again."""

import re
from collections.abc import Mapping
from contextlib import closing

from portal.billing.cells import unguarded
from portal.packages.correcting.corrected_requests import whole_request
from portal.packages.correcting.long_cells import LongCells, long_cells
from portal.packages.delivering.sheets import Layout
from portal.packages.manifest import BadRow, Row, Rows
from portal.packages.models import Package

GUARDED_FORMATS = frozenset({"csv", "xlsx", "xls", "ods"})
"""Formats of spreadsheets: in what we give out for them, text that looks like a formula has an apostrophe in front."""
_ROW_NUMBER = re.compile(r"([0-9]{1,15})(?:\.0*)?")


def plain_columns(columns: list[str], format: str) -> list[str]:
    """The columns of a corrected file as their package calls them, in the file's order."""
    return [unguarded(name) for name in columns] if format in GUARDED_FORMATS else columns


def own_rows(package: Package, rows: Rows) -> Rows:
    """``rows`` of a corrected file without our columns, but for the row number, and without our apostrophes.

    Cells that we had cut are whole again; a row with one that was changed is a bad row.
    """
    assert package.corrects is not None
    layout = Layout.of(package.corrects)
    ours, row_column = layout.ours, layout.row_column
    plain = unguarded if package.reading["format"] in GUARDED_FORMATS else str
    are_requests = package.corrects.reading["format"] == "openai"
    with closing(rows), long_cells(package) as cells:
        for row in rows:
            values = {name: plain(value) for name, value in row.values.items() if name not in ours}
            own = _whole(row._replace(values=values), row_column, cells)
            yield whole_request(own) if are_requests else own


def _whole(row: Row | BadRow, row_column: str, cells: LongCells | None) -> Row | BadRow:
    if cells is None or isinstance(row, BadRow):
        return row
    target = row_named(row.values, row_column)
    return row if target is None else cells.whole(row, target)


def row_named(values: Mapping[str, str], row_column: str) -> int | None:
    """The row of the corrected package that these values are for; ``None`` if none is named."""
    found = _ROW_NUMBER.fullmatch(values.get(row_column, "").strip())
    return int(found[1]) if found else None
