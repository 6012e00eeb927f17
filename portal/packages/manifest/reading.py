"""What reading a manifest is about: rows, rows that cannot be used, and files that cannot be read. Pure."""

import re
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from portal.packages.manifest.decoding import readable

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

    @property
    def cause(self) -> str | None:
        """The kind of exception behind it, for logs: a fault of ours in a reader looks like a damaged file."""
        return type(self.__cause__).__name__ if self.__cause__ else None


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
class Wish:
    """How a person says that a file is to be read; ``None`` leaves it to what is found."""

    encoding: str | None = None
    delimiter: str | None = None
    """``""``: there is none, each line is the text of one column."""
    quote: str | None = None
    """``""``: quotation marks are text."""
    has_heading: bool | None = None
    sheet: str | None = None


AS_FOUND = Wish()


@dataclass(frozen=True, slots=True)
class Reading:
    """How a manifest is read, decided when it is uploaded; ``rows`` reads it that way, the same each time.

    ``format`` is ``csv``, ``jsonl``, ``openai`` (lines of the OpenAI batch format), ``xlsx``, ``xls``, ``ods`` or
    ``parquet``. ``certainty`` says how sure the encoding is, ``certainties`` the same of ``delimiter``, ``quote`` and
    ``heading``:

    ``chosen`` (by a person), ``declared`` (the file says so, such as by a byte order mark), ``proven`` (all of the
    file fits, such as valid UTF-8), ``likely`` (a person should look at the first rows) or ``doubtful``.
    """

    format: str
    encoding: str = "utf-8"
    delimiter: str = ","
    columns: tuple[str, ...] = ()
    certainty: str = "proven"
    quote: str = '"'
    has_heading: bool = True
    certainties: dict[str, str] = field(default_factory=dict)
    packing: str = ""
    """``gzip``, ``zstd`` or ``zip`` for a file that lies packed within the upload."""
    member: str = ""
    """The name of the file that is read within a ``zip``."""
    sheet: str = ""
    sheets: tuple[str, ...] = ()
    """Names of all sheets that can be chosen, in their order."""
    first_line: int = 1
    """The line of the file, or row of the sheet, with the heading, or with the first row where there is none."""

    def as_json(self) -> dict[str, Any]:
        """What ``Package.reading`` holds."""
        return {**asdict(self), "columns": list(self.columns), "sheets": list(self.sheets)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Reading":
        """The reading that :meth:`as_json` wrote, also an earlier version of it."""
        return cls(**{**stored, "columns": tuple(stored["columns"]), "sheets": tuple(stored.get("sheets", ()))})


def is_usable_column(name: str) -> bool:
    """Can a key that a later row brings be the heading of a column, exactly as it is?"""
    return 0 < len(name) <= MAX_COLUMN_NAME and bool(name.strip()) and "\0" not in name


_BREAK = re.compile(r"\s*[\r\n]\s*")


def checked_columns(names: list[str]) -> tuple[str, ...]:
    """The columns of a heading, each with a name of its own.

    Spaces around names go, breaks of lines become spaces, and what is no text becomes a sign for it. A column without
    a name is called by its place (``column_3``), and the second of one name ``name_2``, or the next number that is
    free: names that the file has are never given to another column.

    Raises :class:`UnableToRead` where no column has a name, and for names that a prompt could not use.
    """
    columns = [_BREAK.sub(" ", readable(name).strip().removeprefix("\ufeff")).strip() for name in names]
    if not any(columns):
        raise UnableToRead("no_heading")
    if len(columns) > MAX_COLUMNS:
        raise UnableToRead("too_many_columns", limit=MAX_COLUMNS)
    for position, name in enumerate(columns, start=1):
        if len(name) > MAX_COLUMN_NAME:
            raise UnableToRead("long_column", position=position, limit=MAX_COLUMN_NAME)
        if "{" in name or "}" in name:
            raise UnableToRead("unusable_column", column=name)
    return tuple(_told_apart(columns))


def _told_apart(columns: list[str]) -> list[str]:
    taken = {*columns, ""}
    met: set[str] = set()
    apart = []
    for position, name in enumerate(columns, start=1):
        if not name:
            name = f"column_{position}"
            name = _numbered(name, taken) if name in taken else name
        elif name in met:
            name = _numbered(name, taken)
        taken.add(name)
        met.add(name)
        apart.append(name)
    return apart


def _numbered(name: str, taken: set[str]) -> str:
    """``name_2``, or with the next number that is not taken, as long as a column's name may be."""
    for number in count(2):
        ending = f"_{number}"
        numbered = name[: MAX_COLUMN_NAME - len(ending)] + ending
        if numbered not in taken:
            return numbered
    raise AssertionError
