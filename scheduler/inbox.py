"""The scheduler's ear: events are taken in order, at least once, and none of them can stop it."""

from collections import deque
from collections.abc import Callable
from datetime import datetime

import msgspec
import structlog
from django.db import InterfaceError, OperationalError

from scheduler import wire
from scheduler.bus import Bus, Delivery

log = structlog.get_logger()
GROUP = "scheduler"
AT_ONCE = 200
MOST_PER_DRAIN = 5_000


class Inbox:
    """The events topic as the scheduler reads it.

    ``hearing_since`` is since when everything that workers said has been heard, or ``None`` while the bus or the
    database is away or a backlog remains.
    """

    def __init__(self, bus: Bus, *, member: str) -> None:
        self._bus = bus
        self._subscription = bus.subscribe([wire.EVENTS_TOPIC], group=GROUP, member=member)
        self._untaken: deque[Delivery] = deque()
        self.hearing_since: datetime | None = None

    def drain(self, take: Callable[[wire.Event], object], *, now: datetime) -> int:
        """Give every event that is there to ``take``. Returns how many.

        Raises ``UnableToReachBus``, and Django's ``OperationalError`` when the database is away; the message at
        which that happened is the first of the next call. Any other error sets its message aside.
        """
        since, self.hearing_since = self.hearing_since, None
        for n in range(MOST_PER_DRAIN):
            if not self._untaken:
                self._untaken.extend(self._subscription.poll(timeout_s=0, at_most=AT_ONCE))
            if not self._untaken:
                self.hearing_since = since or now
                return n
            self._take_one(self._untaken[0], take, now)
            self._untaken.popleft()
        return MOST_PER_DRAIN

    def _take_one(self, delivery: Delivery, take: Callable[[wire.Event], object], now: datetime) -> None:
        try:
            message = wire.decode(delivery.payload)
            if isinstance(message, wire.Assignment):
                raise wire.UnableToDecode("an assignment is not an event")
            take(message)
        except (OperationalError, InterfaceError):
            raise
        except Exception as error:
            self._set_aside(delivery, error, now)
        self._subscription.ack(delivery)

    def _set_aside(self, delivery: Delivery, error: Exception, now: datetime) -> None:
        reason = f"{type(error).__name__}: {error}"
        log.exception("event set aside", action="event.dead", topic=delivery.topic, token=delivery.token)
        letter = wire.DeadLetter(topic=delivery.topic, reason=reason, payload=delivery.payload, at=now)
        self._bus.publish(wire.DEAD_TOPIC, msgspec.json.encode(letter), key=delivery.token)

    def close(self) -> None:
        self._subscription.close()
