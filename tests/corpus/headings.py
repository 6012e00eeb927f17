"""Headings: none, twice, of one name, of no name."""

from portal.packages.manifest.reading import Wish
from tests.corpus.case import Case
from tests.corpus.writers import delimited


def _headings() -> list[Case]:
    two, ab = ("id", "text"), (("1", "a"), ("2", "b"))
    numbers = (("1", "2026-01-05", "3.5"), ("2", "2026-01-06", "4"), ("3", "2026-01-07", "5"))
    return [
        Case(
            "heading/none.csv",
            delimited(numbers).encode(),
            ("column_1", "column_2", "column_3"),
            numbers,
            found={"has_heading": False},
        ),
        Case(
            "heading/none-chosen.csv",
            b"id,text\n1,a\n",
            ("column_1", "column_2"),
            (("id", "text"), ("1", "a")),
            wish=Wish(has_heading=False),
        ),
        Case("heading/chosen.csv", delimited(numbers).encode(), numbers[0], numbers[1:], wish=Wish(has_heading=True)),
        Case("heading/twice.csv", b"id,text\n1,a\nid,text\n2,b\n", two, ab, {2: "repeated_heading"}, told={"line": 3}),
        Case("heading/same-name.csv", b"id,text,text\n1,a,b\n", ("id", "text", "text_2"), (("1", "a", "b"),)),
        Case(
            "heading/same-name-and-that-taken.csv",
            b"text,text,text_2\na,b,c\n",
            ("text", "text_3", "text_2"),
            (("a", "b", "c"),),
        ),
        Case(
            "heading/unnamed.csv",
            b"id,text,\n1,a,x\n2,b,\n",
            ("id", "text", "column_3"),
            (("1", "a", "x"), ("2", "b", "")),
        ),
        Case("heading/spaces.csv", b" id , text \n1, a \n", two, (("1", " a "),)),
        Case("heading/mark-and-quotes.csv", b'\xef\xbb\xbf"id","text"\n1,a\n2,b\n', two, ab),
        Case("heading/blank-lines-above.csv", b"\n\r\nid,text\n1,a\n2,b\n", two, ab),
        Case("heading/spaces-above.csv", b"  \n\t\nid,text\n1,a\n2,b\n", two, ab),
        Case("heading/line-break-within.csv", b'id,"long\ntext"\n1,a\n', ("id", "long text"), (("1", "a"),)),
        Case("heading/brace.csv", b"id,{text}\n1,a\n", refusal="unusable_column"),
        Case("heading/alone.csv", b"id,text\n", refusal="no_rows"),
        Case("heading/long-name.csv", b"id," + b"x" * 201 + b"\n1,a\n", refusal="long_column"),
        Case("heading/only-delimiters.csv", b",,,\n,,,\n", refusal="no_heading"),
        Case("heading/unclosed-quote.csv", b'id,"text\n1,a\n2,b\n', refusal="unclosed_quote", told={"line": 1}),
    ]


CASES = [*_headings()]
