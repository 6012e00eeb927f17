"""What a file is by its first bytes."""

import pytest

from portal.packages.manifest import UnableToRead
from portal.packages.manifest.containers import container_of


@pytest.mark.parametrize(
    ("head", "container"),
    [
        (b"PK\x03\x04....", "zip"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (b"\x28\xb5\x2f\xfd\x04\x58", "zstd"),
        (b"\x52\x2a\x4d\x18\x00", "zstd"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1xx", "ole"),
        (b"PAR1\x15\x04\x15", "parquet"),
        (b"PAR1,PAR2\n1,2\n", "text"),
        (b"PARENT,CHILD\n1,2\n", "text"),
        (b"ORCID;name\n", "text"),
        (b"BZh;name\n", "text"),
        (b"<b>,text\n", "text"),
        (b"", "text"),
    ],
)
def test_a_file_is_known_by_its_first_bytes(head: bytes, container: str) -> None:
    assert container_of(head) == container


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b"%PDF-1.7", "PDF"),
        (b"Rar!\x1a\x07\x00", "RAR"),
        (b"\n <!DOCTYPE html>", "HTML"),
        (b'\xef\xbb\xbf<?xml version="1.0"?><Workbook>', "XML"),
        (b"a.csv" + bytes(252) + b"ustar\x0000", "TAR"),
    ],
)
def test_what_is_not_read_is_named(head: bytes, found: str) -> None:
    with pytest.raises(UnableToRead) as error:
        container_of(head)
    assert (error.value.code, error.value.details) == ("wrong_format", {"found": found})
