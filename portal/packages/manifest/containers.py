"""What kind of bytes a file is, told by its first ones. Pure."""

from typing import Literal, TypeAlias

from portal.packages.manifest.reading import UnableToRead

Container: TypeAlias = Literal["text", "zip"]

HEAD = 8
"""Bytes that are looked at."""

_REFUSED = (
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old_excel", ""),
    (b"%PDF", "wrong_format", "PDF"),
    (b"\x1f\x8b", "wrong_format", "GZIP"),
    (b"Rar!", "wrong_format", "RAR"),
    (b"7z\xbc\xaf\x27\x1c", "wrong_format", "7z"),
    (b"PAR1", "wrong_format", "Parquet"),
    (b"\x89PNG", "wrong_format", "PNG"),
    (b"\xff\xd8\xff", "wrong_format", "JPEG"),
    *((b"BZh%d1AY&" % size, "wrong_format", "BZIP2") for size in range(1, 10)),
    (b"\xfd7zXZ\0", "wrong_format", "XZ"),
    (b"\x28\xb5\x2f\xfd", "wrong_format", "Zstandard"),
)


def container_of(head: bytes) -> Container:
    """What ``head``, the first :data:`HEAD` bytes, is the beginning of; raises :class:`UnableToRead` for others."""
    for magic, code, found in _REFUSED:
        if head.startswith(magic):
            raise UnableToRead(code, **({"found": found} if found else {}))
    return "zip" if head.startswith(b"PK\x03\x04") else "text"
