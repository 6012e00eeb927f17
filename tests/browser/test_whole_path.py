"""From a file to its results in the browser, with every program running and the echo engine behind."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from portal.packages.models import Package
from tests.browser.conftest import Visit
from tests.world import World

GOOD, BLANK = 60, 3
FINISH_MS = 60_000

pytestmark = pytest.mark.usefixtures("programs")


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """Reviews in GB18030, three of them empty."""
    path = tmp_path / "reviews.csv"
    rows = [f"R{no:03},评论第{no}条：风扇很安静,{no % 5 + 1}" for no in range(1, GOOD + 1)]
    rows += [f"R{no:03},,3" for no in range(GOOD + 1, GOOD + BLANK + 1)]
    path.write_text("\n".join(["编号,评论,星级", *rows]) + "\n", encoding="gb18030")
    return path


def results(page: Page) -> list[dict[str, str]]:
    with page.expect_download() as started:
        page.get_by_role("link", name="Results, CSV").click()
    with Path(started.value.path()).open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def check_results(page: Page) -> None:
    rows = results(page)
    assert len(rows) == GOOD + BLANK
    assert [row["编号"] for row in rows] == [f"R{no:03}" for no in range(1, GOOD + BLANK + 1)]
    assert {row["slackwater_output"] for row in rows[:GOOD]} <= {"好", "坏"}
    assert sum(row["slackwater_status"] == "succeeded" for row in rows) == GOOD


def test_a_file_goes_from_the_drop_zone_to_its_results(visit: Visit, world: World, manifest: Path) -> None:
    page = visit()
    page.get_by_label("Drop a manifest file here").set_input_files(manifest)
    page.wait_for_url(re.compile("/task$"))
    expect(page.locator("#file .how")).to_contain_text("GB18030")

    page.get_by_label("Labels, one per line").fill("好\n坏")
    page.get_by_label("Prompt", exact=True).fill("好还是坏？")
    page.get_by_role("button", name="评论", exact=True).click()
    expect(page.locator("#preview")).to_contain_text("好还是坏？评论第1条：风扇很安静")
    page.get_by_role("button", name="Continue to the promise").click()

    page.wait_for_url(re.compile("/promise"))
    expect(page.get_by_text("Promised by", exact=True)).to_be_visible()
    page.get_by_role("link", name="Accept the promise").click()
    page.get_by_role("button", name="Confirm and run").click()

    page.wait_for_url(re.compile(r"/packages/[0-9a-f-]{36}$"))
    expect(page.get_by_role("status").first).to_have_text(re.compile("running|waiting for its window|finalising"))
    expect(page.get_by_role("status").first).to_have_text("completed", timeout=FINISH_MS)
    expect(page.locator(".kpis")).to_contain_text(f"{GOOD}succeeded")
    expect(page.locator(".kpis")).to_contain_text(f"{BLANK}quarantined")
    expect(page.get_by_role("row", name=re.compile("A needed field is empty"))).to_contain_text(str(BLANK))
    check_results(page)
    page.get_by_role("link", name="See them: a needed field is empty").click()
    expect(page.get_by_role("row", name=re.compile("R061"))).to_contain_text("“评论” is empty")
    assert Package.objects.for_department(world.retail).get().state == "completed"


def test_the_same_path_without_scripts(visit: Visit, manifest: Path) -> None:
    page = visit(scripts=False)
    page.get_by_label("Drop a manifest file here").set_input_files(manifest)
    page.get_by_role("button", name="Upload").click()
    page.get_by_label("Labels, one per line").fill("好\n坏")
    page.get_by_label("Prompt", exact=True).fill("好还是坏？{{评论}}")
    page.get_by_role("button", name="Update the preview").click()
    expect(page.locator("#preview")).to_contain_text("好还是坏？评论第1条：风扇很安静")
    page.get_by_role("button", name="Continue to the promise").click()
    page.wait_for_url(re.compile("/promise"))  # the page of the reading reloads itself
    page.get_by_role("link", name="Accept the promise").click()
    page.get_by_role("button", name="Confirm and run").click()
    done = page.get_by_role("status").filter(has_text="completed")
    expect(done).to_be_visible(timeout=FINISH_MS)
    check_results(page)
