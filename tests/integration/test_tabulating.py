"""Workbook and Parquet file come after the end of a package, whatever is lost or happens in between."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import RequestFactory
from pytest_django import DjangoCaptureOnCommitCallbacks

from portal.packages import services, tasks
from portal.packages.correcting import merging
from portal.packages.delivering import downloads, excel, tabulating
from portal.packages.delivering.results import UnableToAddUp
from portal.packages.delivering.tabulating import tabulate
from portal.packages.models import Package
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from tests.integration.test_downloads import by_openpyxl, by_pyarrow
from tests.integration.test_finalise import LATER, finished, promised, settle_all
from tests.world import World


@pytest.fixture
def package(world: World, settings: Any) -> Package:
    """One that is over; its two further files are not written yet."""
    package = promised(world, settings)
    settle_all(package)
    return finished(package)


def written(package: Package) -> list[str]:
    keys = (one.key.rpartition("/")[2] for one in objects().list(f"{package.prefix}/out/"))
    return [name for name in keys if name.endswith((".xlsx", ".parquet"))]


def test_both_are_written_and_are_what_was_made_before(package: Package) -> None:
    made = {form: _downloaded(package, form) for form in tabulating.FORMS}
    tabulate(package_id=package.pk)
    assert written(package) == ["results.parquet", "results.xlsx"]
    assert {form: objects().get(f"{package.out}/results.{form}") for form in tabulating.FORMS} == made
    assert len(by_openpyxl(made["xlsx"])) == len(by_pyarrow(made["parquet"])) == 200


def _downloaded(package: Package, form: str) -> bytes:
    return b"".join(downloads.answer(RequestFactory().get("/"), package, f"results.{form}"))


def test_they_are_written_once(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    tabulate(package_id=package.pk)
    monkeypatch.setattr(tabulating, "current_rows", lambda _package: pytest.fail("again"))
    tabulate(package_id=package.pk)
    assert not tabulating.due().exists()


@pytest.mark.parametrize("state", [PackageState.RUNNING, PackageState.FINALISING])
def test_not_before_the_end(world: World, package: Package, state: PackageState) -> None:
    Package.objects.for_department(world.retail).update(state=state)
    tabulate(package_id=package.pk)
    assert written(package) == []


def test_the_end_of_a_package_enqueues_them(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:  # fmt: skip
    package = promised(world, settings)
    settle_all(package)
    enqueued: list[Any] = []
    monkeypatch.setattr(tasks.tabulate, "apply_async", lambda args, **_options: enqueued.append(args))
    with django_capture_on_commit_callbacks(execute=True):
        finished(package)
    assert enqueued == [(str(package.pk),)]


def test_the_sweep_enqueues_what_the_broker_lost(
    package: Package, monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
) -> None:  # fmt: skip
    enqueued: list[Any] = []
    monkeypatch.setattr(tasks.tabulate, "apply_async", lambda args, **_options: enqueued.append(args))
    for minutes in (1, 30, 31):
        with django_capture_on_commit_callbacks(execute=True):
            services.sweep(now=LATER + timedelta(minutes=minutes))
    assert enqueued == [(str(package.pk),)]
    tabulate(package_id=package.pk, clock=lambda: LATER)
    with django_capture_on_commit_callbacks(execute=True):
        services.sweep(now=LATER + timedelta(hours=2))
    assert len(enqueued) == 1


def test_too_many_rows_for_excel_leave_the_parquet_file(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(excel, "MOST_ROWS", 199)
    tabulate(package_id=package.pk)
    assert written(package) == ["results.parquet"]


def test_nothing_half_written_is_left_by_a_broken_store(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(OSError):
        pass

    def rows(_package: Package) -> Any:
        raise Full

    with monkeypatch.context() as patched:
        patched.setattr(tabulating, "current_rows", rows)
        with pytest.raises(Full):
            tabulate(package_id=package.pk)
    assert written(package) == []
    tabulate(package_id=package.pk)
    assert len(written(package)) == 2


def test_a_fault_of_ours_leaves_them_out_for_good(package: Package, monkeypatch: pytest.MonkeyPatch) -> None:
    def rows(_package: Package) -> Any:
        raise UnableToAddUp

    monkeypatch.setattr(tabulating, "current_rows", rows)
    tabulate(package_id=package.pk)
    assert (written(package), tabulating.due().exists()) == ([], False)


def test_corrections_merged_meanwhile_make_them_due_again(
    world: World, package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = merging.current_rows

    def merged_meanwhile(of: Package) -> Any:
        yield from rows(of)
        Package.objects.for_department(world.retail).update(merged_round=1)

    monkeypatch.setattr(tabulating, "current_rows", merged_meanwhile)
    tabulate(package_id=package.pk)
    assert (written(package), tabulating.due().count()) == ([], 1)


def test_one_at_a_time_so_that_readings_need_not_wait_for_tables(
    package: Package, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = merging.current_rows

    def meanwhile(of: Package) -> Any:
        tabulate(package_id=package.pk)  # as another process would
        assert (written(package), tabulating.due().count()) == ([], 1)
        yield from rows(of)

    monkeypatch.setattr(tabulating, "current_rows", meanwhile)
    tabulate(package_id=package.pk)
    assert (len(written(package)), tabulating.due().count()) == (2, 0)
