"""A draft's file is read another way: what a person chose holds, what does not fit changes nothing."""

from datetime import UTC, datetime

import pytest

from portal.departments.refusals import UnableToChangeState
from portal.packages.manifest import Reading
from portal.packages.manifest.reading import AS_FOUND, Wish
from portal.packages.models import Package
from portal.packages.receiving.first_rows import first_rows
from portal.packages.receiving.rereading import UnableToReread, reread, wish_of
from portal.packages.receiving.uploads import create_draft
from portal.packages.services import keep_typed, save_task, start_reading
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from tests.manifests import ingested
from tests.world import World

NOW = datetime(2026, 12, 1, 10, 0, tzinfo=UTC)
BIG5 = "編號,評論\n1,電風扇很安靜\n2,第二天就壞了\n".encode("big5")
SEMICOLONS = b"id;text\n1;well, fine\n2;bad, really\n"


def uploaded(world: World, data: bytes, filename: str = "file.csv") -> Package:
    return create_draft(by=world.alice, department=world.retail, filename=filename, chunks=[data], now=NOW)


def read_as(package: Package, world: World, wish: Wish) -> list[dict[str, str]]:
    reread(package=package, wish=wish, by=world.alice, now=NOW)
    return [row.values for row in first_rows(package)]


def test_an_encoding_that_a_person_names_holds(world: World) -> None:
    package = uploaded(world, BIG5)
    rows = read_as(package, world, Wish(encoding="big5"))
    assert rows == [{"編號": "1", "評論": "電風扇很安靜"}, {"編號": "2", "評論": "第二天就壞了"}]
    assert (package.reading["encoding"], package.reading["certainty"]) == ("big5", "chosen")


def test_a_delimiter_and_no_heading_can_be_chosen_together(world: World) -> None:
    package = uploaded(world, SEMICOLONS)
    rows = read_as(package, world, Wish(delimiter="d", has_heading=False))
    assert rows[0] == {"column_1": "i", "column_2": ";text"}


def test_the_first_rows_are_kept_anew(world: World) -> None:
    package = uploaded(world, SEMICOLONS)
    before = read_as(package, world, Wish(delimiter="d", has_heading=False))
    objects().put(package.manifest_key, b"nothing")
    assert [row.values for row in first_rows(package)] == before


def test_as_found_goes_back_to_the_first_reading(world: World) -> None:
    package = uploaded(world, SEMICOLONS)
    found = package.reading
    read_as(package, world, Wish(delimiter=",", encoding="windows-1252"))
    assert package.reading != found
    read_as(package, world, AS_FOUND)
    assert package.reading == found


def test_one_column_without_delimiter_can_be_chosen(world: World) -> None:
    package = uploaded(world, SEMICOLONS)
    rows = read_as(package, world, Wish(delimiter=""))
    assert list(rows[0]) == ["id;text"]
    assert wish_of(Reading.from_json(package.reading)) == Wish(delimiter="")


def test_the_wish_can_be_told_from_the_reading(world: World) -> None:
    package = uploaded(world, SEMICOLONS)
    assert wish_of(Reading.from_json(package.reading)) == AS_FOUND
    wish = Wish(encoding="gb18030", delimiter="|", quote="", has_heading=True)
    read_as(package, world, wish)
    assert wish_of(Reading.from_json(package.reading)) == wish


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        (Wish(encoding="utf-8"), "encoding"),
        (Wish(encoding="klingon"), "encoding"),
        (Wish(delimiter="::"), "delimiter"),
        (Wish(delimiter=",", quote=","), "quote"),
    ],
)
def test_a_wish_that_does_not_fit_is_refused_beside_its_field_and_changes_nothing(
    world: World, wish: Wish, field: str
) -> None:
    package = uploaded(world, BIG5 * 50)
    before = package.reading
    with pytest.raises(UnableToReread) as refused:
        reread(package=package, wish=wish, by=world.alice, now=NOW)
    assert refused.value.field == field
    package.refresh_from_db()
    assert package.reading == before


def test_what_was_read_with_the_old_reading_is_void_and_the_task_is_kept(world: World) -> None:
    package = ingested(world, "id,text\n1,well\n2,bad\n")
    assert package.state == PackageState.QUOTED
    keep_typed(package=package, typed={"user_template": "Half {{te"})
    reread(package=package, wish=Wish(delimiter="|"), by=world.alice, now=NOW)
    assert package.state == PackageState.DRAFT
    assert (package.rows_total, package.input_tokens) == (0, 0)
    assert package.typed == {"user_template": "Half {{te"}
    assert package.user_template == "Judge: {{text}}"


def test_a_package_that_is_being_read_keeps_its_reading(world: World) -> None:
    package = uploaded(world, b"id,text\n1,well\n")
    save_task(
        package=package, by=world.alice, now=NOW, kind="tagging", model=world.echo, user_template="{{text}}",
        labels=["good", "bad"], max_output_tokens=8,
    )  # fmt: skip
    start_reading(package=package, by=world.alice, now=NOW)
    with pytest.raises(UnableToChangeState):
        reread(package=package, wish=Wish(delimiter=";"), by=world.alice, now=NOW)
    package.refresh_from_db()
    assert package.reading["delimiter"] == ","


def test_the_file_of_a_correction_is_read_as_it_is(world: World) -> None:
    package = uploaded(world, SEMICOLONS)
    package.corrects, package.round = uploaded(world, SEMICOLONS), 1
    with pytest.raises(UnableToChangeState):
        reread(package=package, wish=Wish(delimiter=","), by=world.alice, now=NOW)


def test_an_upload_can_say_at_once_how_it_is_read(world: World) -> None:
    package = create_draft(
        by=world.alice, department=world.retail, filename="f.csv", chunks=["id,text\n1,好\n".encode("utf-16-le")],
        wish=Wish(encoding="utf-16-le"), now=NOW,
    )  # fmt: skip
    assert [row.values for row in first_rows(package)] == [{"id": "1", "text": "好"}]
