"""States and the moves between them (DESIGN: states). Pure: the tables in the database follow these."""

from enum import StrEnum


class PackageState(StrEnum):
    """Where a package stands. ``draft`` to ``quoted`` belong to the person, the rest to the system."""

    DRAFT = "draft"
    VALIDATING = "validating"
    INVALID = "invalid"
    QUOTED = "quoted"
    REFUSED = "refused"
    ADMITTED = "admitted"
    RUNNING = "running"
    PAUSED = "paused"
    FINALISING = "finalising"
    COMPLETED = "completed"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"


class ShardState(StrEnum):
    """Where a shard stands. ``settled``, ``dead`` and ``cancelled`` are final."""

    WAITING = "waiting"
    ASSIGNED = "assigned"
    RUNNING = "running"
    SETTLED = "settled"
    DEAD = "dead"
    CANCELLED = "cancelled"


class Cause(StrEnum):
    """Why a shard went back to waiting. Only ``fault`` and ``lease_lost`` spend an attempt."""

    USER_CANCEL = "user_cancel"
    OPERATOR_PAUSE = "operator_pause"
    PREEMPTION = "preemption"
    SHUTDOWN = "shutdown"
    FAULT = "fault"
    LEASE_LOST = "lease_lost"
    UNCLAIMED = "unclaimed"


class ItemStatus(StrEnum):
    """How an item ended (no row means it waits)."""

    SUCCEEDED = "succeeded"
    QUARANTINED = "quarantined"
    FAILED = "failed"
    CANCELLED = "cancelled"


PACKAGE_MOVES: dict[PackageState, frozenset[PackageState]] = {
    PackageState.DRAFT: frozenset({PackageState.VALIDATING}),
    PackageState.VALIDATING: frozenset({PackageState.QUOTED, PackageState.INVALID, PackageState.DRAFT}),
    PackageState.INVALID: frozenset({PackageState.DRAFT, PackageState.VALIDATING}),
    PackageState.QUOTED: frozenset(
        {PackageState.ADMITTED, PackageState.REFUSED, PackageState.DRAFT, PackageState.VALIDATING}
    ),
    PackageState.REFUSED: frozenset(
        {PackageState.QUOTED, PackageState.ADMITTED, PackageState.DRAFT, PackageState.VALIDATING}
    ),
    PackageState.ADMITTED: frozenset(
        {PackageState.RUNNING, PackageState.PAUSED, PackageState.CANCELLING, PackageState.FINALISING}
    ),
    PackageState.RUNNING: frozenset({PackageState.PAUSED, PackageState.CANCELLING, PackageState.FINALISING}),
    PackageState.PAUSED: frozenset(
        {PackageState.RUNNING, PackageState.ADMITTED, PackageState.CANCELLING, PackageState.FINALISING}
    ),
    PackageState.FINALISING: frozenset({PackageState.COMPLETED}),
    PackageState.COMPLETED: frozenset(),
    PackageState.CANCELLING: frozenset({PackageState.CANCELLED}),
    PackageState.CANCELLED: frozenset(),
}

EDITABLE = frozenset({PackageState.DRAFT, PackageState.INVALID, PackageState.QUOTED, PackageState.REFUSED})
PROMISED = frozenset({PackageState.ADMITTED, PackageState.RUNNING, PackageState.PAUSED})
SHARD_FINAL = frozenset({ShardState.SETTLED, ShardState.DEAD, ShardState.CANCELLED})
