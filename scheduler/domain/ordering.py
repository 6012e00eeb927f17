"""Which package's shards go next, and how many a pool's workers can take."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from math import floor
from typing import TypeVar
from uuid import UUID

QUEUED_PER_WORKER = 1


@dataclass(frozen=True, slots=True)
class Runnable:
    """A package with shards that wait. ``shards`` says how many may go now."""

    package: UUID
    is_express: bool
    deadline_at: datetime
    admitted_at: datetime
    shards: int


Ordered = TypeVar("Ordered", bound=Runnable)


def order(packages: Iterable[Ordered]) -> list[Ordered]:
    """Express first, then the earliest deadline; equals by admission. A total order."""
    return sorted(packages, key=lambda p: (not p.is_express, p.deadline_at, p.admitted_at, p.package))


def share_out(packages: Iterable[Runnable], room: int) -> list[tuple[UUID, int]]:
    """How many shards of which package to release into ``room``, the most urgent package first."""
    shares: list[tuple[UUID, int]] = []
    for package in order(packages):
        take = min(package.shards, room)
        if take > 0:
            shares.append((package.package, take))
            room -= take
    return shares


def room_for(*, workers: int, held: int, share: float) -> int:
    """How many more shards a pool can take: each worker runs one and has one in reserve; none while it is closed.

    ``held`` counts the shards that are assigned or in the hands of those workers.
    """
    if share <= 0:
        return 0
    return max(0, workers * (1 + QUEUED_PER_WORKER) - held)


def in_flight_limit(*, share: float, max_in_flight: int) -> int:
    """Requests at once that one worker may hold: its part of the share, at least one while there is a share."""
    if share <= 0:
        return 0
    return max(1, floor(share * max_in_flight))
