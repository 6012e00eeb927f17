"""Signing in, one's own pages, and what administrators do with departments and people."""

import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from portal.audit.models import AuditRecord
from portal.departments import services
from portal.departments.models import ApiKey, Department, Person, Role
from tests.world import PASSWORD, World


def signed_in(person: Person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def sign_in(client: Client, email: str, password: str, **extra: str) -> int:
    answer = client.post(reverse("departments:sign-in"), {"email": email, "password": password, **extra})
    return answer.status_code


def test_signing_in_goes_on_to_the_page_that_was_asked_for(world: World) -> None:
    client = Client()
    asked = client.get(reverse("departments:preferences"))
    assert asked.url == "/sign-in?next=/preferences"
    answer = client.post(
        asked.url, {"email": "ALICE@example.test ", "password": PASSWORD, "next": "/preferences"}, follow=True
    )
    assert answer.status_code == 200
    assert answer.request["PATH_INFO"] == "/preferences"


def test_signing_in_never_leads_to_another_site(world: World) -> None:
    answer = Client().post(
        reverse("departments:sign-in"),
        {"email": "ada@example.test", "password": PASSWORD, "next": "https://evil.example/"},
    )
    assert answer.url == reverse("departments:admin")


@pytest.mark.parametrize(("email", "password"), [("alice@example.test", "wrong"), ("nobody@example.test", PASSWORD)])
def test_a_wrong_password_and_an_unknown_address_look_the_same(world: World, email: str, password: str) -> None:
    answer = Client().post(reverse("departments:sign-in"), {"email": email, "password": password})
    assert answer.status_code == 422
    assert "Email and password do not match" in answer.content.decode()
    assert password not in answer.content.decode()


def test_one_password_tried_on_many_addresses_is_slowed_down(world: World) -> None:
    client = Client()
    for no in range(services.ATTEMPTS_OF_A_CLIENT):
        assert sign_in(client, f"person{no}@example.test", "summer-2026") == 422
    assert sign_in(client, "bob@example.test", "summer-2026") == 429
    assert sign_in(Client(REMOTE_ADDR="10.0.0.9"), "bob@example.test", PASSWORD) == 302


def test_a_stranger_elsewhere_does_not_keep_the_owner_out(world: World) -> None:
    stranger = Client(REMOTE_ADDR="10.0.0.9")
    for _try in range(services.ATTEMPTS_ALLOWED + 1):
        sign_in(stranger, "alice@example.test", "wrong")
    assert sign_in(stranger, "alice@example.test", PASSWORD) == 429
    assert sign_in(Client(), "alice@example.test", PASSWORD) == 302


def test_guessing_from_everywhere_is_slowed_down_in_the_end(world: World) -> None:
    for no in range(services.ATTEMPTS_FOR_AN_ADDRESS):
        sign_in(Client(REMOTE_ADDR=f"10.0.0.{no}"), "alice@example.test", "wrong")
    assert sign_in(Client(REMOTE_ADDR="10.0.1.1"), "alice@example.test", "wrong") == 429


def test_right_passwords_never_add_up_to_a_wait(world: World) -> None:
    for _day in range(services.ATTEMPTS_OF_A_CLIENT + 1):
        assert sign_in(Client(), "alice@example.test", PASSWORD) == 302


def test_the_current_password_cannot_be_guessed_from_an_open_session(world: World) -> None:
    client, address = signed_in(world.alice), reverse("departments:password")
    new = {"new": "another-tide-at-night", "again": "another-tide-at-night"}
    for _try in range(services.ATTEMPTS_ALLOWED):
        assert client.post(address, {"current": "wrong", **new}).status_code == 422
    assert client.post(address, {"current": PASSWORD, **new}).status_code == 429


def test_guessing_is_slowed_down_for_that_address_alone(world: World) -> None:
    client = Client()
    for _try in range(services.ATTEMPTS_ALLOWED):
        assert sign_in(client, "alice@example.test", "wrong") == 422
    assert sign_in(client, "alice@example.test", PASSWORD) == 429
    assert sign_in(Client(), "bob@example.test", PASSWORD) == 302


def test_guessing_is_forgiven_after_a_while(world: World) -> None:
    now = timezone.now()
    for _try in range(services.ATTEMPTS_ALLOWED):
        with pytest.raises(services.UnableToSignIn):
            services.check_credentials(email="alice@example.test", password="wrong", now=now)
    with pytest.raises(services.UnableToSignInYet):
        services.check_credentials(email="alice@example.test", password=PASSWORD, now=now)
    later = now + services.ATTEMPTS_WITHIN + timedelta(minutes=1)
    assert services.check_credentials(email="alice@example.test", password=PASSWORD, now=later) == world.alice


def test_signing_out_takes_a_post(world: World) -> None:
    client = signed_in(world.alice)
    assert client.get(reverse("departments:sign-out")).status_code == 405
    assert client.post(reverse("departments:sign-out")).url == reverse("departments:sign-in")
    assert client.get(reverse("departments:preferences")).status_code == 302


def test_an_expired_session_sends_the_whole_page_of_htmx_to_the_door(world: World) -> None:
    answer = Client().get(reverse("departments:preferences"), headers={"HX-Request": "true"})
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (204, "/sign-in")


def test_preferences_change_language_and_theme_of_every_page(world: World) -> None:
    client = signed_in(world.alice)
    client.post(reverse("departments:preferences"), {"language": "zh-hans", "theme": "dark"})
    page = client.get(reverse("departments:preferences")).content.decode()
    assert re.search(r'<html lang="zh-hans"\s+data-theme="dark">', page)


def test_the_language_switch_works_before_and_after_signing_in(world: World) -> None:
    client = Client()
    client.post(reverse("departments:language"), {"language": "zh-hans", "next": "/sign-in"})
    assert '<html lang="zh-hans"' in client.get("/sign-in").content.decode()
    client = signed_in(world.bob)
    client.post(reverse("departments:language"), {"language": "zh-hans", "next": "/preferences"})
    world.bob.refresh_from_db()
    assert world.bob.language == "zh-hans"


def test_a_language_chosen_at_the_door_is_kept_for_the_person_who_then_signs_in(world: World) -> None:
    client = Client()
    client.post(reverse("departments:language"), {"language": "zh-hans", "next": "/sign-in"})
    answer = client.post("/sign-in", {"email": world.bob.email, "password": PASSWORD}, follow=True)
    world.bob.refresh_from_db()
    assert '<html lang="zh-hans"' in answer.text
    assert world.bob.language == "zh-hans"


def test_what_one_person_chose_is_not_put_on_the_next_who_signs_in_on_the_same_device(world: World) -> None:
    client = signed_in(world.alice)
    client.post(reverse("departments:language"), {"language": "zh-hans", "next": "/"})
    client.post(reverse("departments:sign-out"))
    client.post("/sign-in", {"email": world.bob.email, "password": PASSWORD})
    world.bob.refresh_from_db()
    assert world.bob.language == "en"


def test_the_language_switch_ignores_what_is_no_language(world: World) -> None:
    client = signed_in(world.bob)
    answer = client.post(reverse("departments:language"), {"language": "xx", "next": "//evil.example"})
    world.bob.refresh_from_db()
    assert (answer.url, world.bob.language) == ("/", "en")


def test_changing_the_password_ends_the_other_sessions_only(world: World) -> None:
    here, elsewhere = signed_in(world.alice), signed_in(world.alice)
    new = "another-quiet-tide"
    answer = here.post(reverse("departments:password"), {"current": PASSWORD, "new": new, "again": new})
    assert answer.status_code == 302
    assert here.get(reverse("departments:preferences")).status_code == 200
    assert elsewhere.get(reverse("departments:preferences")).status_code == 302
    assert sign_in(Client(), "alice@example.test", new) == 302


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"current": "wrong"}, "This is not your current password."),
        ({"new": "short", "again": "short"}, "too short"),
        ({"again": "something-else-entirely"}, "The two new passwords differ."),
    ],
)
def test_a_password_that_cannot_be_taken_is_explained(world: World, change: dict[str, str], told: str) -> None:
    given = {"current": PASSWORD, "new": "another-quiet-tide", "again": "another-quiet-tide"}
    answer = signed_in(world.alice).post(reverse("departments:password"), given | change)
    assert answer.status_code == 422
    assert told in answer.content.decode()


