"""The bus port: assignments and events between the programs. It owns no truth and may lose everything.

Delivery is at least once within a group; what must happen once is guarded by leases and epochs, not here.
Every adapter passes tests/contract/test_bus.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class UnableToReachBus(ConnectionError):
    """The bus does not answer; the caller keeps what it wanted to say and tries again."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """A message as received; ``token`` is what the adapter needs to acknowledge it."""

    topic: str
    payload: bytes
    token: str


class Subscription(Protocol):
    """One member of a consumer group. A message goes to one member; a lost member's messages go to others."""

    def poll(self, *, timeout_s: float, at_most: int) -> list[Delivery]:
        """Wait up to ``timeout_s`` for messages; may return none. Raises :class:`UnableToReachBus`."""
        ...

    def ack(self, delivery: Delivery) -> None:
        """This message will not be delivered to the group again."""
        ...

    def close(self) -> None: ...


class Bus(Protocol):
    """A connection to the bus. ``publish`` returns once the message is accepted."""

    def publish(self, topic: str, payload: bytes, *, key: str) -> None:
        """Raises :class:`UnableToReachBus`; messages of one ``key`` keep their order."""
        ...

    def subscribe(self, topics: Iterable[str], *, group: str, member: str) -> Subscription: ...

    def close(self) -> None: ...
