"""The object store of this installation."""

from functools import lru_cache

from django.conf import settings

from scheduler.objects import ObjectStore, open_store


@lru_cache(maxsize=1)
def objects() -> ObjectStore:
    """The store that OBJECTS_URL names, one per process."""
    return open_store(settings.OBJECTS_URL)
