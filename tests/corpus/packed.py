"""Each kind of file in each packing."""

from typing import Any

from tests.corpus import json_lines as flat
from tests.corpus import texts, workbooks
from tests.corpus.case import Case, Table
from tests.corpus.excel import xlsx
from tests.corpus.excel97 import biff, ole
from tests.corpus.opendocument import ods, ods_row
from tests.corpus.tables import AB, TWO, parquet
from tests.corpus.writers import PACKERS, delimited, json_lines


def _packed() -> list[Case]:
    """Each kind of file in each packing."""
    columns, rows = texts.COLUMNS, texts.ROWS
    plain: dict[str, tuple[bytes, Any, Table, str]] = {
        "utf-8.csv": (delimited([columns, *rows]).encode(), columns, rows, "csv"),
        "gb18030.csv": (delimited([columns, *rows]).encode("gb18030"), columns, rows, "csv"),
        "utf-16.tsv": (delimited([columns, *rows], "\t").encode("utf-16"), columns, rows, "csv"),
        "flat.jsonl": (json_lines(flat.OBJECTS).encode(), flat.COLUMNS, flat.ROWS, "jsonl"),
        "sheet.xlsx": (xlsx(workbooks.ROWS), workbooks.TWO, workbooks.AB, "xlsx"),
        "sheet.ods": (ods(("S", ods_row(*TWO) + ods_row("1", "a") + ods_row("2", "b"))), TWO, AB, "ods"),
        "sheet.xls": (ole({"Workbook": biff([list(TWO), ["1", "a"], ["2", "b"]])}), TWO, AB, "xls"),
        "table.parquet": (parquet({"id": ["1", "2"], "text": ["a", "b"]}), TWO, AB, "parquet"),
    }
    cases = []
    for packing, pack in PACKERS.items():
        for name, (data, names, expected, kind) in plain.items():
            filename, packed = pack(data, name)
            cases.append(
                Case(
                    f"packed/{packing}/{filename if packing != 'zip' else name + '.zip'}",
                    packed,
                    names,
                    expected,
                    found={"format": kind, "packing": packing},
                )
            )
    return cases


CASES = [*_packed()]
