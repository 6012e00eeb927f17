"""A whole installation under test: ``./run up`` with a folder of its own."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[1]
OUR_STORES = ("REDIS_URL", "BUS_URL", "OBJECTS_URL", "DATABASE_URL")
WITHIN_S = 120


def eventually(what: Callable[[], bool]) -> bool:
    """Whether ``what`` becomes true in time."""
    deadline = time.monotonic() + WITHIN_S
    while not what():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.1)
    return True


class Launcher:
    """One ``./run up``; a marker in the environment finds its processes."""

    def __init__(self, folder: Path, said: str, *flags: str, **extra: str) -> None:
        self.folder = folder
        self.var = folder / "var"
        self.output = folder / said
        environment = {name: value for name, value in os.environ.items() if name not in OUR_STORES}
        environment |= {"SLACKWATER_VAR": str(self.var), "PYTHONPATH": str(ROOT), **extra}
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(
                # a shell that runs the tests in the background has its children ignore SIGINT
                ["env", "--default-signal=INT", sys.executable, "-m", "deploy.embedded", "up", *flags],
                cwd=ROOT,
                env=environment,
                stdout=out,
                stderr=out,
            )

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.output.read_text()
        return "Slackwater is up" in self.output.read_text()

    @property
    def url(self) -> str:
        """The portal's address, once it is up."""
        return self.output.read_text().partition("Slackwater is up: ")[2].split()[0]

    def processes(self) -> list[psutil.Process]:
        """Living processes of this installation."""
        return [process for process in psutil.process_iter() if self._is_ours(process)]

    def program(self, word: str, **environment: str) -> psutil.Process | None:
        """The supervisor's living child with ``word`` in its command line and these settings."""
        for child in psutil.Process(self.supervisor()).children():
            if word in " ".join(child.cmdline()) and environment.items() <= child.environ().items():
                return child
        return None

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            ours = process.environ().get("SLACKWATER_VAR") == str(self.var)
            return bool(ours and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False

    def supervisor(self) -> int:
        return int((self.var / "supervisord.pid").read_text())

    def end(self) -> None:
        """Stop it, however it is."""
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait(WITHIN_S)
