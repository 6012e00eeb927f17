"""Files that are no manifests, and manifests under another's name."""

import random

from tests.corpus.archives import CSV
from tests.corpus.case import Case
from tests.corpus.tables import AB, TWO
from tests.corpus.writers import zipped


def _no_manifests() -> list[Case]:
    noise = random.Random(1).randbytes(100_000)
    no_nuls = noise.replace(b"\0", b"")
    word = zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": b"<w/>"})
    return [
        Case("nothing/empty.csv", b"", refusal="empty_file"),
        Case("nothing/only-a-mark.csv", b"\xef\xbb\xbf", refusal="empty_file"),
        Case("nothing/only-spaces.csv", b" \r\n\t\n  ", refusal="empty_file"),
        Case("nothing/only-a-mark-of-utf-16.csv", b"\xff\xfe", refusal="empty_file"),
        Case("nothing/empty.xlsx", b"", refusal="empty_file"),
        Case("binary/noise.csv", noise, refusal="binary_file"),
        Case("binary/noise-without-nul.csv", no_nuls, refusal="unknown_encoding"),
        Case("binary/short-noise.csv", noise[:700], refusal="binary_file"),
        Case("binary/zeros.csv", bytes(5000), refusal="binary_file"),
        Case("binary/program.csv", b"\x7fELF\2\1\1" + bytes(9) + noise[:3000], refusal="binary_file"),
        Case("binary/picture.csv", b"\x89PNG\r\n\x1a\n" + noise[:500], refusal="wrong_format", told={"found": "PNG"}),
        Case("binary/photo.jpg", b"\xff\xd8\xff\xe0" + noise[:500], refusal="wrong_format"),
        Case("binary/paper.pdf", b"%PDF-1.7\n" + noise[:500], refusal="wrong_format", told={"found": "PDF"}),
        Case("binary/letter.docx", word, refusal="wrong_format", told={"found": "Word"}),
        Case(
            "binary/binary-workbook.xlsb",
            zipped({"[Content_Types].xml": b"<Types/>", "xl/workbook.bin": b"x"}),
            refusal="wrong_format",
        ),
        Case("binary/archive.rar", b"Rar!\x1a\x07\x01\x00" + noise[:200], refusal="wrong_format"),
        Case("binary/archive.7z", b"7z\xbc\xaf\x27\x1c" + noise[:200], refusal="wrong_format"),
        Case("binary/archive.tar", b"a.csv".ljust(257, b"\0") + b"ustar\x0000" + bytes(900), refusal="wrong_format"),
        Case("binary/page.html", b"<!DOCTYPE html><html><body>hello</body></html>", refusal="wrong_format"),
        Case("binary/data.xml", b"<?xml version='1.0'?><rows><row/></rows>", refusal="wrong_format"),
        Case("binary/csv-called-xlsx.xlsx", CSV, TWO, AB, found={"format": "csv"}),
        Case("binary/csv-called-parquet.parquet", CSV, TWO, AB, found={"format": "csv"}),
        Case("binary/csv-called-zip.zip", CSV, TWO, AB, found={"format": "csv", "packing": ""}),
        Case("binary/csv-with-an-odd-name.export", CSV, TWO, AB, found={"format": "csv"}),
    ]


CASES = [*_no_manifests()]
