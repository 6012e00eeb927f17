"""A disk or a database that takes nothing more is told as a refusal: 507, with what to do."""

import errno

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, connection
from django.test import Client
from django.urls import reverse

from portal.departments.outages import outage_of
from portal.packages.receiving import uploads
from tests.world import World


def test_only_what_is_about_space_is_told_so() -> None:
    assert outage_of(OSError(errno.ENOSPC, "full")) is not None
    assert outage_of(OSError(errno.EACCES, "forbidden")) is None
    assert outage_of(DatabaseError("something else")) is None


@pytest.mark.skipif(connection.vendor != "sqlite", reason="SQLite's own limit stands in for a full disk")
@pytest.mark.django_db
def test_a_full_database_is_recognised() -> None:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA max_page_count")
        before = cursor.fetchone()[0]
        cursor.execute("PRAGMA max_page_count = 1")  # what there is already is kept, nothing more fits
        with pytest.raises(DatabaseError) as met:
            cursor.execute("CREATE TABLE filler AS SELECT hex(randomblob(5000000))")
        cursor.execute(f"PRAGMA max_page_count = {before}")
    assert outage_of(met.value) is not None


def test_an_upload_into_a_full_disk_is_refused_with_a_sentence(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(uploads, "_store", full)
    client = Client()
    client.force_login(world.alice)
    sent = {"file": SimpleUploadedFile("a.csv", b"id,text\n1,a\n")}
    answer = client.post(reverse("packages:new"), sent, headers={"Accept": "application/json"})
    assert answer.status_code == 507
    assert "no space left" in answer.json()["error"]["message"]
