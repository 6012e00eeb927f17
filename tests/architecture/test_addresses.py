"""Every address × every role × one's own, somebody else's and no object.

The table is written from what the roles may do (DESIGN §1), not from the views. An address that is missing here
fails the first test, so nobody adds a page without deciding who may open it.
"""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.signals import request_finished
from django.db import close_old_connections
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from portal.capacity.models import Window
from portal.departments import services as departments
from portal.departments.models import Person
from portal.packages.models import Package
from portal.packages.receiving import arrivals, uploads
from tests.world import World

STAFF, FINANCE, ADMIN, OPERATOR = "staff", "finance", "admin", "operator"
DEPARTMENT = frozenset({STAFF, FINANCE})
EVERYBODY = frozenset({STAFF, FINANCE, ADMIN, OPERATOR})
ROLES = (STAFF, FINANCE, ADMIN, OPERATOR)


@dataclass(frozen=True)
class Address:
    """Who may open it, by which method, and which of a department's objects it names, if any."""

    roles: frozenset[str]
    method: str = "get"
    names: str = ""
    is_public: bool = False
    is_for_scripts: bool = False
    """Strangers are told so, instead of being sent to a page."""


def page(*roles: str) -> Address:
    return Address(frozenset(roles))


def of_package(*roles: str, method: str = "get") -> Address:
    return Address(frozenset(roles), method, "package")


ADDRESSES = {
    "packages:home": Address(EVERYBODY),
    "packages:new": page(STAFF),
    "packages:uploads": Address(frozenset({STAFF}), "post", is_for_scripts=True),
    "packages:upload": Address(frozenset({STAFF}), "head", "upload", is_for_scripts=True),
    "packages:detail": of_package(*DEPARTMENT),
    "packages:task": of_package(STAFF),
    "packages:preview": of_package(STAFF, method="post"),
    "packages:reread": of_package(STAFF, method="post"),
    "packages:reading": of_package(*DEPARTMENT),
    "packages:stop-reading": of_package(STAFF, method="post"),
    "packages:discard": of_package(STAFF, method="post"),
    "packages:promise": of_package(*DEPARTMENT),
    "packages:confirm": of_package(STAFF),
    "packages:live": of_package(*DEPARTMENT),
    "packages:pause": of_package(STAFF, method="post"),
    "packages:resume": of_package(STAFF, method="post"),
    "packages:cancel": of_package(STAFF),
    "packages:quarantine": of_package(*DEPARTMENT),
    "packages:correct": of_package(STAFF, method="post"),
    "packages:download": of_package(*DEPARTMENT),
    "billing:usage": page(*DEPARTMENT, ADMIN),
    "billing:bills": page(*DEPARTMENT, ADMIN),
    "billing:pdf": Address(DEPARTMENT | {ADMIN}, names="month"),
    "billing:csv": Address(DEPARTMENT | {ADMIN}, names="month"),
    "favicon": Address(EVERYBODY, is_public=True),
    "departments:sign-in": Address(EVERYBODY, is_public=True),
    "departments:sign-out": Address(EVERYBODY, "post", is_public=True),
    "departments:language": Address(EVERYBODY, "post", is_public=True),
    "departments:preferences": Address(EVERYBODY),
    "departments:password": Address(EVERYBODY),
    "departments:keys": page(*DEPARTMENT),
    "departments:revoke-key": Address(DEPARTMENT, "post", "key"),
    "departments:admin": page(ADMIN),
    "departments:new-department": page(ADMIN),
    "departments:department": Address(frozenset({ADMIN}), names="department"),
    "departments:people": page(ADMIN),
    "departments:new-person": page(ADMIN),
    "departments:person": Address(frozenset({ADMIN}), names="person"),
    "departments:reset-password": Address(frozenset({ADMIN}), "post", "person"),
    "capacity:models": page(ADMIN),
    "capacity:new-model": page(ADMIN),
    "capacity:model": Address(frozenset({ADMIN}), names="model"),
    "capacity:pools": page(ADMIN),
    "capacity:new-pool": page(ADMIN),
    "capacity:pool": Address(frozenset({ADMIN}), names="pool"),
    "capacity:add-window": Address(frozenset({ADMIN}), "post", "pool"),
    "capacity:window": Address(frozenset({ADMIN}), names="window"),
    "capacity:remove-window": Address(frozenset({ADMIN}), "post", "window"),
    "prices:list": page(ADMIN),
    "prices:new": page(ADMIN),
    "operations:board": page(OPERATOR),
    "operations:dead-letters": page(OPERATOR),
    "operations:audit": page(OPERATOR, ADMIN),
}
OWNED_BY_A_DEPARTMENT = {"package", "key", "upload"}
API_PREFIX = "api:"


