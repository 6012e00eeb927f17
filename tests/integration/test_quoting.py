"""Offers and their acceptance, on the echo pool: one replica, always open, 1,000 tokens a second both ways."""

import uuid
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from portal.capacity.models import Pool, Quote, Reservation, Tier
from portal.capacity.services import UnableToAdmit, release_reservation, shrink_reservation
from portal.capacity.tide import tide
from portal.departments.refusals import Refusal, UnableToChangeState
from portal.packages.models import Kind, Package, TimelineEntry
from portal.packages.promising.alternatives import alternatives
from portal.packages.promising.estimate import savings
from portal.packages.promising.quoting import accept_quote, quote_package
from portal.packages.queries import example, tide_of_offer
from scheduler.domain.lifecycle import PackageState
from tests.world import World

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def package_of(world: World, *, rows: int = 1000, tokens: int = 500_000, **fields: object) -> Package:
    """A quoted package. 500,000 input tokens are 500 s, 1,000 rows 1 s of overhead, output 64 tokens a row 64 s."""
    values: dict[str, object] = {
        "kind": Kind.GENERATION,
        "model": world.echo,
        "max_output_tokens": 64,
        "state": PackageState.QUOTED,
        "user_template": "{{text}}",
    }
    return Package.objects.create(
        department=world.retail, name="Reviews", created_by=world.alice, created_at=NOW, touched_at=NOW,
        filename="a.csv", manifest_key="k", manifest_bytes=1, manifest_sha256="0" * 64, rows_total=rows,
        rows_good=rows, input_tokens=tokens, fixed_prompt_tokens=200, **{**values, **fields},
    )  # fmt: skip


def quote_of(package: Package, *, tier: Tier = Tier.STANDARD, by: datetime | None = None, now: datetime = NOW) -> Quote:
    return quote_package(package=package, tier=tier, deadline_at=by, by=package.created_by, now=now)


def fill(world: World, *, hours: float, by: datetime) -> None:
    """Promise ``hours`` of the pool to another department."""
    Reservation.objects.create(
        department=world.legal, pool=world.pool, package_ref=uuid.uuid4(), tier=Tier.STANDARD, deadline_at=by,
        promised_s=hours * 3600, remaining_s=hours * 3600, admitted_at=NOW,
    )  # fmt: skip


def test_a_standard_offer_names_24_hours_the_work_and_the_price(world: World) -> None:
    quote = quote_of(package_of(world))
    assert quote.is_feasible
    assert quote.deadline_at == NOW + 24 * HOUR
    assert (quote.output_tokens_low, quote.output_tokens_expected, quote.output_tokens_high) == (16_000, 38_400, 64_000)
    assert quote.work_expected_s == pytest.approx(500 + 38.4 + 1)
    assert quote.work_at_most_s == pytest.approx(500 + 64 + 1)
    # 500 × 0.002 + 64 × 0.006 = 1.384; 500 × 0.002 + 38.4 × 0.006 = 1.2304
    assert (quote.price_expected, quote.price_at_most) == (Decimal("1.23"), Decimal("1.38"))
    assert quote.expected_finish_at == NOW + timedelta(seconds=539.4)
    assert quote.rows_that_fit == 1000


def test_express_is_four_hours_at_twice_the_price(world: World) -> None:
    quote = quote_of(package_of(world), tier=Tier.EXPRESS)
    assert quote.deadline_at == NOW + 4 * HOUR
    assert quote.price_at_most == Decimal("2.77")  # 2.768


def test_tagging_counts_the_tokens_of_its_labels(world: World) -> None:
    package = package_of(world, kind=Kind.TAGGING, labels=["good", "very good indeed"], rows=10, tokens=100)
    quote = quote_of(package)
    # one word and three words, each with the token that ends the answer; at most one token a byte ("very good indeed"
    # has 16), since a constrained engine may spell a label in other tokens than the tokenizer does
    assert (quote.output_tokens_low, quote.output_tokens_expected, quote.output_tokens_high) == (20, 30, 170)


@pytest.mark.parametrize(
    ("tier", "after", "code"),
    [
        (Tier.STANDARD, timedelta(0), "deadline_past"),
        (Tier.STANDARD, timedelta(days=15), "beyond_horizon"),
        (Tier.EXPRESS, 5 * HOUR, "deadline_not_express"),
    ],
)
def test_a_deadline_that_no_offer_can_name_is_refused_at_its_field(
    world: World, tier: Tier, after: timedelta, code: str
) -> None:
    with pytest.raises(Refusal) as refused:
        quote_of(package_of(world), tier=tier, by=NOW + after)
    assert (refused.value.code, refused.value.field) == (code, "deadline")


