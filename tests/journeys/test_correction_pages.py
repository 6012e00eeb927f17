"""The quarantine over HTTP: by reason, page by page, and the way of a corrected file, for people and for scripts."""

import re
from decimal import Decimal
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from portal.billing.models import LedgerEntry
from portal.packages.correcting.merging import merge
from portal.packages.models import Package
from tests.integration.test_corrections import DATA, corrected, ended, promised, read
from tests.journeys.test_api import client_of as script_of
from tests.manifests import ingested
from tests.pages import client_of, page
from tests.world import World

FIXED = b"slackwater_row,id,text\n5,5,five\n10,10,\n"


@pytest.fixture
def root(world: World) -> Package:
    """Completed, with six rows in quarantine."""
    return ended(ingested(world, DATA, id_column="id"), world)


def hand_over(client: Client, root: Package, content: bytes = FIXED, **headers: str) -> Any:
    file = SimpleUploadedFile("fixed.csv", content)
    return client.post(reverse("packages:correct", args=[root.pk]), {"file": file}, headers=headers)


def text_of(answer: Any) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", answer.content.decode()).split())


def test_a_corrected_file_is_read_at_once_and_shown_as_a_round(world: World, root: Package) -> None:
    alice = client_of(world.alice)
    answer = hand_over(alice, root)
    correction = root.corrections.get()
    assert answer.headers["Location"] == reverse("packages:reading", args=[correction.pk])
    read(correction)
    said = text_of(page(alice, "promise", correction))
    assert "Round 1 of corrections of reviews : only the rows of this file run, with the same task." in said
    rounds = text_of(page(alice, "quarantine", root))
    assert "1 fixed.csv quoted 2 0 1 0 –" in rounds


def test_a_script_in_the_page_is_told_where_to_go_on(world: World, root: Package) -> None:
    answer = hand_over(client_of(world.alice), root, Accept="application/json")
    assert (answer.status_code, answer.json()["address"]) == (
        201, reverse("packages:reading", args=[root.corrections.get().pk]),
    )  # fmt: skip


def test_what_is_wrong_with_the_file_stands_beside_it(world: World, root: Package) -> None:
    answer = hand_over(client_of(world.alice), root, b"id,text\n5,five\n")
    assert answer.status_code == 422
    assert "The file has no column “slackwater_row”" in text_of(answer)
    assert answer.context["may_correct"]
    without = client_of(world.alice).post(reverse("packages:correct", args=[root.pk]))
    assert (without.status_code, "Choose a file first." in text_of(without)) == (422, True)


def test_who_only_pays_sees_the_quarantine_but_hands_nothing_over(world: World, root: Package) -> None:
    said = page(client_of(world.fiona), "quarantine", root)
    assert "6 rows in quarantine" in text_of(said)
    assert "Upload the corrected file" not in text_of(said)


def test_all_rows_of_a_reason_are_listed_page_by_page(world: World) -> None:
    data = "id,text\n1,fine\n" + "".join(f"{row},\n" for row in range(2, 122))
    package = ingested(world, data)  # nothing is promised yet
    alice = client_of(world.alice)
    assert "Show all 120 rows: a needed field is empty" in text_of(page(alice, "quarantine", package))
    shown: list[int] = []
    for number in ("1", "2", "3"):
        listing = page(alice, "quarantine", package, reason="missing_field", page=number).context["listing"]
        assert listing.pages == 3
        shown += [sample.row for sample in listing.samples]
    assert shown == list(range(2, 122))
    for odd in ("0", "99", "x", "-1", "9" * 30, "²"):
        assert page(alice, "quarantine", package, reason="missing_field", page=odd).status_code == 200
    assert page(alice, "quarantine", package, reason="no_such").context["listing"] is None


def test_a_correction_shows_what_it_corrects_and_sends_people_there(world: World, root: Package) -> None:
    correction = corrected(root, FIXED.decode(), world)
    alice = client_of(world.alice)
    own = page(alice, "quarantine", correction)
    assert reverse("packages:quarantine", args=[root.pk]) in own.content.decode()
    assert "Upload the corrected file" not in text_of(own)
    assert "Round 1 of corrections of reviews" in text_of(page(alice, "detail", correction))
    there = text_of(page(alice, "detail", root))
    assert "5 rows can be corrected and run again" in there
    assert "Round 1 of corrections has ended: 1 row corrected, 5 left in quarantine" in there


