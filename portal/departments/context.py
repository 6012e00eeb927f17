"""What every page knows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from portal.departments.models import Department, Person, Role

_BILLS = ("bills", _("Bills"), "billing:bills")
_USAGE = ("usage", _("Usage"), "billing:usage")
_DEPARTMENT_PAGES = (("packages", _("Packages"), "packages:home"), _BILLS, _USAGE)
_PAGES: dict[str, tuple[tuple[str, Promise, str], ...]] = {
    Role.STAFF: _DEPARTMENT_PAGES,
    Role.FINANCE: _DEPARTMENT_PAGES,
    Role.ADMIN: (
        ("departments", _("Departments"), "departments:admin"),
        ("people", _("People"), "departments:people"),
        ("pools", _("Pools"), "capacity:pools"),
        ("models", _("Models"), "capacity:models"),
        ("prices", _("Prices"), "prices:list"),
        _BILLS,
        ("audit", _("Audit"), "operations:audit"),
    ),
    Role.OPERATOR: (
        ("board", _("Board"), "operations:board"),
        ("dead", _("Dead letters"), "operations:dead-letters"),
        ("audit", _("Audit"), "operations:audit"),
    ),
}


_ZONES = {"Asia/Shanghai": pgettext_lazy("zone of China", "CST")}
"""Zones whose abbreviation is written out in other languages."""


@dataclass(frozen=True)
class Page:
    """An entry of the navigation; ``key`` is what a view puts into ``nav`` to be the current one."""

    key: str
    label: Promise
    url: str


def navigation(request: HttpRequest) -> dict[str, Any]:
    """``person`` and ``department`` of the request (``None`` before sign-in), and the pages of their role."""
    user = getattr(request, "user", None)
    person = user if isinstance(user, Person) or (user is not None and user.is_authenticated) else None
    if person is None:
        return {"person": None, "department": None, "navigation": []}
    department = person.department
    return {
        "person": person,
        "department": department,
        "navigation": _pages(person.role),
        "zone_label": zone_label(department, timezone.now()) if department else "UTC",
    }


def _pages(role: str) -> list[Page]:
    pages = []
    for key, label, name in _PAGES[role]:
        try:
            pages.append(Page(key, label, reverse(name)))
        except NoReverseMatch:
            continue
    return pages


def zone_label(department: Department, now: datetime) -> str:
    """The department's zone with its offset at ``now``: "CST (UTC+8)"; a zone without a name is only "UTC+8"."""
    local = now.astimezone(department.zone)
    offset = local.strftime("%z")
    hours, minutes = int(offset[1:3]), offset[3:5]
    utc = f"UTC{offset[0]}{hours}{'' if minutes == '00' else ':' + minutes}"
    name = str(_ZONES.get(department.time_zone, local.tzname()))
    return f"{name} ({utc})" if name[0].isalpha() else utc
