"""Workbooks that are damaged, or made to do harm."""

import random

from tests.corpus.case import Case
from tests.corpus.excel import sheets, text_row, worksheet, xlsx
from tests.corpus.excel97 import ole
from tests.corpus.workbooks import AB, HEAD, ROWS, TWO


def _hostile() -> list[Case]:
    bomb = (
        '<!DOCTYPE w [<!ENTITY a "'
        + "x" * 1000
        + '">'
        + "".join(f'<!ENTITY {chr(98 + n)} "{("&" + chr(97 + n) + ";") * 10}">' for n in range(8))
        + "]>"
    )
    outside = '<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    entity = '<row r="2"><c r="A2" t="inlineStr"><is><t>&x;</t></is></c></row>'
    claims = worksheet(ROWS, before='<dimension ref="A1:XFD1048576"/>')
    million = worksheet(
        ROWS + "".join(f'<row r="{n}" ht="15"/>' for n in range(4, 300_000)) + '<row r="1048576" ht="15"/>'
    )
    styled = (
        HEAD
        + text_row(2, *AB[0])
        + "".join(f'<row r="{n}"><c r="A{n}" s="0"/><c r="B{n}" s="0"/></row>' for n in range(3, 200_000))
    )
    plain = xlsx(ROWS)
    return [
        Case("xlsx/claims-all-of-excel.xlsx", sheets({"S": claims}), TWO, AB),
        Case("xlsx/a-million-empty-rows.xlsx", lambda: sheets({"S": million}), TWO, AB, is_large=True),
        Case("xlsx/styled-empty-rows.xlsx", lambda: xlsx(styled), TWO, AB[:1], is_large=True),
        Case(
            "xlsx/far-below.xlsx",
            xlsx(text_row(1, "id") + text_row(200_000, "1")),
            ("id",),
            (("1",),),
            dict.fromkeys(range(1, 199_999), "empty_row"),
            is_large=True,
        ),
        Case("xlsx/external-entity.xlsx", xlsx(HEAD + entity, head=outside), refusal="broken_workbook"),
        Case(
            "xlsx/billion-laughs.xlsx", xlsx(HEAD + entity.replace("&x;", "&i;"), head=bomb), refusal="broken_workbook"
        ),
        Case("xlsx/cut.xlsx", plain[: len(plain) // 2], refusal="broken_archive"),
        Case(
            "xlsx/50-mb-cell.xlsx",
            lambda: xlsx(
                text_row(1, "id", "text")
                + text_row(2, "1", "a")
                + text_row(3, "2", random.Random(1).randbytes(25_000_000).hex())
                + text_row(4, "3", "c")
            ),
            ("id", "text"),
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 3},
            is_large=True,
        ),
        Case(
            "xlsx/bomb.xlsx",
            lambda: xlsx(ROWS + f"<!--{' ' * 400_000_000}-->"),
            refusal="workbook_too_large",
            is_large=True,
        ),
        Case(
            "xlsx/rows-out-of-order.xlsx",
            xlsx(HEAD + text_row(3, "1", "a") + text_row(2, "2", "b")),
            refusal="unordered_sheet",
        ),
        Case("xlsx/beyond-excel.xlsx", xlsx(HEAD + text_row(1_048_577, "1", "a")), refusal="beyond_excel"),
        Case(
            "xlsx/locked.xlsx",
            ole({"EncryptionInfo": b"\4\0\4\0\x40\0\0\0", "EncryptedPackage": b"x" * 9000}),
            refusal="locked_file",
        ),
        Case("xlsx/nul-in-xml.xlsx", xlsx(HEAD + text_row(2, "1", "a\0b")), refusal="broken_workbook"),
    ]


CASES = [*_hostile()]
