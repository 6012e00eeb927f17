"""How the programs talk: the port is port.py, its adapters stand beside it."""

from urllib.parse import urlsplit

from scheduler.bus.port import (
    Bus,
    Delivery,
    Subscription,
    UnableToReachBus,
)

__all__ = [
    "Bus",
    "Delivery",
    "Subscription",
    "UnableToReachBus",
    "open_bus",
]


def open_bus(url: str) -> Bus:
    """The bus that ``url`` names: ``redis://…`` (streams) or ``memory:`` (within this process, for tests)."""
    from scheduler.bus.memory import MemoryBus
    from scheduler.bus.streams import StreamsBus

    scheme = urlsplit(url).scheme
    if scheme in {"redis", "rediss", "unix"}:
        return StreamsBus(url)
    if scheme == "memory":
        return MemoryBus()
    raise ValueError(f"BUS_URL must begin with redis: or memory:, not {url!r}")
