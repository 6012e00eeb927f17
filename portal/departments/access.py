"""The only door to a department's object by its id. A foreign id looks exactly like an unknown one."""

import uuid
from typing import TypeVar

from django.db import models
from django.utils.translation import gettext as _

from portal.departments.models import Department, Person
from portal.departments.refusals import UnableToFind
from portal.departments.tenancy import TenantModel

Owned = TypeVar("Owned", bound=TenantModel)


def department_of(person: Person) -> Department:
    """The department for which ``person`` acts; :class:`UnableToFind` for people who have none."""
    if person.department is None:
        raise UnableToFind(_("You do not belong to a department, so there is nothing of yours here."))
    return person.department


def owned(kind: type[Owned], ref: uuid.UUID | str, *, department: Department) -> Owned:
    """The object of ``department`` with this id, or :class:`UnableToFind` with one and the same sentence."""
    try:
        key = ref if isinstance(ref, uuid.UUID) else uuid.UUID(str(ref))
        found: Owned = kind.objects.for_department(department).get(pk=key)
    except (ValueError, models.ObjectDoesNotExist) as error:
        raise UnableToFind(_("There is nothing under this address. Check it, or start from the list.")) from error
    return found


def department_with_code(code: str) -> Department:
    """The department with this code, for administrators; :class:`UnableToFind` if there is none."""
    try:
        return Department.objects.get(code=code)
    except Department.DoesNotExist as error:
        raise UnableToFind(_("There is no department with this code. Choose one from the list.")) from error
