"""Packages over HTTP: submit, quote, accept, follow, cancel, download."""

from typing import Annotated, Any, Literal
from uuid import UUID

from django.http import HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Body, File, Router, Status, UploadedFile
from pydantic import Field

from portal.api import queries
from portal.api.auth import caller_department, submitter
from portal.api.schemas import AcceptIn, ErrorOut, PackageListOut, PackageOut, QuoteIn, QuoteOut, TaskIn
from portal.capacity.models import LanguageModel, Quote
from portal.departments.access import owned
from portal.departments.models import Person
from portal.departments.refusals import Refusal
from portal.packages import services
from portal.packages.brought import suggested
from portal.packages.correcting import corrections
from portal.packages.delivering import downloads
from portal.packages.delivering.tables import Format
from portal.packages.manifest.reading import AS_FOUND
from portal.packages.models import Package
from portal.packages.promising import quoting
from portal.packages.receiving import uploads
from portal.packages.running import control

router = Router(tags=["packages"])
USUAL: dict[str, float] = {"max_output_tokens": 64, "temperature": 0.0}
"""Of a task that says nothing, nor its file."""
Limit = Annotated[int, Field(ge=1, le=100)]
REFUSED: dict[int, Any] = {401: ErrorOut, 403: ErrorOut, 404: ErrorOut, 409: ErrorOut, 413: ErrorOut, 422: ErrorOut}
MADE: dict[int, Any] = {200: None, 429: ErrorOut, **REFUSED}


@router.post("/packages", response={201: PackageOut, **REFUSED}, summary="Submit a manifest with its task")
def submit(request: HttpRequest, task: Body[TaskIn], file: File[UploadedFile]) -> Status[PackageOut]:
    """Multipart: ``file`` and, as JSON text, ``task``. The file is stored and reading it begins: follow the package
    until it is ``quoted`` (or ``invalid``). Nothing is kept if the file or the task is refused.
    """
    person = submitter(request)
    package = uploads.create_draft(
        by=person,
        department=caller_department(request),
        filename=file.name or "",
        chunks=file.chunks(),
        name=task.name,
        wish=task.reading.wish() if task.reading else AS_FOUND,
        now=timezone.now(),
    )
    try:
        package = _with_task(package, task, by=person)
        services.start_reading(package=package, by=person, now=timezone.now())
    except Exception:
        uploads.discard_draft(package=package, by=person, now=timezone.now())
        raise
    return Status(201, queries.shown(package))


def _with_task(package: Package, task: TaskIn, *, by: Person) -> Package:
    fields = task.model_dump(exclude={"name", "model", "prompt", "system", "reading"})
    asked = suggested(package)
    for name, usual in USUAL.items():
        if fields[name] is None:
            fields[name] = asked.get(name, usual)
    return services.save_task(
        package=package,
        by=by,
        now=timezone.now(),
        **fields,
        model=LanguageModel.objects.filter(name=task.model).first(),
        user_template=task.prompt,
        system_template=task.system,
    )


@router.get("/packages", response={200: PackageListOut, **REFUSED}, summary="The department's packages, newest first")
def list_packages(request: HttpRequest, after: UUID | None = None, limit: Limit = 20) -> PackageListOut:
    """``after`` is the id of the last package of the page before."""
    return queries.page(caller_department(request), after=after, limit=limit)


@router.get("/packages/{uuid:ref}", response={200: PackageOut, **REFUSED}, summary="Where a package stands")
def show(request: HttpRequest, ref: UUID) -> PackageOut:
    return queries.shown(_package(request, ref))


@router.post("/packages/{uuid:ref}/quotes", response={201: QuoteOut, **REFUSED}, summary="Ask for an offer")
def quote(request: HttpRequest, ref: UUID, wish: QuoteIn) -> Status[QuoteOut]:
    """An offer (``is_feasible``) or a refusal that says which deadline would be possible."""
    if wish.deadline is not None and wish.deadline.tzinfo is None:
        raise Refusal(
            _("Write the deadline with its zone, for example 2026-03-01T18:00:00+08:00."),
            code="deadline_without_zone",
            field="deadline",
        )
    offered = quoting.quote_package(
        package=_package(request, ref),
        tier=wish.tier,
        deadline_at=wish.deadline,
        by=submitter(request),
        now=timezone.now(),
    )
    return Status(201, QuoteOut.of(offered))


@router.post("/packages/{uuid:ref}/accept", response={200: PackageOut, **REFUSED}, summary="Accept an offer")
def accept(request: HttpRequest, ref: UUID, accepted: AcceptIn) -> PackageOut:
    """The capacity is reserved and the promise stands; accepting the same offer twice is accepting it once."""
    package = _package(request, ref)
    offer = owned(Quote, accepted.quote, department=caller_department(request))
    now = timezone.now()
    return queries.shown(quoting.accept_quote(package=package, quote=offer, by=submitter(request), now=now))


@router.post("/packages/{uuid:ref}/cancel", response={200: PackageOut, **REFUSED}, summary="Cancel a package")
def cancel(request: HttpRequest, ref: UUID) -> PackageOut:
    """What is finished is kept and charged; asking again changes nothing."""
    package = _package(request, ref)
    control.cancel(package=package, by=submitter(request), now=timezone.now())
    package.refresh_from_db()
    return queries.shown(package)


@router.post(
    "/packages/{uuid:ref}/corrections", response={201: PackageOut, **REFUSED}, summary="Hand over corrected rows"
)
def correct(request: HttpRequest, ref: UUID, file: File[UploadedFile]) -> Status[PackageOut]:
    """Multipart: ``file``, the quarantine as downloaded, corrected; its column ``slackwater_row`` says which row each
    line is. It becomes a package with the same task, read at once: ask for an offer and accept it as for any other.
    What succeeds is merged into the results of the package that is corrected.
    """
    person = submitter(request)
    correction = corrections.submit(
        root=_package(request, ref), by=person, filename=file.name or "", chunks=file.chunks(), now=timezone.now()
    )
    return Status(201, queries.shown(correction))


@router.get("/packages/{uuid:ref}/results", response=MADE, summary="Results in manifest order")
def results(
    request: HttpRequest,
    ref: UUID,
    format: Format = "jsonl",
) -> StreamingHttpResponse:
    """While the package runs: what has finished so far. CSV is for Excel, too (UTF-8 with a byte order mark)."""
    return downloads.answer(request, _package(request, ref), f"results.{format}")


@router.get("/packages/{uuid:ref}/quarantine", response=MADE, summary="Rows set aside")
def quarantine(
    request: HttpRequest,
    ref: UUID,
    format: Literal["csv", "xlsx"] = "csv",
) -> StreamingHttpResponse:
    """Each with its row number, reason and original columns: as soon as the manifest is read, those so far. Corrected,
    the file can be handed over again when the package has ended. Excel holds 32,767 characters in a cell; CSV has all.
    """
    return downloads.answer(request, _package(request, ref), f"quarantine.{format}")


@router.get("/packages/{uuid:ref}/report", response={200: None, **REFUSED}, summary="The report of a finished package")
def report(request: HttpRequest, ref: UUID) -> StreamingHttpResponse:
    """JSON: counts by status and reason, tokens, timing, price."""
    return downloads.answer(request, _package(request, ref), "report.json")


def _package(request: HttpRequest, ref: UUID) -> Package:
    return owned(Package, ref, department=caller_department(request))
