"""Starting and stopping everything of one embedded installation."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from deploy.embedded import ports, programs
from deploy.embedded.programs import ROOT, Place, PoolWorkers

READY_WITHIN_S = 60
STOP_WITHIN_S = 20
LEAST_FREE_BYTES = 1024**2
"""With less than this on its disk nothing here works: a database needs some to change anything."""


class UnableToStart(Exception):
    """The installation cannot be started; the sentence says why and what to do."""


def why_not(var: Path, otherwise: str) -> UnableToStart:
    """What stopped us: a full disk, which every program reports in its own way, or else ``otherwise``."""
    if shutil.disk_usage(var).free < LEAST_FREE_BYTES:
        return UnableToStart(f"The disk that holds {var} is full. Free some space on it, then start again.")
    return UnableToStart(otherwise)


def var_folder() -> Path:
    """SLACKWATER_VAR, or var/ beside this checkout; made if it is not there."""
    folder = Path(os.environ.get("SLACKWATER_VAR", ROOT / "var")).resolve()
    (folder / "log").mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def running(*, demo: bool, echo: bool, listen: str = "127.0.0.1", port: int | None = None) -> Iterator[Place]:
    """Everything up and answering inside the block, everything stopped after it, whatever ended it."""
    var = var_folder()
    with _only_one(var), _signals_as_exit():
        place = Place(var, listen, ports.choose(var / "ports.json", wanted_portal=port))
        environment = programs.environment(place)
        try:
            pools = prepare(environment, demo=demo, echo=echo)
        except UnableToStart as reason:
            raise why_not(var, str(reason)) from None
        _write_config(place, pools)
        server = _start(place, environment)
        try:
            _wait_until_ready(place, server)
            place.kept_bus.unlink(missing_ok=True)  # read by now; old news must not come back should Valkey die
            yield place
        finally:
            _stop(server)


@contextmanager
def _only_one(var: Path) -> Iterator[None]:
    """One installation per folder: the lock is the kernel's, so a killed owner leaves none behind."""
    with (var / "running.lock").open("w") as lock:
        deadline = time.monotonic() + STOP_WITHIN_S  # an owner that was just killed is still stopping its programs
        while not (_locked(lock) and not _is_alive(var / "supervisord.pid")):
            if time.monotonic() > deadline:
                raise UnableToStart(f"Slackwater already runs from {var}. Stop it first, or set SLACKWATER_VAR.")
            time.sleep(0.2)
        yield


def _locked(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_alive(pidfile: Path) -> bool:
    """Whether the supervisord that wrote ``pidfile`` still runs."""
    try:
        command = Path(f"/proc/{int(pidfile.read_text())}/cmdline").read_bytes()
    except (OSError, ValueError):
        return False
    return str(pidfile.with_name("supervisord.conf")).encode() in command


@contextmanager
def _signals_as_exit() -> Iterator[None]:
    """SIGTERM and SIGHUP unwind like Ctrl-C does, so that every ``finally`` runs."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    previous = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, before in previous.items():
            signal.signal(number, before)


def prepare(environment: dict[str, str], *, demo: bool, echo: bool) -> list[PoolWorkers]:
    """Database, translations, static files and first data brought up to date; returns the open pools."""
    flags = [*(["--demo"] if demo else []), *(["--echo"] if echo else [])]
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "prepare", *flags],
        env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    if done.returncode:
        raise UnableToStart("The database or the static files could not be brought up to date; see above.")
    return [PoolWorkers(**pool) for pool in json.loads(done.stdout)]


def _write_config(place: Place, pools: Sequence[PoolWorkers]) -> None:
    place.config.touch(mode=0o600)
    place.config.write_text(programs.supervisord_config(place, programs.all_programs(place, pools)))


def _start(place: Place, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """supervisord in a session of its own: Ctrl-C reaches only us, and we stop it in order."""
    command = ["setpriv", "--pdeathsig", "TERM", "--", sys.executable, "-m", "deploy.embedded.supervise"]
    with (place.logs / "supervisord.out").open("wb") as out:
        return subprocess.Popen(
            [*command, "-c", str(place.config)],
            env=environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip


def _wait_until_ready(place: Place, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_WITHIN_S
    while not _answers(f"{place.url}/api/v1/health"):
        if server.poll() is not None:
            out = place.logs / "supervisord.out"
            raise why_not(place.var, f"The supervisor stopped at once. {out} ends:\n{_last_line(out)}")
        if time.monotonic() > deadline:
            log = place.logs / "portal.log"
            late = f"The portal did not answer within {READY_WITHIN_S} s. {log} ends:\n{_last_line(log)}"
            raise why_not(place.var, late)
        time.sleep(0.2)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return lines[-1] if lines else "(it is empty)"


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own address
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _stop(server: subprocess.Popen[bytes]) -> None:
    """Ask once, wait, then kill; the kernel takes the programs along (``--pdeathsig``)."""
    server.terminate()
    try:
        server.wait(STOP_WITHIN_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def stay(place: Place) -> None:
    """Return at Ctrl-C; SIGTERM and SIGHUP leave by themselves. Raises if the supervisor itself is killed."""
    try:
        while _is_alive(place.var / "supervisord.pid"):
            time.sleep(1)
    except KeyboardInterrupt:
        print("\nStopping …", file=sys.stderr, flush=True)
    else:
        raise why_not(place.var, _ended_by_itself(place))


def _ended_by_itself(place: Place) -> str:
    """Killed from outside, or by an error of its own, which then stands in what it said last."""
    out = place.logs / "supervisord.out"
    if out.exists() and out.stat().st_size:
        return f"The supervisor has stopped. {out} ends:\n{_last_line(out)}"
    return f"The supervisor was stopped from outside; see {place.logs / 'supervisord.log'}."
