"""The page of a task says how its file is read, and a person may choose otherwise, with and without scripts."""

from django.test import Client
from django.urls import reverse

from portal.packages.models import Package
from portal.packages.reading.ingest import ingest
from tests.pages import TASK, draft, page, send, upload
from tests.world import World

LIVE = {"HX-Request": "true"}


def reread(client: Client, package: Package, headers: dict[str, str] | None = None, /, **data: str) -> str:
    chosen = {f"read-{name}": value for name, value in data.items()}
    answer = client.post(reverse("packages:reread", args=[package.pk]), chosen, headers=headers, follow=True)
    package.refresh_from_db()
    return answer.text


def uploaded(client: Client, world: World, content: bytes, name: str = "file.csv") -> Package:
    assert upload(client, content, name).status_code == 302
    return Package.objects.for_department(world.retail).get()


def test_what_was_found_is_said_with_how_sure_it_is(alice: Client, world: World) -> None:
    text = page(alice, "task", draft(alice, world)).text
    for found in ("UTF-8", "certain: every byte fits", "comma", "certain: every row splits alike", "first row"):
        assert found in text


def test_without_scripts_the_form_leads_back_to_the_page_with_the_new_columns(alice: Client, world: World) -> None:
    package = draft(alice, world)
    text = reread(alice, package, has_heading="no")
    assert "none: the first row is data" in text
    assert package.reading["columns"] == ["column_1", "column_2"]


def test_one_column_without_delimiter_can_be_chosen(alice: Client, world: World) -> None:
    package = uploaded(alice, world, b"text\nWell, it broke.\nFine; really.\n")
    text = reread(alice, package, delimiter="none")
    assert '<option value="none" selected>none: one column</option>' in text
    assert (package.reading["columns"], package.reading["delimiter"]) == (["text"], "")


def test_scripts_get_the_card_the_preview_and_the_id_column_and_lose_nothing_typed(alice: Client, world: World) -> None:
    package = draft(alice, world)
    data = {"read-has_heading": "no", **TASK, "user_template": "Say: {{column_2}}"}
    answer = alice.post(reverse("packages:reread", args=[package.pk]), data, headers=LIVE)
    assert "<html" not in answer.text
    assert "Say: review" in answer.text  # the heading is a row now
    assert '<option value="column_1">' in answer.text
    assert "id (not in the file)" in answer.text
    package.refresh_from_db()
    assert package.typed["user_template"] == "Say: {{column_2}}"


def test_a_choice_that_does_not_fit_is_refused_beside_it_and_changes_nothing(alice: Client, world: World) -> None:
    package = uploaded(alice, world, "id,text\n1,好\n".encode("gb18030") * 20)
    before = package.reading
    for headers in (None, LIVE):
        text = reread(alice, package, headers, encoding="utf-8")
        assert 'id="id_read-encoding_error"' in text
        assert "cannot be read as UTF-8" in text
        assert package.reading == before


def test_after_a_refusal_the_form_shows_what_is_in_force_and_the_error_what_was_tried(
    alice: Client, world: World
) -> None:
    package = uploaded(alice, world, "id,text\n1,好\n".encode("gb18030") * 20)
    reread(alice, package, delimiter=",")
    for headers in (None, LIVE):
        text = reread(alice, package, headers, delimiter=",", encoding="utf-8")
        assert '<option value="utf-8" selected>' not in text
        assert '<option value="," selected>' in text
        assert "Back to what was found" in text


def test_a_refusal_with_nothing_chosen_leaves_nothing_to_go_back_to(alice: Client, world: World) -> None:
    package = uploaded(alice, world, "id,text\n1,好\n".encode("gb18030") * 20)
    assert "Back to what was found" not in reread(alice, package, encoding="utf-8")


def test_a_refusal_that_does_not_name_the_choice_gets_it_named(alice: Client, world: World) -> None:
    package = uploaded(alice, world, b"1,{x}\n2,{y}\n3,{z}\n")
    assert not package.reading["has_heading"]
    text = reread(alice, package, has_heading="yes")
    assert "“first row” was tried: The name “{x}” contains a brace" in text
    assert '<option value="yes" selected>' not in text


