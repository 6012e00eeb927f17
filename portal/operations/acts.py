"""The audit trail as people read it: acts by their names, subjects and details in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from portal.audit.models import AuditRecord
from portal.departments.models import Person, Role
from portal.packages import reasons

ACTS: dict[str, Promise] = {
    "api_key.created": gettext_lazy("API key made"),
    "api_key.revoked": gettext_lazy("API key revoked"),
    "department.changed": gettext_lazy("Department changed"),
    "department.created": gettext_lazy("Department created"),
    "model.changed": gettext_lazy("Model changed"),
    "model.created": gettext_lazy("Model added"),
    "package.admitted": gettext_lazy("Offer accepted"),
    "package.cancelled": gettext_lazy("Package cancelled"),
    "package.cancelling": gettext_lazy("Cancelling asked for"),
    "package.completed": gettext_lazy("Package completed"),
    "package.corrected": gettext_lazy("Correction merged"),
    "package.correction_uploaded": gettext_lazy("Correction uploaded"),
    "package.discarded": gettext_lazy("Draft discarded"),
    "package.lost": gettext_lazy("Objects of a package lost"),
    "package.paused": gettext_lazy("Package paused"),
    "package.quoted": gettext_lazy("Offer asked for"),
    "package.read": gettext_lazy("Manifest read"),
    "package.reading_started": gettext_lazy("Reading started"),
    "package.reading_stopped": gettext_lazy("Reading stopped"),
    "package.refused": gettext_lazy("Manifest refused"),
    "package.resumed": gettext_lazy("Package resumed"),
    "package.task_saved": gettext_lazy("Task saved"),
    "package.reread": gettext_lazy("File read in another way"),
    "package.uploaded": gettext_lazy("File uploaded"),
    "person.added": gettext_lazy("Person added"),
    "person.changed": gettext_lazy("Person changed"),
    "person.password_chosen": gettext_lazy("Password chosen"),
    "person.password_reset": gettext_lazy("One-time password given"),
    "person.preferences": gettext_lazy("Preferences changed"),
    "person.signed_in": gettext_lazy("Signed in"),
    "pool.changed": gettext_lazy("Pool changed"),
    "pool.created": gettext_lazy("Pool added"),
    "price_list.published": gettext_lazy("Price list published"),
    "shard.dead": gettext_lazy("Shard given up"),
    "shard.parts_lost": gettext_lazy("Parts of a shard lost"),
    "window.changed": gettext_lazy("Window changed"),
    "window.created": gettext_lazy("Window added"),
    "window.removed": gettext_lazy("Window removed"),
}
"""What each act is called; one that is missing here is shown by its code."""

_DETAILS: dict[str, Promise] = {
    "cancelled": gettext_lazy("cancelled"),
    "code": gettext_lazy("reason"),
    "corrects": gettext_lazy("corrects"),
    "failed": gettext_lazy("failed"),
    "feasible": gettext_lazy("can be promised"),
    "good": gettext_lazy("good rows"),
    "is_active": gettext_lazy("may sign in"),
    "original_columns": gettext_lazy("original columns lost"),
    "parts": gettext_lazy("parts"),
    "quarantined": gettext_lazy("set aside"),
    "left": gettext_lazy("left in quarantine"),
    "quote": gettext_lazy("offer"),
    "reasons": gettext_lazy("reasons lost"),
    "results": gettext_lazy("results lost"),
    "role": gettext_lazy("role"),
    "round": gettext_lazy("round"),
    "rows": gettext_lazy("rows"),
    "shards": gettext_lazy("shards"),
    "succeeded": gettext_lazy("succeeded"),
}
_SUBJECT_NAMES = ("name",)
"""Details that name the subject, and stand there instead of in the details."""


@dataclass(frozen=True)
class Act:
    """One record, in words. ``details`` are pairs of what and which."""

    record: AuditRecord
    name: str | Promise
    subject: str
    details: list[tuple[str, str]]


def told(records: Iterable[AuditRecord]) -> list[Act]:
    """``records`` in words. Asks the database once, for the names of the people acted upon."""
    found = list(records)
    people = _people(record.subject for record in found if record.action.startswith("person."))
    return [
        Act(
            record,
            ACTS.get(record.action, record.action),
            _subject(record, people),
            list(_details(record.detail)),
        )
        for record in found
    ]


def codes_like(text: str) -> list[str]:
    """The acts whose name, in the reader's language, contains ``text``."""
    wanted = text.casefold()
    return [code for code, name in ACTS.items() if wanted in str(name).casefold()]


def _people(refs: Iterable[str]) -> dict[str, str]:
    known = Person.objects.filter(pk__in=list({ref for ref in refs if _is_uuid(ref)}))
    return {str(pk): name for pk, name in known.values_list("pk", "name")}


def _subject(record: AuditRecord, people: Mapping[str, str]) -> str:
    """The subject's own name where it is known; a package's number."""
    for name in _SUBJECT_NAMES:
        if record.detail.get(name):
            return str(record.detail[name])
    if record.action.startswith("package.") and _is_uuid(record.subject):
        return f"PK-{record.subject[:8].upper()}"
    return people.get(record.subject, record.subject)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


def _details(detail: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    """Counts that were recorded together are told one by one."""
    for key, value in detail.items():
        if isinstance(value, Mapping):
            yield from _details(value)
        elif key not in _SUBJECT_NAMES:
            yield str(_DETAILS.get(key, key)), _value(key, value)


def _value(key: str, value: object) -> str:
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if key == "role" and value in Role.values:
        return str(Role(value).label)
    if key == "code":
        return str(reasons.label(str(value)))
    return str(value)[:8] if key == "quote" else str(value)
