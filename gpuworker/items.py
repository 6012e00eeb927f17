"""One item from request to result: tries, retries, and the status that each way of failing ends in."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from gpuworker.answers import UnableToAccept, checker
from gpuworker.engines import Engine, EngineAnswer, EngineDied, EngineRequest, RequestRefused, UnableToAnswer
from gpuworker.meter import EngineMeter
from scheduler.domain.lifecycle import ItemStatus
from scheduler.records import ItemResult, ShardItem
from scheduler.wire import RequestSettings, Usage

BUSY_WAITS_S = (0.5, 1.0, 2.0)  # before the second, third and fourth try
OUTPUT_TRIES = 3
WARMER = 0.4  # added to the temperature for each further try: a greedy answer would only come again


@dataclass(frozen=True, slots=True)
class ItemRunner:
    """Runs items of one package. ``on_call`` is told the row before every call of the engine."""

    engine: Engine
    settings: RequestSettings
    meter: EngineMeter
    context_tokens: int
    on_call: Callable[[int], None] = lambda _: None
    busy_waits_s: tuple[float, ...] = BUSY_WAITS_S

    async def run(self, item: ShardItem) -> ItemResult:
        """The item's result. Raises ``EngineDied``; every other failure is a status."""
        try:
            return await self._run(item, checker(self.settings))
        except RequestRefused as error:
            detail = self._too_long(item) if error.code == "too_long" else {}
            return ItemResult(item.row, ItemStatus.QUARANTINED, reason=error.code, detail=detail)
        except EngineDied:
            raise
        except UnableToAnswer:
            return ItemResult(item.row, ItemStatus.FAILED, reason="engine_unavailable")

    async def _run(self, item: ShardItem, accept: Callable[[EngineAnswer], Any]) -> ItemResult:
        engine_s = 0.0
        for nth in range(OUTPUT_TRIES):
            answer = await self._answer(item, self._request(item, nth))
            engine_s += answer.usage.engine_s
            usage = msgspec.structs.replace(answer.usage, engine_s=engine_s)
            try:
                return _succeeded(item.row, accept(answer), answer.finish_reason, usage)
            except UnableToAccept as error:
                last = _invalid(item.row, error, usage)
        return last

    def _too_long(self, item: ShardItem) -> dict[str, int]:
        return {"tokens": item.tokens, "limit": self.context_tokens - self.settings.max_output_tokens}

    def _request(self, item: ShardItem, nth: int) -> EngineRequest:
        return EngineRequest(
            messages=item.request,
            max_output_tokens=self.settings.max_output_tokens,
            temperature=self.settings.temperature + nth * WARMER,
            labels=self.settings.labels,
            json_schema=self.settings.json_schema,
        )

    async def _answer(self, item: ShardItem, request: EngineRequest) -> EngineAnswer:
        """An answer, tried again while the engine is busy."""
        for wait_s in self.busy_waits_s:
            try:
                return await self._call(item.row, request)
            except (RequestRefused, EngineDied):
                raise
            except UnableToAnswer:
                await asyncio.sleep(wait_s * random.uniform(0.5, 1.5))  # noqa: S311  spreads the retries
        return await self._call(item.row, request)

    async def _call(self, row: int, request: EngineRequest) -> EngineAnswer:
        self.on_call(row)
        mark, share_s = self.meter.begin(), 0.0
        try:
            answer = await self.engine.generate(request)
        finally:
            share_s = self.meter.end(mark)
        self.meter.count_tokens(answer.usage.completion_tokens)
        return replace(answer, usage=msgspec.structs.replace(answer.usage, engine_s=share_s))


def _succeeded(row: int, output: Any, finish_reason: str, usage: Usage) -> ItemResult:
    detail = {"cut": True} if finish_reason == "length" else {}
    return ItemResult(row, ItemStatus.SUCCEEDED, output=output, detail=detail, usage=usage, charged=True)


def _invalid(row: int, error: UnableToAccept, usage: Usage) -> ItemResult:
    """Charged like one answer: what ran last. The tries before it are ours to pay, so the price at most holds."""
    detail = {"why": error.why, "message": str(error)}
    return ItemResult(row, ItemStatus.QUARANTINED, reason="output_invalid", detail=detail, usage=usage, charged=True)