def named_addresses(resolver: URLResolver | None = None, space: str = "") -> Iterator[str]:
    """The full name of every address of the portal."""
    for entry in (resolver or get_resolver()).url_patterns:
        if isinstance(entry, URLResolver):
            yield from named_addresses(entry, f"{space}{entry.namespace}:" if entry.namespace else space)
        elif isinstance(entry, URLPattern):
            yield f"{space}{entry.name}"


@dataclass(frozen=True)
class Cast:
    """Who asks, and the objects they ask about: Alice's package and key, and things of the installation."""

    people: dict[str, Person]
    stranger: Person
    arguments: dict[str, dict[str, object]]

    def client(self, role: str) -> Client:
        client = Client(raise_request_exception=False)
        client.force_login(self.people[role])
        return client

    def url(self, name: str) -> str:
        """The address of an object that exists; administrators say whose bill they want."""
        return self._address(name, self.arguments[ADDRESSES[name].names])

    def unknown_url(self, name: str) -> str:
        """The same address with an id that nobody has."""
        return self._address(name, {"ref": uuid.uuid4()})

    def _address(self, name: str, arguments: dict[str, object]) -> str:
        what = {"what": "results.csv"} if name == "packages:download" else {}
        whose = "?department=retail" if name.startswith("billing:") else ""
        return reverse(name, kwargs={**arguments, **what}) + whose


@pytest.fixture
def cast(world: World) -> Cast:
    package = uploads.create_draft(
        by=world.alice, department=world.retail, filename="reviews.csv",
        chunks=[b"id,text\n1,fine\n2,bad\n"], now=timezone.now(),
    )  # fmt: skip
    key, _secret = departments.create_api_key(person=world.alice, name="nightly", now=timezone.now())
    upload = arrivals.begin(by=world.alice, department=world.retail, filename="a.csv", size=1, now=timezone.now())
    window = Window.objects.get(pool=world.pool)
    return Cast(
        people={STAFF: world.alice, FINANCE: world.fiona, ADMIN: world.ada, OPERATOR: world.otto},
        stranger=world.charlie,
        arguments={
            "": {},
            "month": {"month": f"{timezone.now().astimezone(world.retail.zone):%Y-%m}"},
            "package": {"ref": package.pk},
            "key": {"ref": key.pk},
            "upload": {"ref": upload.pk},
            "department": {"ref": world.legal.pk},
            "person": {"ref": world.charlie.pk},
            "model": {"name": world.echo.name},
            "pool": {"name": world.pool.name},
            "window": {"name": world.pool.name, "pk": window.pk},
        },
    )


def ask(client: Client, name: str, url: str) -> HttpResponse:
    return closed(getattr(client, ADDRESSES[name].method)(url))


def closed(answer: HttpResponse) -> HttpResponse:
    """Closing a stream ends the request, which would close the test's own database connection."""
    request_finished.disconnect(close_old_connections)
    try:
        answer.close()
    finally:
        request_finished.connect(close_old_connections)
    return answer


def test_every_address_has_its_line_in_the_table() -> None:
    pages = {name for name in named_addresses() if not name.startswith(API_PREFIX)}
    assert pages == set(ADDRESSES)


