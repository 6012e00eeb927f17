"""A running installation, each of its programs killed in turn while a package runs: nothing is lost or done twice.

Counted are the engine's calls. A row whose result lay in a part when a program was killed must never be called again.
"""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from deploy.embedded.client import Slackwater
from scheduler.objects.file import FileStore
from scheduler.records import ItemResult, load
from tests.launcher import Launcher, eventually

ROWS = 500
TASK = {"kind": "tagging", "model": "echo", "labels": ["good", "bad"], "prompt": "Good or bad? {{review}}"}
# what to look for in the command line and the environment
PROGRAMS = {
    "worker": ("-m gpuworker", {"SLACKWATER_POOL": "echo"}),
    "scheduler": ("-m scheduler", {}),
    "celery": ("portal.celery worker", {}),
    "portal": ("uvicorn", {}),
    "valkey": ("valkey-server", {}),
}


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Launcher]:
    quick = {"SLACKWATER_LEASE_S": "3", "SLACKWATER_SWEEP_S": "2", "SLACKWATER_ECHO_DELAY_S": "0.1"}
    launcher = Launcher(tmp_path, "said", "--demo", "--echo", SLACKWATER_CALL_LOG=str(tmp_path / "calls"), **quick)
    yield launcher
    launcher.end()


class Run:
    """One package of the installation, as its department's script sees it, and the engine's calls beside it."""

    def __init__(self, launcher: Launcher, portal: Slackwater, ref: str) -> None:
        self.launcher, self.portal, self.ref = launcher, portal, ref
        self.store = FileStore(launcher.var / "objects")

    def now(self) -> dict[str, object]:
        """The package, or nothing while the portal is away."""
        try:
            return self.portal.package(self.ref)
        except httpx.HTTPError:
            return {}

    def calls(self) -> list[int]:
        log = self.launcher.folder / "calls"
        return [int(line.rpartition("/")[2]) for line in log.read_text().split()] if log.exists() else []

    def durable(self) -> set[int]:
        """Rows whose result lies in a part."""
        keys = [found.key for found in self.store.list("") if "/parts/" in found.key]
        return {result.row for key in keys for result in load(self.store, key, ItemResult)}

    def kill(self, program: str, at_rows: int) -> tuple[int, set[int]]:
        """SIGKILL ``program`` when ``at_rows`` are durable; says which were, and how many calls there had been."""
        assert eventually(lambda: len(self.durable()) >= at_rows)
        word, environment = PROGRAMS[program]
        victim = self.launcher.program(word, **environment)
        assert victim, program
        victim.kill()
        victim.wait(10)
        return len(self.calls()), self.durable()


@pytest.fixture
def running(installation: Launcher, tmp_path: Path) -> Iterator[Run]:
    assert eventually(installation.is_up)
    manifest = tmp_path / "reviews.csv"
    manifest.write_text("id,review\n" + "".join(f"R{no},review number {no}\n" for no in range(ROWS)))
    key = json.loads((installation.var / "demo.json").read_text())["api_key"]
    with Slackwater(installation.url, key) as portal:
        ref = portal.submit(manifest, TASK)["id"]
        run = Run(installation, portal, ref)
        assert eventually(lambda: run.now().get("state") == "quoted")
        portal.accept(ref, portal.quote(ref, tier="standard")["id"])
        yield run


def test_every_program_may_be_killed_while_a_package_runs(running: Run, tmp_path: Path) -> None:
    moments = [running.kill(program, at_rows=40 + 80 * nth) for nth, program in enumerate(PROGRAMS)]
    assert eventually(lambda: running.now().get("state") == "completed")

    calls = running.calls()
    for calls_before, durable in moments:
        assert not durable & set(calls[calls_before:]), "a finished item ran again"
    assert set(calls) == set(range(1, ROWS + 1))
    repeated = sum(count - 1 for count in Counter(calls).values())
    assert repeated <= 60, "more than what was in flight or not yet written when the worker died"

    package = running.portal.package(running.ref)
    results = running.portal.download(f"/packages/{running.ref}/results?format=csv", tmp_path / "results.csv")
    with results.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["id"] for row in rows] == [f"R{no}" for no in range(ROWS)]
    assert {row["slackwater_status"] for row in rows} == {"succeeded"}
    month = str(package["finished_at"])[:7]
    assert Decimal(running.portal.bill(month)["total"]) == round(Decimal(package["charged"]["amount"]), 2)
