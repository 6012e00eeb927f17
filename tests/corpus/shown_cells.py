"""Numbers, dates and formulas, as Excel shows them."""

from typing import Any

from tests.corpus.case import Case
from tests.corpus.excel import sheets, styles_of, text_row, worksheet, xlsx
from tests.corpus.workbooks import by_openpyxl

PLAIN = '<row r="{0}"><c r="A{0}" t="inlineStr"><is><t>{1}</t></is></c>{2}</row>'


def _cells(*cells: str, row: int = 2, style: int = 0) -> str:
    """Row ``row`` of an id and stored numbers, each with a style of its own from ``style`` on."""
    listed = "".join(
        f'<c r="{"BCDEFGHIJ"[at]}{row}" s="{at + style}"><v>{value}</v></c>' for at, value in enumerate(cells)
    )
    return PLAIN.format(row, "x", listed)


def _shown() -> list[Case]:
    """Numbers and dates, as Excel shows them."""
    three = text_row(1, "id", "a", "b", "c", "d")
    columns = ("id", "a", "b", "c", "d")

    def shown(name: str, codes: tuple[str, ...], stored: tuple[str, ...], texts: tuple[str, ...], **more: Any) -> Case:
        data = sheets({"S": worksheet(three + _cells(*stored, style=1))}, styles=styles_of(*codes), **more)
        return Case(f"xlsx/{name}.xlsx", data, columns, (("x", *texts),))

    mac = {"properties": '<workbookPr date1904="1"/>'}
    return [
        shown(
            "zeros-by-format",
            ("00000", "000", "0", "#,##0"),
            ("7", "12345", "2.5", "1234567"),
            ("00007", "12345", "3", "1,234,567"),
        ),
        shown(
            "decimals",
            ("0.00", "#,##0.00", "0%", "0.0%"),
            ("1.005", "1234.5", "0.5", "0.1234"),
            ("1.01", "1,234.50", "50%", "12.3%"),
        ),
        shown(
            "dates",
            ("yyyy-mm-dd", "yyyy/m/d h:mm", "m/d/yyyy", "[h]:mm"),
            ("46027", "46027.5", "46027.25", "1.5"),
            ("2026-01-05", "2026-01-05 12:00:00", "2026-01-05", "36:00"),
        ),
        shown(
            "dates-of-1904",
            ("yyyy-mm-dd", "yyyy-mm-dd", "yyyy-mm-dd", "yyyy-mm-dd"),
            ("44565", "44566", "44567", "44568"),
            ("2026-01-05", "2026-01-06", "2026-01-07", "2026-01-08"),
            **mac,
        ),
        shown(
            "general",
            ("General",) * 4,
            ("12345678901234567890", "0.1", "1E-7", "123456789012345"),
            ("12345678901234567890", "0.1", "0.0000001", "123456789012345"),
        ),
        Case(
            "xlsx/true-and-false.xlsx",
            by_openpyxl([["id", "text"], [1, True], [2, False]]),
            ("id", "text"),
            (("1", "TRUE"), ("2", "FALSE")),
        ),
        Case(
            "xlsx/formulas-with-values.xlsx",
            xlsx(
                text_row(1, "id", "sum")
                + '<row r="2"><c r="A2"><f>1+1</f><v>2</v></c><c r="B2" t="str"><f>"a"&amp;"b"</f><v>ab</v></c></row>'
            ),
            ("id", "sum"),
            (("2", "ab"),),
        ),
        Case(
            "xlsx/formula-without-value.xlsx",
            xlsx(text_row(1, "id", "sum") + '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><f>A2*2</f></c></row>'),
            ("id", "sum"),
            (("1", ""),),
        ),
        Case(
            "xlsx/formula-error.xlsx",
            xlsx(
                text_row(1, "id", "text")
                + text_row(2, "1", "a")
                + '<row r="3"><c r="A3"><v>2</v></c><c r="B3" t="e"><f>1/0</f><v>#DIV/0!</v></c></row>'
                + text_row(4, "3", "c")
            ),
            ("id", "text"),
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 3},
        ),
        Case(
            "xlsx/date-before-1900.xlsx",
            sheets(
                {"S": worksheet(text_row(1, "id", "a") + _cells("-5", style=1) + text_row(3, "y", "b"))},
                styles=styles_of("yyyy-mm-dd"),
            ),
            ("id", "a"),
            (("y", "b"),),
            {1: "malformed_row"},
            told={"line": 2},
        ),
    ]


CASES = [*_shown()]
