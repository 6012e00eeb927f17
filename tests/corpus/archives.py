"""Archives with more in them than a manifest, or less."""

from portal.packages.manifest.reading import Wish
from tests.corpus import texts, workbooks
from tests.corpus.case import Case
from tests.corpus.excel import xlsx
from tests.corpus.tables import AB, TWO
from tests.corpus.writers import delimited, gzipped, zipped, zstandarded

CSV = delimited([TWO, *AB]).encode()


def _archives() -> list[Case]:
    locked = bytearray(zipped({"a.csv": CSV}))
    locked[6] |= 1
    locked[locked.index(b"PK\x01\x02") + 8] |= 1
    beside = {"__MACOSX/._a.csv": b"?", ".DS_Store": b"?", "folder/": b"", "folder/a.csv": CSV}
    mib = 1 << 20
    layers = gzipped(gzipped(gzipped(CSV)))
    return [
        Case("archive/beside-what-a-mac-adds.zip", zipped(beside), TWO, AB, found={"member": "a.csv"}),
        Case(
            "archive/path-upwards.zip", zipped({"../../../etc/cron.d/a.csv": CSV}), TWO, AB, found={"member": "a.csv"}
        ),
        Case("archive/path-of-windows.zip", zipped({"C:\\Windows\\a.csv": CSV}), TWO, AB, found={"member": "a.csv"}),
        Case("archive/two-members-of-gzip.csv.gz", gzipped(CSV) + gzipped(b"3,c\r\n"), TWO, (*AB, ("3", "c"))),
        Case("archive/called-csv.csv", gzipped(CSV), TWO, AB, found={"packing": "gzip"}),
        Case(
            "archive/chosen-encoding-within.csv.gz",
            gzipped(delimited([texts.BIG5_COLUMNS, *texts.BIG5_ROWS]).encode("big5")),
            texts.BIG5_COLUMNS,
            texts.BIG5_ROWS,
            wish=Wish(encoding="big5"),
        ),
        Case("archive/several.zip", zipped({"a.csv": CSV, "b.csv": CSV}), refusal="several_files", told={"count": 2}),
        Case("archive/none.zip", zipped({}), refusal="empty_archive"),
        Case("archive/zip-in-zip.zip", zipped({"a.zip": zipped({"a.csv": CSV})}), refusal="nested_archive"),
        Case("archive/gzip-in-zip.zip", zipped({"a.csv.gz": gzipped(CSV)}), refusal="nested_archive"),
        Case("archive/zip-in-gzip.zip.gz", gzipped(zipped({"a.csv": CSV})), refusal="nested_archive"),
        Case("archive/gzip-thrice.gz", layers, refusal="nested_archive"),
        Case("archive/locked.zip", bytes(locked), refusal="locked_file"),
        Case("archive/cut.csv.gz", gzipped(CSV * 100)[:-30], refusal="broken_archive"),
        Case("archive/cut.csv.zst", zstandarded(CSV * 100)[:-9], refusal="broken_archive"),
        Case("archive/cut.zip", zipped({"a.csv": CSV * 100})[:-40], refusal="broken_archive"),
        Case("archive/wrong-checksum.csv.gz", gzipped(CSV)[:-8] + bytes(8), refusal="broken_archive"),
        Case("archive/of-nothing.gz", gzipped(b""), refusal="empty_file"),
        Case("archive/of-a-picture.gz", gzipped(b"\x89PNG\r\n\x1a\n" + bytes(200)), refusal="wrong_format"),
        Case(
            "archive/bomb.csv.gz",
            lambda: gzipped(b"id,text\n" + b"1,a\n" * (75 * mib)),
            refusal="archive_too_large",
            is_large=True,
        ),
        Case(
            "archive/bomb.csv.zst",
            lambda: zstandarded(b"id,text\n" + b"1,a\n" * (75 * mib)),
            refusal="archive_too_large",
            is_large=True,
        ),
        Case(
            "archive/bomb.zip",
            lambda: zipped({"a.csv": b"id,text\n" + b"1,a\n" * (75 * mib)}),
            refusal="archive_too_large",
            is_large=True,
        ),
        Case(
            "archive/bomb-of-a-workbook.xlsx.gz",
            lambda: gzipped(xlsx(workbooks.ROWS + f"<!--{' ' * 300_000_000}-->")),
            refusal="workbook_too_large",
            is_large=True,
        ),
    ]


CASES = [*_archives()]
