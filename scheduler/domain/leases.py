"""A worker's time-limited right to a shard, and what happens to the shard when it ends badly."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MOST_ATTEMPTS = 3
FIRST_BACKOFF = timedelta(seconds=5)
CLAIM_WITHIN = timedelta(seconds=15)
CLAIM_NOT_AFTER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Setback:
    """What follows from a failed attempt: the shard is dead, or waits until ``not_before``."""

    attempts: int
    not_before: datetime | None

    @property
    def is_dead(self) -> bool:
        return self.not_before is None


def after_failure(*, attempts: int, made_progress: bool, now: datetime) -> Setback:
    """Count an attempt that failed through a fault or a lost lease.

    ``attempts`` are those spent before it. An attempt that finished items starts the count anew: a long shard on a
    machine that is restarted often gets through, while one that fails three times at the same place is dead.
    """
    spent = 1 if made_progress else attempts + 1
    if spent >= MOST_ATTEMPTS:
        return Setback(spent, None)
    return Setback(spent, now + FIRST_BACKOFF * 4 ** (spent - 1))


def renewed(now: datetime, lease_s: int) -> datetime:
    """Until when a worker that was heard at ``now`` holds its shard."""
    return now + timedelta(seconds=lease_s)


def claimable_until(assigned_at: datetime) -> datetime:
    """A worker that reads the assignment later than this must not claim it."""
    return assigned_at + CLAIM_NOT_AFTER


def is_unclaimed(*, assigned_at: datetime, ignored_since: datetime | None, now: datetime) -> bool:
    """Whether an assigned shard's message must be taken for lost.

    ``ignored_since`` is since when the pool has had a worker with nothing to do, or no worker at all; ``None`` while
    all are busy: then the message simply waits its turn, until it may no longer be claimed.
    """
    if now > claimable_until(assigned_at) + CLAIM_WITHIN:
        return True
    return ignored_since is not None and now - max(assigned_at, ignored_since) >= CLAIM_WITHIN


def can_expire(*, hearing_since: datetime | None, lease_s: int, now: datetime) -> bool:
    """Whether a lease that has run out says something about its worker.

    Not right after a start or an outage of the bus: the workers' renewals may still be on their way. They renew
    every third of a lease, so half of one without an interruption is enough.
    """
    return hearing_since is not None and now - hearing_since >= timedelta(seconds=lease_s / 2)