def test_a_full_pool_refuses_with_the_earliest_deadline_and_the_rows_that_fit(world: World) -> None:
    fill(world, hours=6, by=NOW + 6 * HOUR)
    package = package_of(world, rows=1000, tokens=3_600_000 - 65_000)  # exactly one hour at most
    quote = quote_of(package, by=NOW + 6.5 * HOUR + timedelta(minutes=10))
    # 40 minutes are left by then, of which two quarters may pass unused: ten minutes of work
    assert not quote.is_feasible
    assert quote.rows_that_fit == 166
    # one hour of work, two quarters of thinking time: half past five in the afternoon
    assert quote.earliest_deadline_at == NOW + 7.5 * HOUR
    assert Package.objects.for_department(world.retail).get().state == PackageState.REFUSED
    found = {one.code: one for one in alternatives(package=package, quote=quote, now=NOW)}
    assert found["earliest"].deadline_at == NOW + 7.5 * HOUR
    assert found["first_rows"].rows == 166
    assert "other_tier" not in found  # express cannot be kept either


def test_a_suggested_deadline_can_be_quoted_and_accepted_at_the_last_second(world: World) -> None:
    fill(world, hours=6, by=NOW + 6 * HOUR)
    package = package_of(world, tokens=3_000_000)
    refused = quote_of(package, by=NOW + HOUR)
    later = NOW + timedelta(seconds=899)
    quote = quote_of(package, by=refused.earliest_deadline_at, now=later)
    assert quote.is_feasible
    assert package.state == PackageState.QUOTED
    accepted = accept_quote(package=package, quote=quote, by=world.alice, now=later + timedelta(seconds=899))
    assert accepted.state == PackageState.ADMITTED


def test_what_is_named_as_earliest_is_accepted_and_anything_sooner_is_refused(world: World) -> None:
    package = package_of(world, tokens=3_000_000)  # 3,065 s, and half an hour of holding: 81 min
    named = quote_of(package, by=NOW + HOUR).earliest_deadline_at
    assert named == NOW + timedelta(minutes=90)
    assert not quote_of(package, by=named - timedelta(minutes=1)).is_feasible
    assert quote_of(package, by=named).is_feasible


def test_an_offer_never_stands_for_a_time_sooner_than_the_earliest_it_names(world: World) -> None:
    package = package_of(world, tokens=3_000_000)
    named = quote_of(package, by=NOW + HOUR).earliest_deadline_at
    later = NOW + timedelta(seconds=899)  # by now half an hour of holding would be too much
    again = quote_of(package, by=named, now=later)
    assert again.is_feasible
    assert again.earliest_deadline_at == named


def test_express_is_offered_as_soon_as_anything_can_be_promised(world: World) -> None:
    package = package_of(world, tokens=3_000_000)
    found = {one.code: one for one in alternatives(package=package, quote=quote_of(package), now=NOW)}
    assert found["other_tier"].tier == Tier.EXPRESS
    assert found["other_tier"].deadline_at == found["earliest"].deadline_at == NOW + timedelta(minutes=90)


def test_express_is_not_offered_where_it_is_dearer_and_no_sooner(world: World) -> None:
    package = package_of(world, tokens=3_000_000)
    for by in (timedelta(minutes=90), 2 * HOUR):
        quote = quote_of(package, by=NOW + by)
        assert quote.is_feasible
        found = [one for one in alternatives(package=package, quote=quote, now=NOW) if one.tier == Tier.EXPRESS]
        assert all(one.deadline_at < quote.deadline_at for one in found)
    assert quote_of(package, by=NOW + timedelta(minutes=90)).is_feasible


def test_alternatives_of_a_model_that_is_not_offered_any_more_are_none(world: World) -> None:
    package = package_of(world)
    quote = quote_of(package)
    Pool.objects.update(is_open=False)
    assert all(one.code != "other_tier" for one in alternatives(package=package, quote=quote, now=NOW))


def test_a_package_that_cannot_be_promised_is_not_drawn(world: World) -> None:
    package = package_of(world, tokens=3_000_000)
    quote = quote_of(package, by=NOW + HOUR)
    drawn = tide_of_offer(package, quote=quote, now=NOW)
    assert sum(drawn.yours) == 0
    assert drawn.earliest_deadline_at == quote.earliest_deadline_at


def test_a_time_named_for_another_package_is_not_held_for_this_one(world: World) -> None:
    named = quote_of(package_of(world, tokens=3_000_000), by=NOW + HOUR).earliest_deadline_at
    other = quote_of(package_of(world, tokens=3_000_000), by=named, now=NOW + timedelta(seconds=899))
    assert not other.is_feasible


