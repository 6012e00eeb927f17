"""The steps of a package, by plain forms: file → task → reading → promise → confirm."""

import uuid
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from portal.billing.models import Price
from portal.capacity.models import Engine, LanguageModel, Pool, Quote, Reservation
from portal.packages.models import Package
from portal.packages.reading.ingest import ingest
from portal.packages.services import UnableToSaveTask, save_task
from scheduler.domain.lifecycle import PackageState
from tests.pages import TASK, client_of, draft, page, send, upload
from tests.shards import promised
from tests.world import World


# --- the file ---------------------------------------------------------------------------------------------
def test_an_empty_home_teaches_the_first_step(alice: Client) -> None:
    answer = alice.get("/")
    assert "No packages yet" in answer.text
    assert "Drop a manifest file here" in answer.text


def test_people_without_a_department_start_on_their_own_pages(world: World) -> None:
    assert client_of(world.ada).get("/").status_code == 302
    assert client_of(world.otto).get("/").status_code == 302


def test_a_file_becomes_a_draft_whose_first_rows_are_shown(alice: Client, world: World) -> None:
    package = draft(alice, world)
    answer = page(alice, "task", package)
    assert "It broke on day two" in answer.text
    assert "{{review}}" not in answer.text  # the prompt is still empty: nothing is made up
    assert package.name == "reviews"


def test_a_file_that_cannot_be_read_is_refused_beside_the_field(alice: Client, world: World) -> None:
    answer = upload(alice, b"", "empty.csv")
    assert answer.status_code == 422
    assert "“empty.csv”: The file is empty." in answer.text
    assert not Package.objects.for_department(world.retail).exists()


def test_no_file_at_all_is_a_sentence_too(alice: Client) -> None:
    answer = alice.post(reverse("packages:new"))
    assert answer.status_code == 422
    assert "Choose a file first." in answer.text


def test_scripts_that_show_the_bytes_get_json(alice: Client, world: World) -> None:
    answer = upload(alice, accept="application/json")
    package = Package.objects.for_department(world.retail).get()
    assert (answer.status_code, answer.json()) == (201, {"address": f"/packages/{package.pk}/task"})
    refused = upload(alice, b"\0\0\0", "x.csv", accept="application/json")
    assert refused.status_code == 422
    assert refused.json()["error"]["code"] == "binary_file"


# --- the task ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("lacking", ["price", "pool"])
def test_a_model_that_cannot_be_promised_is_not_offered_and_not_read_for(
    alice: Client, world: World, lacking: str
) -> None:
    package = draft(alice, world)
    other = LanguageModel.objects.create(
        name="other", title="Other model", engine=Engine.ECHO, tokenizer="words", context_tokens=512,
        max_output_tokens=128,
    )  # fmt: skip
    if lacking == "price":
        Pool.objects.create(
            name="other", model=other, replicas=1, prefill_tokens_per_s=1, decode_tokens_per_s=1, item_overhead_s=1
        )
    else:
        Price.objects.create(price_list=world.prices, model=other, input_per_1k=1, cached_per_1k=1, output_per_1k=1)
    assert "Other model" not in page(alice, "task", package).text
    answer = send(alice, "task", package, model=str(other.pk), **TASK)
    assert answer.status_code == 422
    assert 'id="id_model_error"' in answer.text
    with pytest.raises(UnableToSaveTask) as refused:
        save_task(package=package, by=world.alice, now=timezone.now(), model=other, kind="generation",
                  user_template="{{review}}", max_output_tokens=8)  # fmt: skip
    assert (refused.value.field, refused.value.code) == ("model", f"no_{lacking}")


def test_a_task_whose_model_is_gone_says_so_beside_the_field(alice: Client, world: World) -> None:
    package = draft(alice, world)
    Package.objects.for_department(world.retail).update(model=world.echo)
    Pool.objects.update(is_open=False)
    assert "No model can be asked for at present." in page(alice, "task", package).text


def test_a_real_model_comes_before_the_echo(alice: Client, world: World) -> None:
    package = draft(alice, world)
    real = LanguageModel.objects.create(
        name="zeta", title="Zeta", engine=Engine.LLAMA_CPP, tokenizer="words", context_tokens=512,
        max_output_tokens=128,
    )  # fmt: skip
    Pool.objects.create(
        name="zeta", model=real, replicas=1, prefill_tokens_per_s=1, decode_tokens_per_s=1, item_overhead_s=1
    )
    Price.objects.create(price_list=world.prices, model=real, input_per_1k=1, cached_per_1k=1, output_per_1k=1)
    text = page(alice, "task", package).text
    assert text.index(f'<option value="{real.pk}"') < text.index(f'<option value="{world.echo.pk}"')


