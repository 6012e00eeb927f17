"""A file on its way from the browser: paused, interrupted, gone on with, refused; never sent twice."""

import re
import socket
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from portal.packages.models import Package, Upload
from portal.packages.store import objects
from tests.browser.conftest import Visit, start, stop, wait_for
from tests.launcher import eventually
from tests.world import World

LABEL = "Drop a manifest file here"
ROWS = 400_000
LARGE = b"id,review\n" + b"".join(b"%06d,quiet fan\n" % no for no in range(ROWS))  # 7.2 MB


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large.csv"
    path.write_bytes(LARGE)
    return path


class Line:
    """The connection of a page: as slow as it has to be, cut, or free again."""

    def __init__(self, page: Page) -> None:
        self._network = page.context.new_cdp_session(page)
        self._network.send("Network.enable")

    def become(self, *, bytes_per_s: int = -1, is_cut: bool = False) -> None:
        conditions = {"offline": is_cut, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytes_per_s}
        self._network.send("Network.emulateNetworkConditions", conditions)


def slow_line(page: Page) -> Line:
    """One on which the large file takes about five seconds."""
    line = Line(page)
    line.become(bytes_per_s=1_500_000)
    return line


def kept(world: World) -> int:
    """Bytes of the one upload that are in the store."""
    upload = Upload.objects.for_department(world.retail).first()
    if upload is None:
        return 0
    return objects().unfinished_size(f"{world.retail.id.hex}/{upload.pk.hex}/manifest/original.csv")


def check_arrived(page: Page, world: World) -> None:
    page.wait_for_url(re.compile("/task$"))
    package = Package.objects.for_department(world.retail).get()
    assert package.manifest_sha256 == sha256(LARGE).hexdigest()
    assert package.manifest_bytes == len(LARGE)


def requests_of(page: Page) -> list[tuple[str, str]]:
    """Method and offset of every request of the upload from now on."""
    seen = list[tuple[str, str]]()
    page.on(
        "request",
        lambda sent: (
            seen.append((sent.method, sent.headers.get("upload-offset", ""))) if "/uploads" in sent.url else None
        ),
    )
    return seen


def test_an_upload_is_paused_and_goes_on_where_it_stopped(visit: Visit, world: World, large: Path) -> None:
    page = visit(quiet=True)  # the portal may still be busy with the piece before, and the browser notes that
    line = slow_line(page)
    page.get_by_label(LABEL).set_input_files(large)
    expect(page.get_by_text(re.compile(r"a second, \d+ sec left"))).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused. What has arrived is kept for a day.")).to_be_visible()
    sent = requests_of(page)
    line.become()
    page.get_by_role("button", name="Go on").click()
    check_arrived(page, world)
    pieces = [int(offset) for method, offset in sent if method == "PATCH"]
    assert pieces
    assert pieces[0] > 0


def test_after_a_reload_the_same_file_goes_on_where_it_stopped(visit: Visit, world: World, large: Path) -> None:
    page = visit(quiet=True)  # the portal may still be busy with the piece before, and the browser notes that
    line = slow_line(page)
    page.get_by_label(LABEL).set_input_files(large)
    assert eventually(lambda: kept(world) > 500_000)
    page.reload()
    expect(page.get_by_text(re.compile("of “large.csv” have arrived before. Choose the same file"))).to_be_visible()
    before, sent = kept(world), requests_of(page)
    line.become()
    page.get_by_label(LABEL).set_input_files(large)
    check_arrived(page, world)
    assert [method for method, _ in sent][:2] == ["HEAD", "PATCH"]
    assert int(sent[1][1]) >= before


def test_a_connection_that_breaks_is_told_and_taken_up_again(visit: Visit, world: World, large: Path) -> None:
    page = visit(quiet=True)  # the browser itself writes broken connections on its console
    line = slow_line(page)
    page.get_by_label(LABEL).set_input_files(large)
    assert eventually(lambda: kept(world) > 500_000)
    line.become(is_cut=True)
    expect(page.get_by_text("The connection is interrupted.")).to_be_visible()
    sent = requests_of(page)
    line.become()
    check_arrived(page, world)
    assert min(int(offset) for method, offset in sent if method == "PATCH") > 0


def test_a_refused_file_frees_the_drop_zone_for_another(visit: Visit, world: World, tmp_path: Path) -> None:
    page = visit(quiet=True)
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7 ......")
    (tmp_path / "good.csv").write_bytes(b"id,review\n1,quiet\n")
    page.get_by_label(LABEL).set_input_files(tmp_path / "paper.pdf")
    expect(page.get_by_role("alert").filter(has_text="paper.pdf")).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    page.get_by_label(LABEL).set_input_files(tmp_path / "good.csv")
    page.wait_for_url(re.compile("/task$"))
    assert Package.objects.for_department(world.retail).count() == 1


def test_a_refused_file_is_not_asked_for_again(visit: Visit, tmp_path: Path) -> None:
    """The browser notes a request for what is gone on its console."""
    page = visit(quiet=True)
    (tmp_path / "paper.pdf").write_bytes(b"%PDF-1.7 ......")
    page.get_by_label(LABEL).set_input_files(tmp_path / "paper.pdf")
    refusal = page.get_by_role("alert").filter(has_text="paper.pdf")
    expect(refusal).to_be_visible()
    sent = requests_of(page)
    page.reload()
    page.get_by_label(LABEL).set_input_files(tmp_path / "paper.pdf")
    expect(refusal).to_be_visible()
    assert [method for method, _ in sent] == ["POST", "PATCH"]


def test_stopping_gives_up_what_has_arrived(visit: Visit, world: World, large: Path) -> None:
    page = visit(quiet=True)  # the portal may still be busy with the piece before, and the browser notes that
    slow_line(page)
    page.get_by_label(LABEL).set_input_files(large)
    assert eventually(lambda: kept(world) > 100_000)
    page.get_by_role("button", name="Stop").click()
    assert eventually(lambda: not Upload.objects.for_department(world.retail).exists())
    expect(page.get_by_role("button", name="Stop")).to_be_hidden()
    page.reload()
    expect(page.get_by_text("have arrived before")).to_be_hidden()


# --- the portal itself goes away -----------------------------------------------------------------------------
Restart = Callable[[], None]


@pytest.fixture
def mortal(portal: str, environment: dict[str, str]) -> Iterator[tuple[str, Restart, Restart]]:
    """A second portal at an address of its own, with what kills it and what starts it again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    running = []

    def begin() -> None:
        running.append(start(environment, "uvicorn", "portal.asgi:application", "--port", str(port)))
        wait_for(address)

    def kill() -> None:
        running[-1].kill()
        running[-1].wait()

    begin()
    yield address, kill, begin
    stop(running[-1])


def test_a_portal_killed_in_the_middle_loses_nothing(
    visit: Visit, world: World, large: Path, mortal: tuple[str, Restart, Restart]
) -> None:
    address, kill, begin = mortal
    page = visit(quiet=True)
    page.goto(address)  # the session of the same host holds there as well
    slow_line(page)
    page.get_by_label(LABEL).set_input_files(large)
    assert eventually(lambda: kept(world) > 500_000)
    kill()
    expect(page.get_by_text("The connection is interrupted.")).to_be_visible()
    before, sent = kept(world), requests_of(page)
    begin()
    check_arrived(page, world)
    assert min(int(offset) for method, offset in sent if method == "PATCH") >= before
