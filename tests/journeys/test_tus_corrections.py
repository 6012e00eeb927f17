"""Corrected rows that come in pieces: read at once as a correction, and as one only."""

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from portal.packages.correcting import corrections
from portal.packages.models import Package, Upload
from tests.integration.test_corrections import DATA, ended
from tests.journeys.test_tus import Killed, begin, metadata, send
from tests.manifests import ingested
from tests.pages import client_of
from tests.world import World

FIXED = b"slackwater_row,id,text\n5,5,five\n10,10,ten\n"


@pytest.fixture
def root(world: World) -> Package:
    """Completed, with six rows in quarantine."""
    return ended(ingested(world, DATA, id_column="id"), world)


def correcting(client: Client, root: Package, size: int = len(FIXED)) -> HttpResponse:
    return begin(client, size, **{"Upload-Metadata": metadata(filename="fixed.csv", corrects=str(root.pk))})


def test_the_last_piece_of_corrected_rows_starts_the_reading_of_a_correction(alice: Client, root: Package) -> None:
    address = correcting(alice, root).headers["Location"]
    send(alice, address, 0, FIXED[:9])
    answer = send(alice, address, 9, FIXED[9:])
    correction = root.corrections.get()
    assert answer.headers["Slackwater-Address"] == reverse("packages:reading", args=[correction.pk])
    again = send(alice, address, len(FIXED), b"")
    assert again.headers["Slackwater-Address"] == answer.headers["Slackwater-Address"]
    assert (root.corrections.count(), correction.round) == (1, 1)


def test_killed_before_the_draft_was_made_a_correction_it_becomes_one_by_asking_again(
    alice: Client, root: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(**_more: object) -> None:
        raise Killed

    address = correcting(alice, root).headers["Location"]
    with monkeypatch.context() as killed:
        killed.setattr(corrections, "adopt", dies)
        with pytest.raises(Killed):
            send(alice, address, 0, FIXED)
    assert not root.corrections.exists()
    assert "Slackwater-Address" in send(alice, address, len(FIXED), b"").headers
    assert root.corrections.get().filename == "fixed.csv"


def test_a_file_that_corrects_nothing_is_refused_and_the_upload_gone(
    alice: Client, world: World, root: Package
) -> None:
    data = b"id,text\n5,five\n"
    answer = send(alice, correcting(alice, root, len(data)).headers["Location"], 0, data)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "no_row_column")
    assert Package.objects.for_department(world.retail).count() == 1


def test_what_cannot_be_corrected_is_told_before_a_byte_is_sent(alice: Client, world: World, root: Package) -> None:
    going = ingested(world, DATA, id_column="id")
    answer = correcting(alice, going)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "not_over")
    foreign = correcting(client_of(world.charlie), root)
    assert (foreign.status_code, foreign.json()["error"]["code"]) == (404, "not_found")
    assert not Upload.objects.across_departments().exists()