def test_home_counts_no_capacity_that_cannot_be_asked_for(alice: Client, world: World) -> None:
    assert "GPU-hours free" in alice.get("/").text
    world.prices.prices.all().delete()
    assert "GPU-hours free" not in alice.get("/").text


def test_the_icon_is_found_under_its_old_name(alice: Client) -> None:
    assert alice.get("/favicon.ico").url.endswith(".svg")


def test_finance_is_not_told_that_drafts_wait_for_them(alice: Client, world: World) -> None:
    draft(alice, world)
    assert "Waiting for you" in alice.get("/").text
    assert "Waiting for you" not in client_of(world.fiona).get("/").text


def test_the_preview_shows_what_the_model_will_read(alice: Client, world: World) -> None:
    package = draft(alice, world)
    answer = send(alice, "preview", package, model=str(world.echo.pk), **TASK)
    assert answer.status_code == 200
    assert "Good or bad? A quiet fan" in answer.text
    assert "Tokens as Echo counts them." in answer.text
    assert "<html" not in answer.text


def test_what_is_typed_stays_when_somebody_leaves_and_comes_back(alice: Client, world: World) -> None:
    package = draft(alice, world)
    typed = TASK | {
        "user_template": "Half a prompt {{rev",
        "labels": "good\n\nbad",
        "json_schema": '{"type": ',
        "temperature": "warm",
    }
    send(alice, "preview", package, model=str(world.echo.pk), **typed)
    back = page(alice, "task", package).text
    for shown in ("Half a prompt {{rev", "good\n\nbad", "{&quot;type&quot;: ", 'value="warm"', 'value="8"'):
        assert shown in back
    assert 'aria-invalid="true"' not in back  # nobody is told off on coming back
    package.refresh_from_db()
    assert (package.user_template, package.labels) == ("", [])  # what can run is what was continued with


def test_a_refused_task_stays_as_typed_too(alice: Client, world: World) -> None:
    package = draft(alice, world)
    send(alice, "task", package, model=str(world.echo.pk), **TASK | {"user_template": "Good? {{reviw}}"})
    assert "Good? {{reviw}}" in page(alice, "task", package).text


def test_a_task_that_was_continued_with_is_what_comes_back(alice: Client, world: World) -> None:
    package = draft(alice, world)
    send(alice, "preview", package, model=str(world.echo.pk), **TASK | {"user_template": "Before {{review}}"})
    send(alice, "task", package, model=str(world.echo.pk), **TASK)
    send(alice, "stop-reading", package)
    back = page(alice, "task", package).text
    assert "Good or bad? {{review}}" in back
    assert "Before" not in back


def test_typing_leaves_an_offer_as_it_is(alice: Client, quoted: Package, world: World) -> None:
    page(alice, "promise", quoted)
    send(alice, "preview", quoted, model=str(world.echo.pk), **TASK | {"user_template": "Other {{review}}"})
    page(alice, "promise", quoted)
    assert Quote.objects.for_department(world.retail).count() == 1


def test_nothing_is_typed_into_a_package_that_is_promised(alice: Client, world: World) -> None:
    package = promised(world)
    send(alice, "preview", package, model=str(world.echo.pk), **TASK)
    package.refresh_from_db()
    assert package.typed == {}


def test_the_preview_copes_with_anything_half_typed(alice: Client, world: World) -> None:
    package = draft(alice, world)
    for typed in ({}, {"user_template": "{{"}, {"user_template": "{{reviews}}"}, {"temperature": "warm", "kind": "?"}):
        assert send(alice, "preview", package, **typed).status_code == 200


def test_a_refused_prompt_is_not_previewed_as_the_one_saved_before(alice: Client, world: World) -> None:
    package = draft(alice, world)
    Package.objects.for_department(world.retail).update(user_template="Saved before: {{review}}")
    answer = send(alice, "task", package, model=str(world.echo.pk), **TASK | {"user_template": "{{reviw}}"})
    assert answer.status_code == 422
    assert "Saved before" not in answer.text


def test_the_preview_does_not_contradict_the_form(alice: Client, world: World) -> None:
    package = draft(alice, world)
    answer = send(alice, "task", package, model=str(world.echo.pk), **TASK | {"labels": "good"})
    assert answer.status_code == 422
    assert "Write the prompt that each row is put into" not in answer.text
    assert "Good or bad? A quiet fan" in answer.text
    assert answer.text.count("Give between 2 and 50 labels") >= 2  # beside the field, and in the preview


