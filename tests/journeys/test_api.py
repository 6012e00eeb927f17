"""A script's way: submit, follow, quote, accept, cancel; and every refusal in one shape."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from portal.api import misfits
from portal.capacity.models import Quote
from portal.departments import services as departments
from portal.departments.models import Language, Person
from portal.packages.models import Package
from portal.packages.reading.ingest import ingest
from tests.world import World

MANIFEST = b"id,text\n1,lovely\n2,awful\n3,\n2,again\n"
TASK = {
    "kind": "tagging",
    "model": "echo",
    "prompt": "Good or bad? {{text}}",
    "labels": ["good", "bad"],
    "id_column": "id",
    "max_output_tokens": 4,
}
API = "/api/v1"


def client_of(person: Person) -> Client:
    _key, secret = departments.create_api_key(person=person, name="script", now=timezone.now())
    return Client(headers={"Authorization": f"Bearer {secret}"}, raise_request_exception=False)


@pytest.fixture
def alice(world: World) -> Client:
    return client_of(world.alice)


def submit(client: Client, manifest: bytes = MANIFEST, name: str = "reviews.csv", **task: Any) -> Any:
    file = SimpleUploadedFile(name, manifest)
    return client.post(f"{API}/packages", {"file": file, "task": json.dumps({**TASK, **task})})


def read_through(ref: str) -> None:
    """What Celery does after the upload."""
    package = Package.objects.across_departments().get(pk=ref)
    ingest(package_id=UUID(ref), epoch=package.ingest_epoch)


def post(client: Client, path: str, body: dict[str, Any] | None = None) -> Any:
    return client.post(f"{API}{path}", data=body or {}, content_type="application/json")


@pytest.fixture
def quoted(alice: Client) -> dict[str, Any]:
    """Alice's package with its manifest read: two good rows, one without text, one with an id used before."""
    ref = submit(alice).json()["id"]
    read_through(ref)
    shown: dict[str, Any] = alice.get(f"{API}/packages/{ref}").json()
    return shown


def test_a_submitted_package_is_read_and_its_rows_add_up(quoted: dict[str, Any]) -> None:
    assert quoted["state"] == "quoted"
    assert quoted["columns"] == ["id", "text"]
    assert (quoted["encoding"], quoted["certainty"]) == ("utf-8", "proven")
    rows = quoted["rows"]
    assert (rows["total"], rows["set_aside"], rows["quarantined"], rows["to_go"]) == (4, 2, 2, 2)
    assert rows["set_aside_by_code"] == {"missing_field": 1, "duplicate_id": 1}
    assert rows["total"] == sum(rows[part] for part in ("succeeded", "quarantined", "failed", "cancelled", "to_go"))


def test_a_script_can_say_how_its_file_is_read(alice: Client) -> None:
    """Between the separators stand commas, which are what would be found."""
    data = "編號,甲^text,乙\n1,2^好,好\n".encode("big5")
    answer = submit(alice, data, prompt="{{text,乙}}", id_column="", reading={"encoding": "big5", "delimiter": "^"})
    assert answer.status_code == 201
    assert answer.json()["columns"] == ["編號,甲", "text,乙"]
    assert (answer.json()["encoding"], answer.json()["certainty"]) == ("big5", "chosen")


