"""Which workers live, as far as the portal can know: those that spoke within the last few seconds."""

from django.conf import settings

from portal.capacity.models import Pool
from scheduler.board import Board, UnableToReachBoard
from scheduler.wire import Heartbeat

_board = Board(settings.REDIS_URL)


def living_workers() -> list[Heartbeat] | None:
    """Every living worker; ``None`` when Redis does not answer: then nobody knows."""
    try:
        return _board.workers()
    except UnableToReachBoard:
        return None


def serving(pool: Pool, workers: list[Heartbeat] | None) -> int | None:
    """How many of ``workers`` serve ``pool`` with the model that it has now."""
    if workers is None:
        return None
    return sum(1 for worker in workers if worker.pool == pool.name and worker.model == pool.model.name)
