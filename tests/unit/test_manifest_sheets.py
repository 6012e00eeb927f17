"""Which sheet of a workbook is read, and what merged cells, errors and titles become."""

import io
from collections.abc import Sequence
from typing import Any

import openpyxl
import pytest

from portal.packages.manifest import BadRow, Reading, Row, UnableToRead, rows
from portal.packages.manifest.probe import Probe
from portal.packages.manifest.reading import Wish
from portal.packages.manifest.sniff import sniff
from portal.packages.reading_words import facts_of
from portal.packages.reasons import sentence

Lines = Sequence[Sequence[Any]]


def _book(sheets: dict[str, Lines], *, merged: Sequence[str] = (), states: dict[str, str] | None = None) -> bytes:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for name, lines in sheets.items():
        sheet = book.create_sheet(name)
        for line in lines:
            sheet.append(list(line))
        sheet.sheet_state = (states or {}).get(name, "visible")
    for cells in merged:
        book.worksheets[0].merge_cells(cells)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _described(data: bytes, **wish: Any) -> Reading:
    probe = Probe(limit=1 << 30)
    probe.feed(data)
    return sniff(io.BytesIO(data), probe.finish(), "a.xlsx", Wish(**wish))


def _read(data: bytes, **wish: Any) -> list[Row | BadRow]:
    return list(rows(io.BytesIO(data), _described(data, **wish)))


TWO: dict[str, Lines] = {"说明": [], "数据": [["id", "text"], [1, "a"]], "旧": [["id"], [9]], "Makros": [["x"], [1]]}


def test_the_first_visible_sheet_with_cells_is_read_and_all_that_can_be_shown_are_listed() -> None:
    data = _book(TWO, states={"旧": "hidden", "Makros": "veryHidden"})
    reading = _described(data)
    assert (reading.sheet, reading.sheets) == ("数据", ("说明", "数据", "旧"))
    hidden_first = _described(_book(TWO, states={"数据": "hidden", "旧": "hidden"}))
    assert (hidden_first.sheet, hidden_first.sheets) == ("Makros", ("说明", "Makros", "数据", "旧"))


@pytest.mark.parametrize("cover", ["说明", "2026", "本表格由市场部填写。" * 30])
def test_a_cover_of_one_line_is_passed_by(cover: str) -> None:
    table: Lines = [["id", "text"], [1, "a"]]
    assert _described(_book({"说明": [[cover]], "数据": table})).sheet == "数据"
    titled = _book({"说明": [[cover], ["2026年12月"]], "数据": table}, merged=["A1:B1"])
    assert _described(titled).sheet == "数据"


def test_where_no_sheet_has_a_table_the_refusal_names_the_first() -> None:
    with pytest.raises(UnableToRead) as error:
        _described(_book({"说明": [["notes"]], "数据": [["id", "text"]]}))
    assert (error.value.code, error.value.details["sheet"]) == ("no_rows", "说明")
    with pytest.raises(UnableToRead, match="no_rows") as error:
        _described(_book({"数据": [["id"], [1]], "说明": [["notes"]]}), sheet="说明")
    assert sentence(error.value.code, error.value.details).startswith("The sheet “说明” has a heading but no rows.")


def test_a_person_chooses_the_sheet() -> None:
    data = _book(TWO)
    reading = _described(data, sheet="旧")
    assert (reading.sheet, reading.certainties["sheet"], reading.columns) == ("旧", "chosen", ("id",))
    assert _read(data, sheet="旧") == [Row(1, {"id": "9"})]
    for sheet, code in [("数", "unknown_sheet"), ("说明", "no_sheet")]:
        with pytest.raises(UnableToRead, match=code):
            _described(data, sheet=sheet)


def test_a_sheet_without_a_heading_has_numbered_columns() -> None:
    data = _book({"S": [[1, "a"], [2, "b", "more"]]})
    reading = _described(data)
    assert (reading.has_heading, reading.columns) == (False, ("column_1", "column_2", "column_3"))
    assert _read(data)[0] == Row(1, {"column_1": "1", "column_2": "a", "column_3": ""})