def test_a_wish_that_a_file_does_not_fit_leaves_nothing_behind(alice: Client, world: World) -> None:
    answer = submit(alice, "id,text\n1,好\n".encode("gb18030"), reading={"encoding": "utf-8"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "wrong_encoding")
    assert not Package.objects.for_department(world.retail).exists()


def test_an_offer_is_accepted_once_however_often_it_is_sent(alice: Client, quoted: dict[str, Any]) -> None:
    offer = post(alice, f"/packages/{quoted['id']}/quotes", {"tier": "standard"}).json()
    assert offer["is_feasible"]
    assert isinstance(offer["price"]["at_most"], str)
    for _attempt in range(2):
        accepted = post(alice, f"/packages/{quoted['id']}/accept", {"quote": offer["id"]})
        assert accepted.status_code == 200
        assert accepted.json()["state"] == "admitted"
        assert accepted.json()["deadline"] == offer["deadline"]
    assert accepted.json()["charged"] == {"amount": "0.00", "exact": "0", "currency": "CNY"}


def test_cancelling_twice_is_cancelling_once(alice: Client, quoted: dict[str, Any]) -> None:
    offer = post(alice, f"/packages/{quoted['id']}/quotes").json()
    post(alice, f"/packages/{quoted['id']}/accept", {"quote": offer["id"]})
    states = [post(alice, f"/packages/{quoted['id']}/cancel").json()["state"] for _attempt in range(2)]
    assert states == ["cancelling", "cancelling"]


def test_pages_of_the_list_hold_every_package_once_newest_first(alice: Client) -> None:
    made = [submit(alice, name=f"{n}.csv").json()["id"] for n in range(5)]
    seen: list[str] = []
    after = ""
    has_more = True
    while has_more:
        page = alice.get(f"{API}/packages?limit=2{after}").json()
        assert page["data"]
        seen += [package["id"] for package in page["data"]]
        has_more, after = page["has_more"], f"&after={seen[-1]}"
    assert seen == made[::-1]


def test_a_refused_file_or_task_leaves_nothing_behind(alice: Client) -> None:
    assert submit(alice, manifest=b"").status_code == 422
    assert submit(alice, prompt="{{tekst}}").status_code == 422
    assert alice.get(f"{API}/packages").json() == {"data": [], "has_more": False}


Ask = Callable[[Client, str], Any]
REFUSALS: dict[str, tuple[Ask, int, str]] = {
    "no file": (lambda c, _r: c.post(f"{API}/packages", {"task": json.dumps(TASK)}), 422, "invalid_request"),
    "task is no JSON": (
        lambda c, _r: c.post(f"{API}/packages", {"file": SimpleUploadedFile("a.csv", MANIFEST), "task": "{"}),
        400,
        "invalid_request",
    ),
    "unknown field": (lambda c, _r: submit(c, promt="x"), 422, "invalid_request"),
    "empty file": (lambda c, _r: submit(c, manifest=b""), 422, "empty_file"),
    "unknown column": (lambda c, _r: submit(c, prompt="{{texts}}"), 422, "unknown_column"),
    "unknown model": (lambda c, _r: submit(c, model="gpt"), 422, "no_model"),
    "unknown address": (lambda c, _r: c.get(f"{API}/packages/{UUID(int=1)}"), 404, "not_found"),
    "deadline without a zone": (
        lambda c, r: post(c, f"/packages/{r}/quotes", {"deadline": "2030-01-01T00:00:00"}),
        422,
        "deadline_without_zone",
    ),
    "deadline that has passed": (
        lambda c, r: post(c, f"/packages/{r}/quotes", {"deadline": "2020-01-01T00:00:00Z"}),
        422,
        "deadline_past",
    ),
    "unknown tier": (lambda c, r: post(c, f"/packages/{r}/quotes", {"tier": "gold"}), 422, "unknown_tier"),
    "unknown offer": (lambda c, r: post(c, f"/packages/{r}/accept", {"quote": str(UUID(int=1))}), 404, "not_found"),
    "cancelling too early": (lambda c, r: post(c, f"/packages/{r}/cancel"), 409, "wrong_state"),
    "report too early": (lambda c, r: c.get(f"{API}/packages/{r}/report"), 409, "not_finished"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_every_refusal_has_a_code_and_a_sentence(case: str, alice: Client, quoted: dict[str, Any]) -> None:
    ask, status, code = REFUSALS[case]
    answer = ask(alice, quoted["id"])
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (status, code)
    assert error["message"].endswith((".", "”.", "?"))


def test_the_nearest_column_is_named(alice: Client) -> None:
    error = submit(alice, prompt="{{texts}}").json()["error"]["errors"][0]
    assert error["column"] == "texts"
    assert error["nearest"] == "text"


def test_an_expired_offer_is_refused(alice: Client, quoted: dict[str, Any]) -> None:
    offer = post(alice, f"/packages/{quoted['id']}/quotes").json()
    Quote.objects.across_departments().update(expires_at=timezone.now() - timedelta(seconds=1))
    refused = post(alice, f"/packages/{quoted['id']}/accept", {"quote": offer["id"]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "quote_expired")


@pytest.mark.parametrize("header", [None, "Bearer sw_wrong", "Bearer ", "Basic YTpi"])
def test_without_a_valid_key_nothing_is_told(header: str | None, world: World) -> None:
    client = Client(headers={"Authorization": header} if header else {})
    answer = client.get(f"{API}/packages")
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorised")


def test_a_revoked_key_opens_nothing(world: World) -> None:
    key, secret = departments.create_api_key(person=world.alice, name="old", now=timezone.now())
    departments.revoke_api_key(person=world.alice, ref=key.pk, now=timezone.now())
    assert Client(headers={"Authorization": f"Bearer {secret}"}).get(f"{API}/packages").status_code == 401


def test_finance_reads_and_does_not_submit(world: World, quoted: dict[str, Any]) -> None:
    fiona = client_of(world.fiona)
    assert fiona.get(f"{API}/packages/{quoted['id']}").status_code == 200
    assert submit(fiona).status_code == 403


def test_refusals_are_written_in_the_key_owners_language(world: World) -> None:
    world.alice.language = Language.CHINESE
    world.alice.save()
    answer = client_of(world.alice).get(f"{API}/packages/{UUID(int=1)}")
    assert answer.headers["Content-Language"] == "zh-hans"


@pytest.mark.parametrize("method", ["get", "post", "delete"])
@pytest.mark.parametrize("path", ["/", "/nothing", "/packages/not-an-id", "/packages/not-an-id/results", "/packages/"])
def test_an_unknown_address_is_told_in_the_same_shape(path: str, method: str, alice: Client) -> None:
    answer = getattr(alice, method)(f"{API}{path}")
    assert (answer.status_code, answer.headers["Content-Type"]) == (404, "application/json; charset=utf-8")
    assert answer.json()["error"]["code"] == "not_found"


def test_health_needs_no_key(db: None) -> None:
    assert Client().get(f"{API}/health").json() == {"status": "ok"}


def test_what_nobody_foresaw_is_told_in_the_same_shape(alice: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("portal.api.packages.caller_department", broken)
    answer = alice.get(f"{API}/packages")
    assert (answer.status_code, answer.headers["Content-Type"]) == (500, "application/json; charset=utf-8")
    assert answer.json()["error"]["code"] == "internal"
    assert "fault of ours" not in answer.json()["error"]["message"]


HALF = "\ud800"


@pytest.mark.parametrize(
    "task",
    [
        {"name": HALF},
        {"prompt": "{{text}}" + HALF},
        {"system": HALF},
        {"id_column": HALF},
        {"kind": HALF},
        {"model": HALF},
        {"labels": ["good" + HALF, "bad"]},
        {"kind": "extraction", "json_schema": {"type": "object", "properties": {HALF: {}}}},
        {"kind": "extraction", "json_schema": {"type": "object", "properties": {"a": {"maximum": float("inf")}}}},
    ],
    ids=lambda task: "-".join(task),
)
def test_text_and_numbers_that_cannot_be_kept_are_refused_and_leave_nothing(
    alice: Client, task: dict[str, Any]
) -> None:
    file = SimpleUploadedFile("reviews.csv", MANIFEST)
    answer = alice.post(f"{API}/packages", {"file": file, "task": json.dumps({**TASK, **task})})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"]
    assert not Package.objects.across_departments().exists()


def request_line(id_: str, **asked: Any) -> str:
    body = {"messages": [{"role": "user", "content": "Good?"}], **asked}
    return json.dumps({"custom_id": id_, "method": "POST", "url": "/v1/chat/completions", "body": body}) + "\n"


def test_what_a_file_of_requests_asks_for_holds_where_the_task_says_nothing(alice: Client) -> None:
    data = (
        request_line("a", max_tokens=7, temperature=0.5) + request_line("b", max_tokens=7, temperature=0.5)
    ).encode()
    task = {"kind": "generation", "model": "echo"}

    def rows(**said: Any) -> Any:
        file = SimpleUploadedFile("asked.jsonl", data)
        ref = alice.post(f"{API}/packages", {"file": file, "task": json.dumps({**task, **said})}).json()["id"]
        read_through(ref)
        return alice.get(f"{API}/packages/{ref}").json()

    assert rows()["rows"]["set_aside"] == 0
    other = rows(max_output_tokens=9)
    assert (other["state"], other["rows"]["set_aside_by_code"]) == ("invalid", {"differs_from_task": 2})
    assert other["refusal"]["code"] == "no_good_row"
    assert "can be run" in other["refusal"]["message"]


ODD: dict[str, Callable[[Client, str], Any]] = {
    "missing": lambda c, r: post(c, f"/packages/{r}/accept", {}),
    "no such field": lambda c, r: post(c, f"/packages/{r}/accept", {"quote": str(UUID(int=1)), "x": 1}),
    "no id": lambda c, r: post(c, f"/packages/{r}/accept", {"quote": "x"}),
    "no moment": lambda c, r: post(c, f"/packages/{r}/quotes", {"deadline": "soon"}),
    "out of bounds": lambda c, r: c.get(f"{API}/packages?limit=0"),
    "no such form": lambda c, r: c.get(f"{API}/packages/{r}/quarantine?format=pdf"),
    "no json": lambda c, r: c.post(f"{API}/packages/{r}/quotes", data="{", content_type="application/json"),
    "no text": lambda c, r: submit(c, prompt=[1]),
    "half a character": lambda c, r: submit(c, model=HALF),
}


@pytest.mark.parametrize("case", ODD)
def test_no_error_is_said_in_the_frameworks_own_words(case: str, alice: Client, quoted: dict[str, Any]) -> None:
    with (
        patch("portal.api.misfits._SAID", dict.fromkeys(misfits._SAID, "這樣不行")),
        patch("portal.api.misfits._MOMENT", "這樣不行"),
        patch("portal.api.misfits._OTHER", "?"),
    ):
        error = ODD[case](alice, quoted["id"]).json()["error"]
    assert error["code"] == "invalid_request"
    texts = [error["message"], *(place["message"] for place in error.get("errors", []))]
    if case not in ("no json", "half a character"):
        assert all("這樣不行" in text for text in texts)
    assert not any(word in str(error) for word in ("Input should", "Field required", "Extra", "Cannot parse", "Value"))


@pytest.mark.parametrize(
    ("asked", "own", "language"),
    [
        ("zh-CN,zh;q=0.9,en;q=0.5", Language.ENGLISH, "zh-hans"),
        ("en", Language.CHINESE, "en"),
        ("fr, en;q=0.5", Language.CHINESE, "en"),
        ("*", Language.CHINESE, "zh-hans"),
        ("fr", Language.CHINESE, "zh-hans"),
        ("", Language.CHINESE, "zh-hans"),
    ],
)
def test_the_language_that_a_request_asks_for_goes_before_its_persons(
    asked: str, own: str, language: str, world: World
) -> None:
    world.alice.language = own
    world.alice.save()
    answer = client_of(world.alice).get(f"{API}/packages/{UUID(int=1)}", headers={"Accept-Language": asked})
    assert answer.headers["Content-Language"] == language
