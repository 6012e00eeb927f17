"""The parts of an .xlsx file: its sheets, number formats and table of texts, within limits. Pure.

Nothing is believed of a file that its author could have written wrong: every part is bounded before it is read.
"""

import posixpath
import zipfile
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from openpyxl.styles.numbers import BUILTIN_FORMATS

from portal.packages.manifest.archives import MOST_PART_BYTES, part_of
from portal.packages.manifest.reading import UnableToRead
from portal.packages.manifest.shared_texts import SharedTexts
from portal.packages.manifest.xml_stream import Attributes, elements

MOST_TEXTS_BYTES = 256 * 1024**2
MOST_SHEET_BYTES = 4 * 1024**3
MOST_SHEETS = 1_000
MOST_NAME = 255
"""Characters of a sheet's name; Excel takes 31."""
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


class _Listed(NamedTuple):
    """A sheet as the workbook lists it."""

    name: str
    id: str
    state: str


class Book:
    """An opened workbook: where its parts lie, and what all cells have in common."""

    def __init__(self, archive: zipfile.ZipFile, texts: SharedTexts) -> None:
        self._archive = archive
        self._listed: list[_Listed] = []
        self.counts_from_1904 = False
        path = self._related("", "officeDocument").get("", "xl/workbook.xml")
        elements(self._part(path), self._told)
        self._paths = self._sheets(self._related(path, "worksheet"))
        self.formats, self.texts = Formats(), texts
        if styles := self._related(path, "styles").get(""):
            elements(self._part(styles), self.formats.add)
        if table := self._related(path, "sharedStrings").get(""):
            part = self._part(table, MOST_TEXTS_BYTES)
            texts.read(part, archive.getinfo(table).compress_size)

    def _sheets(self, paths: dict[str, str]) -> dict[str, str]:
        """Where the sheets of cells lie, by name, hidden ones last; those that only programs can show are left out."""
        ordered = sorted(self._listed, key=lambda sheet: sheet.state == "hidden")
        ordered = [sheet for sheet in ordered if sheet.state != "veryHidden" and paths.get(sheet.id)]
        return {sheet.name: paths[sheet.id] for sheet in ordered}

    @property
    def sheets(self) -> tuple[str, ...]:
        """The names of the sheets that can be read, in their order; hidden ones come last."""
        return tuple(self._paths)

    @property
    def distinct(self) -> tuple[str, ...]:
        """As :attr:`sheets`, without those that show the same part as one before."""
        first: dict[str, str] = {}
        for name, path in self._paths.items():
            first.setdefault(path, name)
        return tuple(first.values())

    def sheet(self, name: str) -> IO[bytes]:
        """The XML of the sheet called ``name``, or of the first one; raises :class:`UnableToRead` without such."""
        if not self._paths:
            raise UnableToRead("no_sheet")
        path = self._paths.get(name) if name else next(iter(self._paths.values()))
        if path is None:
            raise UnableToRead("unknown_sheet", sheet=name[:MOST_NAME])
        return self._part(path, MOST_SHEET_BYTES)

    def _told(self, name: str, attributes: Attributes, around: tuple[str, ...]) -> None:
        if name == "sheet" and around[-1:] == ("sheets",):
            if len(self._listed) >= MOST_SHEETS:
                raise UnableToRead("workbook_too_large")
            id_ = next((value for key, value in attributes.items() if key.endswith(":id")), "")
            self._listed.append(_Listed(attributes.get("name", "")[:MOST_NAME], id_, attributes.get("state", "")))
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
        return part_of(self._archive, path, limit)
