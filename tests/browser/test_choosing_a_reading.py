"""A file is read another way at once: the card, the columns and the preview follow, and nothing typed is lost."""

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from portal.packages.models import Package
from portal.packages.receiving.uploads import create_draft
from tests.browser.conftest import Visit
from tests.world import World

BIG5 = "編號,評論\n1,電風扇很安靜\n2,第二天就壞了\n3,電風扇很安靜\n".encode("big5")


@pytest.fixture
def draft(world: World) -> Package:
    return create_draft(by=world.alice, department=world.retail, filename="b5.csv", chunks=[BIG5], now=timezone.now())


def choose(page: Page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(label=value)


def test_choosing_an_encoding_shows_the_rows_in_it_at_once_and_keeps_what_was_typed(
    visit: Visit, draft: Package
) -> None:
    page = visit()
    page.goto(f"/packages/{draft.pk}/task")
    page.locator("#id_user_template").fill("Judge: {{評論}}")
    page.get_by_text("Read it another way").click()
    choose(page, "Encoding", "Big5")
    card = page.locator("#file")
    expect(card).to_contain_text("as you chose")
    expect(card.get_by_role("cell", name="電風扇很安靜")).to_have_count(2)
    expect(page.locator("#preview")).to_contain_text("Judge: 電風扇很安靜")
    expect(page.locator("#columns")).to_contain_text("in the prompt")
    expect(page.locator("#id_user_template")).to_have_value("Judge: {{評論}}")
    expect(page.locator("#id_id_column")).to_contain_text("編號")
    page.reload()
    expect(page.locator("#id_user_template")).to_have_value("Judge: {{評論}}")


def test_a_choice_that_does_not_fit_is_answered_beside_it_and_the_rows_stay(visit: Visit, draft: Package) -> None:
    page = visit()
    page.goto(f"/packages/{draft.pk}/task")
    before = page.locator("#columns").inner_text()
    page.get_by_text("Read it another way").click()
    page.get_by_label("Encoding", exact=True).focus()
    choose(page, "Encoding", "UTF-8")
    expect(page.locator("[id='id_read-encoding_error']")).to_contain_text("cannot be read as UTF-8")
    assert page.locator("#columns").inner_text() == before
    expect(page.get_by_label("Encoding", exact=True)).to_be_focused()


def test_the_columns_say_what_they_are_for_as_the_prompt_is_typed(visit: Visit, draft: Package) -> None:
    page = visit()
    page.goto(f"/packages/{draft.pk}/task")
    heading = page.locator("#columns")
    expect(heading.get_by_text("kept")).to_have_count(2)
    heading.get_by_role("button").nth(1).click()
    expect(heading.get_by_text("in the prompt")).to_have_count(1)
    heading.get_by_role("button").first.click()  # the heading was swapped, and still puts columns into the prompt
    expect(heading.get_by_text("in the prompt")).to_have_count(2)


def test_running_repeats_once_is_offered_only_where_answers_are_not_drawn_anew(visit: Visit, draft: Package) -> None:
    page = visit()
    page.goto(f"/packages/{draft.pk}/task")
    offered = page.get_by_label("Run repeated rows once")
    expect(offered).to_be_checked()
    page.get_by_label("Temperature").fill("0.7")
    expect(offered).to_be_hidden()
    page.get_by_label("Temperature").fill("0")
    expect(offered).to_be_visible()
