"""``python -m tests.corpus``: writes the corpus, reads every file, and says what is not as it must be.

Files are made in one process and read in another, whose peak memory is that of the readers: and, where a
reader works in a process of its own, that of the largest.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.corpus.all_files import CASES
from tests.corpus.case import Case
from tests.corpus.checking import check
from tests.corpus.make import unconfirmed

READ = "--read"


def main(arguments: list[str]) -> int:
    """0 if all is right."""
    if READ in arguments:
        return _read(Path(arguments[-1]))
    unsure = unconfirmed(CASES)
    print(
        f"{sum(case.oracle is not None for case in CASES)} files read by others too, {len(unsure)} otherwise", *unsure
    )
    with tempfile.TemporaryDirectory(prefix="slackwater-corpus-") as folder:
        subprocess.run([sys.executable, "-m", "tests.corpus.make", folder], check=True)
        done = subprocess.run([sys.executable, "-m", "tests.corpus", READ, folder], check=False)
    return done.returncode or bool(unsure)


def _read(folder: Path) -> int:
    slowest: list[tuple[float, str]] = []
    began = last = time.monotonic()

    def told(case: Case, said: list[str]) -> None:
        nonlocal last
        now = time.monotonic()
        slowest.append((round(now - last, 1), case.name))
        last = now
        if said:
            print(f"WRONG  {case.name}", *said, sep="\n       ", flush=True)

    wrong = check(CASES, folder, told)
    print("slowest:", ", ".join(f"{name} {seconds} s" for seconds, name in sorted(slowest, reverse=True)[:5]))
    print(
        f"{len(CASES)} files, {len(CASES) - wrong} right, {wrong} wrong, {time.monotonic() - began:.1f} s, "
        f"peak {peaks()[0]:.0f} MB here, {peaks()[1]:.0f} MB in a reader's own process"
    )
    return 1 if wrong else 0


def peaks() -> tuple[float, float]:
    """The most memory that this process held, and that any of its children did, in MB of 10^6 bytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    own = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))
    return own * 1024 / 1e6, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    sys.exit(main(sys.argv[1:]))
