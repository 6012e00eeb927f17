"""Every file of the corpus is read right or refused with a clear answer; `python -m tests.corpus` reports at length."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portal.departments.refusals import Refusal
from portal.packages import services
from portal.packages.models import Package
from portal.packages.receiving.first_rows import first_rows
from portal.packages.receiving.uploads import create_draft
from scheduler.domain.lifecycle import PackageState
from tests.corpus.all_files import CASES
from tests.corpus.case import Case
from tests.corpus.checking import complaints
from tests.corpus.make import unconfirmed, written
from tests.manifests import NOW, read_now
from tests.world import World

SMALL = [case for case in CASES if not case.is_large]
LARGE = [case for case in CASES if case.is_large]
MEMORY_MB = 350
READ = "from tests.corpus.bounded import main; main()"


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len(CASES) >= 150


def test_other_readers_find_what_we_expect() -> None:
    assert unconfirmed(SMALL) == []


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_a_file_is_read_right(case: Case, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(case.content())
    assert complaints(case, path) == []


def test_large_and_hostile_files_are_read_right_in_little_memory(tmp_path: Path) -> None:
    written(LARGE, tmp_path)  # here, so that making them counts for nothing there
    command = [sys.executable, "-c", READ, str(tmp_path), str(MEMORY_MB)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_the_portal_takes_or_refuses_it_and_keeps_the_draft(case: Case, world: World) -> None:
    """From upload to shards: no file is an error of ours, and a file that was taken has every row accounted for."""
    package = _draft(case, world)
    if package is None:
        return
    first_rows(package)
    column = package.reading["columns"][-1]
    task: dict[str, Any] = {"kind": "tagging", "model": world.echo, "labels": ["good", "bad"], "max_output_tokens": 8}
    if package.reading["format"] != "openai":
        task["user_template"] = f"Judge: {{{{{column}}}}}"
    services.save_task(package=package, by=world.alice, now=NOW, **task)
    read_now(package)
    package = Package.objects.for_department(world.retail).get(pk=package.pk)
    assert package.state == (PackageState.QUOTED if package.rows_good else PackageState.INVALID)
    assert package.rows_good + package.rows_set_aside == package.rows_total == len(case.rows) + len(case.aside)


def _draft(case: Case, world: World) -> Package | None:
    """The draft of the file; ``None`` once it was refused as it must be."""
    upload: dict[str, Any] = {"filename": case.filename, "chunks": [case.content()], "wish": case.wish}
    if not case.refusal:
        return create_draft(by=world.alice, department=world.retail, now=NOW, **upload)
    with pytest.raises(Refusal) as refusal:
        create_draft(by=world.alice, department=world.retail, now=NOW, **upload)
    assert refusal.value.code == case.refusal
    return None
