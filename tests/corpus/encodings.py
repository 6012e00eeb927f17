"""Texts whose encoding is not plain to see, or not the same throughout."""

from portal.packages.manifest.reading import Wish
from tests.corpus.case import Case
from tests.corpus.texts import BIG5_COLUMNS, BIG5_ROWS, COLUMNS, ROWS, read_by_csv
from tests.corpus.writers import delimited, encoded


def _encodings() -> list[Case]:
    good = delimited([COLUMNS, *ROWS])
    two = ("id", "text")
    western = "id;text\r\n1;Le café était déjà fermé\r\n2;Où est la façade?\r\n"
    western_rows = (("1", "Le café était déjà fermé"), ("2", "Où est la façade?"))
    beyond_gbk = (("1", "㐂福寿司很好吃，老板人很好"), ("2", "𠮷野家的饭不错，还会再来"))
    euro = b"id,text\r\n" + "1,这个东西卖".encode("gbk") + b"\x80" + "100，太贵了\r\n".encode("gbk")
    lines = [f"{n},{text}".encode() for n, text in enumerate(["很好用的东西"] * 99, start=1)]
    broken = b"id,text\n" + b"\n".join([*lines[:49], b"50,\xe8\xb4\xff\xfe", *lines[50:]]) + b"\n"
    kept = tuple((str(n), "很好用的东西") for n in range(1, 100) if n != 50)
    surrogate = (
        b"id,text\n1,\xe5\xa5\xbd\n2,\xed\xa0\x80\n" + "".join(f"{n},很好很好很好\n" for n in range(3, 60)).encode()
    )
    kept_2 = (("1", "好"), *((str(n), "很好很好很好") for n in range(3, 60)))
    half = b"id,text\n" + b"".join(
        f"{n},质量很好很好很好很好很好很好".encode() + (b"\xff\xfe\n" if n % 2 else b"\n") for n in range(60)
    )
    long = [(str(n), "the quick brown fox jumps over it") for n in range(4_000)]
    late = [(str(n), "品質很好，出貨很快") for n in range(50)]
    return [
        Case(
            "encoding/utf-16-without-mark.csv", good.encode("utf-16-le"), COLUMNS, ROWS, found={"encoding": "utf-16-le"}
        ),
        Case("encoding/utf-16-le-chosen.csv", good.encode("utf-16-le"), COLUMNS, ROWS, wish=Wish(encoding="utf-16-le")),
        Case("encoding/utf-16-be-chosen.csv", good.encode("utf-16-be"), COLUMNS, ROWS, wish=Wish(encoding="utf-16-be")),
        Case("encoding/utf-16-cut.csv", good.encode("utf-16")[:-1], COLUMNS, ROWS, {6: "undecodable"}),
        Case(
            "encoding/gb18030-beyond-gbk.csv",
            delimited([two, *beyond_gbk]).encode("gb18030"),
            two,
            beyond_gbk,
            found={"encoding": "gb18030"},
            oracle=read_by_csv("gb18030", ","),
        ),
        Case(
            "encoding/gbk.csv",
            delimited([two, ("1", "这是简体中文的评论")]).encode("gbk"),
            two,
            (("1", "这是简体中文的评论"),),
            found={"encoding": "gb18030"},
            oracle=read_by_csv("gbk", ","),
        ),
        Case(
            "encoding/gbk-windows-euro.csv",
            euro,
            two,
            (("1", "这个东西卖€100，太贵了"),),
            found={"encoding": "gb18030"},
        ),
        Case(
            "encoding/windows-1252.csv",
            western.encode("cp1252"),
            two,
            western_rows,
            wish=Wish(encoding="windows-1252"),
            oracle=read_by_csv("cp1252", ";"),
        ),
        Case(
            "encoding/shift-jis.csv",
            delimited([two, *[(str(n), "とても良い商品でした。また買います。") for n in range(9)]]).encode("shift_jis"),
            refusal="unknown_encoding",
        ),
        Case(
            "encoding/one-broken-row.csv", broken, two, kept, {50: "undecodable"}, told={"line": 51, "column": "text"}
        ),
        Case("encoding/lone-surrogate-as-utf-8.csv", surrogate, two, kept_2, {2: "undecodable"}, told={"line": 3}),
        Case("encoding/half-of-the-rows-broken.csv", half, refusal="broken_utf8", told={"line": 3}),
        Case("encoding/ascii.csv", b"id,text\n1,a\n", two, (("1", "a"),), found={"encoding": "utf-8"}),
        Case(
            "encoding/wish-that-does-not-fit.csv",
            good.encode("gb18030"),
            refusal="wrong_encoding",
            wish=Wish(encoding="utf-8"),
        ),
        Case(
            "encoding/wish-unheard-of.csv",
            b"id,text\n1,a\n",
            refusal="unusable_encoding",
            wish=Wish(encoding="klingon"),
        ),
        Case(
            "encoding/big5-without-help.csv",
            delimited([BIG5_COLUMNS, *BIG5_ROWS * 8]).encode("big5"),
            BIG5_COLUMNS,
            BIG5_ROWS * 8,
            found={"encoding": "big5"},
        ),
        Case(
            "encoding/big5-after-much-ascii.csv",
            delimited([two, *long, *late]).encode("big5"),
            two,
            (*long, *late),
            found={"encoding": "big5"},
        ),
        Case(
            "encoding/gb18030-in-the-last-row.csv",
            delimited([two, *long, ("9", "质量很好，发货很快")]).encode("gb18030"),
            two,
            (*long, ("9", "质量很好，发货很快")),
            found={"encoding": "gb18030"},
        ),
        Case(
            "encoding/emoji-with-joiners.csv",
            encoded(delimited([two, ("1", "👨‍👩‍👧‍👦 🏳️‍🌈 é")]), "utf-8"),
            two,
            (("1", "👨‍👩‍👧‍👦 🏳️‍🌈 é"),),
            oracle=read_by_csv("utf-8", ","),
        ),
        Case(
            "encoding/right-to-left.csv",
            encoded(delimited([("رقم", "نص"), ("١", "جيد جدا"), ("٢", "\u202eabc")]), "utf-8"),
            ("رقم", "نص"),
            (("١", "جيد جدا"), ("٢", "\u202eabc")),
        ),
    ]


CASES = [*_encodings()]
