"""Where assignments come from: the pool's work topics, and the claim that makes an epoch one worker's own."""

from datetime import UTC, datetime

import msgspec
import structlog

from gpuworker.settings import WorkerSettings
from scheduler import wire
from scheduler.bus import Bus, Delivery, UnableToReachBus
from scheduler.objects import ObjectExists, ObjectStore

KINDS = ("tagging", "extraction", "summarisation", "generation")
WAIT_S = 1.0
log = structlog.get_logger()


def claim_key(assignment: wire.Assignment) -> str:
    """``<dept>/<package>/claims/<shard>/<epoch>``: whoever writes it first has the epoch."""
    home = assignment.parts_prefix.partition("/parts/")[0]
    return f"{home}/claims/{assignment.shard}/{assignment.epoch}"


class Intake:
    """Reads one assignment at a time. Its methods block: call them in a thread, one at a time."""

    def __init__(self, *, bus: Bus, store: ObjectStore, settings: WorkerSettings) -> None:
        self._bus, self._store, self._settings = bus, store, settings
        topics = [wire.work_topic(settings.pool, kind) for kind in KINDS]
        self._subscription = bus.subscribe(topics, group=f"pool-{settings.pool}", member=settings.worker_id)

    def take(self) -> wire.Assignment | None:
        """The next assignment, claimed by this worker; ``None`` when there is none within a second or so.

        Raises ``UnableToReachBus`` and ``OSError``; the message then comes again, to this worker or another.
        """
        for delivery in self._subscription.poll(timeout_s=WAIT_S, at_most=1):
            assignment = self._understood(delivery)
            claimed = assignment is not None and self._claimed(assignment)
            self._ack(delivery)
            if claimed:
                return assignment
        return None

    def _understood(self, delivery: Delivery) -> wire.Assignment | None:
        try:
            message = wire.decode(delivery.payload)
            if isinstance(message, wire.Assignment):
                return message
            raise wire.UnableToDecode(f"{type(message).__name__} is not an assignment")
        except wire.UnableToDecode as error:
            log.error("assignment set aside", action="assignment.dead", topic=delivery.topic, reason=str(error))
            letter = wire.DeadLetter(delivery.topic, str(error), delivery.payload, datetime.now(UTC))
            self._bus.publish(wire.DEAD_TOPIC, msgspec.json.encode(letter), key=delivery.token)
            return None

    def _claimed(self, assignment: wire.Assignment) -> bool:
        """Whether the shard is this worker's now. What is not claimed goes back to waiting by itself."""
        name = wire.shard_name(assignment.package, assignment.shard, assignment.epoch)
        if assignment.model != self._settings.model:
            log.error("assignment for another model", action="assignment.drop", shard=name, model=assignment.model)
            return False
        if datetime.now(UTC) >= assignment.not_after:
            log.info("assignment too old", action="assignment.drop", shard=name)
            return False
        try:
            self._store.put_new(claim_key(assignment), self._settings.worker_id.encode())
        except ObjectExists:
            log.info("assignment claimed before", action="assignment.drop", shard=name)
            return False
        return True

    def _ack(self, delivery: Delivery) -> None:
        try:
            self._subscription.ack(delivery)
        except UnableToReachBus as error:  # it comes again and is found claimed
            log.warning("assignment not acknowledged", action="assignment.ack", reason=str(error))

    def close(self) -> None:
        self._subscription.close()
