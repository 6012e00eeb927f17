"""The scheduler's own settings, from the environment; the stores are in portal.settings. Wrong ones are refused."""

import os
import socket
from dataclasses import dataclass


class UnableToStart(ValueError):
    """A setting cannot work; the message names the variable and what to write instead."""


@dataclass(frozen=True, slots=True)
class SchedulerSettings:
    """``tick_s``: seconds from one tick to the next; ``sweep_s``: between looks for work that got lost."""

    tick_s: float
    sweep_s: float
    member: str


def from_environment() -> SchedulerSettings:
    """Raises :class:`UnableToStart`."""
    return SchedulerSettings(
        tick_s=_seconds("SLACKWATER_TICK_S", 1.0),
        sweep_s=_seconds("SLACKWATER_SWEEP_S", 15.0),
        member=f"scheduler-{socket.gethostname()}-{os.getpid()}",
    )


def _seconds(name: str, default: float) -> float:
    text = os.environ.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 3600:
        raise UnableToStart(f"{name} must be a number of seconds from 0.01 to 3600, not {text!r}")
    return value
