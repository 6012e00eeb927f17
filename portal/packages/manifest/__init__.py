"""Reading manifests: CSV, JSON Lines and Excel files as a stream of rows, in flat memory. Pure.

``sniff`` looks at a file and says how it is read; ``rows`` reads it that way, the same each time.
"""

from collections.abc import Callable
from typing import BinaryIO

from portal.packages.manifest.reading import BadRow, Reading, Row, Rows, UnableToRead

__all__ = ["BadRow", "Reading", "Row", "Rows", "UnableToRead", "rows"]


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """Every data row of ``stream`` in order, numbered from 1; blank rows count unless nothing follows them.

    Raises :class:`UnableToRead` when the file as a whole turns out to be unreadable.
    """
    from portal.packages.manifest import csv_rows, jsonl_rows, openai_rows, xlsx_rows

    readers: dict[str, Callable[[BinaryIO, Reading], Rows]] = {
        "csv": csv_rows.rows,
        "jsonl": jsonl_rows.rows,
        "openai": openai_rows.rows,
        "xlsx": xlsx_rows.rows,
    }
    return readers[reading.format](stream, reading)
