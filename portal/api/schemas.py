"""What the API takes and gives. Money is text, so that no reader rounds it; times are UTC with ``Z``."""

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from ninja import Schema
from pydantic import BaseModel, ConfigDict, Field, field_validator

from portal.api.misfits import unstorable
from portal.capacity.models import Quote
from portal.packages.following.progress import Progress
from portal.packages.manifest.reading import Wish
from portal.packages.models import Package
from portal.packages.reasons import refusal_sentence


class ReadingIn(BaseModel):
    """How the manifest is to be read; what is left out is found by itself."""

    model_config = ConfigDict(extra="forbid")

    encoding: str | None = Field(None, description="utf-8, gb18030, big5, utf-16-le, utf-16-be or windows-1252")
    delimiter: str | None = Field(None, description='CSV: one character; "" for one column without any')
    quote: str | None = Field(None, description='CSV: the quotation mark; "" if quotation marks are text')
    has_heading: bool | None = Field(None, description="does the first row name the columns?")
    sheet: str | None = Field(None, description="workbooks: the name of the sheet")

    def wish(self) -> Wish:
        """As the reader of manifests takes it."""
        return Wish(**self.model_dump())


class TaskIn(BaseModel):
    """What is asked of the model for each row of the manifest."""

    model_config = ConfigDict(extra="forbid")

    kind: str = Field(description="tagging, extraction, summarisation or generation")
    model: str = Field(description="the model's name")
    prompt: str = Field(
        "", description="text with {{column}} for each row's own values; none where rows bring their messages"
    )
    system: str = ""
    name: str | None = Field(None, description="by default the file's name")
    id_column: str = Field("", description="the column that names a row; by default rows are numbered")
    labels: list[str] = Field(default_factory=list, description="tagging: the labels to choose from")
    json_schema: dict[str, Any] | None = Field(None, description="extraction: what the answer must fit")
    max_output_tokens: int | None = Field(
        None, description="by default 64; where rows bring their messages, what the first of them asks for"
    )
    temperature: float | None = Field(
        None, description="by default 0; where rows bring their messages, what the first of them asks for"
    )
    run_repeats_once: bool = Field(True, description="rows that ask the same get one answer and are charged once")
    reading: ReadingIn | None = None

    @field_validator("name", "model")
    @classmethod
    def _is_storable(cls, text: str | None) -> str | None:
        """JSON can write half a character; nothing can keep it. The other fields are looked at with the task."""
        if text and ("\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text)):
            raise ValueError(unstorable())
        return text


class QuoteIn(Schema):
    model_config = ConfigDict(extra="forbid")

    tier: str = Field("standard", description="standard or express")
    deadline: datetime | None = Field(None, description="with a zone; by default the tier's own")


class AcceptIn(Schema):
    model_config = ConfigDict(extra="forbid")

    quote: UUID


class RowsOut(Schema):
    """Rows of the manifest; ``total`` = succeeded + quarantined + failed + cancelled + to_go at every moment.

    ``repeated`` rows ask the same as an earlier one: they end as it does, and cost nothing.
    """

    total: int
    repeated: int
    read: int
    set_aside: int
    set_aside_by_code: dict[str, int]
    succeeded: int
    quarantined: int
    failed: int
    cancelled: int
    to_go: int


class ChargeOut(Schema):
    """The sum of the ledger so far: ``amount`` rounded to the cent, ``exact`` to the last digit."""

    amount: str
    exact: str
    currency: str


class PackageOut(Schema):
    id: UUID
    number: str
    name: str
    state: str
    kind: str
    model: str | None
    filename: str
    columns: list[str]
    encoding: str
    certainty: str
    """How sure the encoding is: ``declared``, ``proven``, ``likely`` or ``doubtful``."""
    tier: str
    deadline: datetime | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    late_by_s: float | None
    input_tokens: int
    rows: RowsOut
    charged: ChargeOut | None
    refusal: dict[str, Any] | None = Field(
        description="why an ``invalid`` package cannot be run: ``code``, ``params`` and ``message``, a sentence"
    )
    corrects: UUID | None = Field(description="the package whose quarantined rows this one hands over again")
    round: int = Field(description="of corrections, from 1; 0 for a package that is none")

    @classmethod
    def of(cls, package: Package, progress: Progress, charged: ChargeOut | None = None) -> Self:
        """``package`` as the API shows it."""
        return cls(
            id=package.pk,
            number=package.number,
            name=package.name,
            state=package.state,
            kind=package.kind,
            model=package.model.name if package.model else None,
            filename=package.filename,
            columns=package.reading.get("columns", []),
            encoding=package.reading.get("encoding", ""),
            certainty=package.reading.get("certainty", ""),
            tier=package.tier,
            deadline=package.deadline_at,
            created_at=package.created_at,
            started_at=package.started_at,
            finished_at=package.finished_at,
            late_by_s=package.late_by.total_seconds() if package.late_by else None,
            input_tokens=package.input_tokens,
            rows=_rows(package, progress),
            charged=charged,
            refusal=package.refusal and {**package.refusal, "message": refusal_sentence(package.refusal)},
            corrects=package.corrects_id,
            round=package.round,
        )


def _rows(package: Package, progress: Progress) -> RowsOut:
    return RowsOut(
        total=progress.total,
        repeated=progress.repeated,
        read=package.rows_read,
        set_aside=progress.set_aside,
        set_aside_by_code=package.set_aside_by_code,
        succeeded=progress.succeeded,
        quarantined=progress.quarantined,
        failed=progress.failed,
        cancelled=progress.cancelled,
        to_go=progress.to_go,
    )


class PackageListOut(Schema):
    """Newest first; the next page is ``after=<id of the last one>``."""

    data: list[PackageOut]
    has_more: bool


class PriceOut(Schema):
    expected: str
    at_most: str
    currency: str
    price_list: str


class QuoteOut(Schema):
    """An offer if ``is_feasible``, else a refusal with what is possible."""

    id: UUID
    is_feasible: bool
    tier: str
    deadline: datetime
    expires_at: datetime
    expected_start: datetime | None
    expected_finish: datetime | None = Field(description="if nothing more urgent arrives; the deadline is the promise")
    earliest_deadline: datetime | None
    rows_that_fit: int
    output_tokens_expected: int
    output_tokens_at_most: int
    price: PriceOut

    @classmethod
    def of(cls, quote: Quote) -> Self:
        """``quote`` as the API shows it."""
        return cls(
            id=quote.pk,
            is_feasible=quote.is_feasible,
            tier=quote.tier,
            deadline=quote.deadline_at,
            expires_at=quote.expires_at,
            expected_start=quote.expected_start_at,
            expected_finish=quote.expected_finish_at,
            earliest_deadline=quote.earliest_deadline_at,
            rows_that_fit=quote.rows_that_fit,
            output_tokens_expected=quote.output_tokens_expected,
            output_tokens_at_most=quote.output_tokens_high,
            price=PriceOut(
                expected=str(quote.price_expected),
                at_most=str(quote.price_at_most),
                currency=quote.currency,
                price_list=quote.price_list_name,
            ),
        )


class ErrorBody(Schema):
    """``code`` is stable; ``message`` is a sentence that says what to do; further facts depend on the code."""

    model_config = ConfigDict(extra="allow")

    code: str
    message: str
    param: str | None = None


class ErrorOut(Schema):
    error: ErrorBody
