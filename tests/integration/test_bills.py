"""The bill: Σ ledger = Σ lines = total, in the department's month, as PDF, CSV and pages."""

import csv
import io
import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from pypdf import PdfReader

from portal.billing.bills import bill_csv, bill_html, bill_pdf, draft_bill, printable
from portal.billing.models import LedgerEntry
from portal.billing.pdf import UnableToRender, render_pdf
from portal.billing.periods import Month
from portal.billing.statement import UnableToReconcile
from portal.departments.models import Department
from tests.world import World

NOW = datetime(2026, 3, 20, 10, 0, tzinfo=UTC)
MARCH = Month(2026, 3)


def settle(world: World, at: datetime, *, department: Department | None = None, **fields: object) -> LedgerEntry:
    """An entry of 1,000,003 fresh, 500,001 cached and 70,007 output tokens: 2.670048 at factor 1."""
    values: dict[str, object] = {
        "package_ref": uuid.uuid4(), "package_name": "Reviews", "shard_no": 0, "person_ref": world.alice.pk,
        "person_name": "Alice", "model_name": "echo", "tier": "standard", "factor": Decimal(1),
        "price_list_name": "2026-01", "currency": "CNY", "input_per_1k": Decimal("0.002"),
        "cached_per_1k": Decimal("0.0005"), "output_per_1k": Decimal("0.006"), "items": 100,
        "input_tokens": 1_000_003, "cached_tokens": 500_001, "output_tokens": 70_007,
        "amount": Decimal("2.6700485"), "settled_at": at,
    }  # fmt: skip
    return LedgerEntry.objects.create(department=department or world.retail, **{**values, **fields})


def test_a_bill_counts_the_month_of_the_departments_own_calendar(world: World) -> None:
    # March in Shanghai is from 28 February 16:00 UTC (2026 has no 29th) until 31 March 16:00 UTC
    settle(world, datetime(2026, 2, 28, 15, 59, 59, tzinfo=UTC))
    first = settle(world, datetime(2026, 2, 28, 16, 0, tzinfo=UTC))
    last = settle(world, datetime(2026, 3, 31, 15, 59, 59, tzinfo=UTC))
    settle(world, datetime(2026, 3, 31, 16, 0, tzinfo=UTC))
    settle(world, NOW, department=world.legal)
    bill = draft_bill(department=world.retail, month=MARCH, now=NOW)
    assert bill.statement.entries == (first, last)
    assert bill.statement.exact == Decimal("5.340097")
    assert bill.total == Decimal("5.34")
    assert bill.zone == "Asia/Shanghai (UTC+8)"


def test_lines_packages_and_ledger_add_up_to_the_same_cent(world: World) -> None:
    package = uuid.uuid4()
    settle(world, NOW, package_ref=package)
    settle(world, NOW, package_ref=package, shard_no=1)
    settle(world, NOW, tier="express", factor=Decimal(2), amount=Decimal("5.340097"), package_name="Contracts")
    bill = draft_bill(department=world.retail, month=NOW.date(), now=NOW)
    assert bill.total == Decimal("10.68")  # 2 × 2.6700485 + 5.340097 = 10.680194
    lines = bill.statement.lines()
    assert [(line.tier, line.meter, line.tokens, line.rated) for line in lines] == [
        ("standard", "input", 2_000_006, 2_000_006),
        ("standard", "cached", 1_000_002, 1_000_002),
        ("standard", "output", 140_014, 140_014),
        ("express", "input", 1_000_003, 2_000_006),
        ("express", "cached", 500_001, 1_000_002),
        ("express", "output", 70_007, 140_014),
    ]
    # exact: 4.000012, 0.5000010, 0.840084, twice
    assert [line.amount for line in lines] == [Decimal(text) for text in ("4.00", "0.50", "0.84") * 2]
    assert bill.statement.rounding(lines) == 0
    packages = bill.statement.packages()
    assert [(one.name, one.sums.items, one.sums.amount) for one in packages] == [
        ("Reviews", 200, Decimal("5.34")),
        ("Contracts", 100, Decimal("5.34")),
    ]


def third(world: World, model: str) -> LedgerEntry:
    """Output alone, 0.334 of it: 334 tokens at 1 per 1,000."""
    return settle(
        world, NOW, model_name=model, input_tokens=0, cached_tokens=0, output_tokens=334, output_per_1k=1,
        amount=Decimal("0.334"),
    )  # fmt: skip


def test_each_line_is_rounded_on_its_own_and_the_difference_has_its_line(world: World) -> None:
    for model in ("a", "b", "c", "d"):
        third(world, model)
    statement = draft_bill(department=world.retail, month=MARCH, now=NOW).statement
    assert [line.amount for line in statement.lines()] == [Decimal("0.33")] * 4
    assert statement.total == Decimal("1.34")  # 1.336
    assert statement.rounding(statement.lines()) == Decimal("0.02")


