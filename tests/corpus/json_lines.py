"""JSON Lines with one flat object each."""

import json
from collections.abc import Callable

from tests.corpus.case import Case, Table
from tests.corpus.texts import ENCODINGS
from tests.corpus.writers import encoded, json_lines

COLUMNS = ("id", "text", "note")


ROWS = (
    ("00123", "质量很好，发货快，下次还会再来买。", "=1+1"),
    ("12345678901234567890", 'He said "no"\nand left', ""),
    ("3", "𠮷野家 😀 שלום", "a;b|c\td"),
)


OBJECTS = [dict(zip(COLUMNS, row, strict=True)) for row in ROWS]


def read_by_json(encoding: str) -> Callable[[bytes], Table]:
    """The standard library on its own, for objects of texts."""

    def read(data: bytes) -> Table:
        text = data.decode("utf-16" if encoding.startswith("utf-16") else encoding)
        found = [json.loads(line) for line in text.splitlines()]
        return [list(found[0]), *(list(row.values()) for row in found)]

    return read


def _grid() -> list[Case]:
    return [
        Case(
            f"jsonl/{encoding}.jsonl",
            encoded(json_lines(OBJECTS), encoding),
            COLUMNS,
            ROWS,
            found={"format": "jsonl", "encoding": told},
            oracle=read_by_json(encoding),
        )
        for encoding, told in ENCODINGS.items()
    ]


def _lines(*lines: str) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def _flat() -> list[Case]:
    two = ("id", "text")
    deep = '{"id":1,"text":' + "[" * 100_000 + "]" * 100_000 + "}"
    return [
        Case(
            "jsonl/numbers-as-written.jsonl",
            _lines(
                '{"id": 12345678901234567890, "a": 1.0, "b": 1e5, "c": -0}',
                '{"id": 0.10, "a": 3.14159265358979323846, "b": 1E400, "c": 7}',
            ),
            ("id", "a", "b", "c"),
            (("12345678901234567890", "1.0", "1e5", "-0"), ("0.10", "3.14159265358979323846", "1E400", "7")),
        ),
        Case(
            "jsonl/values-of-each-kind.jsonl",
            _lines('{"id": true, "text": null, "a": [1, "好", {"b": 1.50}], "o": {"k": []}}'),
            ("id", "text", "a", "o"),
            (("true", "", '[1,"好",{"b":1.50}]', '{"k":[]}'),),
        ),
        Case(
            "jsonl/keys-in-any-order.jsonl",
            _lines('{"id":"1","text":"a"}', '{"text":"b","id":"2"}'),
            two,
            (("1", "a"), ("2", "b")),
        ),
        Case(
            "jsonl/keys-that-come-later.jsonl",
            _lines('{"id":"1","text":"a"}', '{"id":"2","more":"b"}'),
            ("id", "text", "more"),
            (("1", "a", ""), ("2", "", "b")),
        ),
        Case(
            "jsonl/no-object.jsonl",
            _lines('{"id":"1","text":"a"}', "[1]", '"x"', "12", '{"id":"2","text":"b"}'),
            two,
            (("1", "a"), ("2", "b")),
            {2: "malformed_row", 3: "malformed_row", 4: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "jsonl/cut-line.jsonl",
            _lines('{"id":"1","text":"a"}', '{"id":"2","text":"b') + b'{"id":"3","text":"c"}',
            two,
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "jsonl/key-twice.jsonl",
            _lines('{"id":"1","text":"a"}', '{"id":"2","id":"3","text":"b"}'),
            two,
            (("1", "a"),),
            {2: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "jsonl/lone-surrogate.jsonl",
            _lines('{"id":"1","text":"a"}', '{"id":"2","text":"\\ud83d"}', '{"id":"3","text":"\\ud83d\\ude00"}'),
            two,
            (("1", "a"), ("3", "😀")),
            {2: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "jsonl/escaped-nul.jsonl",
            _lines('{"id":"1","text":"a"}', '{"id":"2","text":"b\\u0000"}'),
            two,
            (("1", "a"),),
            {2: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "jsonl/nan.jsonl",
            _lines('{"id":"1","text":"a"}', '{"id":NaN,"text":"b"}'),
            two,
            (("1", "a"),),
            {2: "malformed_row"},
        ),
        Case(
            "jsonl/blank-lines.jsonl",
            b'\n{"id":"1","text":"a"}\n\n{"id":"2","text":"b"}\n\n\n',
            two,
            (("1", "a"), ("2", "b")),
            {1: "empty_row", 3: "empty_row"},
        ),
        Case(
            "jsonl/empty-objects.jsonl",
            _lines('{"id":"1","text":"a"}', "{}", '{"id":"","text":null}'),
            two,
            (("1", "a"),),
            {2: "empty_row", 3: "empty_row"},
        ),
        Case("jsonl/crlf.jsonl", json_lines(OBJECTS).replace("\n", "\r\n").encode(), COLUMNS, ROWS),
        Case("jsonl/array.json", json.dumps(OBJECTS).encode(), refusal="json_array"),
        Case("jsonl/array-over-lines.json", json.dumps(OBJECTS, indent=2).encode(), refusal="json_array"),
        Case("jsonl/one-object-over-lines.json", json.dumps(OBJECTS[0], indent=2).encode(), refusal="no_object"),
        Case("jsonl/called-csv.csv", json_lines(OBJECTS).encode(), COLUMNS, ROWS, found={"format": "jsonl"}),
        Case("jsonl/called-nothing", json_lines(OBJECTS).encode(), COLUMNS, ROWS, found={"format": "jsonl"}),
        Case(
            "jsonl/csv-called-jsonl.jsonl",
            b"id,text\n1,a\n2,b\n",
            two,
            (("1", "a"), ("2", "b")),
            found={"format": "csv"},
        ),
        Case(
            "jsonl/deep.jsonl",
            _lines('{"id":"1","text":"a"}', deep, '{"id":"3","text":"c"}'),
            two,
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "jsonl/number-of-four-million-digits.jsonl",
            _lines('{"id":"1","text":"a"}', '{"id":"2","text":' + "9" * 4_000_000 + "}"),
            two,
            (("1", "a"),),
            {2: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "jsonl/10000-keys.jsonl",
            _lines(json.dumps({f"k{n}": "x" for n in range(10_000)})),
            refusal="too_many_columns",
        ),
        Case("jsonl/padded-key.jsonl", _lines('{"id":"1"," text ":"a"}'), refusal="padded_key"),
        Case(
            "jsonl/broken-byte.jsonl",
            b"".join(f'{{"id":"{n}","text":"很好"}}\n'.encode() for n in range(1, 60)) + b'{"id":"60","text":"\xff"}\n',
            two,
            tuple((str(n), "很好") for n in range(1, 60)),
            {60: "undecodable"},
            told={"line": 60},
        ),
        Case(
            "jsonl/50-mb-line.jsonl",
            lambda: b'{"id":"1","text":"a"}\n{"id":"2","text":"' + b"x" * 50_000_000 + b'"}\n{"id":"3","text":"c"}\n',
            two,
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 2},
            is_large=True,
        ),
    ]


CASES = [*_grid(), *_flat()]
