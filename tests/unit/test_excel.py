"""Workbooks hold what they were given, read by others: openpyxl, calamine, and our own reader."""

import io
from collections.abc import Iterable, Sequence
from typing import Any
from zipfile import ZipFile

import openpyxl
import pytest
import python_calamine
from hypothesis import example, given
from hypothesis import strategies as st

from portal.billing.cells import unguarded
from portal.packages.delivering import excel
from portal.packages.delivering.excel import MOST_IN_A_CELL, ExcelLines
from tests.manifests import read

CONTROLS = "".join(map(chr, range(32))).translate({9: None, 10: None, 13: None})
PLAIN = st.text(st.characters(codec="utf-8", exclude_characters=CONTROLS), min_size=1, max_size=30)


def workbook(heading: Sequence[str], lines: Iterable[Sequence[Any]]) -> bytes:
    file = ExcelLines(heading, title="Results")
    return b"".join([file.start(), *(file.line(line) for line in lines), file.end()])


def by_openpyxl(data: bytes, sheet: int = 0) -> list[tuple[Any, ...]]:
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    return [tuple(line) for line in book.worksheets[sheet].iter_rows(values_only=True)]


def by_calamine(data: bytes) -> list[list[Any]]:
    return python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(data)).get_sheet_by_index(0).to_python()


@pytest.mark.parametrize(
    "text",
    ["=1+1", "@SUM(A1)", "+1", "007", "12345678901234567890", "http://a.b", "1e5", "<r><t>x</t></r>", "<r>&</r>",
     "a\nb", " edge ", "𠮷😀", "שלום", "]]>", "&amp;", "TRUE", "#N/A", "2026-01-01"],
)  # fmt: skip
def test_texts_stay_texts(text: str) -> None:
    data = workbook(["a"], [[text]])
    assert by_openpyxl(data)[1:] == [(text,)]
    assert by_calamine(data)[1:] == [[text]]
    (cell,) = openpyxl.load_workbook(io.BytesIO(data)).worksheets[0]["A2":"A2"][0]
    assert (cell.data_type, cell.number_format) == ("s", "@")


@given(PLAIN, PLAIN)
@example("_x0041_x0042_", "\r\n\t\x7f\ufffe")
@example("_x005F_", "_x000d_")
@example(CONTROLS[1:], "_x0000_")
def test_any_text_comes_back_through_our_own_reader(one: str, other: str) -> None:
    (row,) = read(workbook(["a", "b"], [["x" + one, other + "x"]]), "results.xlsx")
    assert row.values == {"a": "x" + one, "b": other + "x"}


def test_a_control_character_is_written_as_excel_writes_it() -> None:
    data = workbook(["a"], [["x\0\x01y"]])
    assert by_calamine(data)[1:] == [["x\0\x01y"]]


def test_numbers_are_numbers_and_long_ones_keep_their_digits() -> None:
    data = workbook(["a", "b", "c", "d", "e"], [[1, -2.5, 1e300, 10**15, None]])
    assert by_openpyxl(data)[1] == (1, -2.5, 1e300, "1000000000000000")


def test_empty_cells_leave_their_places_empty() -> None:
    assert by_openpyxl(workbook(["a", "b", "c"], [["", "x", ""], ["", "", "y"]]))[1:] == [
        (None, "x"),
        (None, None, "y"),
    ]


def test_a_full_sheet_is_followed_by_another_with_the_heading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "ROWS_PER_SHEET", 3)
    data = workbook(["n"], [[str(n)] for n in range(7)])
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True)
    assert book.sheetnames == ["Results", "Results 2", "Results 3"]
    assert [by_openpyxl(data, sheet) for sheet in range(3)] == [
        [("n",), ("0",), ("1",), ("2",)],
        [("n",), ("3",), ("4",), ("5",)],
        [("n",), ("6",)],
    ]


def test_a_sheet_that_grows_too_large_for_its_archive_is_followed_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "BYTES_PER_SHEET", 100_000)
    data = workbook(["n"], [["x" * 20_000] for _row in range(10)])
    assert sum(len(by_openpyxl(data, sheet)) - 1 for sheet in range(2)) == 10


@pytest.mark.parametrize("sign", ["x", "😀"])  # one and two UTF-16 code units
def test_a_cell_that_excel_cannot_hold_is_cut_and_told(sign: str) -> None:
    units = len(sign.encode("utf-16-le")) // 2
    fits, long = sign * (MOST_IN_A_CELL // units), sign * 40_000
    data = workbook(["id", "text"], [["1", fits], ["2", long]])
    lines = by_openpyxl(data)
    assert lines[1] == ("1", fits)
    kept, _mark, missing = lines[2][1].partition("…[+")
    assert long.startswith(kept)
    assert int(missing.removesuffix("]")) == 40_000 - len(kept)
    assert MOST_IN_A_CELL - 2 <= len(lines[2][1].encode("utf-16-le")) // 2 <= MOST_IN_A_CELL
    told = by_openpyxl(data, 1)
    assert told[0] == ("Sheet", "Cell", "Column", "Characters")
    assert told[2:] == [("Results", "B3", "text", 40_000)]


def test_the_same_cells_give_the_same_bytes_and_no_member_is_more_than_it_must_be() -> None:
    lines = [["1", "a"], ["2", "b"]]
    data = workbook(["id", "text"], lines)
    assert data == workbook(["id", "text"], lines)
    assert sorted(ZipFile(io.BytesIO(data)).namelist()) == [
        "[Content_Types].xml", "_rels/.rels", "xl/_rels/workbook.xml.rels", "xl/styles.xml", "xl/workbook.xml",
        "xl/worksheets/sheet1.xml",
    ]  # fmt: skip


def test_half_a_surrogate_pair_breaks_nothing() -> None:
    assert by_openpyxl(workbook(["a"], [["x\ud800y"]]))[1] == ("x?y",)


@pytest.mark.parametrize(("column", "name"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")])
def test_columns_are_named_as_excel_names_them(column: int, name: str) -> None:
    heading = [f"c{n}" for n in range(column + 1)]
    book = openpyxl.load_workbook(io.BytesIO(workbook(heading, [])))
    assert book.worksheets[0][f"{name}1"].value == f"c{column}"


@given(st.text("'=+-@ a", max_size=6))
def test_guards_of_a_quarantine_can_be_taken_off(text: str) -> None:
    from portal.packages.delivering.sheets import guarded_lines

    file = guarded_lines(ExcelLines(["a", "b"], title="Quarantine"))
    data = b"".join([file.start(), file.line([text, "x"]), file.end()])
    cell = by_openpyxl(data)[1][0] or ""
    assert unguarded(cell) == text
