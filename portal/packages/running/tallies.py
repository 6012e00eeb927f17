"""What a shard comes to, read from its parts: the only sums that are kept and charged.

What a worker says of its shard is believed where the object store bears it out. What lies there is believed within
the bounds of what the shard can have used; beyond them, nothing of it is charged.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from types import MappingProxyType

import structlog

from portal.packages.models import Package, Shard
from portal.packages.reading.repeats import repeats_by_item
from scheduler.domain.lifecycle import ItemStatus
from scheduler.objects import ObjectNotFound, ObjectStore
from scheduler.records import ItemResult, UnableToReadRecords, is_part, merged, part_order, parts_under, readable
from scheduler.wire import Counts, Parked, Progressed, Settled, Usage

log = structlog.get_logger()
PROMPT_SLACK = 64
"""Tokens by which an engine's count of a prompt may exceed ours: what its own template adds around it."""
OUTPUT_SLACK = 8
"""Tokens by which an answer may exceed its limit: how an engine counts the end of it."""
MOST_ENGINE_S = 1e7
NO_REPEATS: Mapping[int, int] = MappingProxyType({})
PATIENCE = timedelta(minutes=10)
"""How long a shard whose parts cannot be read for the time being is left alone before they count as lost."""


class UnableToBelieve(ValueError):
    """A worker said what cannot be, or what the object store does not bear out: nothing may change by it."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a shard's parts add up to: ``usage`` of everything that ran, ``charged`` of what is billed.

    ``repeats`` are the rows that end as their items did, ``charged_repeats`` those among them whose item is billed.
    ``lost`` names the parts that are known of but cannot be read; nothing of them is in the sums.
    """

    counts: Counts = field(default_factory=Counts)
    usage: Usage = field(default_factory=Usage)
    charged: Usage = field(default_factory=Usage)
    charged_items: int = 0
    repeats: Counts = field(default_factory=Counts)
    charged_repeats: int = 0
    parts: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def parts_prefix(package: Package, no: int) -> str:
    """Where the parts of a shard lie (CONTRACTS §4)."""
    return f"{package.prefix}/parts/{no}/"


def borne_out(event: Settled | Parked, shard: Shard, store: ObjectStore) -> Tally:
    """The tally of the parts that the event names. Raises :class:`UnableToBelieve` unless the event says the same."""
    check_claims(event, shard)
    try:
        tally = _sum(merged(store, event.parts), event.parts, repeats=repeats_by_item(shard, store))
    except (ObjectNotFound, UnableToReadRecords) as error:
        raise UnableToBelieve(f"a part cannot be read: {error}") from error
    if tally.counts != event.counts:
        raise UnableToBelieve(f"counts {event.counts} are said, {tally.counts} found")
    if _billed(tally.charged, tally.charged_items) != _billed(event.charged, event.charged_items):
        raise UnableToBelieve(
            f"{event.charged_items} charged items are said, {tally.charged_items} found, or other tokens"
        )
    if isinstance(event, Settled) and tally.counts.total != shard.items:
        raise UnableToBelieve(f"{tally.counts.total} results for {shard.items} items")
    if isinstance(event, Settled):
        tally = _with_every_repeat(tally, shard)
    if not _is_possible(tally, shard):
        raise UnableToBelieve("more tokens than the shard can have used")
    return tally


def check_claims(event: Settled | Parked | Progressed, shard: Shard) -> None:
    """Raise :class:`UnableToBelieve` for counts, usage or parts that this shard cannot have in this epoch."""
    prefix = parts_prefix(shard.package, shard.no)
    if len(set(event.parts)) != len(event.parts) or not all(is_part(key, prefix) for key in event.parts):
        raise UnableToBelieve("parts are named that are none of this shard")
    if any(part_order(key)[0] > event.epoch for key in event.parts):
        raise UnableToBelieve("parts of a later epoch are named")
    if min(_numbers(event.counts)) < 0 or event.counts.total > shard.items:
        raise UnableToBelieve(f"{event.counts.total} results of {shard.items} items")
    if not _is_usage(event.usage, event.counts.total, shard):
        raise UnableToBelieve("more tokens than the shard can have used")


def salvage(shard: Shard, *, store: ObjectStore, now: datetime) -> Tally:
    """The tally of what lies in the object store, for a shard whose worker cannot be asked any more.

    A part that is damaged or missing is left out and named. ``OSError`` says that the store is away; a shard that
    has been in trouble longer than ``PATIENCE`` ends without what cannot be read.
    """
    is_patient = not out_of_patience(shard, now)
    try:
        keys = parts_under(store, parts_prefix(shard.package, shard.no))
    except OSError:
        if is_patient:
            raise
        keys = []
    known = {key for key in shard.parts if is_part(key, parts_prefix(shard.package, shard.no))}
    durable = readable(store, known.union(keys), patient=is_patient)
    repeats = _repeats_as_far_as_known(shard, store, is_patient=is_patient)
    tally = _sum(durable.results, durable.keys, durable.lost, repeats)
    return tally if _is_possible(tally, shard) else _uncharged(tally, shard)


