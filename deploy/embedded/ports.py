"""Ports of this installation: free ones, chosen once and kept in var/ports.json; chosen again when taken."""

import json
import socket
from pathlib import Path

NAMES = ("portal", "valkey")


def choose(path: Path, *, wanted_portal: int | None = None) -> dict[str, int]:
    """A port for each of :data:`NAMES`; those kept in ``path`` where they are still free.

    ``wanted_portal`` is the port that a person asked for: it is taken as it is, free or not.
    """
    kept = _kept(path)
    chosen: dict[str, int] = {}
    for name in NAMES:
        port = kept.get(name)
        chosen[name] = port if port and is_free(port) and port not in chosen.values() else _free_port()
    if wanted_portal:
        chosen["portal"] = wanted_portal
    path.write_text(json.dumps(chosen, indent=2) + "\n")
    return chosen


def _kept(path: Path) -> dict[str, int]:
    try:
        found = json.loads(path.read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return {name: port for name, port in found.items() if isinstance(port, int)} if isinstance(found, dict) else {}


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
