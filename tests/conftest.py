"""Fixtures that any test may ask for."""

import pytest

from tests.world import World, create_world


@pytest.fixture
def world(db: None) -> World:
    """The cast (tests/world.py), in the database."""
    return create_world()
