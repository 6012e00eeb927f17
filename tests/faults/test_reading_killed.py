"""A reading that is killed at any moment and done again leaves the same shards, byte for byte, as one in one go."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

KILLS = 20
NOWHERE = "redis://127.0.0.1:1/0"


def test_twenty_readings_killed_at_random_leave_the_same_bytes(tmp_path: Path) -> None:
    found = _killed(tmp_path, seed=4)
    assert found["killed"] >= KILLS
    assert found["different"] == 0
    assert found["had_shards"] > 0  # some were killed when they had written already
    assert found["files"] > 5
    # of 6,000 rows 120 have one field; others are set aside for an empty text or the id 1; 1,500 texts come twice
    counts = found["counts"]
    assert counts["rows_total"] == 6000
    assert counts["by_code"]["ragged_row"] == 120
    assert counts["rows_good"] + counts["rows_set_aside"] == 6000
    assert counts["rows_repeated"] > 1000


def _killed(folder: Path, *, seed: int) -> dict[str, Any]:
    place = {
        "SLACKWATER_VAR": str(folder),
        "DATABASE_URL": f"sqlite:///{folder / 'slackwater.sqlite3'}",
        "OBJECTS_URL": f"file://{folder / 'objects'}",
        "REDIS_URL": NOWHERE,
        "BUS_URL": NOWHERE,
        "SLACKWATER_SHARD_TARGET_S": "2",
        "SLACKWATER_LOG_LEVEL": "ERROR",
    }
    command = [sys.executable, "-m", "tests.faults.killed_readings", str(folder), str(KILLS), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **place}, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result
