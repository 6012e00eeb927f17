"""The engine port: one request in, one answer out, many at once.

The worker knows engines only through this. An adapter is added by copying echo.py (docs/recipes/engine.md);
every adapter passes tests/contract/test_engines.py.
"""

from dataclasses import dataclass, field
from typing import Protocol

from scheduler.tokenizers import ChatMessage
from scheduler.wire import Usage


class UnableToAnswer(Exception):
    """The engine gave no answer to one request."""


class RequestRefused(UnableToAnswer):
    """The request's content is at fault (too long, invalid): trying again is no use. ``code`` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class EngineBusy(UnableToAnswer):
    """Overloaded or interrupted: the same request may well succeed later."""


class EngineDied(UnableToAnswer):
    """The engine is gone, with everything in flight: the worker must exit and start anew."""


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """One item's request. At most one of ``labels`` and ``json_schema`` (a JSON text) constrains the answer."""

    messages: list[ChatMessage]
    max_output_tokens: int
    temperature: float = 0.0
    labels: tuple[str, ...] = ()
    json_schema: str | None = None


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """The text, what it used, and whether it ended by itself (``stop``) or was cut (``length``)."""

    text: str
    usage: Usage
    finish_reason: str = field(default="stop")


class Engine(Protocol):
    """A loaded model. ``generate`` may be awaited by many tasks; cancelling one aborts that request."""

    async def start(self) -> None:
        """Load the model; returns when requests can be answered."""
        ...

    async def generate(self, request: EngineRequest) -> EngineAnswer:
        """Raises :class:`UnableToAnswer` or one of its kinds."""
        ...

    async def stop(self) -> None: ...


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """What an adapter needs: the model's location, its context per request and requests at once."""

    location: str
    context_tokens: int
    max_in_flight: int
