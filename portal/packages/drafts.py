"""A package before anything is promised for it: how it is changed, and what changing it makes void."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from django.utils.translation import gettext as _

from portal.departments.refusals import UnableToChangeState
from portal.packages.models import Package
from scheduler.domain.lifecycle import PackageState

NOTHING_READ: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "rows_total": 0,
        "rows_good": 0,
        "rows_set_aside": 0,
        "rows_repeated": 0,
        "set_aside_by_code": {},
        "input_tokens": 0,
        "fixed_prompt_tokens": 0,
        "rows_read": 0,
        "reading_since": None,
        "reading_share": None,
        "refusal": None,
        "ingest_attempts": 0,
    }
)
"""What is known of a manifest that was not read through yet, with the task and in the way that hold now."""


def change(package: Package, expected: frozenset[PackageState], now: datetime, **values: Any) -> None:
    """Change a package that is in one of the states ``expected``; raises :class:`UnableToChangeState` otherwise."""
    changed = (
        Package.objects.for_department(package.department)
        .filter(pk=package.pk, state__in=expected)
        .update(touched_at=now, **values)
    )
    if changed != 1:
        raise UnableToChangeState(
            _("The package has moved on in the meantime. Reload the page to see where it stands.")
        )
