"""Fixtures that any test may ask for."""

import pytest
from pytest_django import Settings

from tests.world import World, create_world


@pytest.fixture(autouse=True)
def plain_static(settings: Settings) -> None:
    """Static files straight from the source tree: hashed names need a collectstatic, which tests do not."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture
def world(db: None) -> World:
    """The cast (tests/world.py), in the database."""
    return create_world()
