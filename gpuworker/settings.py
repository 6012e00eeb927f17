"""The worker's settings, read from the environment and refused at start when they cannot work."""

import os
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from gpuworker.engines import EngineSettings

ENGINES = ("llama_cpp", "echo")


class UnableToStart(ValueError):
    """A setting is missing or wrong; the message names the variable and what to write."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Which pool and model this worker serves, and where the stores are."""

    worker_id: str
    pool: str
    model: str
    engine: str
    location: str
    context_tokens: int
    max_in_flight: int
    redis_url: str
    bus_url: str
    objects_url: str
    call_log: str | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "WorkerSettings":
        """Raises :class:`UnableToStart`."""
        redis_url = _url(environment, "REDIS_URL", ("redis", "rediss", "unix"))
        engine = _text(environment, "SLACKWATER_ENGINE")
        if engine not in ENGINES:
            raise UnableToStart(f"SLACKWATER_ENGINE must be one of {', '.join(ENGINES)}, not {engine!r}")
        return cls(
            worker_id=environment.get("SLACKWATER_WORKER_ID") or new_worker_id(),
            pool=_text(environment, "SLACKWATER_POOL"),
            model=_text(environment, "SLACKWATER_MODEL"),
            engine=engine,
            location="" if engine == "echo" else _text(environment, "SLACKWATER_MODEL_LOCATION"),
            context_tokens=_whole_number(environment, "SLACKWATER_CONTEXT_TOKENS"),
            max_in_flight=_whole_number(environment, "SLACKWATER_MAX_IN_FLIGHT"),
            redis_url=redis_url,
            bus_url=_url(environment, "BUS_URL", ("redis", "rediss", "unix"), default=redis_url),
            objects_url=_url(environment, "OBJECTS_URL", ("file",)),
            call_log=environment.get("SLACKWATER_CALL_LOG") or None,
        )

    @property
    def for_engine(self) -> EngineSettings:
        return EngineSettings(self.location, self.context_tokens, self.max_in_flight)


def new_worker_id() -> str:
    """A name that no other worker has had: host, process and a random part."""
    return f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


def _text(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "").strip()
    if not value:
        raise UnableToStart(f"{name} must be set")
    return value


def _whole_number(environment: Mapping[str, str], name: str) -> int:
    value = _text(environment, name)
    if not (value.isascii() and value.isdecimal() and int(value) >= 1):
        raise UnableToStart(f"{name} must be a whole number of at least 1, not {value!r}")
    return int(value)


def _url(environment: Mapping[str, str], name: str, schemes: tuple[str, ...], default: str = "") -> str:
    value = environment.get(name) or default
    if value.partition(":")[0] not in schemes:
        raise UnableToStart(f"{name} must begin with one of {', '.join(schemes)}, not {value!r}")
    return value
