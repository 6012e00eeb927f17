"""Rows of delimited text that go wrong, and what becomes of the others."""

from tests.corpus.case import Case
from tests.corpus.texts import read_by_csv


def _rows() -> list[Case]:
    two, three = ("id", "text"), ("id", "text", "note")
    many = "".join(f"{n},a{n},\n" for n in range(1, 301))
    return [
        Case(
            "rows/short.csv",
            b"id,text,note\n1,a,x\n2,b\n3,c,z\n",
            three,
            (("1", "a", "x"), ("3", "c", "z")),
            {2: "ragged_row"},
            told={"fields": 2, "expected": 3},
        ),
        Case(
            "rows/long.csv",
            b"id,text\n1,a\n2,b,c,d\n3,c\n",
            two,
            (("1", "a"), ("3", "c")),
            {2: "ragged_row"},
            told={"fields": 4, "line": 3},
        ),
        Case(
            "rows/blank-between.csv",
            b"id,text\n1,a\n\n\n2,b\n",
            two,
            (("1", "a"), ("2", "b")),
            {2: "empty_row", 3: "empty_row"},
        ),
        Case("rows/blank-at-the-end.csv", b"id,text\n1,a\n\n\n  \n", two, (("1", "a"),), {}),
        Case("rows/only-delimiters.csv", b"id,text\n1,a\n,\n2,b\n", two, (("1", "a"), ("2", "b")), {2: "empty_row"}),
        Case(
            "rows/nul.csv",
            b"id,text\n1,a\n2,b\0c\n3,c\n",
            two,
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 3, "column": "text"},
        ),
        Case(
            "rows/quote-never-closed.csv",
            b'id,text\n1,a\n2,"b\n3,c\n4,d\n',
            two,
            (("1", "a"), ("3", "c"), ("4", "d")),
            {2: "malformed_row"},
            told={"line": 3},
        ),
        Case(
            "rows/quote-in-the-middle.csv",
            b'id,text\n1,5" pipe\n2,"b"c\n3,d\n',
            two,
            (("1", '5" pipe'), ("3", "d")),
            {2: "malformed_row"},
            told={"line": 3},
        ),
        Case(
            "rows/quote-swallows-many.csv",
            ('id,text,note\n0,"open,\n' + many).encode(),
            three,
            tuple((str(n), f"a{n}", "") for n in range(1, 301)),
            {1: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "rows/long-text.csv",
            b'id,text\n1,"' + b"para one\n\n" * 50 + b'"\n2,b\n',
            two,
            (("1", "para one\n\n" * 50), ("2", "b")),
            oracle=read_by_csv("utf-8", ","),
        ),
        Case(
            "rows/leading-zeros-and-long-ids.csv",
            b"id,text\n007,a\n12345678901234567890,b\n+5,c\n",
            two,
            (("007", "a"), ("12345678901234567890", "b"), ("+5", "c")),
            oracle=read_by_csv("utf-8", ","),
        ),
        Case(
            "rows/50-mb-cell.csv",
            lambda: b'id,text\n1,a\n2,"' + b"x" * 50_000_000 + b'"\n3,c\n',
            two,
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 3},
            is_large=True,
        ),
        Case(
            "rows/50-mb-cell-of-lines.csv",
            lambda: b'id,text\n1,a\n2,"' + b"some words on a line\n" * 2_500_000 + b'"\n3,c\n',
            two,
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 3},
            is_large=True,
        ),
        Case(
            "rows/50-mb-line-without-quotes.csv",
            lambda: b"id,text\n1,a\n2," + b"x" * 50_000_000 + b"\n3,c\n",
            two,
            (("1", "a"), ("3", "c")),
            {2: "malformed_row"},
            told={"line": 3},
            is_large=True,
        ),
    ]


CASES = [*_rows()]
