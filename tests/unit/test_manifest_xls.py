"""Old Excel manifests (.xls), written by an independent library."""

import io
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

import pytest
import xlwt

from portal.packages.manifest import BadRow, Row, UnableToRead, rows
from portal.packages.manifest.reading import Wish
from portal.packages.manifest.sniff import sniff
from tests.manifests import probed, read, reading_of

XLS_NA, XLS_DIV0 = 42, 7


def _book(*fill: Callable[[Any], object], hidden: int = -1) -> bytes:
    book = xlwt.Workbook()
    for number, write in enumerate(fill):
        sheet = book.add_sheet(f"S{number}")
        write(sheet)
        sheet.visibility = int(number == hidden)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _cells(lines: list[list[Any]], formats: dict[tuple[int, int], str] | None = None) -> Callable[[Any], None]:
    def write(sheet: Any) -> None:
        for row, line in enumerate(lines):
            for column, value in enumerate(line):
                if value is None:
                    continue
                code = (formats or {}).get((row, column), "General")
                sheet.write(row, column, value, xlwt.easyxf(num_format_str=code))

    return write


def test_cells_become_the_text_that_excel_shows() -> None:
    lines: list[list[Any]] = [
        ["id", "price", "share", "on", "at", "clock", "ok", "text"],
        [7, 3.5, 0.125, date(2026, 3, 1), datetime(2026, 3, 1, 8, 30), time(8, 30), True, "很好 𠮷 😀"],
    ]
    formats = {(1, 0): "00000", (1, 1): "0.00", (1, 2): "0.0%", (1, 3): "yyyy-mm-dd", (1, 4): "yyyy-mm-dd hh:mm",
               (1, 5): "h:mm"}  # fmt: skip
    values = ["00007", "3.50", "12.5%", "2026-03-01", "2026-03-01 08:30:00", "08:30:00", "TRUE", "很好 𠮷 😀"]
    assert read(_book(_cells(lines, formats)), "a.xls") == [Row(1, dict(zip(lines[0], values, strict=True)))]


def test_whole_numbers_have_no_decimals_and_long_ids_no_exponent() -> None:
    found = read(_book(_cells([["id"], [3.0], [12345678901234567890.0]])), "a.xls")
    assert [row.values["id"] for row in found] == ["3", "12345678901234600000"]


def test_an_error_sets_its_row_aside_and_names_the_cell() -> None:
    def write(sheet: Any) -> None:
        _cells([["id", "text"], [1], [2, "b"]])(sheet)
        sheet.row(1).set_cell_error(1, XLS_NA)

    bad, good = read(_book(write), "a.xls")
    detail = {"problem": "formula_error", "line": 2, "position": 2, "cell": "B2", "shown": "#N/A"}
    assert bad == BadRow(1, "malformed_row", detail, {"id": "1", "text": ""})
    assert good == Row(2, {"id": "2", "text": "b"})


def test_merged_cells_titles_and_blank_rows_are_as_in_new_workbooks() -> None:
    def write(sheet: Any) -> None:
        sheet.write_merge(0, 0, 0, 1, "Reviews of 2026")
        _cells([[], ["category", "text"], [], [None, "a"], [None, "b"], [], ["B", "d"]])(sheet)
        sheet.write_merge(2, 5, 0, 0, "A")

    found = read(_book(write), "a.xls")
    assert [row.values for row in found] == [
        {"category": "A", "text": ""}, {"category": "A", "text": "a"}, {"category": "A", "text": "b"}, {},
        {"category": "B", "text": "d"},
    ]  # fmt: skip
    assert found[3].code == "empty_row"  # type: ignore[union-attr]


def test_a_sheet_can_be_chosen_and_hidden_ones_come_last() -> None:
    data = _book(_cells([]), _cells([["a"], ["x"]]), _cells([["b"], ["y"]]), hidden=1)
    reading = reading_of(data, "a.xls")
    assert (reading.sheet, reading.sheets, reading.columns) == ("S2", ("S0", "S2", "S1"), ("b",))
    chosen = sniff(io.BytesIO(data), probed(data), "a.xls", Wish(sheet="S1"))
    assert (chosen.sheet, chosen.certainties["sheet"]) == ("S1", "chosen")
    assert list(rows(io.BytesIO(data), chosen)) == [Row(1, {"a": "x"})]
    with pytest.raises(UnableToRead, match="unknown_sheet"):
        sniff(io.BytesIO(data), probed(data), "a.xls", Wish(sheet="S9"))


def test_a_cover_of_one_line_is_passed_by() -> None:
    cover, table = _cells([["说明"]]), _cells([["a"], ["x"]])

    def titled(sheet: Any) -> None:
        sheet.write_merge(0, 0, 0, 1, "Reviews of 2026")
        _cells([[], ["说明"]])(sheet)

    assert reading_of(_book(cover, table), "a.xls").sheet == "S1"
    assert reading_of(_book(titled, cover, table), "a.xls").sheet == "S2"
    with pytest.raises(UnableToRead, match="no_rows") as error:
        reading_of(_book(_cells([]), cover), "a.xls")
    assert error.value.details["sheet"] == "S1"


def test_a_nul_character_sets_its_row_aside() -> None:
    bad, good = read(_book(_cells([["id", "text"], ["a", "x\0y"], ["b", "z"]])), "a.xls")
    assert isinstance(bad, BadRow)
    assert (bad.detail["problem"], bad.detail["column"], good.number) == ("nul_character", "text", 2)


def _ole(stream: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + stream.encode("utf-16-le") + bytes(600)


_WRITTEN = _book(_cells([["id", "text"], [1, "a"]]))


@pytest.mark.parametrize(
    ("data", "code", "found"),
    [
        (_ole("EncryptedPackage"), "locked_file", None),
        (_WRITTEN.replace(b"\x42\x00\x02\x00\xb0\x04", b"\x2f\x00\x02\x00\xb0\x04"), "locked_file", None),
        (_ole("WordDocument"), "wrong_format", "Word (.doc)"),
        (_ole("nothing"), "broken_table", None),
        (_WRITTEN[:2_000], "broken_table", None),
        (_book(_cells([["id"]])), "no_rows", None),
        (_book(_cells([])), "no_sheet", None),
    ],
)
def test_a_file_that_cannot_be_read_says_why(data: bytes, code: str, found: str | None) -> None:
    with pytest.raises(UnableToRead) as error:
        read(data, "a.xls")
    assert (error.value.code, error.value.details.get("found")) == (code, found)


def _outcome(data: bytes) -> str:
    try:
        read(data, "a.xls")
    except UnableToRead as error:
        return error.code
    return "read"


def test_any_wrong_byte_ends_in_rows_or_a_refusal() -> None:
    outcomes = set()
    for place in range(512, len(_WRITTEN), 397):
        data = bytearray(_WRITTEN)
        data[place] ^= 0xFF
        outcomes.add(_outcome(bytes(data)))
    assert outcomes <= {"read", "broken_table", "table_too_large", "locked_file", "no_sheet", "no_rows", "no_heading"}
