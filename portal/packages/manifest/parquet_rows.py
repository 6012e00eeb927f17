"""Parquet manifests: values as text, values within values as JSON. Pure but for the process that reads them."""

from collections.abc import Iterator
from itertools import chain
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.decoding import readable
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
from portal.packages.manifest.tables import checked_text, line_of, row_of

Said: TypeAlias = str | list[str]
"""A value's text, or a problem and what can be shown in its place."""


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
        if not any(texts):
            numbering.blank(number)
            continue
        if numbering.held:
            yield from numbering.released()
        numbering.next()
        yield (
            Row(number, dict(zip(columns, texts, strict=True)))
            if _is_plain(texts)
            else (_looked_at(number, texts, columns))
        )


def _is_plain(texts: tuple[Said, ...]) -> bool:
    """Are they all texts, and not very long?"""
    try:
        joined = "".join(texts)  # type: ignore[arg-type]  # as fast as nothing else
    except TypeError:
        return False
    return len(joined) <= MAX_FIELD and "\0" not in joined


def _across(texts: list[list[Said]], width: int) -> Iterator[tuple[Any, ...]]:
    if len(texts) != width:
        raise UnableToRead("broken_table")
    return zip(*texts, strict=True)


def _looked_at(number: int, texts: tuple[Said, ...], columns: tuple[str, ...]) -> Row | BadRow:
    """A row with values or characters that are no text, or very long texts."""
    for column, said in zip(columns, texts, strict=True):
        if not isinstance(said, str):
            values = {name: readable(_shown(each)) for name, each in zip(columns, texts, strict=True)}
            return _faulty(number, column, said[0], values)
    cells = [_Cell(column, _shown(text)) for column, text in enumerate(texts, start=1) if text]
    return row_of(number, line_of(number, cells, lambda cell: checked_text(cell.text)), columns)


def _faulty(number: int, column: str, problem: str, values: dict[str, str]) -> BadRow:
    place = {"line": number, "column": column}
    if problem == "undecodable":
        return BadRow(number, problem, place, values)
    return BadRow(number, "malformed_row", {"problem": problem, **place}, values)


def _shown(said: Said) -> str:
    return said if isinstance(said, str) else said[1]


class _Cell(NamedTuple):
    column: int
    text: str
