"""The bus within one process: for tests, and for programs that run their parts together."""

import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Condition

from scheduler.bus.port import Delivery


@dataclass(slots=True)
class _Pending:
    delivery: Delivery
    member: str
    since: float


@dataclass(slots=True)
class _Queue:
    """One topic as one group sees it: what nobody has yet, and what somebody has but has not acknowledged."""

    fresh: deque[Delivery]
    pending: dict[str, _Pending] = field(default_factory=dict)

    def give_back(self, *, member: str | None = None, older_than: float | None = None) -> None:
        """Put pending messages of ``member``, or delivered before ``older_than``, in front again."""
        lost = [
            p for p in self.pending.values() if p.member == member or (older_than is not None and p.since <= older_than)
        ]
        for pending in reversed(lost):
            del self.pending[pending.delivery.token]
            self.fresh.appendleft(pending.delivery)


class MemoryBus:
    """Messages in lists. An unacknowledged message comes again after ``redeliver_after_s``."""

    def __init__(self, *, redeliver_after_s: float = 30.0) -> None:
        self.redeliver_after_s = redeliver_after_s
        self.changed = Condition()
        self._log: dict[str, list[Delivery]] = {}
        self._queues: dict[tuple[str, str], _Queue] = {}

    def publish(self, topic: str, payload: bytes, *, key: str) -> None:  # noqa: ARG002  one list keeps every order
        with self.changed:
            log = self._log.setdefault(topic, [])
            delivery = Delivery(topic, payload, str(len(log)))
            log.append(delivery)
            for (queue_topic, _), queue in self._queues.items():
                if queue_topic == topic:
                    queue.fresh.append(delivery)
            self.changed.notify_all()

    def queue(self, topic: str, group: str) -> _Queue:
        """What ``group`` has yet to see of ``topic``; a new group sees it from the beginning."""
        if (topic, group) not in self._queues:
            self._queues[topic, group] = _Queue(deque(self._log.get(topic, ())))
        return self._queues[topic, group]

    def subscribe(self, topics: Iterable[str], *, group: str, member: str) -> "MemorySubscription":
        return MemorySubscription(self, tuple(topics), group, member)

    def close(self) -> None:
        """Nothing to release."""


class MemorySubscription:
    """One member of a group on a :class:`MemoryBus`."""

    def __init__(self, bus: MemoryBus, topics: tuple[str, ...], group: str, member: str) -> None:
        self._bus, self._member = bus, member
        with bus.changed:
            self._queues = {topic: bus.queue(topic, group) for topic in topics}

    def poll(self, *, timeout_s: float, at_most: int) -> list[Delivery]:
        deadline = time.monotonic() + timeout_s
        with self._bus.changed:
            while True:
                taken = self._take(at_most)
                left_s = deadline - time.monotonic()
                if taken or left_s <= 0:
                    return taken
                self._bus.changed.wait(min(left_s, self._bus.redeliver_after_s))

    def _take(self, at_most: int) -> list[Delivery]:
        now = time.monotonic()
        taken: list[Delivery] = []
        for queue in self._queues.values():
            queue.give_back(older_than=now - self._bus.redeliver_after_s)
            while queue.fresh and len(taken) < at_most:
                delivery = queue.fresh.popleft()
                queue.pending[delivery.token] = _Pending(delivery, self._member, now)
                taken.append(delivery)
        return taken

    def ack(self, delivery: Delivery) -> None:
        with self._bus.changed:
            self._queues[delivery.topic].pending.pop(delivery.token, None)

    def close(self) -> None:
        with self._bus.changed:
            for queue in self._queues.values():
                queue.give_back(member=self._member)
            self._bus.changed.notify_all()
