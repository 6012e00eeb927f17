"""Excel workbooks: which sheet, how cells are laid out."""

import io
from collections.abc import Callable, Iterable
from typing import Any

import openpyxl
import python_calamine
import xlsxwriter

from portal.packages.manifest.reading import Wish
from tests.corpus.case import Case, Table
from tests.corpus.excel import sheets, text_row, worksheet, xlsx

TWO = ("编号", "文本")


AB = (("00123", "质量很好 𠮷😀"), ("12345678901234567890", "第一行\n第二行"))


HEAD = text_row(1, *TWO)


ROWS = HEAD + text_row(2, *AB[0]) + text_row(3, *AB[1])


def read_by_openpyxl(data: bytes) -> Table:
    """The first sheet's texts, as openpyxl sees them."""
    book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    return [
        ["" if value is None else str(value) for value in row] for row in book.worksheets[0].iter_rows(values_only=True)
    ]


def read_by_calamine(data: bytes) -> Table:
    """The first sheet's texts, as calamine sees them."""
    sheet = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0)
    return [[str(value) for value in row] for row in sheet.to_python(skip_empty_area=True)]


def by_openpyxl(lines: Iterable[Iterable[Any]], change: Callable[[Any], None] | None = None) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for line in lines:
        sheet.append(list(line))
    if change is not None:
        change(book)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def by_xlsxwriter(lines: Iterable[Iterable[Any]]) -> bytes:
    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_formulas": False}) as book:
        sheet = book.add_worksheet("数据")
        for at, line in enumerate(lines):
            for place, value in enumerate(line):
                sheet.write(at, place, value)
    return out.getvalue()


def _sheets() -> list[Case]:
    data, empty, other = (
        worksheet(ROWS),
        worksheet(""),
        worksheet(text_row(1, "id", "word") + text_row(2, "9", "other")),
    )
    two = {"说明": other, "数据": data}
    return [
        Case("xlsx/plain.xlsx", xlsx(ROWS), TWO, AB, found={"format": "xlsx"}, oracle=read_by_openpyxl),
        Case("xlsx/by-openpyxl.xlsx", by_openpyxl([TWO, *AB]), TWO, AB, oracle=read_by_calamine),
        Case("xlsx/by-xlsxwriter.xlsx", by_xlsxwriter([TWO, *AB]), TWO, AB, oracle=read_by_openpyxl),
        Case("xlsx/called-csv.csv", xlsx(ROWS), TWO, AB, found={"format": "xlsx"}),
        Case(
            "xlsx/first-of-two-sheets.xlsx",
            sheets(two),
            ("id", "word"),
            (("9", "other"),),
            found={"sheet": "说明", "sheets": ("说明", "数据")},
        ),
        Case("xlsx/second-sheet-chosen.xlsx", sheets(two), TWO, AB, wish=Wish(sheet="数据"), found={"sheet": "数据"}),
        Case("xlsx/hidden-sheet-first.xlsx", sheets(two, states={"说明": "hidden"}), TWO, AB, found={"sheet": "数据"}),
        Case("xlsx/empty-sheet-first.xlsx", sheets({"空": empty, "数据": data}), TWO, AB, found={"sheet": "数据"}),
        Case("xlsx/sheet-unheard-of.xlsx", sheets(two), refusal="unknown_sheet", wish=Wish(sheet="nowhere")),
        Case("xlsx/all-sheets-empty.xlsx", sheets({"a": empty, "b": empty}), refusal="no_sheet"),
        Case("xlsx/heading-alone.xlsx", xlsx(HEAD), refusal="no_rows"),
        Case(
            "xlsx/no-heading-chosen.xlsx",
            xlsx(ROWS),
            ("column_1", "column_2"),
            (TWO, *AB),
            wish=Wish(has_heading=False),
        ),
    ]


