"""``python -m gpuworker``: one worker, until SIGTERM.

Ends with 0 when it was told to stop, 1 when it must be started anew, 2 when its settings are wrong.
"""

import asyncio
import os
import signal
import sys

import structlog

from gpuworker.calls import CallLog
from gpuworker.engines import EngineDied, open_engine
from gpuworker.intake import Intake
from gpuworker.outbox import Outbox
from gpuworker.pulse import Pulse, connect
from gpuworker.runner import Worker
from gpuworker.settings import UnableToStart, WorkerSettings
from scheduler import logs
from scheduler.bus import open_bus
from scheduler.model_file import UnableToFindModel
from scheduler.objects import open_store

log = structlog.get_logger()


def worker_of(settings: WorkerSettings) -> Worker:
    """The worker that ``settings`` describe, with everything it needs."""
    bus, store = open_bus(settings.bus_url), open_store(settings.objects_url)
    worker = Worker(
        settings=settings,
        engine=open_engine(settings.engine, settings.for_engine),
        store=store,
        intake=Intake(bus=bus, store=store, settings=settings),
        outbox=Outbox(bus),
        pulse=Pulse(connect(settings.redis_url), settings.pool, settings.worker_id),
    )
    if settings.call_log is not None:
        worker.on_call = CallLog(settings.call_log).note
    return worker


async def serve(settings: WorkerSettings) -> None:
    """Serve until a signal; raises what ``Worker.serve`` raises."""
    worker = worker_of(settings)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, worker.stop)
    await worker.serve()


def main() -> int:
    """Run the worker; returns the exit status."""
    logs.configure(os.environ.get("SLACKWATER_LOG_LEVEL", "INFO"))
    try:
        asyncio.run(serve(WorkerSettings.from_environment(os.environ)))
    except (UnableToStart, UnableToFindModel) as error:
        log.error("worker cannot start", action="worker.start", reason=str(error))
        return 2
    except EngineDied as error:
        log.error("engine died", action="worker.end", reason=str(error))
        return 1
    except Exception:
        log.exception("worker failed", action="worker.end")
        return 1
    return 0


if __name__ == "__main__":
    status = main()
    sys.stderr.flush()
    os._exit(status)  # threads inside a hanging engine must not keep the process alive
