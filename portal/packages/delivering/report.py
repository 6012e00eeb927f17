"""report.json: what a finished package came to, in figures."""

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Sum

from portal.billing.domain import exact_sum, round_money
from portal.billing.models import LedgerEntry
from portal.packages.following.progress import OVER, progress_of_all
from portal.packages.models import Package
from scheduler.domain.lifecycle import ItemStatus, PackageState


def report(
    package: Package,
    by_status: Mapping[str, int],
    by_reason: Mapping[tuple[str, str], int],
    *,
    state: PackageState,
    lost: Mapping[str, int | bool],
) -> bytes:
    """The report as JSON. Times are UTC in ISO 8601, money is text, ``late_by_s`` is 0 for a package in time.

    ``lost`` says what objects of the package were lost by a fault of ours; in the ordinary case nothing.
    """
    corrections = _corrections(package)
    content = {
        "package": package.number,
        "id": str(package.pk),
        "name": package.name,
        "corrects": package.corrects.number if package.corrects else None,
        "round": package.round,
        "department": package.department.name,
        "state": state,
        "kind": package.kind,
        "model": package.model.name if package.model else None,
        "tier": package.tier,
        "rows": {"total": package.rows_total}
        | {str(status): by_status[status] for status in ItemStatus}
        | {"repeated": package.rows_repeated},
        "quarantined_by_reason": _of(by_reason, ItemStatus.QUARANTINED),
        "failed_by_reason": _of(by_reason, ItemStatus.FAILED),
        "lost": dict(lost),
        "tokens": _tokens(package),
        "timing": _timing(package),
        "corrections": corrections,
        "price": _price(package, [UUID(one["id"]) for one in corrections]),
    }
    return json.dumps(content, ensure_ascii=False, indent=2).encode() + b"\n"


def _of(by_reason: Mapping[tuple[str, str], int], status: str) -> dict[str, int]:
    return {code: rows for (of, code), rows in sorted(by_reason.items()) if of == status}


def _tokens(package: Package) -> dict[str, Any]:
    """Everything that ran, charged or not."""
    names = ("prompt_tokens", "cached_tokens", "completion_tokens", "engine_s")
    sums = package.shards.aggregate(**{name: Sum(name) for name in names})
    return {
        **{name.removesuffix("_tokens"): sums[name] or 0 for name in names[:3]},
        "engine_s": round(sums["engine_s"] or 0.0, 3),
    }


def _timing(package: Package) -> dict[str, Any]:
    def text(at: datetime | None) -> str | None:
        return at.isoformat(timespec="seconds") if at else None

    return {
        "created_at": text(package.created_at),
        "admitted_at": text(package.admitted_at),
        "started_at": text(package.started_at),
        "finished_at": text(package.finished_at),
        "deadline_at": text(package.deadline_at),
        "late_by_s": int(package.late_by.total_seconds()) if package.late_by else 0,
    }


def _corrections(package: Package) -> list[dict[str, Any]]:
    """Each correction that has ended: how its rows ended and what they cost, beside the package's own amount."""
    ended = list(package.corrections.filter(state__in=OVER).order_by("round"))
    progress = progress_of_all(ended)
    return [
        {
            "package": one.number,
            "id": str(one.pk),
            "round": one.round,
            "rows": {
                "succeeded": progress[one.pk].succeeded,
                "quarantined": progress[one.pk].quarantined,
                "failed": progress[one.pk].failed,
                "cancelled": progress[one.pk].cancelled,
            },
            **_amounts("", _charged(package, [one.pk])),
        }
        for one in ended
    ]


def _price(package: Package, corrections: list[UUID]) -> dict[str, Any]:
    """The sum of the package's own ledger entries, exact and rounded for people; and with those of its corrections."""
    return {
        **_amounts("", _charged(package, [package.pk])),
        **_amounts("_with_corrections", _charged(package, [package.pk, *corrections])),
        "currency": package.price_list.currency if package.price_list else None,
        "price_list": package.price_list.name if package.price_list else None,
        "factor": str(package.tier_factor),
    }


def _charged(package: Package, refs: list[UUID]) -> Decimal:
    entries = LedgerEntry.objects.for_department(package.department).filter(package_ref__in=refs)
    return exact_sum(entries.values_list("amount", flat=True))


def _amounts(which: str, exact: Decimal) -> dict[str, str]:
    return {f"amount{which}": str(round_money(exact)), f"exact{which}": str(exact)}