@pytest.mark.parametrize("name", ADDRESSES)
def test_strangers_are_sent_to_sign_in(name: str, cast: Cast) -> None:
    answer = ask(Client(), name, cast.url(name))
    if ADDRESSES[name].is_public:
        assert answer.status_code in {200, 302, 422}
    elif ADDRESSES[name].is_for_scripts:
        assert answer.status_code == 401
    else:
        assert answer.status_code == 302
        assert answer.headers["Location"].startswith("/sign-in")


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", ADDRESSES)
def test_a_page_opens_for_its_roles_and_no_other(name: str, role: str, cast: Cast) -> None:
    status = ask(cast.client(role), name, cast.url(name)).status_code
    if role in ADDRESSES[name].roles:
        assert status not in {403, 404}
        assert status < 500
    else:
        assert status == 403


@pytest.mark.parametrize("name", [n for n, a in ADDRESSES.items() if a.names in OWNED_BY_A_DEPARTMENT])
def test_a_foreign_object_looks_exactly_like_an_unknown_one(name: str, cast: Cast) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(cast.stranger)
    foreign, unknown = ask(client, name, cast.url(name)), ask(client, name, cast.unknown_url(name))
    assert foreign.status_code == unknown.status_code == 404
    assert comparable(foreign) == comparable(unknown)


def comparable(answer: HttpResponse) -> bytes:
    """The page without its form token and without its own address, which the one who asked knows anyway."""
    content = answer.content.replace(answer.request["PATH_INFO"].encode(), b"")
    return re.sub(rb'(csrfmiddlewaretoken" value="|X-CSRFToken": ")[^"]*', b"", content)


@pytest.mark.parametrize("path", ["", "/quotes", "/accept", "/cancel", "/results", "/quarantine", "/report"])
def test_the_api_shows_a_department_only_what_is_its_own(path: str, cast: Cast) -> None:
    method = "post" if path in {"/quotes", "/accept", "/cancel"} else "get"
    body = {"data": {"quote": str(uuid.uuid4())} if path == "/accept" else {}, "content_type": "application/json"}

    def status_for(person: Person | None, ref: object) -> tuple[int, bytes]:
        headers = {"Authorization": f"Bearer {_secret_of(person)}"} if person else {}
        client = Client(headers=headers, raise_request_exception=False)
        answer = closed(getattr(client, method)(f"/api/v1/packages/{ref}{path}", **(body if method == "post" else {})))
        return answer.status_code, b"" if answer.streaming else answer.content

    mine = cast.arguments["package"]["ref"]
    assert status_for(None, mine)[0] == 401
    assert status_for(cast.stranger, mine) == status_for(cast.stranger, uuid.uuid4())
    assert status_for(cast.stranger, mine)[0] == 404
    if path != "/accept":  # the offer in the body is unknown: 404 to everybody
        assert status_for(cast.people[STAFF], mine)[0] in {200, 409, 422}
    if method == "post" and path != "/accept":
        assert status_for(cast.people[FINANCE], mine)[0] == 403


@pytest.mark.usefixtures("world")
def test_a_signed_in_browser_is_no_key(cast: Cast) -> None:
    client = cast.client(STAFF)
    upload = SimpleUploadedFile("a.csv", b"id\n1\n")
    assert client.get("/api/v1/packages").status_code == 401
    assert client.post("/api/v1/packages", {"file": upload, "task": "{}"}).status_code == 401
    assert Package.objects.across_departments().count() == 1


@pytest.mark.parametrize("role", [STAFF, FINANCE])
def test_naming_another_department_shows_ones_own_bill(role: str, cast: Cast) -> None:
    month = cast.arguments["month"]["month"]
    own, named = (cast.client(role).get(f"/bills/{month}.csv{query}") for query in ("", "?department=legal"))
    assert own.headers["Content-Disposition"] == named.headers["Content-Disposition"]
    assert "retail" in named.headers["Content-Disposition"]


def _secret_of(person: Person) -> str:
    return departments.create_api_key(person=person, name="test", now=timezone.now())[1]
