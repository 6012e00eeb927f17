"""Fixtures of the journeys."""

import pytest
from django.test import Client
from django.urls import reverse

from portal.packages.models import Package
from portal.packages.reading.ingest import ingest
from scheduler.domain.lifecycle import PackageState
from tests.pages import TASK, client_of, draft, send
from tests.world import World


@pytest.fixture
def alice(world: World) -> Client:
    """Alice, signed in."""
    return client_of(world.alice)


@pytest.fixture
def quoted(alice: Client, world: World) -> Package:
    """A package that was read: two good rows, one set aside."""
    package = draft(alice, world)
    assert send(alice, "task", package, model=str(world.echo.pk), **TASK).url == reverse(
        "packages:reading", args=[package.pk]
    )
    package.refresh_from_db()
    ingest(package_id=package.pk, epoch=package.ingest_epoch)
    package.refresh_from_db()
    assert package.state == PackageState.QUOTED
    return package