def _repeats_as_far_as_known(shard: Shard, store: ObjectStore, *, is_patient: bool) -> Mapping[int, int]:
    try:
        return repeats_by_item(shard, store)
    except OSError:
        if is_patient:
            raise
        return {}


def _with_every_repeat(tally: Tally, shard: Shard) -> Tally:
    """The tally of a shard all of whose items have ended: a repeat of which nothing is known any more has failed."""
    known, counts = tally.repeats.total, tally.repeats
    if known > shard.repeats:
        raise UnableToBelieve(f"{known} repeats have ended of {shard.repeats}")
    failed = counts.failed + shard.repeats - known
    return replace(tally, repeats=Counts(counts.succeeded, counts.quarantined, failed))


def out_of_patience(shard: Shard, now: datetime) -> bool:
    """Whether the shard has been in trouble for so long that it has to end as it is."""
    return shard.troubled_at is not None and now - shard.troubled_at >= PATIENCE


def _uncharged(tally: Tally, shard: Shard) -> Tally:
    """What is left of sums that cannot be: the results, if there are no more of them than items, and no money."""
    log.error("impossible sums in parts", action="shard.impossible", package=str(shard.package_id), shard=shard.no)
    if tally.counts.total > shard.items or tally.repeats.total > shard.repeats:
        return Tally(lost=tally.parts + tally.lost)
    return Tally(counts=tally.counts, repeats=tally.repeats, parts=tally.parts, lost=tally.lost)


def _is_possible(tally: Tally, shard: Shard) -> bool:
    return (
        tally.counts.total <= shard.items
        and tally.repeats.total <= shard.repeats
        and _is_usage(tally.usage, tally.counts.total, shard)
        and _is_usage(tally.charged, tally.charged_items, shard)
    )


def _is_usage(usage: Usage, items: int, shard: Shard) -> bool:
    """Whether ``items`` items of the shard can have used that much. Of every item the last answer counts."""
    return (
        0 <= usage.cached_tokens <= usage.prompt_tokens <= shard.input_tokens + PROMPT_SLACK * items
        and 0 <= usage.completion_tokens <= items * (shard.package.max_output_tokens + OUTPUT_SLACK)
        and 0 <= usage.engine_s <= MOST_ENGINE_S
    )


def _billed(usage: Usage, items: int) -> tuple[int, int, int, int]:
    return usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens, items


def _numbers(counts: Counts) -> tuple[int, int, int]:
    return counts.succeeded, counts.quarantined, counts.failed


def _sum(
    results: Mapping[int, ItemResult],
    keys: Collection[str],
    lost: Collection[str] = (),
    repeats: Mapping[int, int] = NO_REPEATS,
) -> Tally:
    """The sums over ``results`` by row; ``repeats`` says how many rows end as each of them did."""
    by_status, repeats_by_status = dict.fromkeys(ItemStatus, 0), dict.fromkeys(ItemStatus, 0)
    usage, charged, charged_items, charged_repeats = Usage(), Usage(), 0, 0
    for row, result in results.items():
        by_status[ItemStatus(result.status)] += 1
        repeats_by_status[ItemStatus(result.status)] += repeats.get(row, 0)
        usage += result.usage
        if result.charged:
            charged += result.usage
            charged_items += 1
            charged_repeats += repeats.get(row, 0)
    return Tally(
        _counts(by_status),
        usage,
        charged,
        charged_items,
        _counts(repeats_by_status),
        charged_repeats,
        tuple(keys),
        tuple(lost),
    )


def _counts(by_status: Mapping[ItemStatus, int]) -> Counts:
    return Counts(by_status[ItemStatus.SUCCEEDED], by_status[ItemStatus.QUARANTINED], by_status[ItemStatus.FAILED])


def columns(news: Tally | Progressed) -> dict[str, object]:
    """Counts, usage and parts as columns of a shard."""
    return {
        "succeeded": news.counts.succeeded,
        "quarantined": news.counts.quarantined,
        "failed": news.counts.failed,
        "prompt_tokens": news.usage.prompt_tokens,
        "cached_tokens": news.usage.cached_tokens,
        "completion_tokens": news.usage.completion_tokens,
        "engine_s": news.usage.engine_s,
        "parts": list(news.parts),
    }


def repeats_columns(tally: Tally) -> dict[str, int]:
    """How the repeats of a shard that is closed have ended, as columns of it."""
    return {
        "repeats_succeeded": tally.repeats.succeeded,
        "repeats_quarantined": tally.repeats.quarantined,
        "repeats_failed": tally.repeats.failed,
    }
