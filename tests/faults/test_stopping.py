"""However ./run ends, it leaves no process behind, and the next start from the same folder works."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from tests.launcher import WITHIN_S, Launcher, eventually


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Launcher]]:
    started: list[Launcher] = []

    def launch(said: str = "said") -> Launcher:
        started.append(Launcher(tmp_path, said))
        return started[-1]

    yield launch
    for launcher in started:
        launcher.end()


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


def valkey_of(launcher: Launcher) -> redis.Redis:
    password = (launcher.var / "valkey_password").read_text()
    port = json.loads((launcher.var / "ports.json").read_text())["valkey"]
    return redis.Redis(port=port, password=password)


def test_what_was_said_on_the_bus_survives_a_clean_stop_once(start: Callable[..., Launcher]) -> None:
    first = start()
    assert eventually(first.is_up)
    valkey_of(first).xadd("said.before.the.stop", {"what": "parked"})
    first.process.send_signal(signal.SIGINT)
    assert first.process.wait(WITHIN_S) == 0
    second = start(said="second")
    assert eventually(second.is_up)
    assert valkey_of(second).xlen("said.before.the.stop") == 1
    assert not list(second.var.glob("*.rdb"))  # if Valkey now dies, what it once knew must not come back
