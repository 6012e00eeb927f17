"""The measured door in front of the portal: whose bodies are taken, how large, and what the others are told."""

import asyncio
import errno
import json
import os
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from portal import intake
from portal.asgi import application
from portal.departments.models import Person
from portal.departments.services import create_api_key
from tests.world import World, create_world

pytestmark = pytest.mark.django_db(transaction=True)
KB = 1024


@pytest.fixture
def cast() -> World:
    return create_world()


class Caller:
    """A client that speaks ASGI, and counts what of its body was taken."""

    def __init__(self, path: str, *, size: int, declared: bool = True, **headers: str) -> None:
        self.path, self.size, self.sent = path, size, 0
        self.messages: list[dict[str, Any]] = []
        if declared:
            headers["content-length"] = str(size)
        self.headers = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]

    async def _receive(self) -> dict[str, Any]:
        if self.sent >= self.size:
            await asyncio.Event().wait()
        chunk = b"x" * min(64 * KB, self.size - self.sent)
        self.sent += len(chunk)
        return {"type": "http.request", "body": chunk, "more_body": self.sent < self.size}

    async def _send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)

    def call(self) -> "Caller":
        scope = {
            "type": "http", "method": "POST", "path": self.path, "query_string": b"", "http_version": "1.1",
            "headers": [(b"host", b"localhost"), *self.headers], "server": ("localhost", 80), "scheme": "http",
        }  # fmt: skip
        asyncio.run(asyncio.wait_for(application(scope, self._receive, self._send), 20))
        return self

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def body(self) -> str:
        return b"".join(message.get("body", b"") for message in self.messages).decode()

    @property
    def error(self) -> dict[str, Any]:
        return dict(json.loads(self.body)["error"])


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(intake, "LINGER_S", 0.05)
    monkeypatch.setattr(intake, "AROUND_A_FILE", 64 * KB)
    settings.UPLOAD_LIMIT_BYTES = 4096 * KB


def key_of(person: Person) -> str:
    return "Bearer " + create_api_key(person=person, name="script", now=timezone.now())[1]


def cookie_of(person: Person) -> str:
    client = Client()
    client.force_login(person)
    return "sessionid=" + client.cookies["sessionid"].value


@pytest.mark.parametrize("path", ["/api/v1/packages", "/api/v1/usage", "/nowhere", "/sign-in"])
def test_a_declared_length_beyond_every_limit_is_refused_before_a_byte_is_taken(cast: World, path: str) -> None:
    caller = Caller(path, size=10**12, accept="application/json")
    caller._receive = lambda: asyncio.Event().wait()  # type: ignore[assignment, method-assign]
    assert caller.call().status == 413
    assert caller.error["code"] == "too_large"
    assert "MB" in caller.error["message"]


@pytest.mark.parametrize(
    ("path", "header"),
    [
        ("/api/v1/packages", {}),
        ("/api/v1/packages", {"authorization": "Bearer sw_madeup"}),
        ("/packages/new", {}),
        ("/packages/new", {"cookie": "sessionid=madeup"}),
    ],
)
@pytest.mark.parametrize("declared", [True, False])
def test_a_stranger_hands_over_nothing_that_would_reach_the_disk(
    cast: World, path: str, header: dict[str, str], declared: bool
) -> None:
    caller = Caller(path, size=3000 * KB, declared=declared, accept="application/json", **header).call()
    assert caller.status == 401
    assert caller.error["message"]


def test_a_body_without_a_length_is_refused_at_the_byte_that_is_too_many(cast: World) -> None:
    caller = Caller("/api/v1/packages", size=9000 * KB, declared=False, authorization=key_of(cast.alice)).call()
    assert caller.status == 413
    assert caller.error["limit"] == "4.2 MB"


def test_other_addresses_take_no_more_than_a_form(cast: World) -> None:
    caller = Caller("/preferences", size=3000 * KB, cookie=cookie_of(cast.alice)).call()
    assert caller.status == 413
    assert "2.6 MB" in caller.body
    assert "<html" in caller.body
    assert any(name == b"Content-Security-Policy" for name, _value in caller.messages[0]["headers"])


def test_the_refusal_is_in_the_language_of_the_caller(cast: World) -> None:
    caller = Caller("/preferences", size=3000 * KB, accept_language="zh-hans").call()
    assert "请求超过此处接受的" in caller.body


@pytest.mark.parametrize("path", ["/packages/new", f"/packages/{UUID(int=1)}/corrections", f"/uploads/{UUID(int=1)}"])
def test_a_person_who_is_signed_in_may_hand_over_a_file(cast: World, path: str) -> None:
    caller = Caller(path, size=3000 * KB, cookie=cookie_of(cast.alice)).call()
    assert caller.status == 403  # taken; only the form's token is missing
    assert caller.sent == caller.size


def test_the_sender_hears_the_answer_before_the_connection_ends(cast: World) -> None:
    caller = Caller("/nowhere", size=3000 * KB).call()
    assert (b"Connection", b"close") in caller.messages[0]["headers"]
    assert caller.sent == caller.size  # thrown away, not kept
    assert caller.messages[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


def test_a_full_disk_is_told_before_and_while_a_file_arrives(cast: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of(cast.alice)
    monkeypatch.setattr(intake, "SPARE_BYTES", 10**18)
    assert Caller("/api/v1/packages", size=3000 * KB, authorization=key).call().error["code"] == "storage_full"
    monkeypatch.setattr(intake, "SPARE_BYTES", 0)

    class Full(intake.tempfile.SpooledTemporaryFile):  # type: ignore[type-arg]
        def write(self, chunk: bytes) -> int:  # type: ignore[override]
            if chunk:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return 0

    monkeypatch.setattr(intake.tempfile, "SpooledTemporaryFile", Full)
    caller = Caller("/api/v1/packages", size=3000 * KB, declared=False, authorization=key).call()
    assert (caller.status, caller.error["code"]) == (507, "storage_full")
