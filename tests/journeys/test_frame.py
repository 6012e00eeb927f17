"""What holds for every page: the strict policy, nothing inline, its own language, and the right door for each role."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from portal.departments.models import Person
from tests.world import World

TEMPLATES = Path(__file__).parents[2] / "templates"
PRINTED = {TEMPLATES / "billing" / "bill_document.html"}  # becomes a PDF, is never served as a page
POLICY = {
    "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "font-src 'self'",
    "connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'",
}  # fmt: skip
INLINE = {
    "a style attribute": re.compile(r"<[^>]*\sstyle\s*=", re.IGNORECASE),
    "a style element": re.compile(r"<style\b", re.IGNORECASE),
    "a script of its own": re.compile(r"<script(?![^>]*\ssrc=)", re.IGNORECASE),
    "an event attribute": re.compile(r"<[^>]*\son[a-z]+\s*=", re.IGNORECASE),
    "something from elsewhere": re.compile(r"(?:src|action|hx-get|hx-post)\s*=\s*[\"'](?:https?:)?//", re.IGNORECASE),
}
ADMIN, OPERATOR, DEPARTMENT = {"ada"}, {"otto"}, {"alice", "bob", "fiona", "charlie"}
DOORS = {
    "departments:preferences": ADMIN | OPERATOR | DEPARTMENT,
    "departments:password": ADMIN | OPERATOR | DEPARTMENT,
    "departments:keys": DEPARTMENT,
    "departments:admin": ADMIN,
    "departments:new-department": ADMIN,
    "departments:people": ADMIN,
    "departments:new-person": ADMIN,
    "capacity:models": ADMIN,
    "capacity:new-model": ADMIN,
    "capacity:pools": ADMIN,
    "capacity:new-pool": ADMIN,
    "prices:list": ADMIN,
    "prices:new": ADMIN,
    "operations:board": OPERATOR,
    "operations:dead-letters": OPERATOR,
    "operations:audit": OPERATOR | ADMIN,
}


def signed_in(person: Person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def check_page(answer: HttpResponse, address: str) -> None:
    """The policy is whole, and an HTML body holds nothing that it forbids."""
    assert set(answer.headers["Content-Security-Policy"].split("; ")) == POLICY, address
    assert answer.headers["X-Frame-Options"] == "DENY"
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        body = answer.content.decode()
        for name, pattern in INLINE.items():
            found = pattern.search(body)
            assert found is None, f"{address} has {name}: {found and found.group()[:120]}"


def crawl(client: Client, start: str) -> Iterator[tuple[str, HttpResponse]]:
    """Every page that can be reached by links from ``start``, once."""
    seen, ahead = {start}, [start]
    while ahead:
        address = ahead.pop()
        answer = client.get(address)
        yield address, answer
        if answer.status_code in (301, 302):
            links = [answer.headers["Location"]]
        elif answer.headers.get("Content-Type", "").startswith("text/html"):
            links = re.findall(r'href="(/[^"#]*)', answer.content.decode())
        else:
            links = []
        fresh = {link.replace("&amp;", "&") for link in links if not link.startswith("/static/")} - seen
        seen |= fresh
        ahead += sorted(fresh)


@pytest.mark.parametrize("who", ["alice", "fiona", "ada", "otto"])
def test_every_page_within_reach_answers_and_keeps_the_policy(world: World, who: str) -> None:
    visited = 0
    for address, answer in crawl(signed_in(getattr(world, who)), "/"):
        assert answer.status_code in (200, 302), address
        check_page(answer, address)
        visited += 1
    assert visited > 3


@pytest.mark.parametrize("address", ["/sign-in", "/no-such-page", "/operations", "/preferences"])
def test_strangers_pages_keep_the_policy(world: World, address: str) -> None:
    check_page(Client().get(address), address)


@pytest.mark.parametrize("door", DOORS)
def test_each_role_enters_only_its_own_rooms(world: World, door: str) -> None:
    for who in ADMIN | OPERATOR | DEPARTMENT:
        answer = signed_in(getattr(world, who)).get(reverse(door))
        assert answer.status_code == (200 if who in DOORS[door] else 403), f"{who} at {door}"
        check_page(answer, door)
    assert Client().get(reverse(door)).status_code == 302


@pytest.mark.parametrize(
    "template", sorted(set(TEMPLATES.rglob("*.html")) - PRINTED), ids=lambda path: str(path.relative_to(TEMPLATES))
)
def test_no_template_has_anything_inline(template: Path) -> None:
    text = re.sub(r"\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\}", "", template.read_text("utf-8"), flags=re.DOTALL)
    found = [name for name, pattern in INLINE.items() if pattern.search(text)]
    assert found == []


def test_an_unknown_address_says_so_in_the_frame(world: World) -> None:
    answer = signed_in(world.alice).get("/no-such-page")
    assert answer.status_code == 404
    assert "There is nothing under this address" in answer.content.decode()
    assert "Sign out" in answer.content.decode()


def test_a_stale_form_is_refused_with_what_to_do(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.alice)
    answer = client.post(reverse("departments:preferences"), {"language": "en", "theme": "dark"})
    assert answer.status_code == 403
    assert "open too long" in answer.content.decode()
    fragment = client.post(reverse("departments:preferences"), headers={"HX-Request": "true"})
    assert "<html" not in fragment.content.decode()


def test_a_failure_of_ours_is_a_page_that_stands_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*args: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr("portal.departments.queries.keys_of", break_down)
    client = Client(raise_request_exception=False)
    client.force_login(world.alice)
    answer = client.get(reverse("departments:keys"))
    assert answer.status_code == 500
    assert "Something broke on our side" in answer.content.decode()
    assert "broken on purpose" not in answer.content.decode()


def test_the_frame_names_the_department_its_zone_and_the_current_page(world: World) -> None:
    page = signed_in(world.alice).get("/").content.decode()
    assert "Retail · CST (UTC+8)" in page
    assert re.search(r'aria-current="page"[^>]*>Packages<', page)


@pytest.mark.parametrize("who", ["ada", "otto"])
def test_who_serves_every_department_is_told_that_times_are_utc(world: World, who: str) -> None:
    page = signed_in(getattr(world, who)).get(reverse("departments:preferences")).content.decode()
    assert "UTC ·" in page
    assert "Times: UTC" in page
