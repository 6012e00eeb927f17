"""``python -m scheduler``: ticks until it is told to stop. One runs at a time."""

import os
import signal
import sys
import time
from threading import Event

import django
import structlog

from scheduler.logs import configure
from scheduler.settings import SchedulerSettings, UnableToStart, from_environment

log = structlog.get_logger()


def main() -> int:
    """Exit status: 0 after SIGTERM or SIGINT, 2 when a setting cannot work."""
    try:
        chosen = from_environment()
    except UnableToStart as error:
        print(error, file=sys.stderr)  # noqa: T201  before logs are set up, for the person at the terminal
        return 2
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    django.setup()
    configure(os.environ.get("SLACKWATER_LOG_LEVEL", "INFO"))
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    run(chosen, stop)
    return 0


def run(chosen: SchedulerSettings, stop: Event) -> None:
    """Tick every ``tick_s`` until ``stop``, counted from the start of each tick."""
    from django.conf import settings
    from django.db import close_old_connections
    from django.utils import timezone

    from portal.packages.store import objects
    from scheduler.board import Board
    from scheduler.bus import open_bus
    from scheduler.cycle import Cycle

    bus, board = open_bus(settings.BUS_URL), Board(settings.REDIS_URL)
    cycle = Cycle(bus=bus, board=board, store=objects(), member=chosen.member, sweep_s=chosen.sweep_s)
    log.info("scheduler started", action="scheduler.start", member=chosen.member)
    while not stop.is_set():
        began = time.monotonic()
        close_old_connections()  # a connection that broke is replaced
        cycle.tick(timezone.now())
        stop.wait(max(0.0, chosen.tick_s - (time.monotonic() - began)))
    cycle.close()
    bus.close()
    board.close()
    log.info("scheduler stopped", action="scheduler.stop", member=chosen.member)


if __name__ == "__main__":
    sys.exit(main())
