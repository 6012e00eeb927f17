"""A program for test_reading_killed: reads one manifest again and again, killed at random moments in between.

It forks a process for each reading and kills that; what the reading that follows leaves is compared with what one
that nobody disturbed left. Prints one JSON object. Arguments: a folder, how many kills, a seed.
"""

import json
import os
import random
import signal
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

ROWS = 6_000
MOST_KILLS_IN_A_ROW = 2
"""A third reading that ends badly is given up by design."""


def main(folder: Path, kills: int, seed: int) -> dict[str, Any]:
    """Kill ``kills`` readings; what differed, and how far the killed ones had come."""
    chosen = random.Random(seed)
    _prepare(folder)
    began = time.monotonic()
    _ended(_reading())
    usual_s, whole = time.monotonic() - began, _left()
    killed, different, had_shards = 0, 0, 0
    while killed < kills:
        _begin_again()
        for _attempt in range(chosen.randint(1, MOST_KILLS_IN_A_ROW)):
            if not _killed(_reading(), chosen.uniform(0, usual_s)):
                break
            killed += 1
            had_shards += bool(_left()["files"])
        if _left()["state"] == "validating":
            _ended(_reading())
        different += _left() != whole
    return {"killed": killed, "different": different, "had_shards": had_shards, **_sizes(whole)}


def _sizes(whole: dict[str, Any]) -> dict[str, Any]:
    return {"files": len(whole["files"]), "counts": whole["counts"]}


def _prepare(folder: Path) -> None:
    import django

    django.setup()
    from django.core.management import call_command
    from django.utils import timezone

    from portal.capacity.models import LanguageModel
    from portal.celery import app
    from portal.departments.models import Person
    from portal.operations.seed import seed
    from portal.packages import services
    from portal.packages.receiving.uploads import create_draft

    app.conf.broker_url = "memory://"  # the readings are started here
    call_command("migrate", verbosity=0)
    seed(folder=folder, demo=True, echo=True, now=timezone.now())
    by = Person.objects.select_related("department").get(email="alice@retail.example")
    assert by.department is not None
    package = create_draft(by=by, department=by.department, filename="a.csv", chunks=[_manifest()], now=timezone.now())
    task: dict[str, Any] = {"kind": "tagging", "user_template": "{{text}}", "labels": ["a", "b"], "id_column": "id"}
    model = LanguageModel.objects.get(name="echo")
    services.save_task(package=package, by=by, model=model, max_output_tokens=8, now=timezone.now(), **task)
    _begin_again()


def _manifest() -> bytes:
    """Rows of which a fourth repeat others, some are set aside, and the rest fill several shards."""
    lines = ["id,text"]
    for n in range(ROWS):
        said = n % (ROWS * 3 // 4)
        text = f"row {said} " + "says that the tide is out " * (said % 7)
        lines.append("only-one-field" if n % 50 == 7 else f"{n if n % 60 else 1},{'' if n % 90 == 5 else text}")
    return ("\n".join(lines) + "\n").encode()


def _package() -> Any:
    from portal.packages.models import Package

    return Package.objects.across_departments().select_related("department", "created_by", "model").get()


def _begin_again() -> None:
    """Put the package back to a draft that is being read from now on."""
    from django.utils import timezone

    from portal.packages import services

    package = _package()
    type(package).objects.across_departments().filter(pk=package.pk).update(state="draft")
    package.refresh_from_db()
    services.start_reading(package=package, by=package.created_by, now=timezone.now())


def _reading() -> int:
    """A process that reads as Celery would, by its id."""
    from django.db import connections

    from portal.packages.reading.ingest import ingest

    package = _package()
    connections.close_all()
    if child := os.fork():
        return child
    status = 1
    try:
        ingest(package_id=package.pk, epoch=package.ingest_epoch)
        status = 0
    finally:
        os._exit(status)


def _killed(child: int, after_s: float) -> bool:
    """Kill it; ``False`` if it was over by then."""
    time.sleep(after_s)  # the moment at which it is killed
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _ended(child: int) -> None:
    status = os.waitpid(child, 0)[1]
    assert status == 0, f"reading ended with status {status}"


def _left() -> dict[str, Any]:
    """Everything that the reading left: objects by their bytes, shards and counts."""
    from portal.packages.store import objects

    package = _package()
    keys = sorted(found.key for found in objects().list(f"{package.prefix}/") if "/manifest/" not in found.key)
    shards = package.shards.order_by("no").values_list("no", "key", "items", "input_tokens", "repeats", "work_s")
    counts = {name: getattr(package, name) for name in ("rows_total", "rows_good", "rows_repeated", "rows_set_aside")}
    return {
        "state": str(package.state),
        "files": {key: sha256(objects().get(key)).hexdigest() for key in keys},
        "shards": [[str(value) for value in shard] for shard in shards],
        "counts": {**counts, "by_code": package.set_aside_by_code, "tokens": package.input_tokens},
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
