"""A full disk: the supervisor and its programs go on, what cannot be logged is dropped, ./run says the true reason."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.embedded import installation
from deploy.embedded.programs import Place, Program, supervisord_config
from deploy.embedded.supervise import LossyLog
from tests.launcher import ROOT, eventually

FULL = Path("/dev/full")
TALKER = """
import sys, time
for n in range(10**6):
    print(n, file=sys.stderr, flush=True)
    open(sys.argv[1], 'w').write(str(n))
    time.sleep(0.02)
"""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    (tmp_path / "log").mkdir()
    return Place(tmp_path, "127.0.0.1", {"portal": 1, "valkey": 2})


@pytest.fixture
def supervisor(place: Place, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """supervisord with one talkative program, all of whose logs lie on a full disk."""
    for name in ("talker.log", "supervisord.log"):
        (place.logs / name).symlink_to(FULL)
    script = tmp_path / "talker.py"
    script.write_text(TALKER)
    program = Program("talker", [sys.executable, str(script), str(tmp_path / "count")], settles_after_s=0)
    place.config.write_text(supervisord_config(place, [program]))
    with FULL.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "deploy.embedded.supervise", "-c", str(place.config)],
            cwd=ROOT, stdout=out, stderr=out, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(20)


def test_programs_whose_logs_cannot_be_written_go_on(supervisor: subprocess.Popen[bytes], tmp_path: Path) -> None:
    count = tmp_path / "count"

    def has_said_enough() -> bool:
        assert supervisor.poll() is None, "the supervisor died"
        return count.exists() and int(count.read_text() or 0) > 100

    assert eventually(has_said_enough)
    assert supervisor.poll() is None


def test_a_log_goes_on_when_there_is_space_again(tmp_path: Path) -> None:
    path = tmp_path / "some.log"
    path.symlink_to(FULL)
    log = LossyLog(str(path), maxBytes=10_000, backupCount=1)
    record = type("Record", (), {"msg": b"lost\n", "kw": {}})
    log.emit(record)
    path.unlink()
    log.close()
    record.msg = b"kept\n"
    log.emit(record)
    log.close()
    assert b"kept" in path.read_bytes()


def test_the_reason_is_the_disk_when_it_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(installation.why_not(tmp_path, "something else")) == "something else"
    monkeypatch.setattr(installation, "LEAST_FREE_BYTES", 10**18)
    assert f"disk that holds {tmp_path} is full" in str(installation.why_not(tmp_path, "something else"))
