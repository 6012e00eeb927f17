"""Downloads open in Excel as what they are, and never as formulas."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.billing.cells import guarded, unguarded
from portal.packages.delivering.results import Outcome
from portal.packages.delivering.sheets import Layout, csv_lines, json_lines
from portal.packages.models import Package


@pytest.mark.parametrize(
    "cell", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\tx", "\rx", "-", "+86 138", "\n=1", "＝1+1", "＠x"]
)
def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe(cell: str) -> None:
    assert guarded(cell) == f"'{cell}"


@pytest.mark.parametrize("cell", ["-5", "+3.25", "-1,234.50", "-1e9", "-12%", "", "a=b", "潮", -5, 2.5, None])
def test_numbers_and_other_text_are_left_alone(cell: Any) -> None:
    assert guarded(cell) == cell


ODD = st.text("'=+-@＝1.\t\n a潮")


@given(ODD)
def test_what_was_guarded_can_be_taken_back(text: str) -> None:
    assert unguarded(guarded(text)) == text


@given(ODD, ODD)
def test_no_two_texts_become_one_by_being_guarded(one: str, other: str) -> None:
    assert (guarded(one) == guarded(other)) == (one == other)


@given(st.text() | ODD)
def test_nothing_that_was_guarded_begins_a_formula(text: str) -> None:
    cell = guarded(text)
    assert not cell.startswith(("=", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    assert not cell.startswith(("+", "-")) or not set(cell[1:]) - set("0123456789.,eE+-%")


def test_a_csv_begins_with_a_byte_order_mark_and_ends_lines_as_rfc_4180_says() -> None:
    lines = csv_lines(["编号", "=a"])
    assert lines.start() == "\ufeff编号,'=a\r\n".encode()
    assert lines.line(["1", "a,\nb"]) == b'1,"a,\nb"\r\n'


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), min_size=2, max_size=4))
def test_cells_come_back_as_written(cells: list[str]) -> None:
    (read,) = csv.reader(io.StringIO(csv_lines([]).line(cells).decode(), newline=""))
    assert read == [guarded(cell) for cell in cells]


def _package(**fields: Any) -> Package:
    return Package(**{"reading": {"columns": ["id", "slackwater_status", "name"]}, "kind": "tagging", **fields})


def test_our_columns_give_way_to_the_manifests_own() -> None:
    layout = Layout.of(_package())
    heading = ["id", "slackwater_status", "name", "slackwater_status_2", "slackwater_output", "slackwater_code"]
    assert layout.results_heading() == heading
    values = {"id": "1", "slackwater_status": "old", "name": "n"}
    assert layout.cells(values, Outcome(1, "succeeded", "good")) == ["1", "old", "n", "succeeded", "good", ""]


def test_extraction_has_a_column_for_each_property() -> None:
    schema = {"type": "object", "properties": {"name": {}, "tags": {}, "n": {}}}
    layout = Layout.of(_package(kind="extraction", json_schema=schema))
    assert layout.results_heading()[3:] == [
        "slackwater_status_2", "slackwater_output", "name_2", "tags", "n", "slackwater_code",
    ]  # fmt: skip
    output = {"name": "潮", "tags": ["a"], "n": 2}
    assert layout.cells({}, Outcome(1, "succeeded", output))[4:] == [
        '{"name":"潮","tags":["a"],"n":2}', "潮", '["a"]', 2, "",
    ]  # fmt: skip


def test_a_package_with_repeats_says_whose_result_a_row_got() -> None:
    layout = Layout.of(_package(reading={"columns": ["slackwater_repeat_of"]}, rows_repeated=1))
    assert layout.results_heading()[-2:] == ["slackwater_code", "slackwater_repeat_of_2"]
    repeat, first = Outcome(3, "succeeded", "good", repeat_of=1), Outcome(1, "succeeded", "good")
    assert (layout.cells({}, repeat)[-1], layout.cells({}, first)[-1]) == (1, "")
    assert layout.result({}, repeat)["slackwater_repeat_of_2"] == 1
    assert layout.result({}, first)["slackwater_repeat_of_2"] is None


def test_a_key_that_one_row_alone_has_is_kept_beside_ours() -> None:
    layout = Layout.of(_package(reading={"columns": ["id"]}))
    line = layout.result({"id": "1", "slackwater_output": "mine"}, Outcome(1, "succeeded", "good"))
    assert (line["slackwater_output"], line["slackwater_output_2"]) == ("good", "mine")


def test_json_lines_hold_what_the_row_had_and_one_line_each() -> None:
    layout = Layout.of(_package(reading={"columns": ["id"]}))
    line = json_lines().line(
        layout.result({"id": "a\u2028b\x85c", "more": "x"}, Outcome(1, "quarantined", code="too_long"))
    )
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == {
        "id": "a\u2028b\x85c",
        "more": "x",
        "slackwater_status": "quarantined",
        "slackwater_output": None,
        "slackwater_code": "too_long",
    }
