"""An upload becomes a draft, or is refused and leaves nothing."""

import hashlib
import os
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings
from structlog.testing import capture_logs

from portal.departments.refusals import Refusal, UnableToChangeState
from portal.packages import services
from portal.packages.manifest import BadRow, Reading, Row
from portal.packages.models import Package
from portal.packages.receiving import orphans
from portal.packages.receiving.first_rows import first_rows, first_rows_key
from portal.packages.receiving.uploads import create_draft, discard_draft, draft_from_stored, unsaved_package
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from tests.manifests import NOW, draft, read_now
from tests.world import World


def upload(world: World, *chunks: bytes, filename: str = "评论.csv", name: str | None = None) -> Package:
    return create_draft(by=world.alice, department=world.retail, filename=filename, chunks=chunks, name=name, now=NOW)


def lies_in_store(package: Package) -> list[str]:
    return [found.key for found in objects().list(f"{package.department_id.hex}/")]


def of_draft(package: Package) -> list[str]:
    return sorted([package.manifest_key, first_rows_key(package)])


@pytest.fixture(autouse=True)
def no_notes_of_other_tests() -> None:
    """The store is shared by the run; some tests leave on purpose what a killed process would."""
    objects().delete_prefix(orphans.FOLDER)


def test_a_file_is_kept_untouched_and_its_reading_is_known(world: World) -> None:
    data = "编号,内容\r\n1,潮水\r\n2,岸\r\n".encode("gb18030")
    package = upload(world, data[:5], data[5:])
    assert (package.state, package.name, package.manifest_bytes) == (PackageState.DRAFT, "评论", len(data))
    reading = Reading.from_json(package.reading)
    assert (reading.format, reading.encoding, reading.certainty) == ("csv", "gb18030", "likely")
    assert (reading.delimiter, reading.columns) == (",", ("编号", "内容"))
    assert package.manifest_key == f"{world.retail.id.hex}/{package.id.hex}/manifest/original.csv"
    assert objects().get(package.manifest_key) == data
    assert first_rows(package, 1) == [Row(1, {"编号": "1", "内容": "潮水"})]


def test_a_manifest_that_lies_in_the_store_already_becomes_a_draft(world: World) -> None:
    ref = uuid.uuid4()
    package = unsaved_package(by=world.alice, department=world.retail, filename="评论.csv", now=NOW, ref=ref)
    objects().put(package.manifest_key, "编号,内容\n1,潮水\n".encode())
    draft_from_stored(package=package, now=NOW)
    kept = Package.objects.for_department(world.retail).get(pk=ref)
    assert (kept.name, kept.manifest_bytes) == ("评论", 6 + 1 + 6 + 1 + 1 + 1 + 6 + 1)
    assert kept.manifest_sha256 == hashlib.sha256("编号,内容\n1,潮水\n".encode()).hexdigest()
    assert first_rows(kept) == [Row(1, {"编号": "1", "内容": "潮水"})]
    assert sorted(lies_in_store(kept)) == of_draft(kept)


def test_a_manifest_in_the_store_that_cannot_be_read_is_removed(world: World) -> None:
    package = unsaved_package(by=world.alice, department=world.retail, filename="a.csv", now=NOW)
    objects().put(package.manifest_key, b"%PDF-1.7 ......")
    with pytest.raises(Refusal) as refused:
        draft_from_stored(package=package, now=NOW)
    assert refused.value.code == "wrong_format"
    assert lies_in_store(package) == []


def test_names_are_cleaned(world: World) -> None:
    package = upload(world, b"a\n1\n", filename="C:\\files\\re\u0000views.2026.CSV", name="  my \n package ")
    assert (package.filename, package.name) == ("reviews.2026.CSV", "my package")
    assert package.manifest_key.endswith("/original.csv")
    assert upload(world, b"a\n1\n", filename="../..").filename == ".."


