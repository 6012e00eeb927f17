"""Downloads: results at any time, the quarantine once the file is read, the report at the end."""

import uuid

from django.http import HttpRequest, StreamingHttpResponse
from django.views.decorators.http import require_safe

from portal.departments.access import department_of, owned
from portal.departments.permissions import DEPARTMENT_ROLES, open_to, signed_in
from portal.packages.delivering import downloads
from portal.packages.models import Package


@require_safe
@open_to(*DEPARTMENT_ROLES)
def download(request: HttpRequest, ref: uuid.UUID, what: str) -> StreamingHttpResponse:
    """One of a package's files as an attachment."""
    package = owned(Package, ref, department=department_of(signed_in(request)))
    return downloads.answer(request, package, what)
