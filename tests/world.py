"""The cast of the tests.

Alice (staff) owns things in Retail, Bob (staff) shares Retail with her, Fiona pays its bills (finance).
Charlie (staff) is in Legal and must see nothing of Retail. Ada administers, Otto operates; they have no department.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal

from portal.billing.models import Price, PriceList
from portal.capacity.models import Engine, LanguageModel, Pool, Window
from portal.departments.models import Department, Person, Role

PASSWORD = "a-quiet-tide-at-night"


@dataclass(frozen=True)
class World:
    retail: Department
    legal: Department
    alice: Person
    bob: Person
    fiona: Person
    charlie: Person
    ada: Person
    otto: Person
    echo: LanguageModel
    pool: Pool
    prices: PriceList


def _person(name: str, role: Role, department: Department | None) -> Person:
    return Person.objects.create_person(
        email=f"{name.lower()}@example.test", password=PASSWORD, name=name, role=role, department=department
    )


def create_world() -> World:
    """Two departments with people, one echo model on one pool that is always open, one price list."""
    retail = Department.objects.create(name="Retail", code="retail", cost_centre="CC-3107", contact="Fiona")
    legal = Department.objects.create(name="Legal", code="legal", cost_centre="CC-4711", contact="Charlie")
    echo = LanguageModel.objects.create(
        name="echo",
        title="Echo",
        engine=Engine.ECHO,
        tokenizer="words",
        context_tokens=512,
        max_output_tokens=128,
    )
    pool = Pool.objects.create(
        name="echo", model=echo, replicas=1, base_share=Decimal(1), prefill_tokens_per_s=1000,
        decode_tokens_per_s=1000, item_overhead_s=0.001,
    )  # fmt: skip
    Window.objects.create(pool=pool, name="night", starts_at=time(22), ends_at=time(8), share=Decimal(1))
    prices = PriceList.objects.create(name="2026-01", currency="CNY", valid_from=datetime(2026, 1, 1, tzinfo=UTC))
    Price.objects.create(
        price_list=prices, model=echo, input_per_1k=Decimal("0.002"), cached_per_1k=Decimal("0.0005"),
        output_per_1k=Decimal("0.006"),
    )  # fmt: skip
    return World(
        retail=retail,
        legal=legal,
        alice=_person("Alice", Role.STAFF, retail),
        bob=_person("Bob", Role.STAFF, retail),
        fiona=_person("Fiona", Role.FINANCE, retail),
        charlie=_person("Charlie", Role.STAFF, legal),
        ada=_person("Ada", Role.ADMIN, None),
        otto=_person("Otto", Role.OPERATOR, None),
        echo=echo,
        pool=pool,
        prices=prices,
    )
