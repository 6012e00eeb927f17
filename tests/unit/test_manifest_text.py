"""CSV and JSON Lines manifests as rows."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.packages.manifest import BadRow, Row, UnableToRead
from portal.packages.manifest.reading import MAX_FIELD, MAX_LINE, RAW, Wish
from tests.manifests import read, reading_of


def codes(rows: list[Row | BadRow]) -> dict[int, str]:
    return {row.number: row.code if isinstance(row, BadRow) else "ok" for row in rows}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_any_usual_csv_is_read(delimiter: str, encoding: str, end: str) -> None:
    text = end.join([f"编号{delimiter}内容", f'1{delimiter}"潮{delimiter}""水""{end}二"', f"2{delimiter}岸", ""])
    rows = read(text.encode(encoding))
    assert rows == [
        Row(1, {"编号": "1", "内容": f'潮{delimiter}"水"{end}二'}),
        Row(2, {"编号": "2", "内容": "岸"}),
    ]


fields = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=12)


@given(st.lists(st.tuples(fields, fields, fields), min_size=1, max_size=8))
def test_what_the_csv_module_writes_is_read_back(lines: list[tuple[str, str, str]]) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, quoting=csv.QUOTE_ALL)
    heading = ("id", "text", "note")  # names that no value is taken for, however often it comes
    writer.writerows([heading, *lines])
    rows = read(out.getvalue().encode())
    assert [row.number for row in rows] == list(range(1, len(lines) + 1))
    for row, line in zip(rows, lines, strict=True):
        if any(field.strip() for field in line):
            assert row == Row(row.number, dict(zip(heading, line, strict=True)))
        else:
            assert isinstance(row, BadRow)
            assert row.code == "empty_row"


def test_ragged_rows_are_set_aside_and_keep_what_they_have() -> None:
    rows = read(b"id,text\n1,a\n2\n3,b,c,d\n4,e\n")
    assert codes(rows) == {1: "ok", 2: "ragged_row", 3: "ragged_row", 4: "ok"}
    assert rows[1] == BadRow(2, "ragged_row", {"fields": 1, "expected": 2, "line": 3}, {"id": "2"})
    assert rows[2].values == {"id": "3", "text": "b", RAW: "c,d"}


def test_a_row_with_broken_quotes_is_set_aside_and_the_next_is_read() -> None:
    rows = read(b'id,text\n1,"a" b\n2,c\n')
    assert codes(rows) == {1: "malformed_row", 2: "ok"}
    assert rows[0].values == {RAW: '1,"a" b'}


@pytest.mark.parametrize("rows_after", [3, MAX_FIELD // 4 + 3])
def test_a_quote_that_is_never_closed_costs_its_own_row_alone(rows_after: int) -> None:
    first, bad, *others = read(b'id,text\n1,a\n2,"b\n' + b"3,c\n" * rows_after)
    assert first == Row(1, {"id": "1", "text": "a"})
    assert bad == BadRow(2, "malformed_row", {"line": 3, "problem": "stray_quote"}, {RAW: '2,"b'})
    assert others == [Row(number, {"id": "3", "text": "c"}) for number in range(3, rows_after + 3)]


@pytest.mark.parametrize(
    ("closing", "between"),
    [
        *((closing, between) for closing in ['90,"row" 90', '90",x', '"90","row"'] for between in (5, 500, 90_000)),
        ('90"', 500),
        ('90"', 90_000),
    ],
)
def test_no_row_is_swallowed_by_a_stray_quotation_mark(closing: str, between: int) -> None:
    swallowed = [f"{number},row {number}" for number in range(3, between + 3)]
    first, stray, *others = read("\n".join(["id,text", "1,a", '2,"row 2', *swallowed, closing, "91,z", ""]).encode())
    assert first.values["id"] == "1"
    assert stray == BadRow(2, "malformed_row", {"line": 3, "problem": "stray_quote"}, {RAW: '2,"row 2'})
    assert [f"{row.values['id']},{row.values['text']}" for row in others[:between]] == swallowed
    assert [row.number for row in others] == list(range(3, between + 5))
    assert others[-1] == Row(between + 4, {"id": "91", "text": "z"})


@pytest.mark.parametrize(
    ("heading", "rows"),
    [
        ("id,text", [f"{number},row" for number in range(11, 101)]),
        ("id,text", [f"{number},row" for number in range(11, 16)]),
        ("id,text", [f"no-{number},row" for number in range(60, 11, -1)]),
        ("id,text", [f"{number * 7919 % 100_000:05},row" for number in range(1, 30)]),
        ("id,text", [f"3f-{number * 7919 % 65_536:04x}-0,row" for number in range(1, 30)]),
        ("label,text", [f"{label},row" for label in ("good", "bad", "fair") * 6]),
        ("text,label", [f"row,{label}" for label in ("good", "bad", "fair") * 6]),
        ("id,text,note", [f"{number},row,x" for number in range(11, 31)]),
    ],
)
def test_a_stray_pair_of_quotation_marks_swallows_no_row(heading: str, rows: list[str]) -> None:
    first, *between, last = rows
    at = heading.split(",").index("text")
    opening, closing = first.split(","), last.split(",")
    opening[at], closing[at] = '"row', 'row"'
    others = [",".join(line.split(",")[: len(opening)]) for line in ("1,a,b", "2,c,d", "zz,end,z")]
    lines = [heading, *others[:2], ",".join(opening), *between, ",".join(closing), others[2]]
    data = "\n".join([*lines, ""]).encode()
    found = read(data)
    assert len(found) == len(rows) + 3
    assert [row.number for row in found if isinstance(row, BadRow)] == [3]
    assert found[2] == BadRow(3, "malformed_row", {"line": 4, "problem": "stray_quote"}, {RAW: lines[3]})
    assert [",".join(row.values.values()) for row in found[3:-2]] == between
    certainties = reading_of(data).certainties
    assert "proven" not in {certainties["delimiter"], certainties["quote"]}


_POEM = "\n".join(["床前明月光,疑是地上霜", "举头望明月,低头思故乡"] * 5)
_TEXTS_OF_LINES = {
    "verses with a comma each": _POEM,
    "a table within": "a,b\n1,2\n3,4\n5,6\n7,8\n9,10",
    "a table with few words": "name,mark\n" + "x,good\n" * 12 + "y,good",
    "a list": "To do\n1,eggs\n2,milk\n3,bread\n4,salt\n5,tea",
    "years": "2018,a\n2019,b\n2020,c\n2021,d\n2022,e\n2023,f",
    "a letter": "Dear Sir,\nthank you for the parcel, it came today.\n\nYours,\nA\n",
    "quoted speech": '""Yes,"" she said.\n""No,"" he said.\n' * 5,
}


@pytest.mark.parametrize("text", _TEXTS_OF_LINES.values(), ids=_TEXTS_OF_LINES)
@pytest.mark.parametrize("id_", ["7", "1234", "n3", "张三"])
def test_texts_of_many_lines_are_one_field_each(text: str, id_: str) -> None:
    data = f'id,text\n{id_},"{text}"\nz,"{text}"\n'.encode()
    said = text.replace('""', '"')
    assert read(data) == [Row(1, {"id": id_, "text": said}), Row(2, {"id": "z", "text": said})]
    assert reading_of(data).certainties["quote"] == "proven"


def test_a_long_text_in_quotes_is_one_field() -> None:
    text = "\n".join(f"Paragraph {number} of a long text, with a comma, and another." for number in range(400))
    assert read(f'id,text\n1,"{text}"\n2,b\n'.encode()) == [
        Row(1, {"id": "1", "text": text}),
        Row(2, {"id": "2", "text": "b"}),
    ]


def test_a_closed_field_that_is_too_long_is_set_aside_whole() -> None:
    text = ("Paragraph of a long text without any separator.\n" * 80).strip()
    rows = read(f'id,text\n1,"{text * 400}"\n2,b\n'.encode())
    assert codes(rows) == {1: "malformed_row", 2: "ok"}
    assert isinstance(rows[0], BadRow)
    assert rows[0].detail == {"problem": "field_too_long", "line": 2, "limit": MAX_FIELD}


def test_a_field_too_long_and_never_closed_names_its_line() -> None:
    with pytest.raises(UnableToRead) as error:
        read(b'id,text\n1,a\n2,"b\n' + b"no separator here\n" * (MAX_FIELD // 8))
    assert (error.value.code, error.value.details) == ("unclosed_quote", {"line": 3})


@pytest.mark.parametrize("depth", [101, 400, 100_000])
def test_values_within_values_without_end_set_their_row_aside(depth: int) -> None:
    deep = '{"id":"2","text":' + '{"a":' * (depth - 1) + "1" + "}" * depth
    first, bad, last = read(f'{{"id":"1"}}\n{deep}\n{{"id":"3"}}\n'.encode(), "a.jsonl")
    assert isinstance(bad, BadRow)
    assert (bad.number, bad.code, bad.detail) == (2, "malformed_row", {"line": 2, "problem": "nested_too_deep"})
    assert (first.values["id"], last.values["id"]) == ("1", "3")
    assert reading_of(f'{deep}\n{{"id":"3"}}\n'.encode(), "a.txt").format == "jsonl"


def test_values_within_values_are_read_as_deep_as_anybody_writes() -> None:
    value = "[" * 99 + "]" * 99
    assert read(f'{{"id":{value}}}\n'.encode(), "a.jsonl") == [Row(1, {"id": value})]


@pytest.mark.parametrize("heading", ["id,text", '"id","text"'])
def test_a_csv_file_that_is_called_jsonl_is_read_as_csv(heading: str) -> None:
    assert read(f"{heading}\n1,a\n".encode(), "a.jsonl") == [Row(1, {"id": "1", "text": "a"})]


@pytest.mark.parametrize("filename", ["a.csv", "a.jsonl"])
def test_a_line_too_long_is_set_aside_alone(filename: str) -> None:
    good = '{"id":1,"text":"x"}' if filename == "a.jsonl" else "1,x"
    heading = "" if filename == "a.jsonl" else "id,text\n"
    rows = read(f"{heading}{good}\n{'y' * (MAX_LINE + 10)}\n{good}\n".encode(), filename)
    assert codes(rows) == {1: "ok", 2: "malformed_row", 3: "ok"}
    assert isinstance(rows[1], BadRow)
    assert (rows[1].detail["problem"], rows[1].detail["limit"]) == ("line_too_long", MAX_LINE)


def test_lines_that_end_in_two_returns_have_no_empty_rows_between_them() -> None:
    assert codes(read(b"id,text\r\r\n1,a\r\r\n2,b\r\r\n")) == {1: "ok", 2: "ok"}
    assert codes(read(b'{"id":1}\r\r\n{"id":2}\r\r\n', "a.jsonl")) == {1: "ok", 2: "ok"}


@pytest.mark.parametrize("delimiter", ["^", "~", " ", "，", "_"])
def test_a_note_for_excel_names_any_delimiter(delimiter: str) -> None:
    data = f"sep={delimiter}\nid{delimiter}text\n1{delimiter}a;b\n".encode()
    assert read(data) == [Row(1, {"id": "1", "text": "a;b"})]
    reading = reading_of(data, wish=Wish(delimiter=","))  # a note stays one, whatever a person says
    assert reading.columns == (f"id{delimiter}text".strip(),)


@pytest.mark.parametrize("note", ["sep=;", "SEP=;", '"sep=;"'])
def test_the_delimiter_that_a_file_notes_for_excel_is_no_heading(note: str) -> None:
    assert read(f"{note}\r\nid;text\r\n1;a,b\r\n".encode()) == [Row(1, {"id": "1", "text": "a,b"})]


def test_breaks_of_lines_in_a_heading_become_spaces() -> None:
    assert read(b'id,"text\n(short)"\n1,a\n') == [Row(1, {"id": "1", "text (short)": "a"})]
    with pytest.raises(UnableToRead, match="unusable_column"):
        read(b'{"text\\nshort": 1}\n', "a.jsonl")


def test_a_column_may_have_the_name_under_which_we_keep_what_fits_no_column() -> None:
    (row,) = read(b"id,slackwater_raw\n1,mine,more,still\n")
    assert row.values == {"id": "1", "slackwater_raw": "mine", RAW: "more,still"}


def test_a_giant_field_is_set_aside() -> None:
    rows = read(b"id,text\n1," + b"x" * (MAX_FIELD + 1) + b"\n2,b\n")
    assert codes(rows) == {1: "malformed_row", 2: "ok"}
    assert isinstance(rows[0], BadRow)
    assert rows[0].detail["problem"] == "field_too_long"


def test_blank_lines_count_between_rows_and_not_at_the_end() -> None:
    assert codes(read(b"\nid,text\n\n1,a\n\n\n2,b\n,\n\n\n")) == {
        1: "empty_row", 2: "ok", 3: "empty_row", 4: "empty_row", 5: "ok", 6: "empty_row",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "code", "details"),
    [
        (b"id,text\n", "no_rows", {}),
        (b"\n\n  \n", "empty_file", {}),
        (b"\xef\xbb\xbf", "empty_file", {}),
        (b'[{"id": 1}]', "json_array", {}),
        (b",,\n1,2,3\n", "no_heading", {}),
        (b"id,te{x}t\n1,2\n", "unusable_column", {"column": "te{x}t"}),
        (b"id," + b"x" * (MAX_LINE + 1) + b"\n1,2\n", "line_too_long", {"line": 1, "limit": MAX_LINE}),
    ],
)
def test_a_csv_that_cannot_be_used_says_why(data: bytes, code: str, details: dict[str, Any]) -> None:
    with pytest.raises(UnableToRead) as error:
        read(data)
    assert (error.value.code, error.value.details) == (code, details)


def test_a_text_is_read_whatever_its_name_ends_in() -> None:
    assert read(b"id,text\n1,a\n", "a.xlsx") == read(b"id,text\n1,a\n", "a.dat") == [Row(1, {"id": "1", "text": "a"})]


def test_a_page_is_no_manifest_whatever_its_name_ends_in() -> None:
    with pytest.raises(UnableToRead) as error:
        reading_of(b"\xef\xbb\xbf\r\n<HTML><table></table></html>", "report.xls")
    assert (error.value.code, error.value.details) == ("wrong_format", {"found": "HTML"})


def test_one_column_needs_no_delimiter() -> None:
    assert read("内容\n好, 很好\n".encode(), "a.txt")[0].code == "ragged_row"  # type: ignore[union-attr]
    assert read("内容\n很好\n".encode(), "a.txt") == [Row(1, {"内容": "很好"})]


def test_json_lines_keep_numbers_as_written() -> None:
    rows = read(b'{"id": 1.50, "big": 12345678901234567890123, "t": true, "n": null, "text": "a"}\n', "a.jsonl")
    assert rows == [Row(1, {"id": "1.50", "big": "12345678901234567890123", "t": "true", "n": "", "text": "a"})]


def test_json_lines_are_recognised_by_content_and_columns_are_a_union() -> None:
    data = b'{"id": 1, "a": "x"}\n\n{"id": 2, "b": "y"}\n'
    assert reading_of(data, "a.txt").columns == ("id", "a", "b")
    assert read(data, "a.txt") == [
        Row(1, {"id": "1", "a": "x", "b": ""}),
        BadRow(2, "empty_row", {"line": 2}, {}),
        Row(3, {"id": "2", "a": "", "b": "y"}),
    ]


@pytest.mark.parametrize(
    "line",
    [
        '{"id": 1',
        "[1]",
        '"x"',
        "1",
        '{"a": NaN}',
        '{"a": 1, "a": 2}',
        '{"a": "\\ud800"}',
        "{}x",
        "[" * 100_000,
        '{"a": {"b": "\\ud800"}}',
        '{"a": [{"b": 1, "b": 2}]}',
        '{"a": [NaN]}',
    ],
)
def test_a_line_that_is_no_object_is_set_aside_alone(line: str) -> None:
    rows = read(f'{{"a": "x"}}\n{line}\n{{"a": "y"}}\n'.encode(), "a.jsonl")
    assert codes(rows) == {1: "ok", 2: "malformed_row", 3: "ok"}
    assert rows[1].values[RAW].startswith(line[:100])


def test_nested_values_are_columns_whose_text_is_their_json() -> None:
    data = '{"id": 1, "tags": ["潮", 2.50, null], "more": {"a": {"b": true}}}\n{"id": 2}\n'.encode()
    assert reading_of(data, "a.jsonl").columns == ("id", "tags", "more")
    assert read(data, "a.jsonl") == [
        Row(1, {"id": "1", "tags": '["潮",2.50,null]', "more": '{"a":{"b":true}}'}),
        Row(2, {"id": "2", "tags": "", "more": ""}),
    ]


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b"]), fields), min_size=1, max_size=6))
def test_what_json_writes_is_read_back(lines: list[dict[str, str]]) -> None:
    data = "".join(json.dumps({"id": "x", **line}) + "\n" for line in lines).encode()
    for row, line in zip(read(data, "a.jsonl"), lines, strict=True):
        assert {name: value for name, value in row.values.items() if value} == {
            name: value for name, value in {"id": "x", **line}.items() if value
        }
