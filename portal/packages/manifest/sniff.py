"""How a stored upload is read: what it is, and then what its kind needs to be told. Pure."""

from pathlib import PurePath
from typing import BinaryIO

from portal.packages.manifest import text, xlsx_rows
from portal.packages.manifest.probe import Probed
from portal.packages.manifest.reading import AS_FOUND, Reading, UnableToRead, Wish
from portal.packages.manifest.workbook import damage_told, opened

TEXT_SUFFIXES = frozenset({"", ".csv", ".tsv", ".tab", ".txt", ".jsonl", ".ndjson", ".json"})
JSON_SUFFIXES = frozenset({".jsonl", ".ndjson", ".json"})
_ZIPPED = {
    "word/document.xml": "Word",
    "ppt/presentation.xml": "PowerPoint",
    "content.xml": "OpenDocument",
    "xl/workbook.bin": "Excel (.xlsb)",
}


def suffix_of(filename: str) -> str:
    """The ending of ``filename`` in lower case with its dot, or ``""``; short and plain enough for a key."""
    suffix = PurePath(filename).suffix.lower()
    return suffix if suffix[1:].isalnum() and suffix.isascii() and len(suffix) <= 10 else ""


def sniff(stream: BinaryIO, found: Probed, filename: str, wish: Wish = AS_FOUND) -> Reading:
    """How the file is read, as far as ``wish`` leaves that open.

    Raises :class:`UnableToRead` when it cannot be, or has no row.
    """
    suffix = suffix_of(filename)
    if found.content == "zip":
        _refuse_other_zip(stream)
        reading = xlsx_rows.describe(stream)
    elif suffix not in TEXT_SUFFIXES:
        raise UnableToRead("unknown_format", suffix=suffix)
    else:
        reading = text.describe(stream, found, is_json=suffix in JSON_SUFFIXES, wish=wish)
    return reading


def _refuse_other_zip(stream: BinaryIO) -> None:
    with damage_told(), opened(stream) as archive:
        names = set(archive.namelist())
    if "xl/workbook.xml" in names:
        return
    known = next((kind for name, kind in _ZIPPED.items() if name in names), None)
    if known is None and "[Content_Types].xml" in names:  # a workbook may lie elsewhere, or be missing
        return
    raise UnableToRead("wrong_format", found=known or "ZIP")
