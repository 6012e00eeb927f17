"""Pieces of a file in front of the portal: kept byte by byte as they arrive, whatever becomes of the connection."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from portal import intake, streams
from portal.asgi import application
from portal.packages.models import Package
from portal.packages.store import objects
from tests.journeys.test_tus import MANIFEST, begun, offset
from tests.pages import client_of
from tests.world import World, create_world

pytestmark = pytest.mark.django_db(transaction=True)
Message = dict[str, Any]


@pytest.fixture
def cast() -> World:
    return create_world()


@pytest.fixture
def alice(cast: World) -> Client:
    return client_of(cast.alice)


def body(data: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": data, "more_body": more}


GONE: Message = {"type": "http.disconnect"}


async def silence() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("nothing ends this silence")


def patch(
    client: Client, address: str, at: int, *messages: Message, then: Callable[[], Awaitable[Message]] = silence
) -> list[Message]:
    """What the portal answers to these messages in a row, which are followed by silence unless something is said."""
    coming, answers = list(messages), list[Message]()

    async def receive() -> Message:
        return coming.pop(0) if coming else await then()

    async def send(message: Message) -> None:
        answers.append(message)

    cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())
    token = client.cookies["csrftoken"].value
    headers = {
        "host": "localhost", "cookie": cookies, "x-csrftoken": token, "tus-resumable": "1.0.0",
        "upload-offset": str(at), "content-type": "application/offset+octet-stream", "accept": "application/json",
    }  # fmt: skip
    scope = {
        "type": "http", "method": "PATCH", "path": address, "query_string": b"", "http_version": "1.1",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "server": ("localhost", 80), "scheme": "http",
    }  # fmt: skip
    asyncio.run(asyncio.wait_for(application(scope, receive, send), 20))
    return answers


@pytest.fixture
def address(alice: Client) -> str:
    alice.get(reverse("packages:new"))
    return begun(alice)


def test_a_piece_arrives_and_the_last_one_makes_the_package(alice: Client, cast: World, address: str) -> None:
    answers = patch(alice, address, 0, body(MANIFEST[:7], more=True), body(MANIFEST[7:], more=False))
    assert answers[0]["status"] == 204
    assert objects().get(Package.objects.for_department(cast.retail).get().manifest_key) == MANIFEST


def test_what_came_before_the_sender_left_is_kept(alice: Client, address: str) -> None:
    patch(alice, address, 0, body(MANIFEST[:7], more=True), GONE)
    assert offset(alice, address) == 7
    assert patch(alice, address, 7, body(MANIFEST[7:], more=False))[0]["status"] == 204


def test_a_sender_that_falls_silent_is_given_up_so_that_it_can_come_back(
    alice: Client, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "PATIENCE_S", 0.2)
    patch(alice, address, 0, body(MANIFEST[:7], more=True))
    assert offset(alice, address) == 7
    assert patch(alice, address, 7, body(MANIFEST[7:], more=False))[0]["status"] == 204


def test_bytes_are_in_the_store_before_the_piece_is_over(alice: Client, cast: World, address: str) -> None:
    upload = address.rpartition("/")[2].replace("-", "")
    seen = list[int]()

    async def look_then_leave() -> Message:
        seen.append(objects().unfinished_size(f"{cast.retail.id.hex}/{upload}/manifest/original.csv"))
        return GONE

    patch(alice, address, 0, body(MANIFEST[:7], more=True), then=look_then_leave)
    assert seen[0] == 7


def test_a_full_disk_is_noticed_while_a_piece_arrives(
    alice: Client, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "LOOK_EVERY", 4)
    monkeypatch.setattr(intake, "SPARE_BYTES", 10**18)
    answers = patch(alice, address, 0, body(MANIFEST[:3], more=True), body(MANIFEST[3:], more=False))
    assert answers[0]["status"] == 507
    assert json.loads(answers[1]["body"])["error"]["code"] == "storage_full"
    assert offset(alice, address) == 3