def test_a_person_says_whether_there_is_a_heading() -> None:
    data = _book({"S": [["id", "text"], ["x", "y"]]})
    chosen = _described(data, has_heading=False)
    assert (chosen.has_heading, chosen.certainties["heading"]) == (False, "chosen")
    assert _read(data, has_heading=False) == [
        Row(1, {"column_1": "id", "column_2": "text"}), Row(2, {"column_1": "x", "column_2": "y"})
    ]  # fmt: skip
    assert _read(data, has_heading=True) == [Row(1, {"id": "x", "text": "y"})]


def test_cells_merged_over_rows_give_their_value_to_each_and_over_columns_to_the_first() -> None:
    lines: Lines = [
        ["category", "text", "note"],
        ["A", "a", "n"],
        [None, "b"],
        [None, None],
        [None, "d"],
        ["B", None, "x"],
    ]
    found = _read(_book({"S": lines}, merged=["A2:A5", "B6:C6"]))
    assert [row.values.get("category") for row in found] == ["A", "A", None, "A", "B"]
    assert found[2] == BadRow(3, "empty_row", {"line": 4}, {})
    assert found[4] == Row(5, {"category": "B", "text": "", "note": ""})


def test_an_error_in_merged_cells_is_an_error_in_each_of_their_rows() -> None:
    found = _read(_book({"S": [["id", "text"], ["#N/A", "a"], [None, "b"], ["c", "c"]]}, merged=["A2:A3"]))
    assert [type(row) for row in found] == [BadRow, BadRow, Row]


def test_a_title_above_the_heading_is_passed_by() -> None:
    lines: Lines = [["Reviews of 2026"], [None], ["id", "text"], [1, "a"]]
    data = _book({"S": lines}, merged=["A1:B1"])
    assert (_described(data).columns, _described(data).first_line) == (("id", "text"), 3)
    assert _read(data) == [Row(1, {"id": "1", "text": "a"})]


def test_it_is_said_that_something_stands_above_the_heading() -> None:
    data = _book({"S": [["Reviews of 2026"], ["id", "text"], [1, "a"]]}, merged=["A1:B1"])
    said = {fact.name: fact.value for fact in facts_of(_described(data))}
    assert said["has_heading"] == "row 2; what stands above is left out"
    bare = {fact.name: fact.value for fact in facts_of(_described(data, has_heading=False))}
    assert bare["has_heading"] == "none: data begins in row 2; what stands above is left out"
    plain = facts_of(_described(_book({"S": [["id", "text"], [1, "a"]]})))
    assert [fact.value for fact in plain if fact.name == "has_heading"] == ["first row"]


def test_the_heading_once_more_is_set_aside() -> None:
    found = _read(_book({"S": [["id", "text"], [1, "a"], ["id", "text"], [2, "b"]]}))
    assert found[1] == BadRow(2, "repeated_heading", {"line": 3}, {"id": "id", "text": "text"})


@pytest.mark.parametrize("error", ["#N/A", "#DIV/0!", "#REF!", "#VALUE!"])
def test_an_error_of_a_formula_sets_its_row_aside_and_names_the_cell(error: str) -> None:
    bad, good = _read(_book({"S": [["id", "text"], [1, error], [2, "b"]]}))
    detail = {"problem": "formula_error", "line": 2, "position": 2, "cell": "B2", "shown": error}
    assert bad == BadRow(1, "malformed_row", detail, {"id": "1", "text": ""})
    assert good == Row(2, {"id": "2", "text": "b"})


def test_columns_without_a_name_and_of_one_name_are_told_apart() -> None:
    assert _described(_book({"S": [["id", None, "id"], [1, 2, 3]]})).columns == ("id", "column_2", "id_2")