def test_a_line_of_a_draft_stays_when_something_else_is_used(world: World) -> None:
    third(world, "a")
    before = draft_bill(department=world.retail, month=MARCH, now=NOW).statement.lines()
    for model in ("b", "c", "d"):
        third(world, model)
    assert draft_bill(department=world.retail, month=MARCH, now=NOW).statement.lines()[:1] == before


def test_the_document_prints_the_rounding_only_where_there_is_one(world: World) -> None:
    third(world, "a")
    assert "Rounding" not in bill_html(draft_bill(department=world.retail, month=MARCH, now=NOW), "en")
    for model in ("b", "c", "d"):
        third(world, model)
    bill = draft_bill(department=world.retail, month=MARCH, now=NOW)
    assert bill_html(bill, "en").count("Rounding") == 2  # lines and annex
    assert "尾差" in text_of(bill_pdf(bill, "zh-hans"))


def test_a_ledger_that_contradicts_itself_makes_no_bill(world: World) -> None:
    settle(world, NOW, amount=Decimal("2.67"))
    with pytest.raises(UnableToReconcile):
        draft_bill(department=world.retail, month=MARCH, now=NOW)


def test_the_csv_has_every_entry_exactly_and_nothing_that_runs(world: World) -> None:
    settle(world, NOW, package_name="=cmd()|'x'!A1")
    settle(world, NOW)
    bill = draft_bill(department=world.retail, month=MARCH, now=NOW)
    payload = bill_csv(bill)
    assert payload.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(io.StringIO(payload.decode("utf-8-sig"), newline="")))
    assert sum(Decimal(row["amount"]) for row in rows) == bill.statement.exact
    assert rows[0]["package"] == "'=cmd()|'x'!A1"
    assert bill_csv(draft_bill(department=world.retail, month=MARCH, now=NOW)) == payload


@pytest.mark.parametrize("start", ["=", "＝", "＋", "－", "＠", "'=", "\n="])
def test_no_cell_of_the_csv_runs_however_its_formula_begins(world: World, start: str) -> None:
    name = f"{start}1+1"
    settle(world, NOW, package_name=name)
    payload = bill_csv(draft_bill(department=world.retail, month=MARCH, now=NOW))
    rows = list(csv.DictReader(io.StringIO(payload.decode("utf-8-sig"), newline="")))
    assert rows[0]["package"] == f"'{name}"


def text_of(pdf: bytes) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(pdf)).pages)


def test_the_pdf_says_draft_and_the_total_and_what_is_charged(world: World) -> None:
    settle(world, NOW, package_name="评论打标 week 9 😀")
    bill = draft_bill(department=world.retail, month=MARCH, now=NOW)
    pdf = bill_pdf(bill, "en")
    text = text_of(pdf)
    for expected in ("DRAFT", "Internal usage bill", "¥ 2.67", "评论打标", "What is charged", "2.6700485", "CC-3107"):
        assert expected in text
    assert text_of(bill_pdf(bill, "zh-hans")).count("人民币贰元陆角柒分") == 1
    assert bill_pdf(bill, "en") == pdf


def test_a_bill_of_nothing_says_so(world: World) -> None:
    bill = draft_bill(department=world.retail, month=MARCH, now=NOW)
    assert "Nothing was charged in this period." in bill_html(bill, "en")
    assert bill.total == 0


def test_a_long_annex_is_left_to_the_csv(world: World) -> None:
    for _ in range(302):
        settle(world, NOW)
    page = bill_html(draft_bill(department=world.retail, month=MARCH, now=NOW), "en")
    assert "and 2 more packages, listed in the CSV" in page
    assert page.count("PK-") == 300


@pytest.mark.parametrize(
    "page",
    [
        '<img src="file:///etc/passwd">',
        '<link rel="attachment" href="file:///etc/passwd">',
        '<img src="http://127.0.0.1:1/x.png">',
        '<p style="font-family: Noto Sans CJK SC">\ue123</p>',
    ],
    ids=["file", "attachment", "network", "missing glyph"],
)
def test_a_page_that_fetches_or_lacks_a_glyph_is_no_pdf(page: str) -> None:
    with pytest.raises(UnableToRender):
        render_pdf(page)


@pytest.mark.parametrize(
    ("text", "written"),
    [("Zürich 评论", "Zürich 评论"), ("hi 😀", "hi □"), ("a\u202eb\x07", "a□b□"), ("“x” – y", "“x” – y")],
)
def test_what_fonts_lack_is_printed_as_a_box(text: str, written: str) -> None:
    assert printable(text) == written


def test_months_know_their_neighbours_and_their_days() -> None:
    assert (Month(2025, 12).next(), Month(2026, 1).previous()) == (Month(2026, 1), Month(2025, 12))
    assert (str(Month(2026, 3).previous()), Month(2028, 2).last_day.day) == ("2026-02", 29)
    for wrong in ("2026-13", "2026-3", "abc", "2026-03-01", "٢٠٢٦-٠٣"):
        with pytest.raises(ValueError, match="month"):
            Month.parse(wrong)