@pytest.mark.parametrize(
    ("data", "filename", "code"),
    [
        (b"", "a.csv", "empty_file"),
        (b"id\0text", "a.csv", "binary_file"),
        (b"id,text\n1,\xff\xff\n", "a.csv", "unknown_encoding"),
        (b"id,text\n", "a.csv", "no_rows"),
        (b"id,{id}\n1,2\n", "a.csv", "unusable_column"),
        (b"%PDF-1.7 ......", "a.pdf", "wrong_format"),
        (b"<html></html>", "a.html", "wrong_format"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_and_leaves_nothing(
    world: World, data: bytes, filename: str, code: str
) -> None:
    with pytest.raises(Refusal) as refused:
        upload(world, data, filename=filename)
    assert (refused.value.code, refused.value.field, refused.value.status) == (code, "file", 422)
    assert not Package.objects.for_department(world.retail).exists()
    assert list(objects().list(f"{world.retail.id.hex}/")) == []


def test_the_first_bad_line_is_named(world: World) -> None:
    with pytest.raises(Refusal) as refused:
        upload(world, b"id,text\n1,a\n", b"2,\xff\xff\n3,\xff\n")
    assert refused.value.details == {"line": 3}
    assert "line 3" in str(refused.value.message)


def test_a_file_above_the_limit_is_refused_with_the_limit(world: World, settings: Settings) -> None:
    settings.UPLOAD_LIMIT_BYTES = 2048
    with pytest.raises(Refusal) as refused:
        upload(world, b"a\n", b"1\n" * 2000)
    assert (refused.value.code, refused.value.status) == ("too_large", 413)
    assert "2" in str(refused.value.message)


def test_an_upload_that_breaks_off_leaves_nothing(world: World) -> None:
    def chunks() -> Iterator[bytes]:
        yield b"id,text\n1,a\n"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        create_draft(by=world.alice, department=world.retail, filename="a.csv", chunks=chunks(), now=NOW)
    assert not Package.objects.for_department(world.retail).exists()
    assert list(objects().list(f"{world.retail.id.hex}/")) == []


def test_a_discarded_draft_is_gone_with_its_file(
    world: World, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    package = draft(world, "text\na\n")
    read_now(package)
    with django_capture_on_commit_callbacks(execute=True):
        discard_draft(package=package, by=world.alice, now=NOW)
    assert not Package.objects.for_department(world.retail).exists()
    assert lies_in_store(package) == []


def test_a_package_that_is_promised_cannot_be_discarded(world: World) -> None:
    package = draft(world, "text\na\n")
    Package.objects.for_department(world.retail).update(state=PackageState.ADMITTED)
    with pytest.raises(UnableToChangeState):
        discard_draft(package=package, by=world.alice, now=NOW)
    assert objects().exists(package.manifest_key)


def test_the_first_rows_are_read_once_when_the_file_is_looked_at(world: World) -> None:
    package = upload(world, 'text,id\n"a\u2028b\r\nc",1\n\nx,y,z\n'.encode())
    before = first_rows(package)
    assert before[0] == Row(1, {"text": "a\u2028b\r\nc", "id": "1"})
    assert [row.number for row in before] == [1, 2, 3]
    objects().put(package.manifest_key, b"nothing")
    assert first_rows(package) == before


def test_first_rows_that_are_lost_or_of_another_reading_are_read_again(world: World) -> None:
    package = upload(world, b"text\na\n")
    package.reading = {**package.reading, "has_heading": False, "columns": ["column_1"]}
    assert first_rows(package)[0] == Row(1, {"column_1": "text"})
    objects().put(first_rows_key(package), b"broken")
    assert first_rows(package)[1] == Row(2, {"column_1": "a"})
    objects().delete(first_rows_key(package))
    assert first_rows(package)[1] == Row(2, {"column_1": "a"})


def test_bad_rows_among_the_first_are_shown_as_such(world: World) -> None:
    package = upload(world, b"id,text\n1\n2,b\n")
    first, second = first_rows(package, 5)
    assert isinstance(first, BadRow)
    assert second == Row(2, {"id": "2", "text": "b"})


def test_the_sweep_removes_what_broken_uploads_left_for_a_day(world: World, settings: Settings, tmp_path: Path) -> None:
    settings.FILE_UPLOAD_TEMP_DIR = tmp_path
    old, new, other = tmp_path / "a.upload.csv", tmp_path / "b.upload.csv", tmp_path / "kept.txt"
    for path in (old, new, other):
        path.touch()
        os.utime(path, (0, (NOW - timedelta(hours=23)).timestamp()))
    os.utime(old, (0, (NOW - timedelta(hours=25)).timestamp()))
    services.sweep(now=NOW)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.upload.csv", "kept.txt"]


class Killed(BaseException):
    """Stands for the end of the process: nothing is cleaned up after it."""


def test_objects_of_an_upload_whose_process_was_killed_are_removed_after_a_day(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_args: object) -> None:
        raise Killed

    kept = upload(world, b"a\n1\n")
    with monkeypatch.context() as killed:
        killed.setattr("portal.packages.receiving.uploads.sniff", dies)
        killed.setattr(type(objects()), "delete_prefix", dies)
        with pytest.raises(Killed):
            upload(world, b"a\n1\n")
    assert len(lies_in_store(kept)) == 3
    services.sweep(now=NOW + timedelta(hours=23))
    assert len(lies_in_store(kept)) == 3
    services.sweep(now=NOW + timedelta(hours=25))
    assert sorted(lies_in_store(kept)) == of_draft(kept)
    assert list(objects().list(orphans.FOLDER)) == []


def test_objects_of_a_discarded_draft_whose_deletion_was_cut_short_are_removed_after_a_day(world: World) -> None:
    package = draft(world, "text\na\n")
    discard_draft(package=package, by=world.alice, now=NOW)  # the test's transaction never commits: nothing is deleted
    assert sorted(lies_in_store(package)) == of_draft(package)
    services.sweep(now=NOW + timedelta(hours=25))
    assert lies_in_store(package) == []


def test_nothing_is_noted_of_uploads_that_ended(world: World) -> None:
    upload(world, b"a\n1\n")
    with pytest.raises(Refusal):
        upload(world, b"")
    assert list(objects().list(orphans.FOLDER)) == []


def test_a_note_about_a_package_that_exists_is_only_removed(world: World) -> None:
    package = upload(world, b"a\n1\n")
    orphans.expect(package, NOW)
    services.sweep(now=NOW + timedelta(hours=25))
    assert sorted(lies_in_store(package)) == of_draft(package)
    assert list(objects().list(orphans.FOLDER)) == []


def test_what_lies_behind_an_unreadable_file_is_logged_without_its_content(world: World) -> None:
    with capture_logs() as logs, pytest.raises(Refusal):
        upload(world, b"PK\x03\x04" + b"secret words" * 20, filename="a.xlsx")
    (told,) = [entry for entry in logs if entry.get("action") == "upload.refuse"]
    assert (told["code"], told["cause"]) == ("broken_archive", "BadZipFile")
    assert "secret" not in str(told)
