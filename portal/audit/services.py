"""Writing the audit trail."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

from portal.audit.models import AuditRecord

if TYPE_CHECKING:
    from portal.departments.models import Department, Person


def record(
    *,
    action: str,
    subject: object,
    now: datetime,
    by: "Person | None" = None,
    department: "Department | None" = None,
    **detail: Any,
) -> None:
    """Append one act in the caller's transaction. ``by`` is ``None`` when the system acted."""
    AuditRecord.objects.create(
        at=now, action=action, department=department, person=by, subject=str(subject), detail=detail
    )
