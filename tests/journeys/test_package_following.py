"""Following a package and the list of packages, by plain forms; the stream of live fragments."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import async_to_sync
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from portal.packages.following.live import Fragment, Streams, events, one_event
from portal.packages.models import Package
from portal.packages.views import follow
from scheduler.domain.lifecycle import PackageState
from tests.pages import client_of, page, send
from tests.shards import promised
from tests.world import World


# --- following --------------------------------------------------------------------------------------------
def soon() -> datetime:
    return timezone.now() + timedelta(hours=10)


def test_the_package_page_answers_before_anybody_scrolls(alice: Client, world: World) -> None:
    package = promised(world, shards=3, state=PackageState.RUNNING, deadline_at=soon())
    answer = page(alice, "detail", package)
    assert "to spare" in answer.text
    assert "3 shards · 0 settled · 0 running" in answer.text
    assert answer.text.count('<button type="button" class="cell') == 3


def test_pausing_and_resuming_by_form(alice: Client, world: World) -> None:
    package = promised(world, state=PackageState.RUNNING, deadline_at=soon(), started_at=timezone.now())
    assert send(alice, "pause", package).url == f"/packages/{package.pk}"
    assert "Paused (Alice)" in page(alice, "detail", package).text
    assert send(alice, "resume", package).url == f"/packages/{package.pk}"
    package.refresh_from_db()
    assert package.state == PackageState.RUNNING


def test_cancelling_says_first_what_is_lost_and_kept(alice: Client, world: World) -> None:
    package = promised(world, shards=2, state=PackageState.RUNNING, deadline_at=soon())
    asked = page(alice, "cancel", package)
    assert "8 rows that have not run yet will not run." in asked.text
    package.refresh_from_db()
    assert package.state == PackageState.RUNNING
    send(alice, "cancel", package)
    package.refresh_from_db()
    assert package.state == PackageState.CANCELLING


def test_a_press_that_comes_too_late_is_told_so(alice: Client, world: World) -> None:
    package = promised(world, state=PackageState.COMPLETED, finished_at=timezone.now())
    assert send(alice, "pause", package).status_code == 409


def test_those_who_poll_get_the_fragment_and_are_told_to_stop_at_the_end(alice: Client, world: World) -> None:
    package = promised(world, state=PackageState.RUNNING, deadline_at=soon())
    polled = page(alice, "live", package)
    assert polled.status_code == 200
    assert "<html" not in polled.text
    done = promised(world, state=PackageState.COMPLETED, finished_at=timezone.now())
    assert page(alice, "live", done).status_code == 286


def test_the_fragment_is_in_the_language_of_the_person_and_zone_of_the_department(world: World) -> None:
    world.retail.time_zone = "Europe/Berlin"
    world.retail.save()
    deadline_at = datetime(2027, 1, 5, 12, 0, tzinfo=UTC)
    package = promised(world, state=PackageState.RUNNING, deadline_at=deadline_at)
    assert "Tue 5 Jan, 13:00" in page(client_of(world.alice), "live", package).text


def test_home_lists_packages_with_their_margin_and_cost(alice: Client, quoted: Package) -> None:
    page(alice, "promise", quoted)
    send(alice, "confirm", quoted)
    answer = alice.get("/")
    assert "Reviews" in answer.text
    assert "3 rows" in answer.text
    assert "to spare" in answer.text
    assert "≤ ¥" in answer.text
    assert "Nothing here" in alice.get("/?show=waiting").text
    assert "Reviews" in alice.get("/?show=going&page=99").text


def test_a_strangers_package_looks_like_none(quoted: Package, world: World) -> None:
    charlie = client_of(world.charlie)
    for step in ("task", "reading", "promise", "confirm", "detail", "live", "cancel"):
        foreign = page(charlie, step, quoted)
        unknown = charlie.get(reverse(f"packages:{step}", args=[uuid.uuid4()]))
        assert foreign.status_code == unknown.status_code == 404


# --- the stream -------------------------------------------------------------------------------------------
def test_the_stream_says_only_what_is_new_and_ends_after_the_last_word() -> None:
    looks = iter([Fragment("<p>1</p>", False), Fragment("<p>1</p>", False), Fragment("<p>2\n</p>", True)])

    async def listen() -> list[bytes]:
        return [event async for event in events(lambda: next(looks), interval_s=0)]

    assert asyncio.run(listen()) == [
        b"event: state\ndata: <p>1</p>\n\n",
        b"event: state\ndata: <p>2\ndata: </p>\n\n",
        b"event: end\ndata: over\n\n",
    ]


def test_a_stream_that_has_lasted_long_enough_ends_so_that_the_browser_comes_back() -> None:
    async def listen() -> list[bytes]:
        return [event async for event in events(lambda: Fragment("<p></p>", False), interval_s=0, longest_s=0.05)]

    assert asyncio.run(listen()) == [b"event: state\ndata: <p></p>\n\n"]


def test_the_streams_of_one_person_are_counted_and_further_ones_told_now_and_then() -> None:
    streams = Streams(most=1)

    async def forever() -> AsyncIterator[bytes]:
        while True:
            yield b"event"

    async def follow() -> None:
        first = streams.counted("alice", forever())
        assert not streams.is_full("alice")
        await anext(first)
        assert streams.is_full("alice")
        assert not streams.is_full("bob")
        await first.aclose()
        assert not streams.is_full("alice")

    asyncio.run(follow())


def test_one_event_says_when_to_ask_again() -> None:
    async def listen(is_last: bool) -> list[bytes]:
        return [event async for event in one_event(lambda: Fragment("<p></p>", is_last), again_s=10)]

    state = b"retry: 10000\n\nevent: state\ndata: <p></p>\n\n"
    assert asyncio.run(listen(False)) == [state]
    assert asyncio.run(listen(True)) == [state, b"event: end\ndata: over\n\n"]


def test_a_tab_too_many_is_answered_and_let_go(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    package = promised(world, state=PackageState.RUNNING, deadline_at=soon())
    monkeypatch.setattr(follow, "streams", Streams(most=0))
    stream = async_to_sync(_all)(follow._stream(world.alice, package.pk, "token"))
    assert stream.startswith(b"retry: 10000")
    assert b"event: state" in stream


async def _all(stream: AsyncIterator[bytes]) -> bytes:
    return b"".join([event async for event in stream])
