"""Zip archives: opened within limits, and what one is: a workbook, a document, or a file that lies packed in it. Pure.

Nothing is ever unpacked under the names that an archive holds; they are only shown, cleaned.
"""

import re
import zipfile
from typing import IO, BinaryIO, Literal, TypeAlias

from portal.packages.manifest.damage import damage_told
from portal.packages.manifest.reading import UnableToRead

MOST_DIRECTORY_BYTES = 4 * 1024**2
"""Of the archive's table of contents, which is held in memory."""
LOCKED = 0x1
"""The flag of a part that a password protects."""
PLAIN_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""How parts may be packed: others unpack without bounds."""
SHOWN_NAMES = 3
SHOWN_CHARACTERS = 100

MOST_PART_BYTES = 64 * 1024**2
MOST_RATIO = 200
"""Unpacked to packed, of a part larger than ``MOST_UNSUSPECTED_BYTES``: real sheets stay below 50."""
MOST_UNSUSPECTED_BYTES = 16 * 1024**2

Kind: TypeAlias = Literal["xlsx", "ods", "zip"]

_OTHERS = {
    "word/document.xml": "Word",
    "ppt/presentation.xml": "PowerPoint",
    "xl/workbook.bin": "Excel (.xlsb)",
    "Index/Document.iwa": "Numbers",
    "META-INF/MANIFEST.MF": "Java",
}
_ODS = "application/vnd.oasis.opendocument.spreadsheet"
_MOST_TYPE = 200
_UTF8_NAME = 0x800
_TAIL = 1 << 17
_ENDS = re.compile(rb"PK\x05\x06.{8}(?P<size>.{4}).{6}", re.DOTALL)
_SAID_ELSEWHERE = 0xFFFF_FFFF
_ENDS_64 = re.compile(rb"PK\x06\x06.{36}(?P<size>.{8})", re.DOTALL)
_LITTER = {".ds_store", "thumbs.db", "desktop.ini"}
"""What systems leave in an archive beside what people put there."""


def opened(stream: BinaryIO, too_large: str = "workbook_too_large") -> zipfile.ZipFile:
    """The archive in ``stream``; closing it leaves the stream open. Call it within ``damage_told``.

    Raises :class:`UnableToRead` with the code ``too_large`` for a table of contents beyond all bounds.
    """
    size = stream.seek(0, 2)
    stream.seek(max(0, size - _TAIL))
    tail = stream.read()
    sizes = [int.from_bytes(found["size"], "little") for ends in (_ENDS, _ENDS_64) for found in ends.finditer(tail)]
    if any(claimed > MOST_DIRECTORY_BYTES for claimed in sizes if claimed != _SAID_ELSEWHERE):
        raise UnableToRead(too_large)
    stream.seek(0)
    return zipfile.ZipFile(stream)


def kind_of(stream: BinaryIO) -> Kind:
    """What the archive in ``stream`` is, ``zip`` if nothing but an archive; raises for what nobody reads here."""
    with damage_told("broken_archive"), opened(stream, "archive_too_large") as archive:
        names = set(archive.namelist())
        if "xl/workbook.xml" in names:
            return "xlsx"
        for name, found in _OTHERS.items():
            if name in names:
                raise UnableToRead("wrong_format", found=found)
        if "[Content_Types].xml" in names:  # a workbook may lie elsewhere, or be missing
            return "xlsx"
        return _open_document(archive) if "content.xml" in names else "zip"


def _open_document(archive: zipfile.ZipFile) -> Kind:
    if "mimetype" not in archive.NameToInfo:
        return "zip"
    with archive.open("mimetype") as part:
        kind = part.read(_MOST_TYPE).decode("ascii", "replace").strip()
    if kind == _ODS:
        return "ods"
    raise UnableToRead("wrong_format", found="OpenDocument")


def part_of(archive: zipfile.ZipFile, path: str, limit: int = MOST_PART_BYTES) -> IO[bytes]:
    """A part of a workbook, opened; raises :class:`UnableToRead` if it is locked, or out of bounds."""
    info = archive.getinfo(path)
    if info.flag_bits & LOCKED:
        raise UnableToRead("locked_file")
    if info.compress_type not in PLAIN_METHODS:
        raise UnableToRead("broken_workbook")
    is_bomb = info.file_size > MOST_UNSUSPECTED_BYTES and info.file_size > MOST_RATIO * info.compress_size
    if is_bomb or info.file_size > limit:
        raise UnableToRead("workbook_too_large")
    return archive.open(info)


def only_file(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    """The one file that lies in ``archive``; raises :class:`UnableToRead` for none, several or a locked one."""
    files = [info for info in archive.infolist() if not _is_litter(info)]
    if not files:
        raise UnableToRead("empty_archive")
    if len(files) > 1:
        raise UnableToRead("several_files", count=len(files), names=_names(files))
    if files[0].flag_bits & LOCKED:
        raise UnableToRead("locked_file")
    if files[0].compress_type not in PLAIN_METHODS:
        raise UnableToRead("unusual_packing")
    return files[0]


def _is_litter(info: zipfile.ZipInfo) -> bool:
    parts = info.filename.replace("\\", "/").split("/")
    name = parts[-1].casefold()
    return info.is_dir() or not name or parts[0] == "__MACOSX" or name in _LITTER or name.startswith("._")


def _names(files: list[zipfile.ZipInfo]) -> str:
    names = ", ".join(f"“{shown_name(info)}”" for info in files[:SHOWN_NAMES])
    return f"{names} …" if len(files) > SHOWN_NAMES else names


def shown_name(info: zipfile.ZipInfo) -> str:
    """The name of a file as people see it: without folders, in the encoding of whoever packed it, printable."""
    name = info.filename
    if not info.flag_bits & _UTF8_NAME:
        name = _decoded(name)
    base = re.split(r"[/\\]", name)[-1]
    return "".join(character for character in base if character.isprintable())[:SHOWN_CHARACTERS]


def _decoded(name: str) -> str:
    """A name that its packer did not mark as UTF-8, which was taken for the code page of old PCs."""
    try:
        raw = name.encode("cp437")
    except UnicodeEncodeError:
        return name
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return name
