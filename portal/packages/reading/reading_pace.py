"""How fast a manifest is being read, and how long that will go on."""

from dataclasses import dataclass
from datetime import timedelta

from portal.packages.models import Package

ENOUGH = timedelta(seconds=1)
"""After so long a pace says something."""


@dataclass(frozen=True)
class ReadingPace:
    """As last told: ``percent`` of the file and the time ``left`` are ``None`` where nobody can tell."""

    is_begun: bool
    rows: int = 0
    per_s: float | None = None
    percent: int | None = None
    left: timedelta | None = None


def reading_pace(package: Package) -> ReadingPace:
    """The pace of a package that is being read."""
    since, share = package.reading_since, package.reading_share
    if since is None:
        return ReadingPace(is_begun=False)
    taken, rows = package.touched_at - since, package.rows_read
    if taken < ENOUGH or not rows:
        return ReadingPace(is_begun=True, rows=rows)
    return ReadingPace(
        is_begun=True,
        rows=rows,
        per_s=rows / taken.total_seconds(),
        percent=None if share is None else int(share * 100),
        left=taken * (1 - share) / share if share else None,
    )