def _layouts() -> list[Case]:
    ab = ("id", "text")
    merged = worksheet(
        text_row(1, "group", "id", "text")
        + text_row(2, "fruit", "1", "apple")
        + text_row(3, "", "2", "pear")
        + text_row(4, "stone", "3", "flint"),
        '<mergeCells count="1"><mergeCell ref="A2:A3"/></mergeCells>',
    )
    wide = worksheet(
        text_row(1, "id", "text", "note") + text_row(2, "1", "a over both", "") + text_row(3, "2", "b", "c"),
        '<mergeCells count="1"><mergeCell ref="B2:C2"/></mergeCells>',
    )
    shared = (
        '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><si><t>id</t></si><si><t>text</t></si>'
        "<si><r><t>rich </t></r><r><rPr><b/></rPr><t>text</t></r></si>"
        '<si><t>東京</t><rPh sb="0" eb="2"><t>とうきょう</t></rPh></si><si><t>_x0041_x000D_</t></si></sst>'
    )
    by_number = "".join(
        f'<row r="{row}"><c r="A{row}" t="s"><v>{first}</v></c><c r="B{row}" t="s"><v>{second}</v></c></row>'
        for row, first, second in ((1, 0, 1), (2, 2, 3))
    )
    text = '<c t="inlineStr"><is><t>{}</t></is></c>'
    unnamed = f"<row>{text.format('id')}{text.format('text')}</row><row><c><v>1</v></c>{text.format('a')}</row>"
    return [
        Case(
            "xlsx/merged-down.xlsx",
            sheets({"S": merged}),
            ("group", "id", "text"),
            (("fruit", "1", "apple"), ("fruit", "2", "pear"), ("stone", "3", "flint")),
        ),
        Case(
            "xlsx/merged-across.xlsx",
            sheets({"S": wide}),
            ("id", "text", "note"),
            (("1", "a over both", ""), ("2", "b", "c")),
        ),
        Case("xlsx/rich-text-and-readings.xlsx", xlsx(by_number, shared=shared), ab, (("rich text", "東京"),)),
        Case("xlsx/cells-without-names.xlsx", xlsx(unnamed), ab, (("1", "a"),)),
        Case("xlsx/blank-rows-above.xlsx", xlsx(text_row(3, *ab) + text_row(4, "1", "a")), ab, (("1", "a"),)),
        Case(
            "xlsx/gaps.xlsx",
            xlsx(text_row(1, *ab) + text_row(2, "1", "a") + text_row(5, "2", "b")),
            ab,
            (("1", "a"), ("2", "b")),
            {2: "empty_row", 3: "empty_row"},
        ),
        Case(
            "xlsx/beyond-the-heading.xlsx",
            xlsx(text_row(1, *ab) + text_row(2, "1", "a", "x") + text_row(3, "2", "b")),
            ab,
            (("2", "b"),),
            {1: "ragged_row"},
            told={"line": 2},
        ),
        Case(
            "xlsx/names-twice-and-none.xlsx",
            xlsx(text_row(1, "id", "text", "text", "", "z") + text_row(2, "1", "a", "b", "c", "d")),
            ("id", "text", "text_2", "column_4", "z"),
            (("1", "a", "b", "c", "d"),),
        ),
        Case(
            "xlsx/starting-in-column-c.xlsx",
            xlsx(
                '<row r="1"><c r="C1" t="inlineStr"><is><t>id</t></is></c></row><row r="2"><c r="C2"><v>1</v></c></row>'
            ),
            ("column_1", "column_2", "id"),
            (("", "", "1"),),
        ),
        Case(
            "xlsx/10000-columns.xlsx",
            xlsx(text_row(1, *(f"c{n}" for n in range(10_000))) + text_row(2, "1")),
            refusal="too_many_columns",
        ),
        Case(
            "xlsx/apostrophe-and-formula-texts.xlsx",
            by_xlsxwriter([ab, ("1", "=1+1"), ("2", "-5"), ("3", "@a")]),
            ab,
            (("1", "=1+1"), ("2", "-5"), ("3", "@a")),
        ),
    ]


CASES = [*_sheets(), *_layouts()]
