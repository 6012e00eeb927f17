"""A department's bill for one month: the document as data, as PDF and as CSV.

What is made here is a draft: it says so, carries no number, and may still change until the month is over.
"""

import csv
import hashlib
import io
import unicodedata
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone, translation

from portal.billing.cells import guarded
from portal.billing.domain import Tokens, capital_numerals, exact_sum
from portal.billing.models import LedgerEntry
from portal.billing.pdf import render_pdf
from portal.billing.periods import Month, zone_name
from portal.billing.queries import entries_of
from portal.billing.statement import METERS, PackageSums, Statement, Sums, number_of, statement_of
from portal.departments.models import Department

ANNEX_ROWS = 300
"""Packages that the PDF lists one by one; the CSV has every shard."""

_COLUMNS = (
    *("settled_at", "package_number", "package", "corrects", "round", "shard", "person"),
    *("model", "tier", "factor", "price_list"),
    *("items", "repeats", "input_tokens", "cached_tokens", "output_tokens"),
    *("input_per_1k", "cached_per_1k", "output_per_1k", "amount", "currency"),
)


@dataclass(frozen=True)
class Bill:
    """Everything that stands on the document."""

    department: Department
    month: Month
    made_at: datetime
    currency: str
    statement: Statement
    csv_sha256: str

    @property
    def total(self) -> Decimal:
        return self.statement.total

    @property
    def period(self) -> tuple[date, date]:
        """First and last day, both included."""
        return self.month.first_day, self.month.last_day

    @property
    def zone(self) -> str:
        return zone_name(self.department.zone, self.month)

    @property
    def filename(self) -> str:
        """Without an ending."""
        return f"slackwater-{self.department.code}-{self.month}-draft"


def draft_bill(*, department: Department, month: date | Month, now: datetime) -> Bill:
    """The bill as it stands now. ``month`` may be any day of it. Raises ``UnableToReconcile``."""
    chosen = month if isinstance(month, Month) else Month(month.year, month.month)
    statement = statement_of(entries_of(department, chosen))
    currency = statement.entries[0].currency if statement.entries else settings.CURRENCY
    detail = hashlib.sha256(_csv_of(statement)).hexdigest()
    return Bill(department, chosen, now, currency, statement, detail)


def bill_csv(bill: Bill) -> bytes:
    """Every ledger entry with its exact amount, for a spreadsheet: UTF-8 with BOM, CRLF, columns in English."""
    return _csv_of(bill.statement)


def bill_pdf(bill: Bill, language: str) -> bytes:
    """The document in ``language``. Raises ``UnableToRender``."""
    return render_pdf(bill_html(bill, language))


def bill_html(bill: Bill, language: str) -> str:
    """The page that the PDF is made of."""
    lines, packages = bill.statement.lines(), bill.statement.packages()
    listed, more = [one.sums for one in packages[:ANNEX_ROWS]], _rest(packages)
    with translation.override(language), timezone.override(bill.department.zone):
        return render_to_string(
            "billing/bill_document.html",
            {
                "bill": bill,
                "LANGUAGE_CODE": language,
                "department": {
                    name: printable(getattr(bill.department, name)) for name in ("name", "cost_centre", "contact")
                },
                "lines": lines,
                "rounding": bill.statement.rounding(lines),
                "packages": [(one, printable(one.name), printable(one.person)) for one in packages[:ANNEX_ROWS]],
                "package_count": len(packages),
                "unlisted": len(packages) - len(listed),
                "more": more,
                "annex_rounding": bill.statement.rounding([*listed, more] if more else listed),
                "capitals": capital_numerals(bill.total) if language == "zh-hans" and bill.currency == "CNY" else "",
            },
        )


def printable(text: str) -> str:
    """``text`` with a box in place of what the fonts of a document do not have (emoji, rare scripts)."""
    return "".join(char if _is_printable(char) else "□" for char in text)


def _is_printable(char: str) -> bool:
    code = ord(char)
    if code >= 0x2E80:  # Chinese, Japanese and Korean as far as their fonts go
        return code < 0xA000 or 0xAC00 <= code <= 0xD7A3 or 0xF900 <= code <= 0xFAD9 or 0xFF01 <= code <= 0xFF5E
    return (code < 0x0250 and unicodedata.category(char)[0] != "C") or char in "–—‘’“”…·•→−×"


def _rest(packages: list[PackageSums]) -> Sums | None:
    """What the packages that the annex leaves to the CSV come to."""
    left = [one.sums for one in packages[ANNEX_ROWS:]]
    if not left:
        return None
    tokens = Tokens(*(sum(getattr(one.tokens, meter) for one in left) for meter in METERS))
    items, repeats = (sum(getattr(one, name) for one in left) for name in ("items", "repeats"))
    return Sums(items, repeats, tokens, exact_sum(one.exact for one in left))


def _csv_of(statement: Statement) -> bytes:
    written = io.StringIO(newline="")
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_row(entry) for entry in statement.entries)
    return b"\xef\xbb\xbf" + written.getvalue().encode()


def _row(entry: LedgerEntry) -> list[object]:
    return [
        entry.settled_at.isoformat(timespec="seconds"),
        number_of(entry.package_ref),
        guarded(entry.package_name),
        number_of(entry.corrects_ref),
        entry.round or "",
        entry.shard_no,
        guarded(entry.person_name),
        entry.model_name,
        entry.tier,
        entry.factor,
        guarded(entry.price_list_name),
        entry.items,
        entry.repeats,
        entry.input_tokens,
        entry.cached_tokens,
        entry.output_tokens,
        entry.input_per_1k,
        entry.cached_per_1k,
        entry.output_per_1k,
        f"{entry.amount:f}",
        entry.currency,
    ]