def test_an_api_key_is_shown_once_and_kept_as_a_hash(world: World) -> None:
    client = signed_in(world.alice)
    page = client.post(reverse("departments:keys"), {"name": "nightly"}).content.decode()
    secret = re.search(r"sw_[\w-]{43}", page)
    assert secret is not None
    assert secret.group() not in client.get(reverse("departments:keys")).content.decode()
    kept = ApiKey.objects.for_department(world.retail).get()
    assert secret.group() not in (kept.hashed, kept.prefix)
    assert services.person_for_key(secret=secret.group(), now=timezone.now()) == world.alice


def test_a_key_stops_when_revoked_and_when_its_person_or_department_may_not_act(world: World) -> None:
    now = timezone.now()

    def works(secret: str) -> bool:
        return services.person_for_key(secret=secret, now=now) is not None

    _key, of_bob = services.create_api_key(person=world.bob, name="b", now=now)
    _key, of_charlie = services.create_api_key(person=world.charlie, name="c", now=now)
    key, of_alice = services.create_api_key(person=world.alice, name="a", now=now)
    assert [works(of_alice), works(of_bob), works(of_charlie)] == [True] * 3
    services.revoke_api_key(person=world.alice, ref=key.pk, now=now)
    Person.objects.filter(pk=world.bob.pk).update(is_active=False)
    Department.objects.filter(pk=world.legal.pk).update(closed_at=now)
    assert [works(of_alice), works(of_bob), works(of_charlie), works("sw_unknown")] == [False] * 4


