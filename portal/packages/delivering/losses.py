"""What is told of a package some of whose objects are lost: to its people, to operators, in its report."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F

from portal.audit.services import record
from portal.packages import timeline
from portal.packages.delivering.results import Losses
from portal.packages.models import Package, Shard
from scheduler.domain.lifecycle import Cause, ItemStatus, ShardState

ByShard = Mapping[tuple[int, str], int]


@dataclass(frozen=True, slots=True)
class LostShard:
    """A shard of which ``results`` that had been settled are lost."""

    no: int
    results: int


def lost_shards(package: Package, losses: Losses, by_shard: ByShard) -> list[LostShard]:
    """The shards of which settled results are lost, given what was found of each."""
    damaged = package.shards.filter(no__in=losses.shards)
    lost = [
        LostShard(shard.no, shard.succeeded + shard.quarantined - sum(_found(shard.no, by_shard))) for shard in damaged
    ]
    return [shard for shard in lost if shard.results > 0]


def facts_of(losses: Losses, shards: list[LostShard]) -> dict[str, Any]:
    """How many results are lost, and whether columns, reasons or repeats of rows are: the ``lost`` of report.json."""
    return {
        "results": sum(shard.results for shard in shards),
        "original_columns": losses.has_lost_columns,
        "reasons": losses.has_lost_reasons,
        "repeats": losses.has_lost_repeats,
    }


def tell(
    package: Package,
    losses: Losses,
    shards: list[LostShard],
    by_shard: ByShard,
    repeats_by_shard: ByShard,
    *,
    now: datetime,
) -> None:
    """Shards with lost results become dead letters; the timeline and the audit trail say what is lost.

    What was charged stays as it is. Call it in the transaction that ends the package.
    """
    for shard in shards:
        _bury(package.shards.get(no=shard.no), by_shard, repeats_by_shard, now)
    if losses.has_lost_repeats:
        _fail_repeats(package, now)
    facts = facts_of(losses, shards)
    if facts["results"]:
        timeline.record(package=package, code="results_lost", now=now, rows=int(facts["results"]))
    if losses.has_lost_columns:
        timeline.record(package=package, code="columns_lost", now=now)
    if losses.has_lost_reasons:
        timeline.record(package=package, code="reasons_lost", now=now)
    if losses.has_lost_repeats:
        timeline.record(package=package, code="repeats_lost", now=now, rows=package.rows_repeated)
    if any(facts.values()):
        record(action="package.lost", subject=package.number, department=package.department, now=now, **facts)


def _fail_repeats(package: Package, now: datetime) -> None:
    """Nobody knows any more which rows repeat which: they have all failed, also those of rows that never ran."""
    package.shards.update(repeats_succeeded=0, repeats_quarantined=0, repeats_failed=F("repeats"), touched_at=now)


def _bury(shard: Shard, by_shard: ByShard, repeats_by_shard: ByShard, now: datetime) -> None:
    succeeded, quarantined = _found(shard.no, by_shard)
    repeats_succeeded, repeats_quarantined = _found(shard.no, repeats_by_shard)
    Shard.objects.across_departments().filter(pk=shard.pk).update(
        state=ShardState.DEAD,
        cause=Cause.FAULT,
        succeeded=succeeded,
        quarantined=quarantined,
        failed=shard.items - succeeded - quarantined,
        repeats_succeeded=repeats_succeeded,
        repeats_quarantined=repeats_quarantined,
        repeats_failed=shard.repeats - repeats_succeeded - repeats_quarantined,
        touched_at=now,
    )


def _found(no: int, by_shard: ByShard) -> tuple[int, int]:
    return by_shard.get((no, ItemStatus.SUCCEEDED), 0), by_shard.get((no, ItemStatus.QUARANTINED), 0)
