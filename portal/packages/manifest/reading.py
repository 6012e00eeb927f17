"""What reading a manifest is about: rows, rows that cannot be used, and files that cannot be read. Pure."""

import re
from collections.abc import Generator
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeAlias

RAW = "\0raw"
"""The key under which a bad row keeps what could not be put into columns; no column can have this name."""

MAX_COLUMNS = 500
MAX_COLUMN_NAME = 200
MAX_FIELD = 1_000_000
"""Characters in one field: far above any model's context, low enough to stay in memory."""
MAX_LINE = 4_000_000
"""Characters in one physical line."""
RAW_KEPT = 2_000
"""Characters of an unreadable row that are kept for the person who repairs it."""


class UnableToRead(ValueError):
    """The file as a whole cannot be read. ``code`` and ``details`` become a sentence (portal.packages.reasons)."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(code)
        self.code, self.details = code, details


class Row(NamedTuple):
    """A data row: ``number`` counts from 1, without the heading; ``values`` has text for every column."""

    number: int
    values: dict[str, str]


class BadRow(NamedTuple):
    """A row that cannot be used, with the code why, its facts, and what of it could be read."""

    number: int
    code: str
    detail: dict[str, Any]
    values: dict[str, str]


Rows: TypeAlias = Generator[Row | BadRow, None, None]
"""Rows as they are read; close it to let go of the file."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How a manifest is read. ``certainty`` says how sure the encoding is:

    ``declared`` (a byte order mark or a format that says so), ``proven`` (valid UTF-8), ``likely`` (GB18030,
    which almost any bytes fit: a person should look at the first rows) or ``doubtful`` (GB18030 with characters that
    Chinese text seldom has).
    """

    format: str
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: tuple[str, ...] = ()
    certainty: str = "proven"

    def as_json(self) -> dict[str, Any]:
        """What ``Package.reading`` holds."""
        return {**asdict(self), "columns": list(self.columns)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Reading":
        """The reading that :meth:`as_json` wrote."""
        return cls(**{**stored, "columns": tuple(stored["columns"])})


def is_usable_column(name: str) -> bool:
    """Can a key that a later row brings be the heading of a column, exactly as it is?"""
    return 0 < len(name) <= MAX_COLUMN_NAME and bool(name.strip()) and "\0" not in name


_BREAK = re.compile(r"\s*[\r\n]\s*")


def checked_columns(names: list[str]) -> tuple[str, ...]:
    """Column names without surrounding spaces and breaks of lines.

    Raises :class:`UnableToRead` for missing and repeated ones, and for those that a prompt could not name.
    """
    columns = [_BREAK.sub(" ", name.strip().removeprefix("\ufeff")) for name in names]
    if not any(columns):
        raise UnableToRead("no_heading")
    if len(columns) > MAX_COLUMNS:
        raise UnableToRead("too_many_columns", limit=MAX_COLUMNS)
    seen: set[str] = set()
    for position, name in enumerate(columns, start=1):
        if not name:
            raise UnableToRead("unnamed_column", position=position)
        if len(name) > MAX_COLUMN_NAME:
            raise UnableToRead("long_column", position=position, limit=MAX_COLUMN_NAME)
        if "{" in name or "}" in name:
            raise UnableToRead("unusable_column", column=name)
        if name in seen:
            raise UnableToRead("duplicate_column", column=name)
        seen.add(name)
    return tuple(columns)
