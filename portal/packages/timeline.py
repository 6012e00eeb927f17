"""What happened to a package, told to its people."""

from datetime import datetime
from typing import Any

from portal.packages.models import Package, TimelineEntry


def note(*, package: Package, code: str, now: datetime, **params: Any) -> None:
    """Append one entry in the caller's transaction; ``code`` and ``params`` become a sentence when shown."""
    TimelineEntry.objects.create(
        department_id=package.department_id, package=package, at=now, code=code, params=params
    )
