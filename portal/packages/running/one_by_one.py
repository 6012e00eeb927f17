"""Moving many shards so that none stands in the way of another."""

from collections.abc import Callable, Iterable
from datetime import datetime

import structlog
from django.db import InterfaceError, OperationalError

from portal.packages.models import Shard
from portal.packages.running import closing, tallies
from portal.packages.running.tallies import Tally
from scheduler.domain.lifecycle import Cause
from scheduler.wire import shard_name

log = structlog.get_logger()


def named(shard: Shard) -> str:
    """The shard's present epoch as the messages name it."""
    return shard_name(str(shard.package_id), shard.no, shard.epoch)


def one_by_one(shards: Iterable[Shard], move: Callable[[Shard], bool], now: datetime) -> int:
    """``move`` every shard on its own, so that none stands in the way of the others. Returns how many moved."""
    return sum([_tried(shard, move, now) for shard in shards])


def _tried(shard: Shard, move: Callable[[Shard], bool], now: datetime) -> bool:
    try:
        return move(shard)
    except (OperationalError, InterfaceError):  # the database is away: so it is for every other shard
        raise
    except Exception:
        log.exception("shard left for the next tick", action="shard.skip", shard=named(shard))
    if shard.troubled_at is None:
        Shard.objects.across_departments().filter(pk=shard.pk, troubled_at=None).update(troubled_at=now)
    return tallies.out_of_patience(shard, now) and _given_up(shard, now)


def _given_up(shard: Shard, now: datetime) -> bool:
    """The last resort, after ``PATIENCE``: a shard that nothing can be done with ends as a dead letter."""
    try:
        cause = Cause.FAULT
        return closing.bury(shard=shard, tally=Tally(), attempts=shard.attempts, cause=cause, now=now)
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        log.exception("shard cannot even be given up", action="shard.stuck", shard=named(shard))
        return False
