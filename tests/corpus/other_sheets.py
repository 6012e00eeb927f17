"""OpenDocument spreadsheets and Excel 97."""

from portal.packages.manifest.reading import Wish
from tests.corpus.case import Case
from tests.corpus.excel97 import biff, ole
from tests.corpus.opendocument import ods, ods_row
from tests.corpus.workbooks import AB, TWO, read_by_calamine


def _others() -> list[Case]:
    cell = '<table:table-cell office:value-type="{}" office:{}="{}"><text:p>{}</text:p></table:table-cell>'
    kinds = "".join(
        cell.format(*facts)
        for facts in (
            ("float", "value", "7", "7"),
            ("float", "value", "2.5", "2.5"),
            ("date", "date-value", "2026-01-05", "05.01.26"),
            ("boolean", "boolean-value", "true", "TRUE"),
            ("percentage", "value", "0.5", "50%"),
        )
    )
    names = ("a", "b", "c", "d", "e")
    nothing = '<table:table-cell table:number-columns-repeated="16384"/>'
    empty = f'<table:table-row table:number-rows-repeated="1048000">{nothing}</table:table-row>'
    locked = '<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>'
    old = ole({"Workbook": biff([list(TWO), ["00123", "质量很好"], [5, 2.5]])})
    return [
        Case(
            "ods/plain.ods",
            ods(("数据", ods_row(*TWO) + ods_row("00123", "质量很好 𠮷😀"))),
            TWO,
            AB[:1],
            found={"format": "ods"},
            oracle=read_by_calamine,
        ),
        Case(
            "ods/values.ods",
            ods(("S", ods_row(*names) + f"<table:table-row>{kinds}</table:table-row>")),
            names,
            (("7", "2.5", "2026-01-05", "TRUE", "50%"),),
        ),
        Case(
            "ods/a-million-empty-rows.ods",
            ods(("S", ods_row(*TWO) + ods_row("1", "a") + empty)),
            TWO,
            (("1", "a"),),
            is_large=True,
        ),
        Case(
            "ods/second-sheet-chosen.ods",
            ods(("a", ods_row("id") + ods_row("1")), ("数据", ods_row(*TWO) + ods_row("2", "b"))),
            TWO,
            (("2", "b"),),
            wish=Wish(sheet="数据"),
        ),
        Case(
            "ods/gap.ods",
            ods(
                (
                    "S",
                    ods_row(*TWO)
                    + ods_row("1", "a")
                    + "<table:table-row><table:table-cell/></table:table-row>"
                    + ods_row("2", "b"),
                )
            ),
            TWO,
            (("1", "a"), ("2", "b")),
            {2: "empty_row"},
        ),
        Case("ods/locked.ods", ods(("S", ods_row(*TWO)), manifest=locked), refusal="locked_file"),
        Case("ods/heading-alone.ods", ods(("S", ods_row(*TWO))), refusal="no_rows"),
        Case(
            "ods/called-xlsx.xlsx",
            ods(("S", ods_row(*TWO) + ods_row("1", "a"))),
            TWO,
            (("1", "a"),),
            found={"format": "ods"},
        ),
        Case("xls/plain.xls", old, TWO, (("00123", "质量很好"), ("5", "2.5")), found={"format": "xls"}),
        Case("xls/called-csv.csv", old, TWO, (("00123", "质量很好"), ("5", "2.5")), found={"format": "xls"}),
        Case("xls/locked.xls", ole({"Workbook": biff([list(TWO), ["1", "a"]], locked=True)}), refusal="locked_file"),
        Case("xls/cut.xls", old[:1500], refusal="broken_table"),
        Case("xls/a-word-document.doc", ole({"WordDocument": b"x" * 5000}), refusal="wrong_format"),
        Case("xls/html-called-xls.xls", b"<html><table><tr><td>id</td></tr></table></html>", refusal="wrong_format"),
    ]


CASES = [*_others()]
