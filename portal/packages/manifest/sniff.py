"""How a stored upload is read: what it is, and then what its kind needs to be told. Pure.

Its content decides; the ending of its name is asked only where the content leaves two readings.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath
from typing import BinaryIO

from portal.packages.manifest import ods_rows, parquet_rows, text, xls_rows, xlsx_rows
from portal.packages.manifest.archives import Kind, kind_of, only_file, opened, shown_name
from portal.packages.manifest.damage import damage_told
from portal.packages.manifest.packing import EXPANDED_LIMIT, seekable, unpacked
from portal.packages.manifest.probe import Probe, Probed
from portal.packages.manifest.reading import AS_FOUND, Reading, UnableToRead, Wish

JSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})
PACKED_SUFFIXES = frozenset({".gz", ".gzip", ".zst", ".zstd", ".zip"})
_BINARY: dict[str, Callable[[BinaryIO, Wish], Reading]] = {
    "xlsx": xlsx_rows.describe,
    "ole": xls_rows.describe,
    "ods": ods_rows.describe,
    "parquet": parquet_rows.describe,
}
_CHUNK = 1 << 20


def suffix_of(filename: str) -> str:
    """The ending of ``filename`` in lower case with its dot, or ``""``; short and plain enough for a key."""
    suffix = PurePath(filename).suffix.lower()
    return suffix if suffix[1:].isalnum() and suffix.isascii() and len(suffix) <= 10 else ""


def sniff(
    stream: BinaryIO, found: Probed, filename: str, wish: Wish = AS_FOUND, *, expanded_limit: int = EXPANDED_LIMIT
) -> Reading:
    """How the file is read, as far as ``wish`` leaves that open.

    A packed file may have ``expanded_limit`` bytes once unpacked. Raises :class:`UnableToRead` when the file cannot
    be read, or has no row.
    """
    kind = _kind_of(stream, found)
    if kind in {"gzip", "zstd", "zip"}:
        return _packed(stream, kind, filename, wish, expanded_limit)
    return _described(stream, found, kind, filename, wish)


def _kind_of(stream: BinaryIO, found: Probed) -> str:
    if found.content != "zip":
        return found.content
    kind: Kind = kind_of(stream)
    stream.seek(0)
    return kind


def _described(stream: BinaryIO, found: Probed, kind: str, filename: str, wish: Wish) -> Reading:
    if describe := _BINARY.get(kind):
        return describe(stream, wish)
    return text.describe(stream, found, is_json=suffix_of(filename) in JSON_SUFFIXES, wish=wish)


def _packed(stream: BinaryIO, packing: str, filename: str, wish: Wish, limit: int) -> Reading:
    member = _member(stream) if packing == "zip" else ""
    name = member or _without_packing(filename)
    with unpacked(stream, packing, limit) as inner:
        found = _probed(inner, wish, limit)
    if found.content in {"gzip", "zstd"}:
        raise UnableToRead("nested_archive")
    with unpacked(stream, packing, limit) as inner:
        reading = _inner(inner, found, name, wish)
    return replace(reading, packing=packing, member=member)


def _inner(inner: BinaryIO, found: Probed, name: str, wish: Wish) -> Reading:
    if found.content == "text":
        return _described(inner, found, "text", name, wish)
    with seekable(inner) as copy:
        kind = _kind_of(copy, found)
        if kind == "zip":
            raise UnableToRead("nested_archive")
        return _described(copy, found, kind, name, wish)


def _member(stream: BinaryIO) -> str:
    with damage_told("broken_archive"), opened(stream, "archive_too_large") as archive:
        return shown_name(only_file(archive))


def _without_packing(filename: str) -> str:
    path = PurePath(filename)
    return path.stem if path.suffix.lower() in PACKED_SUFFIXES else filename


def _probed(inner: BinaryIO, wish: Wish, limit: int) -> Probed:
    probe = Probe(limit=limit, wish=wish)
    while piece := inner.read(_CHUNK):
        probe.feed(piece)
    return probe.finish()
