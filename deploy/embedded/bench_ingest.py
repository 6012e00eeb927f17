"""``./run bench ingest``: a manifest from draft to shards, beside the bare reader and tokenizer on the same file."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from deploy.embedded.bench_files import written
from deploy.embedded.programs import ROOT

ROWS = {"csv": 1_000_000, "jsonl": 1_000_000, "xlsx": 200_000}
NOWHERE = "redis://127.0.0.1:1/0"
"""Ingest needs no Redis; the package is read here and by nobody else."""


class UnableToCompare(Exception):
    """Ours and the peer did not read the same rows and tokens: no ratio can be had of that."""


def ingest(rows: int | None = None, only: str | None = None) -> dict[str, Any]:
    """Rows per second from a draft's file to its shards, and the ratio to the bare reader plus tokenizer."""
    formats = {kind: _measured(kind, rows or usual) for kind, usual in ROWS.items() if only in (None, kind)}
    first = next(iter(formats.values()))
    return {
        "unit": "rows/s", "value": first["rows_per_s"], "peer": first["peer_rows_per_s"], "ratio": first["ratio"],
        "rows_per_s": first["rows_per_s"], "peak_rss_mb": max(found["peak_rss_mb"] for found in formats.values()),
        "formats": formats,
    }  # fmt: skip


def _measured(kind: str, rows: int) -> dict[str, Any]:
    """One format: the peer before and after ours, so that a machine that slows down slows both."""
    with tempfile.TemporaryDirectory(prefix="slackwater-bench-") as folder:
        path = written(kind, Path(folder) / f"reviews.{kind}", rows)
        upload = _run("prepare", path)
        before, ours, after = _run("peer", path), _run("ours", path), _run("peer", path)
    if not ours["rows"] == ours["good"] == before["rows"] == rows or ours["tokens"] != before["tokens"]:
        raise UnableToCompare(f"{kind}: ours {ours}, peer {before}")
    peer_s, peer_cpu_s = (before["seconds"] + after["seconds"]) / 2, (before["cpu_s"] + after["cpu_s"]) / 2
    return {
        "rows": rows, "bytes": upload["bytes"], "tokens": ours["tokens"], "repeated": ours["repeated"],
        "rows_per_s": round(rows / ours["seconds"]), "peer_rows_per_s": round(rows / peer_s),
        "ratio": round(ours["seconds"] / peer_s, 3), "cpu_ratio": round(ours["cpu_s"] / peer_cpu_s, 3),
        "seconds": round(ours["seconds"], 2), "peer_seconds": [round(run["seconds"], 2) for run in (before, after)],
        "peak_rss_mb": ours["peak_rss_mb"], "peer_peak_rss_mb": before["peak_rss_mb"], "stages": ours["stages"],
        "upload_s": round(upload["seconds"], 2), "upload_peak_rss_mb": upload["peak_rss_mb"],
    }  # fmt: skip


def _run(program: str, path: Path) -> dict[str, Any]:
    """What one of the programs of ``bench_runs`` found, with an installation beside the file."""
    place = {
        "SLACKWATER_VAR": str(path.parent), "REDIS_URL": NOWHERE, "BUS_URL": NOWHERE, "SLACKWATER_LOG_LEVEL": "ERROR",
        "OBJECTS_URL": f"file://{path.parent / 'objects'}",
        "DATABASE_URL": f"sqlite:///{path.parent / 'slackwater.sqlite3'}",
    }  # fmt: skip
    command = [sys.executable, "-m", "deploy.embedded.bench_runs", program, str(path)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **place}, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
