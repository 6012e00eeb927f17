"""Pause, resume, cancel: asked twice they do no harm, asked too late they say so."""

from collections.abc import Callable

import pytest

from portal.audit.models import AuditRecord
from portal.departments.refusals import UnableToChangeState
from portal.packages.models import Package
from portal.packages.running import control
from scheduler.domain.lifecycle import PackageState
from tests.shards import NOW, promised, state_of
from tests.world import World


def ask(what: Callable[..., None], package: Package, world: World) -> str:
    what(package=package, by=world.alice, now=NOW)
    return state_of(package)


def test_a_package_is_paused_and_resumed(world: World) -> None:
    package = promised(world, state=PackageState.RUNNING, started_at=NOW)
    assert ask(control.pause, package, world) == "paused"
    assert ask(control.resume, package, world) == "running"
    assert [entry.code for entry in package.timeline.order_by("id")] == ["paused", "resumed"]
    assert list(AuditRecord.objects.order_by("id").values_list("action", "person__name")) == [
        ("package.paused", "Alice"),
        ("package.resumed", "Alice"),
    ]


def test_a_package_that_never_began_waits_again_after_a_pause(world: World) -> None:
    package = promised(world)
    ask(control.pause, package, world)
    assert ask(control.resume, package, world) == "admitted"


@pytest.mark.parametrize("state", ["admitted", "running", "paused"])
def test_a_promised_package_can_be_cancelled(world: World, state: str) -> None:
    assert ask(control.cancel, promised(world, state=PackageState(state)), world) == "cancelling"


@pytest.mark.parametrize(
    ("what", "state"),
    [
        (control.pause, "paused"),
        (control.resume, "running"),
        (control.resume, "admitted"),
        (control.cancel, "cancelling"),
        (control.cancel, "cancelled"),
    ],
)
def test_asking_again_changes_nothing_and_is_no_mistake(world: World, what: Callable[..., None], state: str) -> None:
    package = promised(world, state=PackageState(state))
    assert ask(what, package, world) == state
    assert not package.timeline.exists()


@pytest.mark.parametrize(
    ("what", "state"),
    [
        (control.pause, "finalising"),
        (control.pause, "draft"),
        (control.resume, "cancelling"),
        (control.cancel, "completed"),
        (control.cancel, "finalising"),
        (control.cancel, "quoted"),
    ],
)
def test_what_can_no_longer_be_is_refused_and_nothing_changes(
    world: World, what: Callable[..., None], state: str
) -> None:
    package = promised(world, state=PackageState(state))
    with pytest.raises(UnableToChangeState) as refused:
        ask(what, package, world)
    assert (refused.value.code, refused.value.status, state_of(package)) == ("wrong_state", 409, state)


def test_a_page_that_shows_an_older_state_still_cancels(world: World) -> None:
    package = promised(world)
    Package.objects.for_department(world.retail).update(state=PackageState.RUNNING)
    assert ask(control.cancel, package, world) == "cancelling"
