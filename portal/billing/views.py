"""Usage and bills, for the people of a department and for administrators who choose one."""

from collections.abc import Callable
from datetime import datetime
from functools import wraps

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from portal.billing.bills import Bill, bill_csv, bill_pdf, draft_bill
from portal.billing.chart import bars_of
from portal.billing.pdf import UnableToRender
from portal.billing.periods import Month
from portal.billing.queries import bills_of, months_of, usage_of
from portal.billing.statement import UnableToReconcile
from portal.departments.access import department_with_code
from portal.departments.models import Department, Language, Role
from portal.departments.permissions import open_to, signed_in
from portal.departments.queries import departments_with_people
from portal.departments.refusals import Refusal, UnableToFind

log = structlog.get_logger()
View = Callable[..., HttpResponse]
_READERS = (Role.STAFF, Role.FINANCE, Role.ADMIN)


class UnableToBill(Refusal):
    """The document could not be made, for a reason of ours."""

    code = "bill_unavailable"
    status = 503


def _reconciled(view: View) -> View:
    """Turns a ledger that contradicts itself into a refusal: no figure is shown that may be wrong."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except UnableToReconcile as error:
            log.error("ledger not reconciled", action="bill.reconcile", path=request.path, reason=str(error))
            raise UnableToBill(
                _("The ledger of this month does not add up, so nothing is shown or billed. Tell an operator.")
            ) from error

    return guarded


@open_to(*_READERS)
@require_safe
@_reconciled
def usage(request: HttpRequest) -> HttpResponse:
    """The month's use so far, by day, model, tier and person."""
    department, now = _department(request), timezone.now()
    if department is None:
        return _choose(request, "usage")
    month = _month(request.GET.get("month") or str(Month.of(now, department.zone)), department, now)
    found = usage_of(department, month)
    months = months_of(department, now=now)
    context = {
        "nav": "usage" if signed_in(request).department else "bills",
        "chosen": department,
        **_scope(request, department),
        "usage": found,
        "bars": bars_of(month, found.by_day),
        "month": month,
        "earlier": month.previous() if month > months[-1] else None,
        "later": month.next() if month < months[0] else None,
        "now": now,
    }
    with timezone.override(department.zone):  # an administrator reads the department's calendar, not UTC
        return render(request, "billing/usage.html", context)


@open_to(*_READERS)
@require_safe
@_reconciled
def bills(request: HttpRequest) -> HttpResponse:
    """The department's months, newest first, each with its documents."""
    department, now = _department(request), timezone.now()
    if department is None:
        return _choose(request, "bills")
    return render(
        request,
        "billing/bills.html",
        {
            "nav": "bills",
            "chosen": department,
            **_scope(request, department),
            "bills": bills_of(department, now=now),
        },
    )


@open_to(*_READERS)
@require_safe
@_reconciled
def pdf(request: HttpRequest, month: str) -> HttpResponse:
    """The bill as PDF, in the person's language or the one asked for."""
    bill = _bill(request, month)
    language = request.GET.get("language") or signed_in(request).language
    if language not in Language.values:
        raise UnableToFind(_("Bills can be had in English (en) and Chinese (zh-hans)."))
    try:
        document = bill_pdf(bill, language)
    except UnableToRender as error:
        log.error("bill not rendered", action="bill.render", department=bill.department.code, reason=str(error)[:500])
        raise UnableToBill(
            _("The PDF could not be made. The figures are safe: download the CSV, and tell an operator.")
        ) from error
    return _download(document, f"{bill.filename}.pdf", "application/pdf")


@open_to(*_READERS)
@require_safe
@_reconciled
def detail(request: HttpRequest, month: str) -> HttpResponse:
    """Every ledger entry of the month as CSV."""
    bill = _bill(request, month)
    return _download(bill_csv(bill), f"{bill.filename}.csv", "text/csv; charset=utf-8")


def _department(request: HttpRequest) -> Department | None:
    """Whose figures are asked for: one's own, or for an administrator the chosen one (``None``: not yet chosen)."""
    person = signed_in(request)
    if person.role != Role.ADMIN:
        return person.department
    code = request.GET.get("department")
    return department_with_code(code) if code else None


def _scope(request: HttpRequest, department: Department) -> dict[str, str]:
    """What an administrator's links carry on, so that the chosen department stays chosen."""
    chosen = f"department={department.code}" if signed_in(request).role == Role.ADMIN else ""
    return {"query": f"?{chosen}" if chosen else "", "suffix": f"&{chosen}" if chosen else ""}


def _choose(request: HttpRequest, page: str) -> HttpResponse:
    return render(
        request,
        "billing/choose.html",
        {"nav": "bills", "page": f"billing:{page}", "departments": departments_with_people()},
    )


def _bill(request: HttpRequest, month: str) -> Bill:
    department, now = _department(request), timezone.now()
    if department is None:
        raise UnableToFind(_("Choose a department first: add ?department=CODE to the address."))
    return draft_bill(department=department, month=_month(month, department, now), now=now)


def _month(text: str, department: Department, now: datetime) -> Month:
    """The month in an address. What is not one, or has not begun, is not there."""
    try:
        month = Month.parse(text)
    except ValueError:
        raise UnableToFind(_("Months are written like 2026-03. Start from the list of bills.")) from None
    if month > Month.of(now, department.zone) or month.year < 2000:
        raise UnableToFind(_("There is nothing for this month. Start from the list of bills."))
    return month


def _download(payload: bytes, filename: str, content_type: str) -> HttpResponse:
    return HttpResponse(
        payload,
        content_type=content_type,
        headers={
            "Content-Disposition": f'attachment; filename="{filename}"',
            "Cache-Control": "private, no-store",
            "X-Content-Type-Options": "nosniff",
        },
    )
