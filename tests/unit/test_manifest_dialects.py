"""How text files are written is told from their content, with a certainty; what a person says comes before it."""

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.packages.manifest import BadRow, Reading, Row, UnableToRead, rows
from portal.packages.manifest.probe import Probe
from portal.packages.manifest.reading import MAX_FIELD, MAX_LINE, RAW, Wish
from portal.packages.manifest.sniff import sniff
from tests.manifests import read, reading_of


class OneWay(io.RawIOBase):
    """A stream that gives a few bytes at a time and cannot be sought in, as unpacked ones are."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._data[: min(len(buffer), 1000)]
        self._data = self._data[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


def wished(data: bytes, filename: str = "file.csv", **wish: Any) -> Reading:
    probe = Probe(limit=1 << 30)
    probe.feed(data)
    return sniff(OneWay(data), probe.finish(), filename, Wish(**wish))  # type: ignore[arg-type]


def read_as(data: bytes, filename: str = "file.csv", **wish: Any) -> list[Row | BadRow]:
    return list(rows(OneWay(data), wished(data, filename, **wish)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "has_heading", "certainty"),
    [
        ("id,text\n1,a\n", True, "proven"),
        ("编号,内容\n1,好\n", True, "proven"),
        ("xa,xb\n1,2\n3,4\n", True, "likely"),
        ("1,a,4\n2,b,4\n3,c,5\n", False, "likely"),
        ("很好,正面\n差,负面\n不错,正面\n喜欢,正面\n", False, "likely"),
        ("2026-01-02,x\n2026-01-03,y\n", False, "likely"),
        ("region,2023,2024\nx,1,2\ny,3,4\n", True, "likely"),
        ("1,hello\n", False, "doubtful"),
        ("x\ny\nz\n", True, "doubtful"),
    ],
)
def test_a_heading_is_told_from_a_first_row(text: str, has_heading: bool, certainty: str) -> None:
    reading = reading_of(text.encode())
    assert (reading.has_heading, reading.certainties["heading"]) == (has_heading, certainty)


def test_columns_without_a_heading_are_numbered_and_no_row_is_lost() -> None:
    assert read(b"\n1,a\n2,b\n") == [
        Row(1, {"column_1": "1", "column_2": "a"}),
        Row(2, {"column_1": "2", "column_2": "b"}),
    ]
    assert read_as(b"id,text\n1,a\n", has_heading=False)[0] == Row(1, {"column_1": "id", "column_2": "text"})
    assert read_as(b"1,2\n3,4\n", has_heading=True) == [Row(1, {"1": "3", "2": "4"})]


def test_a_heading_that_comes_again_is_set_aside() -> None:
    assert read(b"id,text\n1,a\nid,text\n2,b\n")[1] == BadRow(
        2, "repeated_heading", {"line": 3}, {"id": "id", "text": "text"}
    )
    assert read(b"text\ntext\nb\n")[0] == Row(1, {"text": "text"})


@pytest.mark.parametrize(
    ("text", "delimiter", "certainty"),
    [
        ("id,text\n1,a\n2,b\n", ",", "proven"),
        ("id;price\n1;1,50\n2;2,50\n", ";", "proven"),
        ("sep=|\nid|text\n1|a\n", "|", "declared"),
        ("text\nall fine\n", ",", "likely"),
        ("id,text\n1,a,b\n2,c,d\n3\n", ",", "doubtful"),
        ("a,b;c\n1,2;3\n4,5;6\n", ",", "doubtful"),
    ],
)
def test_the_delimiter_is_told_with_its_certainty(text: str, delimiter: str, certainty: str) -> None:
    reading = reading_of(text.encode())
    assert (reading.delimiter, reading.certainties["delimiter"]) == (delimiter, certainty)


def test_apostrophes_around_texts_are_quotation_marks() -> None:
    data = b"'id','text'\n'1','a, b'\n'2','it''s'\n"
    assert reading_of(data).quote == "'"
    assert [row.values["text"] for row in read(data)] == ["a, b", "it's"]


def test_quotation_marks_that_are_text_are_told_by_rows_that_would_break() -> None:
    data = b'id\ttext\n1\t"Great" product\n2\t"Nice" one\n3\t"So" so\n4\t"open\n'
    reading = reading_of(data)
    assert (reading.quote, reading.certainties["quote"]) == ("", "likely")
    assert [row.values["text"] for row in read(data)] == ['"Great" product', '"Nice" one', '"So" so', '"open']


@pytest.mark.parametrize(
    ("data", "wish", "values"),
    [
        (b"id~text\n1~a,b\n", {"delimiter": "~"}, {"id": "1", "text": "a,b"}),
        (b"id,text\n1,'a'\n", {"quote": ""}, {"id": "1", "text": "'a'"}),
        (b"id,text\n1,%a,b%\n", {"quote": "%"}, {"id": "1", "text": "a,b"}),
        ("編號,內容\n1,潮\n".encode("big5"), {"encoding": "big5"}, {"編號": "1", "內容": "潮"}),
        ("id,text\n1,année\n".encode("cp1252"), {"encoding": "latin-1"}, {"id": "1", "text": "année"}),
        ("id,text\n1,é\n".encode("utf-16-be"), {"encoding": "utf-16-be"}, {"id": "1", "text": "é"}),
    ],
)
def test_what_a_person_says_comes_before_what_is_found(
    data: bytes, wish: dict[str, Any], values: dict[str, str]
) -> None:
    assert read_as(data, **wish)[0] == Row(1, values)
    reading = wished(data, **wish)
    (part,) = wish
    assert (reading.certainty if part == "encoding" else reading.certainties[part]) == "chosen"


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"encoding": "utf-16"}, "wrong_encoding"),
        ({"encoding": "big5"}, "wrong_encoding"),
        ({"encoding": "klingon"}, "unusable_encoding"),
        ({"delimiter": ";;"}, "unusable_delimiter"),
        ({"delimiter": '"'}, "unusable_delimiter"),
        ({"quote": "\n"}, "unusable_quote"),
        ({"quote": ",", "delimiter": ","}, "unusable_quote"),
        ({"quote": ","}, "unusable_quote"),
    ],
)
def test_a_wish_that_does_not_fit_is_refused(wish: dict[str, Any], code: str) -> None:
    with pytest.raises(UnableToRead) as error:
        wished("id,text\n1,这是一条很长的评论，质量很好！\n".encode(), **wish)
    assert error.value.code == code


@pytest.mark.parametrize("between", [50, 100_000])
def test_a_row_with_broken_bytes_or_nul_is_set_aside_and_named(between: int) -> None:
    good = b"7,x\n" * between
    data = b"id,text\n" + good + b"1,a\xff\xffb\n2,c\0d\n" + good + b'3,"e\n\xfe"\n4\xff\n'
    found = [row for row in read(data) if isinstance(row, BadRow)]
    line = between + 2
    assert found == [
        BadRow(between + 1, "undecodable", {"line": line, "column": "text"}, {"id": "1", "text": "a��b"}),
        BadRow(
            between + 2, "malformed_row", {"problem": "nul_character", "line": line + 1, "column": "text"},
            {"id": "2", "text": "c\u2400d"},
        ),
        BadRow(
            2 * between + 3, "undecodable", {"line": 2 * between + 4, "column": "text"}, {"id": "3", "text": "e\n�"}
        ),
        BadRow(
            2 * between + 4, "undecodable", {"problem": "undecodable_line", "line": 2 * between + 6}, {"id": "4�"}
        ),
    ]  # fmt: skip


def test_a_line_with_broken_bytes_costs_its_own_object_alone() -> None:
    found = read(b'{"a":"x"}\n{"a":"\xff"}\n{"a":"\0"}\n{"a":"y"}\n{"a":"z"}\n', "a.jsonl")
    assert [row.code if isinstance(row, BadRow) else row.values["a"] for row in found] == [
        "x", "undecodable", "malformed_row", "y", "z",
    ]  # fmt: skip
    assert found[1].values == {RAW: '{"a":"�"}'}
    row, _ = read(b'{"a":"\\u0000"}\n{"a":"x"}\n', "a.jsonl")
    detail = {"problem": "nul_character", "line": 1, "column": "a"}
    assert row == BadRow(1, "malformed_row", detail, {RAW: '{"a":"\\u0000"}'})


@pytest.mark.parametrize(
    ("line", "column"),
    [
        (r'{"id":"1","a":"x\ud83d"}', "a"),
        (r'{"id":"1","a":{"b":["\udc00"]}}', "a"),
        (r'{"id":"1","\ud83da":"x"}', "\ufffda"),
    ],
)
def test_half_a_character_sets_its_row_aside_and_names_the_key(line: str, column: str) -> None:
    bad, good = read(f"{line}\n".encode() + rb'{"id":"2","a":"\ud83d\ude00"}', "a.jsonl")
    detail = {"problem": "half_character", "line": 1, "column": column}
    assert bad == BadRow(1, "malformed_row", detail, {RAW: line})
    assert good == Row(2, {"id": "2", "a": "😀"})


def test_a_person_says_that_there_is_one_column() -> None:
    texts = ["Well, it broke.", 'She said "no"; twice', "a\tb|c"]
    data = "\n".join(["text", *texts]).encode()
    assert read_as(data, delimiter="") == [Row(at, {"text": text}) for at, text in enumerate(texts, start=1)]
    reading = wished(data, delimiter="")
    assert (reading.delimiter, reading.columns, reading.certainties["delimiter"]) == ("", ("text",), "chosen")
    assert read_as(b'text\n"two\nlines, one text"\nb\n', delimiter="") == [
        Row(1, {"text": "two\nlines, one text"}), Row(2, {"text": "b"})
    ]  # fmt: skip
    stray = b'text\n"no" she said\n"yes" he said\n"well" they said\n'
    assert read_as(stray, delimiter="")[0].values["text"] == '"no" she said'
    assert read_as(b"a,b\nc,d\n", delimiter="", has_heading=False)[1] == Row(2, {"column_1": "c,d"})


def test_it_is_known_in_which_line_the_heading_stands() -> None:
    assert [reading_of(data).first_line for data in (b"id,t\n1,a\n", b"\n\nid,t\n1,a\n", b"sep=,\nid,t\n1,a\n")] == [
        1, 3, 2,
    ]  # fmt: skip


def test_a_heading_with_broken_bytes_is_a_heading() -> None:
    assert reading_of(b"id,te\xfft\n1,a\n2,b\n3,c\n").columns == ("id", "te�t")


@pytest.mark.parametrize("text", ["x" * 5_000_000, '"' + "x" * 5_000_000 + '"', '"' + "x" * 5_000_000])
def test_a_line_beyond_the_limit_is_set_aside_whether_quoted_or_not(text: str) -> None:
    first, bad, last = read(f"id,text\n1,a\n2,{text}\n3,b\n".encode())
    assert (first.number, last) == (1, Row(3, {"id": "3", "text": "b"}))
    assert isinstance(bad, BadRow)
    assert bad.detail == {"problem": "line_too_long", "line": 3, "limit": MAX_LINE}


def test_many_long_fields_in_one_record_stay_in_bounds() -> None:
    paragraph = ("no separator here\n" * 50_000).strip()
    assert len(paragraph) < MAX_FIELD
    width = 30
    heading = ",".join(f"c{position}" for position in range(width))
    record = ",".join(f'"{paragraph}"' for _ in range(width))
    found = read(f"{heading}\n{record}\n{'1,' * (width - 1)}1\n".encode())
    assert isinstance(found[0], BadRow)
    assert found[-1].values["c29"] == "1"


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=8)


@given(
    st.lists(st.tuples(cells, cells), min_size=1, max_size=6),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "gb18030"]),
)
def test_what_is_written_in_any_way_and_said_to_be_so_is_read_back(
    lines: list[tuple[str, str]], delimiter: str, encoding: str
) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([("a", "b"), *lines])
    reading = Reading("csv", encoding, delimiter, ("a", "b"))
    found = list(rows(OneWay(out.getvalue().encode(encoding)), reading))  # type: ignore[arg-type]
    kept = [row for row in found if isinstance(row, Row)]
    assert [tuple(row.values.values()) for row in kept] == [
        line for line in lines if any(cell.strip() for cell in line) and line != ("a", "b")
    ]