def test_home_names_the_time_that_the_quote_accepts(world: World) -> None:
    package = package_of(world, tokens=3_000_000)
    accept_quote(package=package, quote=quote_of(package), by=world.alice, now=NOW)
    release_reservation(package_ref=package.pk, now=NOW)
    told = example(world.retail, now=NOW)
    assert told is not None
    again = package_of(world, tokens=3_000_000)
    assert not quote_of(again, by=told.earliest_at - timedelta(minutes=1)).is_feasible
    assert quote_of(again, by=told.earliest_at).is_feasible


def test_acceptance_reserves_fixes_the_price_and_tells_the_package(world: World) -> None:
    package = package_of(world)
    quote = quote_of(package, tier=Tier.EXPRESS)
    package = accept_quote(package=package, quote=quote, by=world.alice, now=NOW)
    assert package.state == PackageState.ADMITTED
    assert (package.accepted_quote, package.price_list, package.pool) == (quote, world.prices, world.pool)
    assert (package.tier, package.tier_factor, package.deadline_at) == ("express", Decimal(2), NOW + 4 * HOUR)
    reservation = Reservation.objects.for_department(world.retail).get()
    assert reservation.remaining_s == pytest.approx(565)
    assert TimelineEntry.objects.for_department(world.retail).get().code == "admitted"


def test_accepting_twice_reserves_once(world: World) -> None:
    package = package_of(world)
    quote = quote_of(package)
    accept_quote(package=package, quote=quote, by=world.alice, now=NOW)
    again = accept_quote(package=Package.objects.for_department(world.retail).get(), quote=quote, by=None, now=NOW)
    assert again.state == PackageState.ADMITTED
    assert Reservation.objects.for_department(world.retail).count() == 1
    before = package_as_loaded_before(again)  # a page that was loaded before
    assert accept_quote(package=before, quote=quote, by=None, now=NOW).state == PackageState.ADMITTED
    with pytest.raises(UnableToChangeState):
        accept_quote(package=package_as_loaded_before(again), quote=another(quote), by=None, now=NOW)
    assert Reservation.objects.for_department(world.retail).count() == 1


def another(quote: Quote) -> Quote:
    quote.pk = uuid.uuid4()
    quote.save(force_insert=True)
    return quote


def package_as_loaded_before(package: Package) -> Package:
    package.accepted_quote = None
    package.state = PackageState.QUOTED
    return package


def test_of_two_offers_for_the_same_capacity_only_one_can_be_accepted(world: World) -> None:
    first, second = (package_of(world, tokens=12 * 3_600_000) for _ in range(2))
    offers = [quote_of(first), quote_of(second)]
    third = quote_of(package_of(world, tokens=11 * 3_600_000))
    assert all(one.is_feasible for one in [*offers, third])
    accept_quote(package=first, quote=offers[0], by=None, now=NOW)
    with pytest.raises(UnableToAdmit) as refused:
        accept_quote(package=second, quote=offers[1], by=None, now=NOW)
    assert refused.value.code == "no_longer_feasible"
    assert refused.value.assessment.earliest_deadline_at is not None
    second.refresh_from_db()
    assert second.state == PackageState.QUOTED
    assert second.accepted_quote is None
    accept_quote(package=Package.objects.for_department(world.retail).get(pk=third.package_ref), quote=third,
                 by=None, now=NOW)  # fmt: skip


def test_an_expired_offer_is_not_accepted(world: World) -> None:
    package = package_of(world)
    quote = quote_of(package)
    with pytest.raises(Refusal) as refused:
        accept_quote(package=package, quote=quote, by=None, now=quote.expires_at)
    assert refused.value.code == "quote_expired"


def test_an_offer_for_what_the_package_was_before_is_not_accepted(world: World) -> None:
    package = package_of(world)
    quote = quote_of(package)
    package.max_output_tokens = 128
    with pytest.raises(Refusal) as refused:
        accept_quote(package=package, quote=quote, by=None, now=NOW)
    assert refused.value.code == "quote_outdated"


def test_an_offer_for_another_package_is_not_accepted(world: World) -> None:
    quote = quote_of(package_of(world))
    with pytest.raises(Refusal) as refused:
        accept_quote(package=package_of(world), quote=quote, by=None, now=NOW)
    assert refused.value.code == "foreign_quote"


def test_a_draft_gets_no_offer(world: World) -> None:
    with pytest.raises(UnableToChangeState):
        quote_of(package_of(world, state=PackageState.DRAFT))


def test_without_a_price_or_a_pool_or_a_model_there_is_no_offer(world: World) -> None:
    package = package_of(world)
    with pytest.raises(Refusal) as refused:
        quote_of(package, now=datetime(2025, 12, 31, tzinfo=UTC))
    assert refused.value.code == "no_price"
    Pool.objects.update(is_open=False)
    with pytest.raises(Refusal) as refused:
        quote_of(package)
    assert refused.value.code == "no_pool"
    world.echo.is_enabled = False
    with pytest.raises(Refusal) as refused:
        quote_of(package)
    assert refused.value.code == "model_disabled"


