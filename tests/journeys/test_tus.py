"""Files in pieces, as any client of tus 1.0.0 sends them: begun, gone on with, ended, refused."""

import base64
import errno
import os
from datetime import timedelta
from threading import Barrier, Thread

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from portal.packages import services
from portal.packages.models import Package, Upload
from portal.packages.receiving import arrivals, orphans, pieces, uploads
from portal.packages.store import objects
from scheduler.objects import ObjectNotFound
from tests.pages import client_of
from tests.world import World, create_world

MANIFEST = "编号,内容\n1,潮水\n2,𠮷\n".encode()
TUS = {"Tus-Resumable": "1.0.0"}


def metadata(**facts: str) -> str:
    return ",".join(f"{name} {base64.b64encode(value.encode()).decode()}" for name, value in facts.items())


def begin(client: Client, size: int = len(MANIFEST), name: str = "评论.csv", **headers: str) -> HttpResponse:
    told = TUS | {"Upload-Length": str(size), "Upload-Metadata": metadata(filename=name)} | headers
    return client.post(reverse("packages:uploads"), headers=told)


def begun(client: Client, size: int = len(MANIFEST), name: str = "评论.csv") -> str:
    """The address of a fresh upload."""
    answer = begin(client, size, name)
    assert answer.status_code == 201
    return str(answer.headers["Location"])


def send(client: Client, address: str, at: int, data: bytes, **headers: str) -> HttpResponse:
    kind = "application/offset+octet-stream"
    told = TUS | {"Upload-Offset": str(at), "Content-Type": kind} | headers
    return client.patch(address, data, content_type=kind, headers=told)


def offset(client: Client, address: str) -> int:
    answer = client.head(address, headers=TUS)
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    return int(answer.headers["Upload-Offset"])


def key_of(upload: Upload) -> str:
    return f"{upload.department_id.hex}/{upload.pk.hex}/manifest/original.csv"


def of_retail(world: World) -> list[str]:
    return [found.key for found in objects().list(f"{world.retail.id.hex}/")]


@pytest.fixture(autouse=True)
def no_notes_of_other_tests() -> None:
    objects().delete_prefix(orphans.FOLDER)


def test_a_file_in_two_pieces_becomes_a_package_whose_page_the_last_answer_names(alice: Client, world: World) -> None:
    address = begun(alice)
    assert offset(alice, address) == 0
    first = send(alice, address, 0, MANIFEST[:10])
    assert (first.status_code, first.headers["Upload-Offset"]) == (204, "10")
    assert "Upload-Expires" in first.headers
    assert offset(alice, address) == 10
    last = send(alice, address, 10, MANIFEST[10:])
    assert (last.status_code, last.headers["Upload-Offset"]) == (204, str(len(MANIFEST)))
    package = Package.objects.for_department(world.retail).get()
    assert last.headers["Slackwater-Address"] == reverse("packages:task", args=[package.pk])
    assert (package.name, package.created_by, package.reading["columns"]) == ("评论", world.alice, ["编号", "内容"])
    assert objects().get(package.manifest_key) == MANIFEST
    assert alice.get(last.headers["Slackwater-Address"]).status_code == 200


def test_the_last_piece_sent_twice_is_the_same_package(alice: Client, world: World) -> None:
    address = begun(alice)
    first = send(alice, address, 0, MANIFEST)
    again = send(alice, address, len(MANIFEST), b"")
    assert again.status_code == 204
    assert again.headers["Slackwater-Address"] == first.headers["Slackwater-Address"]
    head = alice.head(address, headers=TUS)
    assert head.headers["Slackwater-Address"] == first.headers["Slackwater-Address"]
    assert Package.objects.for_department(world.retail).count() == 1
    assert send(alice, address, 0, MANIFEST).status_code == 409


def test_a_piece_that_begins_elsewhere_is_refused_with_what_is_kept(alice: Client) -> None:
    address = begun(alice)
    send(alice, address, 0, MANIFEST[:10])
    for at in (0, 9, 11):
        answer = send(alice, address, at, b"x")
        assert answer.status_code == 409
        assert answer.json()["error"]["code"] == "offset_mismatch"
        assert answer.headers["Upload-Offset"] == "10"
    assert offset(alice, address) == 10


