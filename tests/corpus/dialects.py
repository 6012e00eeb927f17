"""Ways to write delimited text: ends of lines, quotation marks, delimiters."""

from portal.packages.manifest.reading import Wish
from tests.corpus.case import Case
from tests.corpus.texts import COLUMNS, ROWS, read_by_csv
from tests.corpus.writers import delimited


def _dialects() -> list[Case]:
    two, ab = ("id", "text"), (("1", "a"), ("2", "b"))
    wide = tuple(f"c{n}" for n in range(500))
    quoted = "\r\n".join(
        ",".join(f'"{field.replace(chr(34), chr(34) * 2)}"' for field in row) for row in [COLUMNS, *ROWS]
    )
    inches = "id;size;text\n" + "".join(f'{n};{n}" x 4";fits 3" pipes\n' for n in range(1, 31))
    apostrophes = "'id','text'\n'1','it''s good, really'\n'2','fine'\n'3','so, so'\n"
    return [
        *(
            Case(
                f"dialect/{name}.csv",
                delimited([COLUMNS, *ROWS], end=end).encode(),
                COLUMNS,
                ROWS,
                oracle=read_by_csv("utf-8", ","),
            )
            for name, end in (("lf", "\n"), ("crlf", "\r\n"), ("cr", "\r"))
        ),
        Case(
            "dialect/mixed-line-ends.csv",
            b"id,text\r\n1,a\n2,b\r3,c\r\n",
            two,
            (*ab, ("3", "c")),
            oracle=read_by_csv("utf-8", ","),
        ),
        Case("dialect/cr-cr-lf.csv", b"id,text\r\r\n1,a\r\r\n2,b\r\r\n", two, ab),
        Case("dialect/no-newline-at-the-end.csv", b"id,text\n1,a\n2,b", two, ab, oracle=read_by_csv("utf-8", ",")),
        Case("dialect/all-quoted.csv", quoted.encode(), COLUMNS, ROWS, oracle=read_by_csv("utf-8", ",")),
        Case(
            "dialect/apostrophes.csv",
            apostrophes.encode(),
            two,
            (("1", "it's good, really"), ("2", "fine"), ("3", "so, so")),
            found={"quote": "'"},
            oracle=read_by_csv("utf-8", ",", "'"),
        ),
        Case(
            "dialect/inches.csv",
            inches.encode(),
            ("id", "size", "text"),
            tuple((str(n), f'{n}" x 4"', 'fits 3" pipes') for n in range(1, 31)),
        ),
        Case(
            "dialect/quote-none-chosen.csv",
            b'id,text\n1,"a\n2,b"\n',
            two,
            (("1", '"a'), ("2", 'b"')),
            wish=Wish(quote=""),
        ),
        Case("dialect/sep-note.csv", b"sep=;\r\nid;text\r\n1;a\r\n2;b\r\n", two, ab, found={"delimiter": ";"}),
        Case(
            "dialect/delimiter-chosen.csv",
            b"id~text\n1~a\n2~b\n",
            two,
            ab,
            wish=Wish(delimiter="~"),
            oracle=read_by_csv("utf-8", "~"),
        ),
        Case(
            "dialect/delimiter-unusable.csv", b"id~text\n1~a\n", refusal="unusable_delimiter", wish=Wish(delimiter="ab")
        ),
        Case(
            "dialect/commas-in-texts-of-semicolons.csv",
            "编号;文本\n1;好,很好,真好\n2;一般,吧\n3;差\n".encode(),
            ("编号", "文本"),
            (("1", "好,很好,真好"), ("2", "一般,吧"), ("3", "差")),
            found={"delimiter": ";"},
        ),
        Case("dialect/one-column.csv", "评论\n很好\n不好\n".encode(), ("评论",), (("很好",), ("不好",))),
        Case(
            "dialect/one-column-with-commas.txt",
            "评论\n很好,真的\n不好\n一般,吧,嗯\n".encode(),
            ("评论",),
            (("很好,真的",), ("不好",), ("一般,吧,嗯",)),
        ),
        Case("dialect/one-row.csv", b"id,text\n1,a\n", two, (("1", "a"),)),
        Case(
            "dialect/500-columns.csv",
            delimited([wide, [str(n) for n in range(500)]]).encode(),
            wide,
            (tuple(str(n) for n in range(500)),),
            oracle=read_by_csv("utf-8", ","),
        ),
        Case(
            "dialect/10000-columns.csv",
            delimited([[f"c{n}" for n in range(10_000)], ["1"] * 10_000]).encode(),
            refusal="too_many_columns",
        ),
    ]


CASES = [*_dialects()]