def test_what_is_settled_is_owed_no_longer(world: World) -> None:
    package = package_of(world)
    accept_quote(package=package, quote=quote_of(package), by=None, now=NOW)
    rows = Reservation.objects.for_department(world.retail)
    shrink_reservation(package_ref=package.pk, by_s=500, now=NOW)
    assert rows.get().remaining_s == pytest.approx(65)
    shrink_reservation(package_ref=package.pk, by_s=500, now=NOW)
    assert rows.get().remaining_s == 0
    release_reservation(package_ref=package.pk, now=NOW + HOUR)
    release_reservation(package_ref=package.pk, now=NOW + 2 * HOUR)
    assert rows.get().released_at == NOW + HOUR


def test_the_fixed_part_of_the_prompt_is_worth_saying(world: World) -> None:
    assert savings(package_of(world)) == []  # words between white space say nothing about Chinese
    world.echo.tokenizer = "gguf"
    assert [(one.code, one.share) for one in savings(package_of(world))] == [("fixed_prompt", 0.4)]
    assert savings(package_of(world, tokens=10_000_000)) == []


def test_the_tide_shows_who_uses_the_capacity_and_adds_up(world: World) -> None:
    fill(world, hours=2, by=NOW + 3 * HOUR)
    fill(world, hours=1, by=NOW + 9 * HOUR)
    shown = tide(pool=world.pool, now=NOW, hours=24, work_s=1800, deadline_at=NOW + 5 * HOUR)
    assert len(shown.capacity) == 24 * 6
    assert shown.capacity == pytest.approx([1.0] * 144)
    assert shown.promised == pytest.approx([1.0] * 12 + [0.0] * 3 + [1.0] * 6 + [0.0] * 123)
    assert shown.yours == pytest.approx([0.0] * 12 + [1.0] * 3 + [0.0] * 129)
    assert (shown.expected_start_at, shown.expected_finish_at) == (NOW + 2 * HOUR, NOW + 2.5 * HOUR)
    assert [(one.start_at, one.end_at) for one in shown.windows] == [
        (NOW + 4 * HOUR, NOW + 14 * HOUR)  # 22:00 to 08:00 in Shanghai
    ]


def test_an_admitted_package_is_shown_with_what_is_left_of_it(world: World) -> None:
    package = package_of(world)
    accept_quote(package=package, quote=quote_of(package), by=None, now=NOW)
    shrink_reservation(package_ref=package.pk, by_s=265, now=NOW)
    shown = tide(pool=world.pool, now=NOW + timedelta(minutes=3), package_ref=package.pk)
    assert shown.work_s == pytest.approx(300)
    assert shown.start_at == NOW
    assert shown.yours[0] == pytest.approx(300 / 420)
    assert sum(shown.promised) == 0


def test_an_offer_is_for_what_was_read_not_for_what_is_as_much_work(world: World) -> None:
    package = package_of(world)
    quote = quote_of(package)
    edited = {"user_template": "Hate {{text}}", "temperature": 1.5, "ingest_epoch": 2}
    Package.objects.for_department(world.retail).filter(pk=package.pk).update(**edited)
    fresh = Package.objects.for_department(world.retail).get()
    with pytest.raises(Refusal) as refused:
        accept_quote(package=fresh, quote=quote, by=None, now=NOW)
    assert refused.value.code == "quote_outdated"
    with pytest.raises(UnableToChangeState):
        accept_quote(package=package, quote=quote, by=None, now=NOW)  # as loaded before it was edited
    with pytest.raises(UnableToChangeState):
        quote_of(package)
    fresh.refresh_from_db()
    assert fresh.accepted_quote is None
    assert accept_quote(package=fresh, quote=quote_of(fresh), by=None, now=NOW).state == PackageState.ADMITTED


def test_whoever_accepts_the_same_offer_a_moment_later_has_accepted_it_too(world: World) -> None:
    package = package_of(world)
    quote = quote_of(package)
    loaded = [Package.objects.for_department(world.retail).get() for _ in range(3)]
    late = [NOW, NOW, quote.expires_at + HOUR]
    accepted = [accept_quote(package=one, quote=quote, by=None, now=at) for one, at in zip(loaded, late, strict=True)]
    assert {one.state for one in accepted} == {PackageState.ADMITTED}
    assert Reservation.objects.for_department(world.retail).count() == 1
    assert TimelineEntry.objects.for_department(world.retail).filter(code="admitted").count() == 1