def test_a_correction_of_which_nothing_can_run_says_why_and_can_be_discarded(world: World, root: Package) -> None:
    alice = client_of(world.alice)
    hand_over(alice, root, b"slackwater_row,id,text\n5,5,\n6,6,six\n")
    correction = read(root.corrections.get())
    assert correction.state == "invalid"
    at_task = page(alice, "task", correction)
    assert at_task.headers["Location"] == reverse("packages:quarantine", args=[correction.pk])
    said = text_of(page(alice, "quarantine", correction))
    assert "2 rows in quarantine" in said
    assert "Row 6 is not in quarantine, so it was left as it is." in said
    gone = alice.post(reverse("packages:discard", args=[correction.pk]))
    assert gone.headers["Location"] == reverse("packages:quarantine", args=[root.pk])
    assert not root.corrections.exists()


def test_a_script_hands_over_corrected_rows(world: World, root: Package) -> None:
    address = f"/api/v1/packages/{root.pk}/corrections"

    def post(client: Client, content: bytes = FIXED) -> Any:
        return client.post(address, {"file": SimpleUploadedFile("fixed.csv", content)})

    answer = post(script_of(world.bob))
    shown = answer.json()
    assert (answer.status_code, shown["state"], shown["corrects"], shown["round"]) == (
        201,
        "validating",
        str(root.pk),
        1,
    )
    refused = post(script_of(world.bob), b"id,text\n5,five\n")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "no_row_column")
    assert post(script_of(world.fiona)).status_code == 403
    assert post(script_of(world.charlie)).status_code == 404
    assert Client().post(address).status_code == 401
    promised(read(root.corrections.get()), world)
    under_way = post(script_of(world.bob))
    assert (under_way.status_code, under_way.json()["error"]["code"]) == (409, "correction_under_way")


def test_downloads_are_right_before_and_after_the_files_are_written_anew(world: World, root: Package) -> None:
    alice = client_of(world.alice)
    before = ended(read_of(root, alice), world)
    assert before.round == 1

    def rows(what: str) -> bytes:
        return b"".join(alice.get(reverse("packages:download", args=[root.pk, what])))

    laid_over = {what: rows(what) for what in ("results.csv", "results.jsonl", "quarantine.csv")}
    assert b"5,five,succeeded" in laid_over["results.csv"]
    merge(package_id=root.pk)
    assert {what: rows(what) for what in laid_over} == laid_over
    assert b'"succeeded": 15' in rows("report.json")


def read_of(root: Package, client: Client) -> Package:
    hand_over(client, root)
    return read(root.corrections.get())


def test_a_file_that_is_not_accepted_yet_is_replaced_by_the_next_and_everybody_is_told(
    world: World, root: Package
) -> None:
    alice = client_of(world.alice)
    assert "takes its place" not in text_of(page(alice, "quarantine", root))
    hand_over(alice, root)
    first = read(root.corrections.get())
    assert "Round 1 (fixed.csv) is not accepted yet. Another file takes its place" in text_of(
        page(alice, "quarantine", root)
    )
    hand_over(alice, root, b"slackwater_row,id,text\n15,15,f\n")
    there = reverse("packages:quarantine", args=[root.pk])
    for old in ("promise", "quarantine", "detail", "reading"):
        answer = page(alice, old, first)
        assert (answer.status_code, answer.headers["Location"]) == (302, f"{there}?replaced=1")
    assert "was replaced by another one before it was accepted" in text_of(alice.get(f"{there}?replaced=1"))
    assert "The file of round 1 was replaced by another one; nothing of it had run (Alice)" in text_of(
        page(alice, "detail", root)
    )
    assert page(client_of(world.charlie), "promise", first).status_code == 404


def test_the_page_of_a_package_tells_its_own_price_and_that_with_its_corrections(world: World, root: Package) -> None:
    correction = corrected(root, FIXED.decode(), world)
    ledger = LedgerEntry.objects.for_department(world.retail)
    for package, amount in ((root, "1.004"), (correction, "2.004")):
        (entry,) = ledger.filter(package_ref=package.pk)
        ledger.filter(pk=entry.pk).update(amount=Decimal(amount))
    said = text_of(page(client_of(world.alice), "detail", root))
    assert "¥ 1.00 charged" in said
    assert "+ ¥ 2.00 for corrections: ¥ 3.01 in all" in said  # rounded once


def test_lists_and_pages_tell_a_correction_from_its_package(world: World, root: Package) -> None:
    correction = corrected(root, FIXED.decode(), world)
    alice = client_of(world.alice)
    assert "reviews, correction 1" in text_of(alice.get(reverse("packages:home")))
    assert "reviews, correction 1" in text_of(page(alice, "detail", correction))