def test_a_key_of_somebody_else_cannot_be_revoked_and_looks_unknown(world: World) -> None:
    key, _secret = services.create_api_key(person=world.alice, name="a", now=timezone.now())
    stranger = signed_in(world.charlie)
    foreign = stranger.post(reverse("departments:revoke-key", args=[key.pk]))
    unknown = stranger.post(reverse("departments:revoke-key", args=[world.retail.pk]))
    assert foreign.status_code == unknown.status_code == 404
    signed_in(world.bob).post(reverse("departments:revoke-key", args=[key.pk]))
    assert ApiKey.objects.for_department(world.retail).get(pk=key.pk).revoked_at is None


def test_a_new_person_must_change_the_one_time_password_before_anything_else(world: World) -> None:
    given = {"name": "Dana", "email": "Dana@example.test", "role": "staff", "department": world.legal.pk,
             "language": "en"}  # fmt: skip
    page = signed_in(world.ada).post(reverse("departments:new-person"), given).content.decode()
    secret = re.search(r"\b\w{4}(-\w{4}){3}\b", page)
    assert secret is not None
    dana = Client()
    assert sign_in(dana, "dana@example.test", secret.group()) == 302
    assert dana.get(reverse("departments:keys")).url == reverse("departments:password")
    new = "the-tide-is-my-own"
    dana.post(reverse("departments:password"), {"current": secret.group(), "new": new, "again": new})
    assert dana.get(reverse("departments:keys")).status_code == 200


