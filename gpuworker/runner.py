"""The worker's life: load the engine, take one assignment after the other, run it, report, until told to stop."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial

import structlog

from gpuworker.engines import Engine
from gpuworker.intake import Intake
from gpuworker.items import ItemRunner
from gpuworker.meter import EngineMeter
from gpuworker.outbox import Outbox
from gpuworker.parts import ShardParts
from gpuworker.pulse import Pulse
from gpuworker.settings import WorkerSettings
from gpuworker.shard import ShardRun
from scheduler.bus import UnableToReachBus
from scheduler.domain.lifecycle import Cause
from scheduler.objects import ObjectStore
from scheduler.wire import Assignment, Control, Heartbeat

LAST_WORDS_S = 5.0  # how long a stopping worker tries to say what it has left to say
ENGINE_STOP_S = 3.0
AWAY_S = 1.0
log = structlog.get_logger()


@dataclass
class Worker:
    """One worker over its ports. ``serve`` returns when it was told to stop."""

    settings: WorkerSettings
    engine: Engine
    store: ObjectStore
    intake: Intake
    outbox: Outbox
    pulse: Pulse
    on_call: Callable[[Assignment, int], None] = lambda _given, _row: None
    meter: EngineMeter = field(default_factory=EngineMeter)
    _run: ShardRun | None = field(default=None, init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def stop(self) -> None:
        """Give back what is running and end. May be called again."""
        self._stopping.set()
        if self._run is not None:
            self._run.park(Cause.SHUTDOWN)

    async def serve(self) -> None:
        """Raises ``EngineDied``, after saying so, when the process has to start anew."""
        await self.engine.start()
        log.info("worker ready", action="worker.ready", worker=self.settings.worker_id, pool=self.settings.pool)
        background = [
            asyncio.create_task(self.outbox.run()),
            asyncio.create_task(self.pulse.run(self._heartbeat, self._on_control)),
        ]
        for task in background:
            task.add_done_callback(lambda _: self.stop())  # neither ends by itself: without one, no shard is safe
        try:
            await self._take_and_run()
        finally:
            await self._end(background)

    async def _take_and_run(self) -> None:
        while not self._stopping.is_set():
            # With nothing allowed, an assignment in this worker's hands would only wait where nobody else sees it.
            assignment = await self._take() if self._allowed() > 0 else None
            if assignment is None:
                await self._pause(0 if self._allowed() > 0 else AWAY_S / 4)
            else:
                await self._run_one(assignment)

    async def _take(self) -> Assignment | None:
        try:
            return await asyncio.to_thread(self.intake.take)
        except (UnableToReachBus, OSError) as error:
            log.warning("no assignments to be had", action="assignment.take", reason=str(error))
            await self._pause(AWAY_S)
            return None

    async def _pause(self, seconds: float) -> None:
        """Wait, unless the worker is told to stop."""
        try:
            async with asyncio.timeout(seconds):
                await self._stopping.wait()
        except TimeoutError:
            pass

    async def _run_one(self, assignment: Assignment) -> None:
        self._run = self._shard_run(assignment)
        log.info("shard claimed", action="shard.claim", shard=self._run.name, attempt=assignment.attempt)
        if self._stopping.is_set():
            self._run.park(Cause.SHUTDOWN)
        try:
            await self._run.run()
            log.info("shard over", action="shard.over", shard=self._run.name)
        finally:
            self._run = None

    def _shard_run(self, assignment: Assignment) -> ShardRun:
        return ShardRun(
            assignment=assignment,
            worker=self.settings.worker_id,
            items=ItemRunner(
                engine=self.engine,
                settings=assignment.settings,
                meter=self.meter,
                context_tokens=self.settings.context_tokens,
                on_call=partial(self.on_call, assignment),
            ),
            parts=ShardParts(self.store, assignment),
            say=self.outbox.post,
            allowed=self._allowed,
        )

    def _allowed(self) -> int:
        return min(self.pulse.control.in_flight_per_worker, self.settings.max_in_flight)

    def _heartbeat(self) -> Heartbeat:
        run = self._run
        return Heartbeat(
            worker=self.settings.worker_id,
            pool=self.settings.pool,
            model=self.settings.model,
            shards=(run.name,) if run else (),
            in_flight=run.in_flight if run else 0,
            tokens_per_s=round(self.meter.tokens_per_s(), 1),
            engine_state="stopping" if self._stopping.is_set() else "ready",
            at=datetime.now(UTC),
        )

    def _on_control(self, control: Control) -> None:
        if control.drain:
            self.stop()
        if self._run is not None and self._run.name in control.park:
            self._run.park(control.park[self._run.name])

    async def _end(self, background: list[asyncio.Task[None]]) -> None:
        """Say the last words and let go of everything, within a few seconds, whatever is away."""
        if not await self.outbox.emptied(timeout_s=LAST_WORDS_S):
            log.warning("last words not heard; the lease will tell", action="worker.end")
        for task in background:
            task.cancel()
        ends = await asyncio.gather(*background, return_exceptions=True)
        for let_go in (self.pulse.end, self.intake.close):
            await asyncio.to_thread(let_go)
        try:
            async with asyncio.timeout(ENGINE_STOP_S):
                await self.engine.stop()
        except TimeoutError:
            log.warning("the engine does not stop; the process ends with it", action="worker.end")
        for broken in (end for end in ends if isinstance(end, Exception)):
            raise broken
