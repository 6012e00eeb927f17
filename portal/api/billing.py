"""Usage and bills over HTTP, for the key's own department."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from ninja import Router

from portal.api.auth import caller_department
from portal.api.billing_schemas import BillOut, UsageOut
from portal.api.schemas import ErrorOut
from portal.billing.bills import Bill, bill_csv, bill_pdf, draft_bill
from portal.billing.periods import Month
from portal.billing.queries import entries_of
from portal.billing.statement import statement_of
from portal.departments.refusals import Refusal

router = Router(tags=["billing"])
REFUSED = {401: ErrorOut, 422: ErrorOut}


@router.get("/usage", response={200: UsageOut, **REFUSED}, summary="A month's usage by day, model, tier and person")
def usage(request: HttpRequest, month: str) -> UsageOut:
    """``month`` is ``2026-03`` on the department's own calendar. Each row is rounded on its own."""
    department, chosen = caller_department(request), _month(month)
    return UsageOut.of(statement_of(entries_of(department, chosen)), str(chosen), department.zone)


@router.get("/bills/{month}.pdf", response={200: None, **REFUSED}, summary="The month's bill as a document")
def bill_document(request: HttpRequest, month: str) -> HttpResponse:
    """A draft until the month is locked; in the language that the request asks for, else the key owner's."""
    bill = _bill(request, month)
    return _file(bill_pdf(bill, get_language() or settings.LANGUAGE_CODE), "application/pdf", f"{bill.filename}.pdf")


@router.get("/bills/{month}.csv", response={200: None, **REFUSED}, summary="The month's ledger, entry by entry")
def bill_ledger(request: HttpRequest, month: str) -> HttpResponse:
    bill = _bill(request, month)
    return _file(bill_csv(bill), "text/csv; charset=utf-8", f"{bill.filename}.csv")


@router.get("/bills/{month}", response={200: BillOut, **REFUSED}, summary="The month's bill")
def bill(request: HttpRequest, month: str) -> BillOut:
    return BillOut.of(_bill(request, month))


def _bill(request: HttpRequest, month: str) -> Bill:
    return draft_bill(department=caller_department(request), month=_month(month), now=timezone.now())


def _month(text: str) -> Month:
    try:
        return Month.parse(text)
    except ValueError as error:
        raise Refusal(
            _("Write the month as year and month, for example 2026-03."), code="invalid_month", field="month"
        ) from error


def _file(content: bytes, content_type: str, filename: str) -> HttpResponse:
    disposition = f'attachment; filename="{filename}"'
    return HttpResponse(content, content_type=content_type, headers={"Content-Disposition": disposition})
