"""What the database knows at the start of a tick."""

from collections import defaultdict
from datetime import datetime

from django.db.models import Count, F, Sum

from portal.capacity.models import Pool, Tier
from portal.capacity.queries import share_of
from portal.packages.models import Package, Shard
from portal.packages.running import dispatch
from scheduler.domain.lifecycle import PackageState, ShardState
from scheduler.domain.ordering import Runnable
from scheduler.pace import Finished
from scheduler.plan import HeldShard, PoolNow
from scheduler.wire import shard_name


def pools_now(now: datetime) -> list[PoolNow]:
    """Every pool; a closed one takes no new packages but finishes those it has."""
    runnable, held = _runnable(now), _held()
    return [
        PoolNow(
            pk=pool.pk,
            name=pool.name,
            share=share_of(pool, now=now),
            max_in_flight=pool.max_in_flight,
            runnable=tuple(runnable[pool.pk]),
            held=tuple(held[pool.pk]),
        )
        for pool in Pool.objects.prefetch_related("windows")
    ]


def finished_items() -> dict[str, Finished]:
    """What has ended so far, by running package."""
    shards = Shard.objects.across_departments().filter(package__state=PackageState.RUNNING).order_by()
    ended = Sum(F("succeeded") + F("quarantined") + F("failed"))
    done = shards.values_list("package_id", "package__started_at").annotate(done=ended)
    return {str(package): Finished(int(items), started_at) for package, started_at, items in done if started_at}


def _runnable(now: datetime) -> dict[int, list[Runnable]]:
    waiting = dict(dispatch.ready(now).order_by().values_list("package_id").annotate(n=Count("id")))
    found: dict[int, list[Runnable]] = defaultdict(list)
    for package in Package.objects.across_departments().filter(pk__in=waiting):
        assert package.pool_id is not None, "an admitted package has a pool"
        assert package.deadline_at is not None, "an admitted package has a deadline"
        found[package.pool_id].append(
            Runnable(
                package=package.pk,
                is_express=package.tier == Tier.EXPRESS,
                deadline_at=package.deadline_at,
                admitted_at=package.admitted_at or package.created_at,
                shards=waiting[package.pk],
            )
        )
    return found


def _held() -> dict[int, list[HeldShard]]:
    rows = (
        Shard.objects.across_departments()
        .filter(state__in=dispatch.HELD)
        .values_list("package__pool_id", "package_id", "no", "epoch", "state", "worker", "package__state")
    )
    found: dict[int, list[HeldShard]] = defaultdict(list)
    for pool, package, no, epoch, state, worker, package_state in rows:
        holder = worker if state == ShardState.RUNNING else ""
        found[pool].append(HeldShard(shard_name(str(package), no, epoch), holder, PackageState(package_state)))
    return found
