"""The parts of an .xlsx file: its first sheet, number formats and table of texts, within limits. Pure.

Nothing is believed of a file that its author could have written wrong: every part is bounded before it is read.
"""

import posixpath
import zipfile
from dataclasses import dataclass, field
from typing import IO

from openpyxl.styles.numbers import BUILTIN_FORMATS

from portal.packages.manifest.archives import LOCKED, PLAIN_METHODS
from portal.packages.manifest.reading import UnableToRead
from portal.packages.manifest.shared_texts import SharedTexts
from portal.packages.manifest.xml_stream import Attributes, elements

MOST_PART_BYTES = 64 * 1024**2
MOST_TEXTS_BYTES = 256 * 1024**2
MOST_SHEET_BYTES = 4 * 1024**3
MOST_RATIO = 200
"""Unpacked to packed, of a part larger than ``MOST_UNSUSPECTED_BYTES``: real sheets stay below 50."""
MOST_UNSUSPECTED_BYTES = 16 * 1024**2
MOST_STYLES = 100_000
"""Excel takes 65,490."""


@dataclass
class Formats:
    """What the cells' styles say of numbers: the format code of each style, by its place."""

    own: dict[int, str] = field(default_factory=dict)
    styles: list[int] = field(default_factory=list)

    def add(self, name: str, attributes: Attributes, around: tuple[str, ...]) -> None:
        """An element of the styles part."""
        if name == "numFmt" and around[-1:] == ("numFmts",):
            self.own[int(attributes["numFmtId"])] = attributes.get("formatCode", "General")
        elif name == "xf" and around[-1:] == ("cellXfs",):
            self.styles.append(int(attributes.get("numFmtId", 0)))
        if len(self.own) > MOST_STYLES or len(self.styles) > MOST_STYLES:
            raise UnableToRead("workbook_too_large")

    def code(self, style: str) -> str:
        """The format code of the style that a cell names; ``General`` when there is none such."""
        place = int(style)
        if not 0 <= place < len(self.styles):
            return "General"
        number = self.styles[place]
        return self.own.get(number) or BUILTIN_FORMATS.get(number, "General")


class Book:
    """An opened workbook: where its parts lie, and what all cells have in common."""

    def __init__(self, archive: zipfile.ZipFile, texts: SharedTexts) -> None:
        self._archive = archive
        self._sheet_ids: list[str] = []
        self.counts_from_1904 = False
        path = self._related("", "officeDocument").get("", "xl/workbook.xml")
        elements(self._part(path), self._told)
        sheets = {id_: target for id_, target in self._related(path, "worksheet").items() if id_}
        self._sheet = next((sheets[id_] for id_ in self._sheet_ids if id_ in sheets), None)
        self.formats, self.texts = Formats(), texts
        if styles := self._related(path, "styles").get(""):
            elements(self._part(styles), self.formats.add)
        if table := self._related(path, "sharedStrings").get(""):
            texts.read(self._part(table, MOST_TEXTS_BYTES))

    def sheet(self) -> IO[bytes]:
        """The first sheet's XML; raises :class:`UnableToRead` when there is no sheet of cells."""
        if self._sheet is None:
            raise UnableToRead("no_sheet")
        return self._part(self._sheet, MOST_SHEET_BYTES)

    def _told(self, name: str, attributes: Attributes, around: tuple[str, ...]) -> None:
        if name == "sheet" and around[-1:] == ("sheets",):
            self._sheet_ids.append(next((value for key, value in attributes.items() if key.endswith(":id")), ""))
        elif name == "workbookPr":
            self.counts_from_1904 = attributes.get("date1904", "0") in {"1", "true", "on"}

    def _related(self, path: str, kind: str) -> dict[str, str]:
        """Paths of the parts of ``kind`` that the part ``path`` relates to, by id; the first also under ``""``."""
        folder, name = posixpath.split(path)
        relations = posixpath.join(folder, "_rels", f"{name}.rels")
        found: dict[str, str] = {}

        def relation(element: str, attributes: Attributes, _around: tuple[str, ...]) -> None:
            if element == "Relationship" and attributes.get("Type", "").endswith(f"/{kind}"):
                target = posixpath.normpath(posixpath.join("/", folder, attributes["Target"])).lstrip("/")
                found.setdefault("", target)
                found[attributes.get("Id", "")] = target

        if relations in self._archive.NameToInfo:
            elements(self._part(relations), relation)
        return found

    def _part(self, path: str, limit: int = MOST_PART_BYTES) -> IO[bytes]:
        info = self._archive.getinfo(path)
        if info.flag_bits & LOCKED:
            raise UnableToRead("locked_file")
        if info.compress_type not in PLAIN_METHODS:
            raise UnableToRead("broken_workbook")
        is_bomb = info.file_size > MOST_UNSUSPECTED_BYTES and info.file_size > MOST_RATIO * info.compress_size
        if is_bomb or info.file_size > limit:
            raise UnableToRead("workbook_too_large")
        return self._archive.open(info)