def test_an_unknown_column_is_named_with_the_nearest_and_what_was_typed_stays(alice: Client, world: World) -> None:
    package = draft(alice, world)
    typed = TASK | {"user_template": "Good or bad? {{reviw}}"}
    answer = send(alice, "task", package, model=str(world.echo.pk), **typed)
    assert answer.status_code == 422
    assert "Did you mean “review”?" in answer.text
    assert "Good or bad? {{reviw}}" in answer.text
    package.refresh_from_db()
    assert package.state == PackageState.DRAFT


def test_every_field_at_fault_is_named(alice: Client, world: World) -> None:
    typed = TASK | {"user_template": "", "labels": "good"}
    answer = send(alice, "task", draft(alice, world), model=str(world.echo.pk), **typed)
    assert answer.text.count('aria-invalid="true"') == 2


def test_without_scripts_the_preview_is_a_button(alice: Client, world: World) -> None:
    package = draft(alice, world)
    answer = send(alice, "task", package, model=str(world.echo.pk), look="1", **TASK)
    assert answer.status_code == 200
    assert "Good or bad? It broke on day two" in answer.text
    package.refresh_from_db()
    assert package.user_template == ""


def test_a_draft_can_be_discarded(alice: Client, world: World) -> None:
    package = draft(alice, world)
    assert send(alice, "discard", package).url == "/"
    assert not Package.objects.for_department(world.retail).exists()


def test_a_file_with_no_good_row_comes_back_to_the_task_with_the_reason(alice: Client, world: World) -> None:
    upload(alice, b"id,review\n1,\n2,\n")
    package = Package.objects.for_department(world.retail).get()
    send(alice, "task", package, model=str(world.echo.pk), **TASK)
    package.refresh_from_db()
    ingest(package_id=package.pk, epoch=package.ingest_epoch)
    answer = alice.get(reverse("packages:reading", args=[package.pk]), follow=True)
    assert answer.request["PATH_INFO"] == f"/packages/{package.pk}/task"
    assert "No row can be run, of 2 in the file." in answer.text
    assert "A needed field is empty" in answer.text
    assert f'href="/packages/{package.pk}/quarantine?reason=missing_field"' in answer.text


# --- the reading ------------------------------------------------------------------------------------------
def test_the_reading_page_polls_and_moves_on_by_itself(alice: Client, world: World) -> None:
    package = draft(alice, world)
    send(alice, "task", package, model=str(world.echo.pk), **TASK)
    address = reverse("packages:reading", args=[package.pk])
    assert alice.get(address).status_code == 200
    assert alice.get(address, headers={"HX-Request": "true"}).status_code == 200
    package.refresh_from_db()
    ingest(package_id=package.pk, epoch=package.ingest_epoch)
    polled = alice.get(address, headers={"HX-Request": "true"})
    assert (polled.status_code, polled.headers["HX-Redirect"]) == (286, f"/packages/{package.pk}/promise")


def test_reading_can_be_stopped_to_change_the_task(alice: Client, world: World) -> None:
    package = draft(alice, world)
    send(alice, "task", package, model=str(world.echo.pk), **TASK)
    assert send(alice, "stop-reading", package).url == f"/packages/{package.pk}/task"
    package.refresh_from_db()
    assert package.state == PackageState.DRAFT


def test_rows_set_aside_are_shown_with_their_reason_before_anything_is_paid(alice: Client, quoted: Package) -> None:
    answer = page(alice, "quarantine", quoted)
    assert "1 row in quarantine" in answer.text
    assert "“review” is empty, and the prompt needs it." in answer.text
    assert '<td class="num">3</td>' in answer.text  # the third row of the file
    assert reverse("packages:quarantine", args=[quoted.pk]) in page(alice, "promise", quoted).text


def test_an_empty_quarantine_says_so(alice: Client, world: World) -> None:
    assert "Nothing is in quarantine" in page(alice, "quarantine", draft(alice, world)).text


# --- the promise ------------------------------------------------------------------------------------------
def test_the_first_offer_is_made_on_arrival_and_kept_on_reload(alice: Client, quoted: Package, world: World) -> None:
    first = page(alice, "promise", quoted)
    assert first.status_code == 200
    assert "Accept the promise" in first.text
    page(alice, "promise", quoted)
    assert Quote.objects.for_department(world.retail).count() == 1