def test_more_than_was_announced_is_refused_and_what_came_before_is_kept(alice: Client) -> None:
    address = begun(alice)
    send(alice, address, 0, MANIFEST[:10])
    answer = send(alice, address, 10, MANIFEST[10:] + b"x")
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_many_bytes")
    assert offset(alice, address) == 10


@pytest.mark.parametrize(
    ("data", "name", "code"),
    [(b"%PDF-1.7 ......", "a.pdf", "wrong_format"), (b"id,text\n", "a.csv", "no_rows")],
)
def test_a_file_that_cannot_be_read_is_refused_at_its_last_byte_and_leaves_nothing(
    alice: Client, world: World, data: bytes, name: str, code: str
) -> None:
    address = begun(alice, len(data), name)
    answer = send(alice, address, 0, data)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
    assert name in answer.json()["error"]["message"]
    assert alice.head(address, headers=TUS).status_code == 404
    assert of_retail(world) == []
    assert not Upload.objects.for_department(world.retail).exists()


def test_a_size_that_is_never_taken_is_refused_before_a_byte_is_sent(alice: Client, settings: Settings) -> None:
    settings.UPLOAD_LIMIT_BYTES = 2048
    empty, large = begin(alice, 0), begin(alice, 2049)
    assert (empty.status_code, empty.json()["error"]["code"]) == (422, "empty_file")
    assert (large.status_code, large.json()["error"]["code"]) == (413, "too_large")
    assert "2.0 kB" in large.json()["error"]["message"]
    assert alice.options(reverse("packages:uploads")).headers["Tus-Max-Size"] == "2048"


def test_no_more_uploads_are_on_their_way_than_a_department_may_have(
    alice: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "MOST_UNFINISHED", 2)
    first, _second = begun(alice), begun(alice)
    refused = begin(alice)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "too_many_uploads")
    assert refused.json()["error"]["message"].startswith("2 files of your department are on their way")
    assert begin(client_of(world.charlie)).status_code == 201  # another department has room of its own
    assert send(alice, first, 0, MANIFEST).status_code == 204
    assert begin(alice).status_code == 201