def test_a_choice_that_nobody_offered_is_refused(alice: Client, world: World) -> None:
    package = draft(alice, world)
    assert "id_read-delimiter_error" in reread(alice, package, delimiter="::")


def test_one_press_goes_back_to_what_was_found(alice: Client, world: World) -> None:
    package = draft(alice, world)
    found = package.reading
    assert "Back to what was found" in reread(alice, package, delimiter="tab")
    alice.post(reverse("packages:reread", args=[package.pk]), {"as-found": "1", "read-delimiter": "tab"})
    package.refresh_from_db()
    assert package.reading == found
    assert "Back to what was found" not in page(alice, "task", package).text


def test_each_column_says_what_the_task_takes_it_for(alice: Client, world: World) -> None:
    package = uploaded(alice, world, b"id,review,stars\n1,quiet,5\n")
    answer = send(alice, "preview", package, model=str(world.echo.pk), **TASK)
    heading = answer.text[answer.text.index('<tr id="columns"') :]
    uses = [cell.split(">")[-1] for cell in heading.split("</span>") if cell.split(">")[-1].strip()]
    assert uses == ["Row", "id", "in the prompt", "kept"]


def test_repeats_and_faults_among_the_first_rows_are_told_while_typing(alice: Client, world: World) -> None:
    package = uploaded(alice, world, b"id,review\n1,good\n2,good\n3,bad\n4,\n5,good\n5,fine\n")
    text = " ".join(send(alice, "preview", package, model=str(world.echo.pk), **TASK).text.split())
    assert "2 repeat an earlier one and cost nothing" in text  # rows 2 and 5
    assert "2 would be set aside" in text  # row 4 is empty, row 6 has the id of row 5
    assert "repeats row 1, costs nothing" in text


def test_before_anything_is_paid_the_rows_are_told_apart_with_links_to_each_reason(alice: Client, world: World) -> None:
    package = uploaded(alice, world, b"id,review\n1,good\n2,good\n3,\n4,bad\n4,worse\n")
    send(alice, "task", package, model=str(world.echo.pk), **TASK)
    package.refresh_from_db()
    ingest(package_id=package.pk, epoch=package.ingest_epoch)
    text = page(alice, "promise", package).text
    assert "5 rows: 2 run, 1 repeats an earlier row and costs nothing, 2 are set aside." in text
    for code in ("missing_field", "duplicate_id"):
        assert f'href="/packages/{package.pk}/quarantine?reason={code}"' in text
    assert "1 row (33%) repeats an earlier one" in text


def test_rows_that_bring_their_messages_need_no_prompt(alice: Client, world: World) -> None:
    line = (
        '{"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "echo",'
        ' "messages": [{"role": "user", "content": "Hello there"}], "max_tokens": 7, "temperature": 0.5}}\n'
    )
    package = uploaded(alice, world, line.encode(), "asks.jsonl")
    text = page(alice, "task", package).text
    assert "Each row brings its own messages" in text
    assert "id_user_template" not in text
    assert 'value="7"' in text
    assert 'value="0.5"' in text
    assert '<option value="generation" selected>' in text
    assert f'<option value="{world.echo.pk}" selected>' in text
    assert "Choose a model." not in text
    assert "row 1 · user · 3 tokens" in " ".join(text.split())  # two words and the role
    task = {"name": "Asks", "kind": "generation", "max_output_tokens": "7", "temperature": "0.5"}
    assert "Hello there" in send(alice, "preview", package, model=str(world.echo.pk), **task).text
    assert send(alice, "task", package, model=str(world.echo.pk), **task).status_code == 302


def test_repeats_can_be_made_to_run_each(alice: Client, world: World) -> None:
    package = uploaded(alice, world, b"id,review\n1,good\n2,good\n")
    each = {name: value for name, value in TASK.items() if name != "run_repeats_once"}
    send(alice, "task", package, model=str(world.echo.pk), **each)
    package.refresh_from_db()
    assert not package.run_repeats_once
    ingest(package_id=package.pk, epoch=package.ingest_epoch)
    text = page(alice, "promise", package).text
    assert "2 rows: 2 run." in text
    assert "Running them once is cheaper." in text
