"""Reading manifests: text, sheets and tables, packed or not, as a stream of rows, in flat memory. Pure.

``sniff`` looks at a file and says how it is read; ``rows`` reads it that way, the same each time.
"""

from collections.abc import Callable
from contextlib import closing
from typing import BinaryIO

from portal.packages.manifest.packing import EXPANDED_LIMIT, expands_too_far, seekable, unpacked
from portal.packages.manifest.reading import BadRow, Reading, Row, Rows, UnableToRead

__all__ = ["BadRow", "Reading", "Row", "Rows", "UnableToRead", "rows"]

_FROM_FRONT_TO_BACK = frozenset({"csv", "jsonl", "openai"})
"""Formats that are read without seeking."""
_NAMES_TEXTS_AGAIN = frozenset({"xlsx", "xls", "ods", "parquet"})
"""Formats in which a text may stand once and be in any number of cells: a small file can have rows without end."""


def rows(stream: BinaryIO, reading: Reading, *, expanded_limit: int = EXPANDED_LIMIT) -> Rows:
    """Every data row of ``stream`` in order, numbered from 1; blank rows count unless nothing follows them.

    Raises :class:`UnableToRead` when the file as a whole turns out to be unreadable, when it lies packed and has
    more than ``expanded_limit`` bytes once unpacked, or when the cells of a table have more characters than that.
    """
    read = _reader(reading.format)
    found = _packed_rows(stream, reading, read, expanded_limit) if reading.packing else read(stream, reading)
    return _bounded(found, expanded_limit) if reading.format in _NAMES_TEXTS_AGAIN else found


def _bounded(found: Rows, limit: int) -> Rows:
    characters = 0
    with closing(found):
        for row in found:
            characters += sum(map(len, row.values.values()))
            if characters > limit:
                raise expands_too_far(limit)
            yield row


def _reader(format_: str) -> Callable[[BinaryIO, Reading], Rows]:
    from portal.packages.manifest import csv_rows, jsonl_rows, ods_rows, openai_rows, parquet_rows, xls_rows, xlsx_rows

    return {
        "csv": csv_rows.rows,
        "jsonl": jsonl_rows.rows,
        "openai": openai_rows.rows,
        "xlsx": xlsx_rows.rows,
        "xls": xls_rows.rows,
        "ods": ods_rows.rows,
        "parquet": parquet_rows.rows,
    }[format_]


def _packed_rows(stream: BinaryIO, reading: Reading, read: Callable[[BinaryIO, Reading], Rows], limit: int) -> Rows:
    with unpacked(stream, reading.packing, limit) as inner:
        if reading.format in _FROM_FRONT_TO_BACK:
            yield from read(inner, reading)
            return
        with seekable(inner) as copy:
            yield from read(copy, reading)
