"""What happened to a package, as its people are told. The words for each code are in the pages."""

from datetime import datetime

from portal.packages.models import Package, TimelineEntry


def record(*, package: Package, code: str, now: datetime, **params: str | int) -> None:
    """Append an entry in the caller's transaction. ``params`` hold no item content."""
    TimelineEntry.objects.create(department_id=package.department_id, package=package, at=now, code=code, params=params)
