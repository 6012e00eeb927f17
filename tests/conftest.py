"""Fixtures that any test may ask for."""

import pytest
from pytest_django import Settings

from tests.world import World, create_world


@pytest.fixture(autouse=True)
def quick_settings(settings: Settings) -> None:
    """Passwords that are cheap to check, and static files straight from the source tree (no collectstatic)."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }


@pytest.fixture
def world(db: None) -> World:
    """The cast (tests/world.py), in the database."""
    return create_world()
