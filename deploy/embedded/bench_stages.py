"""Where a program's main thread spends its time, by stages, looked at every few milliseconds from another thread."""

import os
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FrameType, TracebackType

EVERY_S = 0.02
STAGES = (
    ("scheduler/tokenizers/", "tokenizer"),
    ("packages/manifest/", "reading rows"),
    ("packages/reading/seen.py", "ids and repeats"),
    ("packages/reading/repeats.py", "ids and repeats"),
    ("packages/template.py", "rendering prompts"),
    ("packages/prompts.py", "rendering prompts"),
    ("scheduler/records.py", "writing shards"),
    ("scheduler/objects/", "writing shards"),
    ("domain/sharding.py", "cutting shards"),
    ("packages/reading/screening.py", "screening"),
    ("site-packages/django/", "database"),
    ("packages/reading/ingest.py", "bookkeeping"),
)
"""Part of a file's path, and what happens in it: the innermost frame that is known names the stage."""


class Stages:
    """Within ``with``, samples the thread that entered it; afterwards ``shares`` says what it did."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._over = threading.Event()
        self._watched = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Stages":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def shares(self) -> dict[str, float]:
        """The share of the time that each stage had, largest first."""
        looks = max(1, self._seen.total())
        return {stage: round(count / looks, 3) for stage, count in self._seen.most_common()}

    def _watch(self) -> None:
        while not self._over.wait(EVERY_S):
            self._seen[_stage(sys._current_frames().get(self._watched))] += 1


def _stage(frame: FrameType | None) -> str:
    while frame is not None:
        name = frame.f_code.co_filename
        for part, stage in STAGES:
            if part in name:
                return stage
        frame = frame.f_back
    return "other"


def clock() -> tuple[float, float]:
    """Seconds on the wall, and of all cores in this process and its children."""
    used = os.times()
    return time.perf_counter(), used.user + used.system + used.children_user + used.children_system


def peak_rss_mb() -> float:
    """The most memory that this program has held, in MB of 10^6 bytes; of itself alone, not of who started it."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return round(int(line.split()[1]) * 1024 / 1e6, 1)
