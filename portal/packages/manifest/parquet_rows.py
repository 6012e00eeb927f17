"""Parquet manifests: values as text, values within values as JSON. Pure but for the process that reads them."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.foreign import table_of
from portal.packages.manifest.reading import (
    AS_FOUND,
    MAX_FIELD,
    BadRow,
    Reading,
    Row,
    Rows,
    UnableToRead,
    Wish,
    checked_columns,
)
from portal.packages.manifest.tables import Line, row_of


def describe(stream: BinaryIO, _wish: Wish = AS_FOUND) -> Reading:
    """The reading of a Parquet file, its columns those of its schema; nothing about it can be wished."""
    with table_of(stream, "parquet") as (about, _found):
        if not about["rows"]:
            raise UnableToRead("no_rows")
        return Reading("parquet", columns=checked_columns(about["columns"]), certainty="declared")


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``."""
    with table_of(stream, "parquet") as (_about, said):
        yield from _numbered(said, reading.columns)


def _numbered(said: Iterator[Any], columns: tuple[str, ...]) -> Rows:
    numbering = Numbering()
    for number, texts in enumerate(chain.from_iterable(_across(each, len(columns)) for each in said), start=1):
        if not any(texts) and None not in texts:
            numbering.blank(number)
            continue
        if numbering.held:
            yield from numbering.released()
        numbering.next()
        is_whole = None not in texts and sum(map(len, texts)) <= MAX_FIELD
        yield Row(number, dict(zip(columns, texts, strict=True))) if is_whole else _looked_at(number, texts, columns)


def _across(texts: list[list[str | None]], width: int) -> Iterator[tuple[Any, ...]]:
    if len(texts) != width:
        raise UnableToRead("broken_table")
    return zip(*texts, strict=True)


def _looked_at(number: int, texts: tuple[str | None, ...], columns: tuple[str, ...]) -> Row | BadRow:
    """A row with bytes that are no text, or very long texts."""
    if None in texts:
        detail = {"problem": "binary_value", "line": number, "column": columns[texts.index(None)]}
        values = {column: text or "" for column, text in zip(columns, texts, strict=True)}
        return BadRow(number, "malformed_row", detail, values)
    by_column = {column: text for column, text in enumerate(texts, start=1) if text}
    return row_of(number, Line(number, by_column), columns)
