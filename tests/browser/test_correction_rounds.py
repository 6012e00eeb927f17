"""Fix and hand over again in the browser: rounds until nothing is left, one file of results, one charge a row."""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from portal.packages.models import Package
from tests.browser.conftest import Visit, start, stop
from tests.manifests import workbook
from tests.world import World

ROWS = 1_000
BAD = [16 * k for k in range(1, 61)]
KINDS = ("malformed_row", "ragged_row", "missing_field", "duplicate_id", "too_long", "undecodable")
FINISH_MS = 120_000
LEFT_OUT, STILL_BLANK, STILL_TAKEN = BAD[:8], BAD[8:15], BAD[15:20]

pytestmark = pytest.mark.usefixtures("swift_programs")


@pytest.fixture(scope="module")
def swift_programs(portal: str, environment: dict[str, str]) -> Iterator[None]:
    """Every program, with an engine that answers at once."""
    swift = environment | {"SLACKWATER_ECHO_DELAY_S": "0", "SLACKWATER_MAX_IN_FLIGHT": "32"}
    celery = ("celery", "-A", "portal", "worker", "--pool", "solo", "--loglevel", "ERROR")
    started = [start(swift, *command) for command in (celery, ("scheduler",), ("gpuworker",))]
    yield
    for program in started:
        stop(program)


def kind_of(row: int) -> str:
    return KINDS[row // 16 % len(KINDS)]


def line(row: int) -> bytes:
    bad: dict[str, bytes] = {
        "malformed_row": b'R%04d,"broken" quote %d,3',
        "ragged_row": b"R%04d,one, field too many %d,3",
        "missing_field": b"R%04d,,%d",
        "duplicate_id": b"R0001,takes the first id %d,3",
        "too_long": b"R%04d," + b"word " * 600 + b"%d,3",
        "undecodable": b"R%04d,caf\xe9 %d,3",
    }
    if row not in BAD:
        return f"R{row:04},评论第{row}条：风扇很安静,{row % 5 + 1}".encode()
    template = bad[kind_of(row)]
    return template % ((row, row) if template.count(b"%") == 2 else (row,))


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """A thousand reviews, ten bad in each of six ways."""
    path = tmp_path / "reviews.csv"
    path.write_bytes("编号,评论,星级\n".encode() + b"\n".join(map(line, range(1, ROWS + 1))) + b"\n")
    return path


def quarantined(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as started:
        page.get_by_role("link", name="Download as CSV").click()
    with Path(started.value.path()).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def fixed(row: dict[str, str]) -> dict[str, str]:
    number = int(row["slackwater_row"])
    return row | {"编号": f"R{number:04}", "评论": f"更正第{number}条", "星级": "5"}


def hand_over(page: Page, path: Path) -> None:
    """Upload the corrected file and accept the promise for it."""
    page.get_by_label("Upload the corrected file").set_input_files(path)
    page.wait_for_url(re.compile("/promise"))
    expect(page.get_by_text("of corrections of")).to_be_visible()
    page.get_by_role("link", name="Accept the promise").click()
    page.get_by_role("button", name="Confirm and run").click()
    expect(page.get_by_role("status").first).to_have_text("completed", timeout=FINISH_MS)


def to_quarantine(page: Page, package: Package) -> None:
    page.goto(f"/packages/{package.pk}/quarantine")


def counts(page: Page, package: Package) -> dict[str, str]:
    page.goto(f"/packages/{package.pk}")
    text = page.locator(".kpis").inner_text()
    return {name: number for number, name in re.findall(r"([\d,]+)\s*\n?(succeeded|quarantined|failed)", text)}


def results(page: Page, package: Package) -> list[dict[str, str]]:
    answer = page.request.get(f"/packages/{package.pk}/download/results.csv")
    return list(csv.DictReader(answer.body().decode("utf-8-sig").splitlines()))


def billed(page: Page) -> list[dict[str, Any]]:
    answer = page.request.get(f"/bills/{datetime.now(UTC):%Y-%m}.csv")
    return list(csv.DictReader(answer.body().decode("utf-8-sig").splitlines()))


def test_rows_are_corrected_in_rounds_until_none_is_left(visit: Visit, world: World, manifest: Path) -> None:
    page = visit()
    page.get_by_label("Drop a manifest file here").set_input_files(manifest)
    page.wait_for_url(re.compile("/task$"))
    page.get_by_label("Labels, one per line").fill("好\n坏")
    page.get_by_label("Prompt", exact=True).fill("好还是坏？{{评论}}")
    page.get_by_label("Id column").select_option("编号")
    page.get_by_role("button", name="Continue to the promise").click()
    page.wait_for_url(re.compile("/promise"))
    page.get_by_role("link", name="Accept the promise").click()
    page.get_by_role("button", name="Confirm and run").click()
    expect(page.get_by_role("status").first).to_have_text("completed", timeout=FINISH_MS)
    package = Package.objects.for_department(world.retail).get()
    assert counts(page, package) == {"succeeded": "940", "quarantined": "60", "failed": "0"}

    to_quarantine(page, package)
    rows = quarantined(page)
    assert [int(row["slackwater_row"]) for row in rows] == BAD
    assert Counter(row["slackwater_code"] for row in rows) == dict.fromkeys(KINDS, 10)
    assert all(row["slackwater_code"] == kind_of(int(row["slackwater_row"])) for row in rows)

    first = [fixed(row) for row in rows if int(row["slackwater_row"]) not in LEFT_OUT]
    for row in first:
        row["评论"] = "" if int(row["slackwater_row"]) in STILL_BLANK else row["评论"]
        row["编号"] = "R0002" if int(row["slackwater_row"]) in STILL_TAKEN else row["编号"]
    path = manifest.with_name("first.csv")
    with path.open("w", encoding="gb18030", newline="") as stream:
        writer = csv.DictWriter(stream, list(first[0]))
        writer.writeheader()
        writer.writerows(first[::-1])  # people sort
    hand_over(page, path)
    assert counts(page, package) == {"succeeded": "980", "quarantined": "20", "failed": "0"}

    to_quarantine(page, package)
    expect(page.get_by_role("heading", name="20 rows in quarantine")).to_be_visible()
    rows = quarantined(page)
    assert [int(row["slackwater_row"]) for row in rows] == BAD[:20]
    assert {row["slackwater_code"] for row in rows[8:15]} == {"missing_field"}
    assert "“R0002” is already used by row 2" in rows[15]["slackwater_reason"]
    second = [fixed(row) for row in rows]
    path = manifest.with_name("second.xlsx")
    path.write_bytes(workbook([list(second[0]), *([*row.values()] for row in second)]))
    hand_over(page, path)
    assert counts(page, package) == {"succeeded": "1,000", "quarantined": "0", "failed": "0"}
    expect(page.get_by_role("row", name=re.compile("second.xlsx"))).to_contain_text("completed")

    told = results(page, package)
    assert [row["编号"] for row in told] == [f"R{row:04}" for row in range(1, ROWS + 1)]
    assert {row["slackwater_status"] for row in told} == {"succeeded"}
    assert [row["评论"] for row in told if "更正" in row["评论"]] == [f"更正第{row}条" for row in BAD]
    by_round: Counter[str] = Counter()
    for entry in billed(page):
        by_round[entry["round"]] += int(entry["items"])
    assert by_round == {"": 940, "1": 40, "2": 20}
    to_quarantine(page, package)
    expect(page.get_by_text("Nothing is in quarantine")).to_be_visible()
    expect(page.get_by_label("Upload the corrected file")).to_have_count(0)
