"""The messages between portal, scheduler and workers (CONTRACTS §3): msgspec structs as JSON, each with ``v``.

Payloads stay in the object store; messages carry keys. ``decode`` raises :class:`UnableToDecode` for anything
it does not understand, so that a consumer can set the message aside and go on.
"""

from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

VERSION = 1
EVENTS_TOPIC = "slackwater.events"
DEAD_TOPIC = "slackwater.dead"

Lane: TypeAlias = Literal["express", "standard"]


class UnableToDecode(ValueError):
    """The bytes are not a message of a version this program knows."""


class Usage(msgspec.Struct, frozen=True, forbid_unknown_fields=False):
    """What was used: tokens, of which ``cached_tokens`` are part of ``prompt_tokens``; engine time in seconds."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    engine_s: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
            self.engine_s + other.engine_s,
        )


class Counts(msgspec.Struct, frozen=True):
    """Items by how they ended."""

    succeeded: int = 0
    quarantined: int = 0
    failed: int = 0

    @property
    def total(self) -> int:
        return self.succeeded + self.quarantined + self.failed


class RequestSettings(msgspec.Struct, frozen=True):
    """What holds for every item of a package. ``json_schema`` is a JSON text."""

    kind: str
    max_output_tokens: int
    temperature: float = 0.0
    labels: tuple[str, ...] = ()
    json_schema: str | None = None


class Assignment(msgspec.Struct, frozen=True, tag="assignment"):
    """The scheduler gives a shard to whoever takes this message from its work topic."""

    package: str
    shard: int
    epoch: int
    attempt: int
    lane: Lane
    shard_key: str
    parts_prefix: str
    model: str
    settings: RequestSettings
    lease_s: int
    not_after: datetime
    v: int = VERSION


class _Event(msgspec.Struct, frozen=True, kw_only=True):
    package: str
    shard: int
    epoch: int
    worker: str
    at: datetime
    v: int = VERSION


class Claimed(_Event, frozen=True, tag="claimed"):
    """The worker has begun; from now on its lease counts."""


class Progressed(_Event, frozen=True, tag="progressed", kw_only=True):
    """Sums over all parts of the shard known to the worker. Also sent without news, to renew the lease."""

    counts: Counts
    usage: Usage
    parts: tuple[str, ...]
    in_flight: int = 0
    oldest_row: int | None = None
    oldest_age_s: float = 0.0


class Parked(_Event, frozen=True, tag="parked", kw_only=True):
    """The worker gave the shard back unfinished and in order; ``cause`` is a ``lifecycle.Cause``."""

    cause: str
    counts: Counts
    usage: Usage
    charged: Usage
    charged_items: int
    parts: tuple[str, ...]


class Settled(_Event, frozen=True, tag="settled", kw_only=True):
    """Every item of the shard has its result in ``parts``; ``charged`` is the usage that is billed."""

    counts: Counts
    usage: Usage
    charged: Usage
    charged_items: int
    parts: tuple[str, ...]


class Faulted(_Event, frozen=True, tag="faulted", kw_only=True):
    """The worker could not run the shard for a reason of ours; what is in parts stays."""

    reason: str


Event: TypeAlias = Claimed | Progressed | Parked | Settled | Faulted
Message: TypeAlias = Assignment | Claimed | Progressed | Parked | Settled | Faulted


class Heartbeat(msgspec.Struct, frozen=True):
    """What a worker says of itself every second or so, in Redis, expiring after ``HEARTBEAT_TTL_S``."""

    worker: str
    pool: str
    model: str
    shards: tuple[str, ...]
    in_flight: int
    tokens_per_s: float
    engine_state: str
    at: datetime
    v: int = VERSION


class Control(msgspec.Struct, frozen=True):
    """What the scheduler wants of a pool's workers now. ``park`` names shards as ``<package>/<no>/<epoch>``."""

    in_flight_per_worker: int
    park: dict[str, str] = {}
    drain: bool = False
    v: int = VERSION


class Live(msgspec.Struct, frozen=True):
    """How fast a package is going: finished items, and items per second over the last minute."""

    at: datetime
    done: int
    per_s: float
    v: int = VERSION


class DeadLetter(msgspec.Struct, frozen=True):
    """A message that could not be taken in, on ``DEAD_TOPIC``: where it came from, why not, and its bytes (Base64)."""

    topic: str
    reason: str
    payload: bytes
    at: datetime
    v: int = VERSION


HEARTBEAT_TTL_S = 5


def work_topic(pool: str, kind: str) -> str:
    """The topic of a pool's assignments of one kind."""
    return f"slackwater.work.{pool}.{kind}"


def heartbeat_key(worker: str) -> str:
    return f"slackwater:worker:{worker}"


def control_key(pool: str) -> str:
    return f"slackwater:control:{pool}"


def live_key(package: str) -> str:
    return f"slackwater:live:{package}"


def shard_name(package: str, shard: int, epoch: int) -> str:
    """One epoch of a shard, as ``Control.park`` and ``Heartbeat.shards`` name it."""
    return f"{package}/{shard}/{epoch}"


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Message)


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


def decode(payload: bytes) -> Message:
    """The message in ``payload``; raises :class:`UnableToDecode` with the reason."""
    try:
        message = _decoder.decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnableToDecode(str(error)) from error
    if message.v > VERSION:
        raise UnableToDecode(f"message version {message.v} is newer than {VERSION}")
    return message
