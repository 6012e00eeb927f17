"""The parts of a workbook around its cells, as XML (ECMA-376, parts 1 and 2)."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import quoteattr

TEXT, BOLD = 1, 2
"""Styles of cells, by their place in the style sheet: text that stays text when somebody types over it."""
_DECLARATION = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument.spreadsheetml"

SHEET_START = (
    f'{_DECLARATION}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
    '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>'
    '<cols><col min="1" max="{columns}" width="20" customWidth="1"/></cols><sheetData>'
)
"""What stands before the rows of a sheet: its heading stays in sight."""
SHEET_END = "</sheetData></worksheet>"
_STYLES = (
    f'{_DECLARATION}<styleSheet xmlns="{_MAIN}">'
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill>'
    '<fill><patternFill patternType="gray125"/></fill></fills>'
    "<borders><border/></borders>"
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="3"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>'
    '<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


def letters(column: int) -> str:
    """The name of a column, counted from 0: ``A`` … ``Z``, ``AA`` …"""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def sheet_path(number: int) -> str:
    """Where the sheet of this number, from 1, lies within the archive."""
    return f"xl/worksheets/sheet{number}.xml"


def around(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(path, content) of every part but the sheets, whose ``names`` these are."""
    numbers = range(1, len(names) + 1)
    yield "xl/styles.xml", _STYLES
    yield "xl/workbook.xml", _workbook(names)
    yield (
        "xl/_rels/workbook.xml.rels",
        _relations(
            [
                *((f"rId{no}", "worksheet", f"worksheets/sheet{no}.xml") for no in numbers),
                ("rId0", "styles", "styles.xml"),
            ]
        ),
    )
    yield "_rels/.rels", _relations([("rId1", "officeDocument", "xl/workbook.xml")])
    yield "[Content_Types].xml", _content_types(numbers)


def _workbook(names: Sequence[str]) -> str:
    sheets = "".join(
        f'<sheet name={quoteattr(name)} sheetId="{no}" r:id="rId{no}"/>' for no, name in enumerate(names, start=1)
    )
    return f'{_DECLARATION}<workbook xmlns="{_MAIN}" xmlns:r="{_RELATED}"><sheets>{sheets}</sheets></workbook>'


def _relations(found: Sequence[tuple[str, str, str]]) -> str:
    lines = "".join(
        f'<Relationship Id="{name}" Type="{_RELATED}/{kind}" Target="{target}"/>' for name, kind, target in found
    )
    return f'{_DECLARATION}<Relationships xmlns="{_PACKAGE}/relationships">{lines}</Relationships>'


def _content_types(numbers: range) -> str:
    kinds = [
        ("xl/workbook.xml", "sheet.main"),
        ("xl/styles.xml", "styles"),
        *((sheet_path(number), "worksheet") for number in numbers),
    ]
    lines = "".join(f'<Override PartName="/{path}" ContentType="{_KIND}.{kind}+xml"/>' for path, kind in kinds)
    return (
        f'{_DECLARATION}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{lines}</Types>'
    )
