"""``./run bench NAME``: one figure, measured on a fresh installation in a temporary folder."""

import csv
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deploy.embedded import installation
from deploy.embedded.bench_ingest import ingest
from deploy.embedded.client import Slackwater

ROWS = 5_000
POLL_S = 0.2
WITHIN_S = 300


class UnableToMeasure(Exception):
    """The package did not get where it had to."""


def run(name: str | None, *, as_json: bool, **options: Any) -> int:
    """Measure and print; with ``as_json`` the last line is one JSON object. ``options`` are the benchmark's own."""
    if name not in BENCHES:
        known = "\n".join(f"  {known:<12}{(bench.__doc__ or '').splitlines()[0]}" for known, bench in BENCHES.items())
        print(f"Benchmarks:\n{known}", file=sys.stderr)
        return 0 if name is None else 2
    found = {"bench": name, **BENCHES[name](**options)}
    print(json.dumps(found) if as_json else f"{name}: {found['value']} {found['unit']}")
    return 0


def overhead() -> dict[str, Any]:
    """Items per second of everything but the model: the echo engine, one worker, from promise to results."""
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        os.environ["SLACKWATER_VAR"] = folder
        with installation.running(demo=True, echo=True) as place:
            key = json.loads((place.var / "demo.json").read_text(encoding="utf-8"))["api_key"]
            with Slackwater(place.url, key) as portal:
                seconds = _through(portal, _rows(place.var / "rows.csv"))
    return {"unit": "items/s", "value": round(ROWS / seconds, 1), "peer": None, "ratio": None, "items": ROWS}


def _rows(path: Path) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "text"])
        writer.writerows((n, f"row {n} says that the tide is out and the harbour is quiet") for n in range(ROWS))
    return path


def _through(portal: Slackwater, manifest: Path) -> float:
    """Seconds from the accepted promise to the finished results."""
    labels = ["ebb", "flood", "slack"]
    task = {"kind": "tagging", "model": "echo", "prompt": "{{text}}", "labels": labels, "max_output_tokens": 8}
    ref = portal.submit(manifest, task)["id"]
    _wait(portal, ref, "quoted")
    portal.accept(ref, portal.quote(ref, tier="standard")["id"])
    began = time.monotonic()
    _wait(portal, ref, "completed")
    return time.monotonic() - began


def _wait(portal: Slackwater, ref: str, state: str) -> None:
    deadline = time.monotonic() + WITHIN_S
    while (now := portal.package(ref)["state"]) != state:
        if now == "invalid" or time.monotonic() > deadline:
            raise UnableToMeasure(f"the package is {now} and not {state}")
        time.sleep(POLL_S)


BENCHES: dict[str, Callable[..., dict[str, Any]]] = {"overhead": overhead, "ingest": ingest}
