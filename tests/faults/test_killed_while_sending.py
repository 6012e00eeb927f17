"""A portal that is killed again and again while a file is sent to it in pieces."""

import base64
import http.client
import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256

import pytest
from django.test import Client
from django.urls import reverse

from portal.packages.models import Package
from tests.faults.test_scheduler import database_url
from tests.launcher import eventually
from tests.pages import client_of
from tests.world import World, create_world

ROWS = b"".join(b"%07d,quiet tide\n" % no for no in range(250_000))
MANIFEST = b"id,review\n" + ROWS  # 5.0 MB
KILLS = 4

pytestmark = pytest.mark.django_db(transaction=True)


class Portal:
    """A portal in front of the tests' stores that can be killed and started again."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "portal.asgi:application", "--port", str(self.port)],
            env=os.environ | {"DATABASE_URL": database_url()}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert eventually(self._answers)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def portal() -> Iterator[Portal]:
    started = Portal()
    yield started
    started.kill()


class Sender:
    """A client of tus that knows nothing but an address and what it is told."""

    def __init__(self, portal: Portal, browser: Client) -> None:
        self._portal = portal
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in browser.cookies.items())
        token = browser.cookies["csrftoken"].value
        self._headers = {"Cookie": cookies, "X-CSRFToken": token, "Tus-Resumable": "1.0.0"}

    def ask(self, method: str, address: str, body: bytes = b"", **headers: str) -> http.client.HTTPResponse:
        line = http.client.HTTPConnection("127.0.0.1", self._portal.port, timeout=60)
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        line.request(method, address, body=body, headers=self._headers | told)
        answer = line.getresponse()
        answer.read()
        line.close()
        return answer

    def begin(self) -> str:
        name = base64.b64encode(b"large.csv").decode()
        answer = self.ask("POST", "/uploads", Upload_Length=str(len(MANIFEST)), Upload_Metadata=f"filename {name}")
        return str(answer.headers["Location"])

    def offset(self, address: str) -> int:
        return int(self.ask("HEAD", address).headers["Upload-Offset"])

    def send(self, address: str, at: int, data: bytes) -> http.client.HTTPResponse:
        kind = "application/offset+octet-stream"
        return self.ask("PATCH", address, data, Upload_Offset=str(at), Content_Type=kind)

    def send_half_a_piece(self, address: str, at: int, data: bytes) -> socket.socket:
        """The head and half of the body, and the line stays open."""
        head = {**self._headers, "Host": "localhost", "Upload-Offset": str(at), "Content-Length": str(len(data))}
        head["Content-Type"] = "application/offset+octet-stream"
        lines = [f"PATCH {address} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items()), "", ""]
        line = socket.create_connection(("127.0.0.1", self._portal.port))
        line.sendall("\r\n".join(lines).encode() + data[: len(data) // 2])
        return line


@pytest.fixture
def world(transactional_db: None) -> World:
    return create_world()


def test_the_file_is_whole_however_often_the_portal_is_killed(world: World, portal: Portal) -> None:
    browser = client_of(world.alice)
    browser.get(reverse("packages:new"))
    sender, chance = Sender(portal, browser), random.Random(7)
    address, at = sender.begin(), 0
    for _ in range(KILLS):
        piece = MANIFEST[at : at + chance.randrange(200_000, 1_500_000)]
        with sender.send_half_a_piece(address, at, piece):
            least = at + len(piece) // 4
            assert eventually(lambda least=least: sender.offset(address) >= least)
            portal.kill()
        portal.start()
        at = sender.offset(address)
        assert at >= least
    answer = sender.send(address, at, MANIFEST[at:])
    assert answer.status == 204
    package = Package.objects.for_department(world.retail).get()
    assert answer.headers["Slackwater-Address"] == reverse("packages:task", args=[package.pk])
    assert package.manifest_sha256 == sha256(MANIFEST).hexdigest()
