"""What kind of bytes a file is, told by its first ones. Pure."""

import re
from typing import Final, Literal, TypeAlias

from portal.packages.manifest.reading import UnableToRead

Container: TypeAlias = Literal["text", "zip", "gzip", "zstd", "ole", "parquet"]
"""``ole``: what old Office files lie in, and new ones that are locked."""

HEAD: Final = 512
"""Bytes that are looked at."""

_TAKEN: Final[tuple[tuple[bytes, Container], ...]] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
)
_ZSTD_NOTE: Final = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18", re.DOTALL)
"""A frame that decoders of zstd skip; some packers begin with one."""
_PARQUET: Final = re.compile(rb"PAR(?:(?P<plain>1)|E)[^\t\n\r\x20-\x7e]", re.DOTALL)
"""No text: a heading may well begin with ``PAR1``."""
_REFUSED: Final = (
    (b"%PDF", "PDF"),
    (b"%!PS", "PostScript"),
    (b"{\\rtf", "RTF"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"ARROW1\0\0", "Arrow"),
    (b"Obj\x01", "Avro"),
    (b"SQLite format 3\0", "SQLite"),
    *((b"BZh%d1AY&" % size, "BZIP2") for size in range(1, 10)),
    (b"\xfd7zXZ\0", "XZ"),
)
_MARKUP: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*<(?:(?P<html>!doctype html\b|html\b|table\b)|\?xml\b|!--)", re.IGNORECASE
)
_TAR: Final = slice(257, 262)


def container_of(head: bytes) -> Container:
    """What ``head``, at least the first :data:`HEAD` bytes, is the beginning of.

    Raises :class:`UnableToRead` for what nobody reads here.
    """
    for magic, container in _TAKEN:
        if head.startswith(magic):
            return container
    if parquet := _PARQUET.match(head):
        if not parquet["plain"]:
            raise UnableToRead("locked_file")
        return "parquet"
    if _ZSTD_NOTE.match(head):
        return "zstd"
    for magic, found in _REFUSED:
        if head.startswith(magic):
            raise UnableToRead("wrong_format", found=found)
    if markup := _MARKUP.match(head):  # what many systems call .xls
        raise UnableToRead("wrong_format", found="HTML" if markup["html"] else "XML")
    if head[_TAR] == b"ustar":
        raise UnableToRead("wrong_format", found="TAR")
    return "text"
