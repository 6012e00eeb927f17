"""Delimited text: every delimiter in every encoding, nothing wrong."""

import csv
import io
from collections.abc import Callable

from portal.packages.manifest.reading import Wish
from tests.corpus.case import Case, Table
from tests.corpus.writers import delimited, encoded

COLUMNS = ("编号", "文本", "日期", "金额")


ROWS = (
    ("00123", "质量很好，发货快，下次还会再来买。", "2026-01-05", "12.50"),
    ("20261201000000000001", 'He said "no", twice', "2026-01-06", "-3"),
    ("00125", "第一行\n第二行", "2026-12-31", "1,234.5"),
    ("00126", "a;b|c\td", "", "=1+1"),
    ("00127", "𠮷野家 😀 שלום العربية", "05/01/2026", "1e5"),
)


BIG5_COLUMNS = ("編號", "內容")


BIG5_ROWS = (("001", "品質很好，出貨很快"), ("002", "不好用,要退貨"), ("003", '他說 "不"'))


DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|"}


ENCODINGS = {
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8-sig",
    "utf-16-le": "utf-16",
    "utf-16-be": "utf-16",
    "gb18030": "gb18030",
}


def read_by_csv(encoding: str, delimiter: str, quote: str = '"') -> Callable[[bytes], Table]:
    """The standard library on its own."""

    def read(data: bytes) -> Table:
        text = data.decode("utf-16" if encoding.startswith("utf-16") else encoding)
        return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quotechar=quote))

    return read


def _grid() -> list[Case]:
    """Delimiter × encoding, nothing wrong."""
    cases = []
    for name, delimiter in DELIMITERS.items():
        for encoding, told in ENCODINGS.items():
            data = encoded(delimited([COLUMNS, *ROWS], delimiter), encoding)
            found = {"format": "csv", "encoding": told, "delimiter": delimiter, "has_heading": True}
            ending = "tsv" if delimiter == "\t" else "csv"
            cases.append(
                Case(
                    f"grid/{name}-{encoding}.{ending}",
                    data,
                    COLUMNS,
                    ROWS,
                    found=found,
                    oracle=read_by_csv(encoding, delimiter),
                )
            )
        wish = Wish(encoding="big5")
        data = delimited([BIG5_COLUMNS, *BIG5_ROWS], delimiter).encode("big5")
        cases.append(
            Case(
                f"grid/{name}-big5.csv",
                data,
                BIG5_COLUMNS,
                BIG5_ROWS,
                wish=wish,
                found={"encoding": "big5", "certainty": "chosen", "delimiter": delimiter},
                oracle=read_by_csv("big5", delimiter),
            )
        )
    return cases


CASES = [*_grid()]
