"""The first rows of a draft's manifest, kept beside it when it is looked at: pages never read the upload again.

They lie with the reading by which they were read, so that those of another one are never shown.
"""

import json
from itertools import islice
from typing import Any, Final

import zstandard

from portal.packages.manifest import BadRow, Row, UnableToRead
from portal.packages.models import Package
from portal.packages.source import manifest_rows
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound

HEAD_ROWS: Final = 20
_MOST_KEPT_BYTES: Final = 256 * 1024**2
"""Unpacked: twenty rows as long as rows may be, with every character escaped, stay below that mostly."""


def first_rows_key(package: Package) -> str:
    """Where the first rows of ``package`` lie."""
    return f"{package.prefix}/manifest/first_rows.jsonl.zst"


def keep_first_rows(package: Package) -> None:
    """Read and keep the first rows of a draft whose manifest lies in the store; of one that breaks there, none.

    Not of a correction: its rows are what they are together with the package that it corrects.
    """
    if package.corrects_id is not None:
        return
    try:
        lines = [package.reading, *map(_as_json, _read(package))]
    except UnableToRead:  # told where the rows are asked for
        return
    plain = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    if len(plain) <= _MOST_KEPT_BYTES:
        objects().put(first_rows_key(package), zstandard.compress(plain, 1))


def first_rows(package: Package, count: int = HEAD_ROWS) -> list[Row | BadRow]:
    """The first rows of the manifest, at most ``HEAD_ROWS``. Raises :class:`UnableToRead`."""
    kept = _kept(package)
    return (_read(package) if kept is None else kept)[:count]


def _read(package: Package) -> list[Row | BadRow]:
    with manifest_rows(package) as manifest:
        return list(islice(manifest, HEAD_ROWS))


def _kept(package: Package) -> list[Row | BadRow] | None:
    """The rows that are kept as the manifest is read now; ``None`` without such."""
    if package.corrects_id is not None:
        return None
    try:
        packed = objects().get(first_rows_key(package))
        reading, *rows = zstandard.decompress(packed, max_output_size=_MOST_KEPT_BYTES).splitlines()
        return [_from_json(json.loads(row)) for row in rows] if json.loads(reading) == package.reading else None
    except (ObjectNotFound, zstandard.ZstdError, ValueError):
        return None


def _as_json(row: Row | BadRow) -> list[Any]:
    return list(row)


def _from_json(row: list[Any]) -> Row | BadRow:
    return Row(*row) if len(row) == len(Row._fields) else BadRow(*row)