@pytest.mark.parametrize(("role", "has_department"), [("staff", False), ("finance", False), ("admin", True)])
def test_role_and_department_must_fit(world: World, role: str, has_department: bool) -> None:
    department = world.legal.pk if has_department else ""
    given = {"name": "Dana", "email": "dana@example.test", "role": role, "department": department, "language": "en"}
    answer = signed_in(world.ada).post(reverse("departments:new-person"), given)
    assert answer.status_code == 422
    assert not Person.objects.filter(email="dana@example.test").exists()


def test_switching_somebody_off_ends_their_session(world: World) -> None:
    alice = signed_in(world.alice)
    given = {"name": "Alice", "email": "alice@example.test", "role": "staff", "department": world.retail.pk}
    signed_in(world.ada).post(reverse("departments:person", args=[world.alice.pk]), given)
    assert alice.get(reverse("departments:preferences")).status_code == 302
    assert sign_in(Client(), "alice@example.test", PASSWORD) == 422


def test_closing_a_department_shuts_its_people_out_and_opening_it_lets_them_in(world: World) -> None:
    alice, ada = signed_in(world.alice), signed_in(world.ada)
    given = {"name": "Retail", "code": "retail", "time_zone": "Asia/Shanghai", "is_closed": "on"}
    ada.post(reverse("departments:department", args=[world.retail.pk]), given)
    assert alice.get(reverse("departments:preferences")).status_code == 302
    del given["is_closed"]
    ada.post(reverse("departments:department", args=[world.retail.pk]), given)
    assert alice.get(reverse("departments:preferences")).status_code == 200


@pytest.mark.parametrize("change", [{"role": Role.OPERATOR, "is_active": "on"}, {"role": Role.ADMIN}])
def test_administrators_do_not_lock_themselves_out(world: World, change: dict[str, str]) -> None:
    given = {"name": "Ada", "email": "ada@example.test", "department": ""} | change
    answer = signed_in(world.ada).post(reverse("departments:person", args=[world.ada.pk]), given)
    assert answer.status_code == 422
    world.ada.refresh_from_db()
    assert (world.ada.role, world.ada.is_active) == (Role.ADMIN, True)


def test_a_department_is_created_changed_and_audited(world: World) -> None:
    ada = signed_in(world.ada)
    given = {"name": "Claims", "code": "claims", "time_zone": "Mars/Olympus"}
    refused = ada.post(reverse("departments:new-department"), given)
    assert refused.status_code == 422
    assert "There is no time zone" in refused.content.decode()
    ada.post(reverse("departments:new-department"), given | {"time_zone": "Europe/Berlin"})
    made = Department.objects.get(code="claims")
    assert made.time_zone == "Europe/Berlin"
    record = AuditRecord.objects.get(action="department.created")
    assert (record.person, record.department) == (world.ada, made)


def test_what_is_taken_or_left_out_is_told_in_our_own_words(world: World) -> None:
    ada = signed_in(world.ada)
    department = {"name": "Retail", "code": "no slug!", "time_zone": "Asia/Shanghai"}
    page = ada.post(reverse("departments:new-department"), department).content.decode()
    assert "This is already taken. Choose another." in page
    assert "Use only the letters a to z" in page
    page = ada.get(reverse("departments:new-person")).content.decode()
    assert "---------" not in page
    someone = {"name": "X", "email": "Alice@example.test", "role": "staff", "language": "en"}
    page = ada.post(reverse("departments:new-person"), someone | {"department": str(world.retail.pk)}).content.decode()
    assert "Somebody has this address already." in page


def test_time_zones_are_offered(world: World) -> None:
    page = signed_in(world.ada).get(reverse("departments:new-department")).content.decode()
    assert 'list="id_time_zone_zones"' in page
    assert '<option value="Asia/Shanghai"></option>' in page


def test_a_new_one_time_password_ends_every_session(world: World) -> None:
    alice = signed_in(world.alice)
    signed_in(world.ada).post(reverse("departments:reset-password", args=[world.alice.pk]))
    assert alice.get(reverse("departments:preferences")).status_code == 302
    assert Session.objects.exists()