@pytest.mark.parametrize(
    "headers",
    [
        {"Upload-Length": "many"},
        {"Upload-Length": "-1"},
        {"Upload-Metadata": "filename %%%"},
        {"Upload-Length": "1" * 30},
    ],
)
def test_headers_that_make_no_sense_are_told_by_name(alice: Client, headers: dict[str, str]) -> None:
    answer = begin(alice, **headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["header"] in headers


def test_another_version_and_another_kind_of_body_are_refused(alice: Client) -> None:
    assert begin(alice, **{"Tus-Resumable": "0.2.2"}).status_code == 412
    address = begun(alice)
    answer = alice.patch(address, b"{}", content_type="application/json", headers=TUS | {"Upload-Offset": "0"})
    assert answer.status_code == 415


def test_an_upload_given_up_is_gone_with_its_bytes(
    alice: Client, world: World, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    address = begun(alice)
    send(alice, address, 0, MANIFEST[:10])
    upload = Upload.objects.for_department(world.retail).get()
    with django_capture_on_commit_callbacks(execute=True):
        assert alice.delete(address, headers=TUS).status_code == 204
    assert alice.head(address, headers=TUS).status_code == 404
    with pytest.raises(ObjectNotFound):
        objects().unfinished_size(key_of(upload))


def test_strangers_and_other_roles_and_other_departments_get_nowhere(alice: Client, world: World) -> None:
    address = begun(alice)
    stranger = begin(Client())
    assert (stranger.status_code, stranger.json()["error"]["code"]) == (401, "signed_out")
    assert send(Client(), address, 0, MANIFEST).status_code == 401
    assert send(client_of(world.fiona), address, 0, MANIFEST).status_code == 403
    charlie = client_of(world.charlie)
    for answer in (send(charlie, address, 0, MANIFEST), charlie.delete(address, headers=TUS)):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert offset(alice, address) == 0


def test_a_page_of_another_site_cannot_send_for_somebody(world: World) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(world.alice)
    assert begin(strict).status_code == 403
    strict.get(reverse("packages:new"))
    assert begin(strict, **{"X-CSRFToken": strict.cookies["csrftoken"].value}).status_code == 201


# --- interruptions ------------------------------------------------------------------------------------------
class Killed(BaseException):
    """Stands for the end of the process: nothing is cleaned up after it."""


def test_killed_between_the_last_byte_and_the_package_it_is_made_by_asking_again(
    alice: Client, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_args: object, **_more: object) -> None:
        raise Killed

    address = begun(alice)
    with monkeypatch.context() as killed:
        killed.setattr(uploads, "sniff", dies)
        with pytest.raises(Killed):
            send(alice, address, 0, MANIFEST)
    assert offset(alice, address) == len(MANIFEST)
    assert "Slackwater-Address" not in alice.head(address, headers=TUS).headers
    assert "Slackwater-Address" in send(alice, address, len(MANIFEST), b"").headers
    assert objects().get(Package.objects.for_department(world.retail).get().manifest_key) == MANIFEST


def test_a_package_made_by_somebody_who_could_not_say_so_is_found(alice: Client, world: World) -> None:
    address = begun(alice)
    send(alice, address, 0, MANIFEST)
    Upload.objects.for_department(world.retail).update(package=None)
    assert "Slackwater-Address" in send(alice, address, len(MANIFEST), b"").headers
    assert Package.objects.for_department(world.retail).count() == 1


def test_a_full_disk_is_told_and_what_came_is_kept_until_there_is_space(
    alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    address = begun(alice)
    send(alice, address, 0, MANIFEST[:10])
    with monkeypatch.context() as disk:
        disk.setattr(os, "write", full)
        answer = send(alice, address, 10, MANIFEST[10:])
    assert (answer.status_code, answer.json()["error"]["code"]) == (507, "storage_full")
    assert offset(alice, address) == 10
    assert "Slackwater-Address" in send(alice, address, 10, MANIFEST[10:]).headers


def test_while_one_connection_sends_another_waits_its_turn(alice: Client, world: World) -> None:
    address = begun(alice)
    upload = Upload.objects.for_department(world.retail).get()
    with objects().open_append(key_of(upload), at=0) as sending:
        sending.write(MANIFEST[:4])
        answer = send(alice, address, 4, MANIFEST[4:])
        assert (answer.status_code, answer.json()["error"]["code"]) == (423, "upload_busy")
    assert "Slackwater-Address" in send(alice, address, 4, MANIFEST[4:]).headers


@pytest.mark.django_db(transaction=True)
def test_of_two_that_send_the_same_piece_at_once_the_file_is_whole_and_the_package_one() -> None:
    world = create_world()
    clients = [client_of(world.alice) for _ in range(4)]
    address = begun(clients[0])
    barrier, statuses = Barrier(4), list[int]()

    def push(client: Client) -> None:
        barrier.wait()
        statuses.append(send(client, address, 0, MANIFEST).status_code)
        connection.close()

    threads = [Thread(target=push, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses.count(204) == 1
    assert set(statuses) <= {204, 409, 423}
    package = Package.objects.for_department(world.retail).get()
    assert objects().get(package.manifest_key) == MANIFEST


# --- time -----------------------------------------------------------------------------------------------------
def test_an_upload_that_nothing_is_added_to_for_a_day_is_swept(alice: Client, world: World) -> None:
    begun(alice)
    upload = Upload.objects.for_department(world.retail).get()
    services.sweep(now=timezone.now() + timedelta(hours=23))
    assert objects().unfinished_size(key_of(upload)) == 0
    services.sweep(now=timezone.now() + timedelta(hours=25))
    assert not Upload.objects.for_department(world.retail).exists()
    with pytest.raises(ObjectNotFound):
        objects().unfinished_size(key_of(upload))


def test_the_sweep_leaves_the_package_of_an_old_upload_alone(alice: Client, world: World) -> None:
    send(alice, begun(alice), 0, MANIFEST)
    pieces.sweep(now=timezone.now() + timedelta(days=2))
    package = Package.objects.for_department(world.retail).get()
    assert objects().get(package.manifest_key) == MANIFEST


def test_a_whole_file_that_no_package_was_made_of_is_swept(alice: Client, world: World) -> None:
    begun(alice)
    upload = Upload.objects.for_department(world.retail).get()
    objects().finish(key_of(upload))
    pieces.sweep(now=timezone.now() + timedelta(days=2))
    assert of_retail(world) == []


def test_an_upload_whose_bytes_were_lost_is_begun_anew(alice: Client, world: World) -> None:
    address = begun(alice)
    objects().discard(key_of(Upload.objects.for_department(world.retail).get()))
    assert alice.head(address, headers=TUS).status_code == 404
