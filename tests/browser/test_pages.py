"""What the pages do in a browser: keyboard, dragging, live updates, narrow screens, both themes and languages."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from portal.departments.models import Person, Theme
from portal.packages.models import Package, Shard
from portal.packages.promising.quoting import accept_quote, quote_package
from portal.packages.receiving.uploads import create_draft
from scheduler.domain.lifecycle import PackageState, ShardState
from tests.browser.conftest import Visit
from tests.shards import promised
from tests.world import World

REVIEWS = b"id,review\n1,A quiet fan\n2,It broke on day two\n"


@pytest.fixture
def draft(world: World) -> Package:
    return create_draft(
        by=world.alice, department=world.retail, filename="reviews.csv", chunks=[REVIEWS], now=timezone.now()
    )


@pytest.fixture
def quoted(draft: Package, world: World) -> Package:
    """As ingest leaves it: two rows, ready for an offer."""
    draft.model, draft.kind, draft.labels = world.echo, "tagging", ["good", "bad"]
    draft.user_template = "Good or bad? {{review}}"
    draft.rows_total = draft.rows_good = 2
    draft.input_tokens, draft.state = 20, PackageState.QUOTED
    draft.save()
    return draft


@pytest.fixture
def running(quoted: Package, world: World) -> Package:
    """An accepted package of ten shards, the first of which runs."""
    now = timezone.now()
    quote = quote_package(package=quoted, tier="standard", deadline_at=None, by=world.alice, now=now)
    accept_quote(package=quoted, quote=quote, by=world.alice, now=now)
    Shard.objects.bulk_create(
        Shard(
            department=world.retail, package=quoted, no=no, key="-", items=2, input_tokens=2, work_s=1, touched_at=now,
            state=ShardState.WAITING if no else ShardState.RUNNING,
        )
        for no in range(10)
    )  # fmt: skip
    Package.objects.for_department(world.retail).update(
        state=PackageState.RUNNING, started_at=now, rows_total=20, rows_good=20
    )
    quoted.refresh_from_db()
    return quoted


# --- the drop zone ----------------------------------------------------------------------------------------
def test_a_refused_file_is_answered_in_the_drop_zone(visit: Visit, tmp_path: Path) -> None:
    page = visit(quiet=True)  # the browser itself writes the 422 on its console
    (tmp_path / "empty.csv").touch()
    page.get_by_label("Drop a manifest file here").set_input_files(tmp_path / "empty.csv")
    expect(page.get_by_role("alert").filter(has_text="The file is empty.")).to_be_visible()
    assert page.url.endswith("/")


def test_an_upload_shows_its_bytes_and_can_be_stopped(visit: Visit, tmp_path: Path, world: World) -> None:
    page = visit()
    slow = page.context.new_cdp_session(page)
    slow.send("Network.enable")
    slow.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": 400_000},
    )
    (tmp_path / "large.csv").write_bytes(b"id,review\n" + b"1,quiet\n" * 500_000)
    page.get_by_label("Drop a manifest file here").set_input_files(tmp_path / "large.csv")
    expect(page.get_by_text(re.compile(r"kB / 4\.0 MB|MB / 4\.0 MB"))).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    assert not Package.objects.for_department(world.retail).exists()


def test_a_sample_keeps_its_name(visit: Visit) -> None:
    page = visit()
    with page.expect_download() as download:
        page.get_by_role("link", name="product-reviews.csv").click()
    assert download.value.suggested_filename == "product-reviews.csv"


# --- the task -------------------------------------------------------------------------------------------
def test_a_half_written_task_is_there_on_coming_back(visit: Visit, draft: Package) -> None:
    """The last keystrokes as well: the page is left before its preview could be asked for."""
    page = visit()
    page.goto(f"/packages/{draft.pk}/task")
    page.locator("#id_user_template").press_sequentially("Good or bad? {{review}}", delay=60)
    expect(page.locator("#preview")).to_contain_text("A quiet fan")
    page.locator("#id_user_template").press_sequentially(" Say wh")
    page.goto("/")
    page.goto(f"/packages/{draft.pk}/task")
    expect(page.locator("#id_user_template")).to_have_value("Good or bad? {{review}} Say wh")


# --- the deadline -----------------------------------------------------------------------------------------
def test_the_deadline_moves_by_arrow_keys_and_enter_asks_for_it(visit: Visit, quoted: Package) -> None:
    page = visit()
    page.goto(f"/packages/{quoted.pk}/promise")
    typed = page.get_by_label("Deadline", exact=True).and_(page.locator("input"))
    before = typed.input_value()
    handle = page.get_by_role("slider", name="Deadline").first
    handle.focus()
    page.keyboard.press("PageUp")
    page.keyboard.press("ArrowRight")
    hours_later = minutes_of(typed.input_value()) - minutes_of(before)
    assert 60 <= hours_later <= 80  # seventy minutes, on the ten-minute grid
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("quote="))


def test_the_deadline_can_be_dragged(visit: Visit, quoted: Package) -> None:
    page = visit()
    page.goto(f"/packages/{quoted.pk}/promise")
    before = page.locator("#id_deadline").input_value()
    box = page.locator("svg.wide .grip").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 60, y, steps=4)
    page.mouse.up()
    page.wait_for_url(re.compile("quote="))
    assert minutes_of(page.locator("#id_deadline").input_value()) > minutes_of(before) + 120


def minutes_of(typed: str) -> int:
    """Minutes of a ``2026-12-02T15:00``, for differences within a month."""
    day, clock = typed.split("T")
    hour, minute = clock.split(":")[:2]
    return int(day[-2:]) * 1440 + int(hour) * 60 + int(minute)


# --- the live page ----------------------------------------------------------------------------------------
def test_the_page_follows_without_reloading_and_keeps_what_was_open(visit: Visit, running: Package) -> None:
    page = visit()
    page.goto(f"/packages/{running.pk}")
    page.locator("#shards-table summary").click()
    page.locator("#shard-0").focus()
    running.shards.filter(no=0).update(state=ShardState.SETTLED, succeeded=2)
    expect(page.locator(".kpis")).to_contain_text("2succeeded")
    expect(page.locator("#shards-table")).to_have_attribute("open", "")
    expect(page.locator("#shard-0")).to_be_focused()


def test_the_shard_grid_is_one_tab_stop_that_arrows_walk(visit: Visit, running: Package) -> None:
    page = visit()
    page.goto(f"/packages/{running.pk}")
    page.locator("#shard-0").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#shard-1")).to_be_focused()
    expect(page.locator("[data-cells-say]")).to_have_text("Shard 1: waiting, 0 of 2 rows")
    assert page.locator('[data-cells] > [tabindex="0"]').count() == 1


def test_a_broken_connection_is_said(visit: Visit, running: Package) -> None:
    page = visit(quiet=True)
    page.route("**/live", lambda route: route.abort())
    page.goto(f"/packages/{running.pk}")
    expect(page.get_by_text("The connection is interrupted")).to_be_visible()


def test_pausing_shows_at_once_and_cancelling_asks_first(visit: Visit, running: Package) -> None:
    page = visit()
    page.goto(f"/packages/{running.pk}")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("status").first).to_have_text("paused")
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_text("20 rows that have not run yet will not run.")).to_be_visible()
    page.get_by_role("link", name="Let it run").click()
    expect(page.get_by_role("status").first).to_have_text("paused")


# --- every page -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("width", "theme"), [(360, Theme.DARK), (1140, Theme.LIGHT), (3840, Theme.DARK)])
def test_pages_fit_their_screen_and_break_no_rule(
    visit: Visit, world: World, running: Package, width: int, theme: str
) -> None:
    """Script errors, refused styles (Content-Security-Policy) and missing files fail in ``visit``."""
    Person.objects.filter(pk=world.alice.pk).update(theme=theme)
    page = visit(width=width)
    for address in _addresses(world, running):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, address
        too_wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert too_wide <= 0, f"{address} is {too_wide} px too wide at {width}"


def test_on_a_narrow_screen_no_column_is_cut_off(visit: Visit, world: World, running: Package) -> None:
    page = visit(width=360)
    for address in (f"/packages/{running.pk}", "/bills", "/usage"):
        page.goto(address)
        for summary in page.locator("details.as-table > summary").all():
            summary.click()
        for table in page.locator("table[data-stacks]").all():
            assert table.evaluate("table => table.parentElement.scrollWidth <= table.parentElement.clientWidth"), (
                address
            )
    page.goto("/bills")
    cell = page.get_by_role("cell", name="PDF")
    assert cell.get_attribute("data-label") == "Documents"
    assert page.evaluate("document.querySelector('table a[href$=\"pdf\"]').getBoundingClientRect().right") <= 360


def test_pages_are_to_be_had_in_chinese(visit: Visit, world: World, running: Package) -> None:
    page = visit()
    page.get_by_role("button", name="中文").click()
    for address in _addresses(world, running):
        page.goto(address)
        assert page.locator("html").get_attribute("lang") == "zh-hans"


def _addresses(world: World, running: Package) -> list[str]:
    draft = create_draft(
        by=world.alice, department=world.retail, filename="a.csv", chunks=[REVIEWS], now=timezone.now()
    )
    reading = promised(world, state=PackageState.VALIDATING, rows_read=12)
    quoted = promised(world, state=PackageState.QUOTED)
    done = promised(world, state=PackageState.COMPLETED, finished_at=timezone.now() + timedelta(hours=1))
    return [
        "/", "/packages/new", f"/packages/{draft.pk}/task", f"/packages/{reading.pk}/reading",
        f"/packages/{quoted.pk}/promise", f"/packages/{quoted.pk}/confirm",
        f"/packages/{running.pk}", f"/packages/{running.pk}/quarantine",
        f"/packages/{running.pk}/cancel", f"/packages/{done.pk}",
    ]  # fmt: skip


def test_nothing_is_asked_of_another_host(visit: Visit, running: Package, portal: str) -> None:
    page: Page = visit()
    strangers: list[str] = []
    page.on(
        "request", lambda request: None if request.url.startswith((portal, "data:")) else strangers.append(request.url)
    )
    page.goto(f"/packages/{running.pk}")
    page.goto("/")
    assert strangers == []