def test_another_tier_and_deadline_have_their_own_address(alice: Client, quoted: Package, world: World) -> None:
    wish = timezone.localtime(timezone.now() + timedelta(hours=3), world.retail.zone)
    answer = send(alice, "promise", quoted, tier="express", deadline=f"{wish:%Y-%m-%dT%H:%M}")
    quote = Quote.objects.for_department(world.retail).get()
    assert answer.url == f"/packages/{quoted.pk}/promise?quote={quote.pk}"
    assert quote.tier == "express"
    assert quote.deadline_at == wish.replace(second=0, microsecond=0)
    assert alice.get(answer.url).status_code == 200


@pytest.mark.parametrize("deadline", ["2020-01-01T00:00", "2999-01-01T00:00", "tomorrow"])
def test_an_impossible_deadline_is_answered_beside_its_field(alice: Client, quoted: Package, deadline: str) -> None:
    answer = send(alice, "promise", quoted, tier="standard", deadline=deadline)
    assert answer.status_code == 422
    assert 'id="id_deadline_error"' in answer.text


def test_an_infeasible_wish_shows_what_is_possible_as_buttons(alice: Client, quoted: Package, world: World) -> None:
    world.pool.decode_tokens_per_s = world.pool.prefill_tokens_per_s = 0.001  # two rows take hours
    world.pool.save()
    answer = alice.get(reverse("packages:promise", args=[quoted.pk]))
    assert "not possible" in answer.text or "chosen" in answer.text
    wish = timezone.localtime(timezone.now() + timedelta(minutes=30), world.retail.zone)
    refused = alice.post(
        reverse("packages:promise", args=[quoted.pk]),
        {"tier": "standard", "deadline": f"{wish:%Y-%m-%dT%H:%M}"},
        follow=True,
    )
    assert "Cannot be promised by" in refused.text
    assert "Accept the promise" not in refused.text
    assert "Choose" in refused.text
    for said in ("At most", "Offer valid for", "your package</text>"):  # nothing that looks like an offer
        assert said not in refused.text


@pytest.mark.parametrize("gone", ["price", "pool"])
def test_a_model_that_cannot_be_asked_for_any_more_is_said_on_the_page(
    alice: Client, quoted: Package, world: World, gone: str
) -> None:
    if gone == "price":
        world.prices.prices.all().delete()
    else:
        Pool.objects.update(is_open=False)
    answer = page(alice, "promise", quoted)
    assert "Back to the task" in answer.text
    assert reverse("packages:task", args=[quoted.pk]) in answer.text


def test_confirming_makes_the_promise_stand_and_back_leads_to_the_package(alice: Client, quoted: Package) -> None:
    page(alice, "promise", quoted)
    quote = Quote.objects.for_department(quoted.department).get()
    assert "Confirm and run" in page(alice, "confirm", quoted, quote=str(quote.pk)).text
    assert send(alice, "confirm", quoted, quote=str(quote.pk)).url == f"/packages/{quoted.pk}"
    quoted.refresh_from_db()
    assert quoted.state == PackageState.ADMITTED
    assert Reservation.objects.for_department(quoted.department).get().package_ref == quoted.pk
    for step in ("task", "promise", "confirm", "reading"):
        assert page(alice, step, quoted).url == f"/packages/{quoted.pk}"


def test_an_expired_offer_is_not_accepted(alice: Client, quoted: Package) -> None:
    page(alice, "promise", quoted)
    quotes = Quote.objects.for_department(quoted.department)
    quotes.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = send(alice, "confirm", quoted, quote=str(quotes.get().pk))
    assert answer.status_code == 409
    assert "This offer has expired." in answer.text
    assert "See what is possible now" in answer.text


def test_an_offer_for_another_package_is_not_found(alice: Client, quoted: Package, world: World) -> None:
    page(alice, "promise", quoted)
    quote = Quote.objects.for_department(world.retail).get()
    other = promised(world, state=PackageState.QUOTED)
    assert page(alice, "promise", other, quote=str(quote.pk)).status_code == 404
    assert page(alice, "promise", other, quote=str(uuid.uuid4())).status_code == 404


def test_finance_reads_offers_but_asks_for_none(quoted: Package, world: World) -> None:
    fiona = client_of(world.fiona)
    assert "Nobody has asked for an offer yet." in page(fiona, "promise", quoted).text
    assert send(fiona, "promise", quoted, tier="standard").status_code == 403
    assert not Quote.objects.for_department(world.retail).exists()
