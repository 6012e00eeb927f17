"""Who may sign in."""

from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.backends import ModelBackend

from portal.departments.models import Person


class OpenDepartmentBackend(ModelBackend):
    """Active people whose department, if they have one, is not closed. Closing a department ends its sessions."""

    def user_can_authenticate(self, user: Any) -> bool:
        department = getattr(user, "department", None)
        return super().user_can_authenticate(user) and (department is None or department.closed_at is None)

    def get_user(self, user_id: UUID | str) -> Person | None:
        """The person of a running session, with their department, or ``None`` if they may no longer enter."""
        person = Person.objects.select_related("department").filter(pk=user_id).first()
        return person if person is not None and self.user_can_authenticate(person) else None

    async def aget_user(self, user_id: UUID | str) -> Person | None:
        """The same for async views: the department is read in a thread."""
        return await sync_to_async(self.get_user)(user_id)
