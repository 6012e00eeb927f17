"""JSON Lines manifests: one object per line; numbers keep the digits they were written with. Pure.

A list or an object within a row is text like everything else: its JSON, on one line.
"""

import json
from itertools import islice
from typing import Any, BinaryIO, NoReturn

from portal.packages.manifest.blanks import Numbering
from portal.packages.manifest.lines import Lines, LineTooLong, lines_of, too_long
from portal.packages.manifest.reading import RAW, BadRow, Reading, Row, Rows, UnableToRead, checked_columns

LOOKED_AT = 100
"""Rows whose keys make the columns that a prompt can use."""


class _Malformed(ValueError):
    pass


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


def describe(stream: BinaryIO, encoding: str, certainty: str) -> Reading:
    """The reading of a JSON Lines file, its columns those of the first rows together."""
    found = Reading("jsonl", encoding, certainty=certainty)
    looked_at = list(islice(rows(stream, found), LOOKED_AT))
    if not looked_at:
        raise UnableToRead("empty_file")
    names = [name for row in looked_at if isinstance(row, Row) for name in row.values]
    if not names:
        raise UnableToRead("no_object")
    return Reading("jsonl", encoding, columns=_columns(names), certainty=certainty)


def _columns(names: list[str]) -> tuple[str, ...]:
    different = list(dict.fromkeys(names))
    columns = checked_columns(different)
    for name, column in zip(different, columns, strict=True):
        if name != column:  # a key with spaces around it could not be named in a prompt
            raise UnableToRead("padded_key" if name != name.strip() else "unusable_column", column=name)
    return columns


def rows(stream: BinaryIO, reading: Reading) -> Rows:
    """See ``portal.packages.manifest.rows``. A row has all columns and whatever further keys its object has."""
    numbering = Numbering()
    absent = dict.fromkeys(reading.columns, "")
    with lines_of(stream, reading.encoding) as lines:
        while (line := _next(lines)) is not None:
            if isinstance(line, BadRow):
                yield from numbering.released()
                yield line._replace(number=numbering.next())
                continue
            if not line.strip():
                numbering.blank(lines.first)
                continue
            yield from numbering.released()
            yield _row(numbering.next(), line, absent, lines)


def _next(lines: Lines) -> str | BadRow | None:
    lines.begin()
    try:
        return next(lines, None)
    except LineTooLong:
        return too_long(lines)


def _row(number: int, line: str, absent: dict[str, str], lines: Lines) -> Row | BadRow:
    bad = {RAW: lines.raw}
    try:
        found = _decoder.decode(line.strip())
        if not isinstance(found, dict):
            raise _Malformed
        values = {**absent, **{key: _text(value) for key, value in found.items()}}
        "".join((*values, *values.values())).encode()  # half a surrogate pair is no text
    except (ValueError, RecursionError):
        return BadRow(number, "malformed_row", {"line": lines.first}, bad)
    if not any(value.strip() for value in values.values()):
        return BadRow(number, "empty_row", {"line": lines.first}, {})
    return Row(number, values)


def _text(value: Any) -> str:
    """What a prompt shows of ``value``: text and numbers as they are, nothing for null, JSON for the rest."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    match value:
        case _Number():
            return value
        case dict():
            return f"{{{','.join(f'{_json(key)}:{_json(inner)}' for key, inner in value.items())}}}"
        case list():
            return f"[{','.join(map(_json, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Malformed("a key is repeated")
    return found


def _refuse(constant: str) -> NoReturn:
    raise _Malformed(constant)


_decoder = json.JSONDecoder(parse_int=_Number, parse_float=_Number, parse_constant=_refuse, object_pairs_hook=_pairs)
