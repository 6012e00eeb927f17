"""Excel manifests: cells as Excel shows them."""

import io
import zipfile
from datetime import date, datetime, time

import pytest

from portal.packages.manifest import BadRow, Row, UnableToRead
from portal.packages.manifest.xlsx_rows import BLANK_RUN, shown
from tests.manifests import read, workbook


def test_cells_become_the_text_that_excel_shows() -> None:
    data = workbook(
        [["id", "price", "share", "on", "at", "ok"], [7, 3.5, 0.125, date(2026, 3, 1), datetime(2026, 3, 1, 8), True]],
        {"A2": "00000", "B2": "#,##0.00", "C2": "0.0%", "D2": "yyyy-mm-dd"},
    )
    assert read(data, "a.xlsx") == [
        Row(
            1,
            {
                "id": "00007", "price": "3.50", "share": "12.5%", "on": "2026-03-01", "at": "2026-03-01 08:00:00",
                "ok": "TRUE",
            },
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (3, "General", "3"),
        (3.0, "General", "3"),
        (0.1 + 0.2, "General", "0.3"),
        (1e21, "General", "1000000000000000000000"),
        (-1.005, "0.00", "-1.01"),
        (2.5, "0", "3"),
        (0.5, "0%", "50%"),
        (12, '0.00" kg"', "12"),
        (time(8, 30), "h:mm", "08:30:00"),
        ("007", "@", "007"),
    ],
)
def test_number_formats(value: object, number_format: str, text: str) -> None:
    assert shown(value, number_format) == text


def test_blank_rows_count_between_rows_and_a_long_run_of_them_ends_the_sheet() -> None:
    lines = [["id", "text"], [1, "a"], [None, None], [2, "b"], *[[None]] * BLANK_RUN, [3, "c"]]
    assert read(workbook(lines), "a.xlsx") == [
        Row(1, {"id": "1", "text": "a"}),
        BadRow(2, "empty_row", {"line": 3}, {}),
        Row(3, {"id": "2", "text": "b"}),
    ]


def test_a_cell_beyond_the_heading_sets_its_row_aside_and_a_missing_one_is_empty() -> None:
    short, long = read(workbook([["id", "text"], [1], [2, "b", "c"]]), "a.xlsx")
    assert short == Row(1, {"id": "1", "text": ""})
    assert isinstance(long, BadRow)
    assert (long.code, long.detail) == ("ragged_row", {"fields": 3, "expected": 2, "line": 3})


@pytest.mark.parametrize(
    ("lines", "code"),
    [([["id", "id"], [1, 2]], "duplicate_column"), ([["id", "text"]], "no_rows"), ([], "no_sheet")],
)
def test_a_workbook_that_cannot_be_used_says_why(lines: list[list[object]], code: str) -> None:
    with pytest.raises(UnableToRead, match=code):
        read(workbook(lines), "a.xlsx")


def _zip(files: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return out.getvalue()


@pytest.mark.parametrize(
    ("files", "code", "found"),
    [
        ({"word/document.xml": ""}, "wrong_format", "Word"),
        ({"readme.txt": ""}, "wrong_format", "ZIP"),
        ({"xl/workbook.xml": "<nonsense"}, "broken_workbook", None),
    ],
)
def test_other_archives_are_named(files: dict[str, str], code: str, found: str | None) -> None:
    with pytest.raises(UnableToRead) as error:
        read(_zip(files), "a.xlsx")
    assert (error.value.code, error.value.details.get("found")) == (code, found)


def test_a_truncated_workbook_is_damaged() -> None:
    data = workbook([["id"], ["x"]])
    with pytest.raises(UnableToRead, match="broken_workbook"):
        read(data[: len(data) // 2], "a.xlsx")


def test_entities_in_a_workbook_are_never_expanded() -> None:
    source = zipfile.ZipFile(io.BytesIO(workbook([["id"], ["x"]])))
    files = {name: source.read(name).decode() for name in source.namelist()}
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]>'
    files["xl/worksheets/sheet1.xml"] = bomb + files["xl/worksheets/sheet1.xml"]
    with pytest.raises(UnableToRead, match="broken_workbook"):
        read(_zip(files), "a.xlsx")
