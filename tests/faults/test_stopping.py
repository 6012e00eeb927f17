"""However ./run ends, it leaves no process behind, and the next start from the same folder works."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parents[2]
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
    """One ``./run up`` with a folder of its own; a marker in the environment finds its processes."""

    def __init__(self, folder: Path, said: str) -> None:
        self.folder = folder
        self.output = folder / said
        environment = {name: value for name, value in os.environ.items() if name not in OUR_STORES}
        environment |= {"SLACKWATER_VAR": str(folder / "var"), "PYTHONPATH": str(ROOT)}
        with self.output.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "deploy.embedded", "up"], cwd=ROOT, env=environment, stdout=out, stderr=out
            )

    def is_up(self) -> bool:
        assert self.process.poll() is None, self.output.read_text()
        return "Slackwater is up" in self.output.read_text()

    def processes(self) -> list[int]:
        """Living processes of this installation."""
        return [process.pid for process in psutil.process_iter() if self._is_ours(process)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            ours = process.environ().get("SLACKWATER_VAR") == str(self.folder / "var")
            return bool(ours and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False

    def supervisor(self) -> int:
        return int((self.folder / "var" / "supervisord.pid").read_text())


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Launcher]]:
    started: list[Launcher] = []

    def launch(said: str = "said") -> Launcher:
        started.append(Launcher(tmp_path, said))
        return started[-1]

    yield launch
    for launcher in started:
        if launcher.process.poll() is None:
            launcher.process.terminate()
        launcher.process.wait(WITHIN_S)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_run(how: signal.Signals, start: Callable[..., Launcher]) -> None:
    launcher = start()
    assert eventually(launcher.is_up)
    assert len(launcher.processes()) >= 5
    launcher.process.send_signal(how)
    launcher.process.wait(WITHIN_S)
    assert eventually(lambda: not launcher.processes())


def test_a_killed_supervisor_takes_everything_along_and_the_next_start_works(start: Callable[..., Launcher]) -> None:
    launcher = start()
    assert eventually(launcher.is_up)
    os.kill(launcher.supervisor(), signal.SIGKILL)
    assert launcher.process.wait(WITHIN_S) == 1
    assert eventually(lambda: not launcher.processes())
    assert eventually(start(said="next").is_up)


def test_a_second_start_from_the_same_folder_is_refused_and_the_first_goes_on(start: Callable[..., Launcher]) -> None:
    first = start()
    assert eventually(first.is_up)
    second = start(said="second")
    assert second.process.wait(WITHIN_S) == 1
    assert "already runs" in second.output.read_text()
    assert first.is_up()
    first.process.send_signal(signal.SIGINT)
    assert first.process.wait(WITHIN_S) == 0
    assert not first.processes()
