"""Bad files and bad tasks, as people hand them in: a clear answer at the form, no 500, and the draft stays."""

import gzip
import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from portal.packages.models import Package
from portal.packages.reading.ingest import ingest
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from tests.manifests import workbook
from tests.world import World

TASK = {
    "name": "Reviews",
    "kind": "tagging",
    "labels": "good\nbad",
    "user_template": "Judge {{text}}",
    "max_output_tokens": "8",
    "temperature": "0",
}


@pytest.fixture
def alice(world: World) -> Client:
    client = Client()
    client.force_login(world.alice)
    return client


def upload(client: Client, content: bytes, name: str = "reviews.csv") -> tuple[int, str]:
    answer = client.post(reverse("packages:new"), {"file": SimpleUploadedFile(name, content)})
    return answer.status_code, answer.text


def _archive(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return out.getvalue()


OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
FILES = {
    "binary": (b"\x00\x01\x02" * 50, "a.csv", "The file is not text."),
    "wrong encoding": ("id,text\n1,caf\xe9 ".encode("latin-1") + b"\xff\xff\n", "a.csv", "line 2 makes no sense"),
    "pdf": (b"%PDF-1.7 and so on", "a.csv", "The file is PDF, which"),
    "word": (_archive("word/document.xml"), "a.docx", "The file is Word, which"),
    "damaged workbook": (workbook([["id"], [1]])[:300], "a.xlsx", "damaged"),
    "damaged old workbook": (OLE + bytes(100), "a.xls", "damaged"),
    "locked workbook": (OLE + "EncryptedPackage".encode("utf-16-le"), "a.xlsx", "protected by a password"),
    "cut archive": (gzip.compress(b"id,text\n1,a\n")[:-4], "a.csv.gz", "damaged or incomplete"),
    "archive of several files": (_archive("a.csv", "x/b.csv"), "a.zip", "has 2 files: “a.csv”, “b.csv”"),
    "archive in an archive": (gzip.compress(_archive("a.csv")), "a.zip.gz", "another archive in it"),
    "bomb": (gzip.compress(b"a,b\n" * 2**20) * 48, "a.csv.gz", "suspiciously large"),
    "damaged parquet": (b"PAR1\x15\x00PAR1", "a.parquet", "damaged"),
    "heading only": (b"id,text\n", "a.csv", "no rows"),
    "json array": (b'[{"a": 1}]', "a.json", "one JSON array"),
    "no object": (b"[1]x\nhello\n", "a.jsonl", "one JSON array"),
    "unclosed quote": (b'"id,text\n1,a\n2,b\n', "a.csv", "opened in line 1 is never closed"),
    "another encoding": ("id,text\n1,Быстрая доставка\n".encode("cp1251"), "a.csv", "line 2 makes no sense as Chinese"),
    "brace in a name": (b"id,te{x}t\n1,a\n", "a.csv", "“te{x}t” contains a brace"),
    "other ending": (b"<html>", "a.html", "The file is HTML, which"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_bad_file_gets_a_sentence_at_the_form_and_leaves_nothing(alice: Client, world: World, case: str) -> None:
    content, name, sentence = FILES[case]
    status, text = upload(alice, content, name)
    assert status == 422
    assert sentence in text
    assert not Package.objects.for_department(world.retail).exists()
    assert list(objects().list(f"{world.retail.id.hex}/")) == []


def test_an_empty_file_is_refused_at_the_form(alice: Client) -> None:
    status, text = upload(alice, b"")
    assert status == 422
    assert "empty" in text


def _continue(client: Client, package: Package, world: World, **fields: str) -> tuple[int, str]:
    answer = client.post(reverse("packages:task", args=[package.pk]), {**TASK, "model": str(world.echo.pk), **fields})
    return answer.status_code, answer.text


def test_an_unknown_column_is_refused_with_the_nearest_and_the_draft_stays(alice: Client, world: World) -> None:
    upload(alice, b"id,text\n1,a\n")
    package = Package.objects.for_department(world.retail).get()
    status, text = _continue(alice, package, world, user_template="Judge {{txet}}")
    assert status == 422
    assert "Did you mean “text”?" in text
    package.refresh_from_db()
    assert package.state == PackageState.DRAFT


def test_a_manifest_with_no_good_row_comes_back_to_its_task_and_can_go_on(alice: Client, world: World) -> None:
    upload(alice, b"id,text\n1,\n2\n")
    package = Package.objects.for_department(world.retail).get()
    assert _continue(alice, package, world)[0] == 302
    package.refresh_from_db()
    ingest(package_id=package.pk, epoch=package.ingest_epoch)
    page = alice.get(reverse("packages:task", args=[package.pk])).text
    assert "No row can be run, of 2 in the file." in page
    assert _continue(alice, package, world, user_template="Judge {{id}}")[0] == 302
    package.refresh_from_db()
    ingest(package_id=package.pk, epoch=package.ingest_epoch)
    package.refresh_from_db()
    assert (package.state, package.rows_good, package.rows_set_aside) == (PackageState.QUOTED, 1, 1)


HOSTILE = [
    b"text\n" + b'"' * 1001 + b"\n",
    b"text\n" + "\u202e\u0007<script>alert(1)</script>\n".encode(),
    b"text\n{{text}}{% now %}\n",
    "text\n\U0010ffff\ufffe\n".encode(),
    b"text\r1\r2\r",
    b'{"text": "' + b"x" * 100_000 + b'"}\n',
    b'{"text": 1e999999}\n{"text": -0}\n',
    b'{"' + b"k" * 300 + b'": 1}\n',
    b";;;;;\n",
    b"a,b\n" * 3,
    b"\xef\xbb\xbf\xef\xbb\xbftext\n1\n",
    "﻿=cmd()\n=1\n".encode("gb18030"),
]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a"])
def test_whatever_a_file_holds_there_is_an_answer(alice: Client, world: World, content: bytes, name: str) -> None:
    status = upload(alice, content, name)[0]
    assert status in {302, 422}
    package = Package.objects.for_department(world.retail).first()
    assert (package is not None) == (status == 302)
    if package:
        columns = package.reading["columns"]
        assert alice.get(reverse("packages:task", args=[package.pk])).status_code == 200
        assert "<script>alert" not in alice.get(reverse("packages:task", args=[package.pk])).text
        assert _continue(alice, package, world, user_template=f"{{{{{columns[0]}}}}}")[0] in {302, 422}
        package.refresh_from_db()
        ingest(package_id=package.pk, epoch=package.ingest_epoch)
        package.refresh_from_db()
        assert package.rows_total == package.rows_good + package.rows_set_aside
