"""A whole installation on the tests' stores, and Chromium in front of it."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from portal.departments.models import Person
from tests.faults.test_scheduler import database_url
from tests.world import PASSWORD, World

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
ECHO = {
    "SLACKWATER_POOL": "echo",
    "SLACKWATER_MODEL": "echo",
    "SLACKWATER_ENGINE": "echo",
    "SLACKWATER_CONTEXT_TOKENS": "512",
    "SLACKWATER_MAX_IN_FLIGHT": "4",
    "SLACKWATER_ECHO_DELAY_S": "0.2",
}
Visit = Callable[..., Page]


@pytest.fixture(autouse=True)
def quick_settings() -> None:
    """Nothing is quicker here: the portal is another process and runs with its own settings."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def environment(django_db_setup: None) -> dict[str, str]:
    """What the programs are told: the tests' database, Redis and objects."""
    return os.environ | ECHO | {"DATABASE_URL": database_url(), "SLACKWATER_TICK_S": "0.2"}


def start(environment: dict[str, str], *command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", *command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def stop(program: "subprocess.Popen[bytes]") -> None:
    program.terminate()
    try:
        program.wait(15)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait()


@pytest.fixture(scope="session")
def portal(environment: dict[str, str]) -> Iterator[str]:
    """The portal's address; its static files are collected as an installation has them."""
    subprocess.run(
        [sys.executable, "manage.py", "collectstatic", "--noinput"], env=environment, check=True, capture_output=True
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = start(
        environment, "uvicorn", "portal.asgi:application", "--port", str(port), "--timeout-graceful-shutdown", "1"
    )
    address = f"http://127.0.0.1:{port}"
    wait_for(address)
    yield address
    stop(program)


def wait_for(address: str) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            with urlopen(f"{address}/api/v1/health"):
                return
        except URLError:
            time.sleep(0.1)
    raise RuntimeError("the portal did not answer within 30 s")


@pytest.fixture(scope="module")
def programs(portal: str, environment: dict[str, str]) -> Iterator[None]:
    """Celery, the scheduler and one worker with the echo engine, for one file's tests: others start their own."""
    started = [
        start(environment, "celery", "-A", "portal", "worker", "--pool", "solo", "--loglevel", "ERROR"),
        start(environment, "scheduler"),
        start(environment, "gpuworker"),
    ]
    yield
    for program in started:
        stop(program)


@pytest.fixture
def chromium(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    """One browser a test: Playwright keeps an event loop running, which other tests could not stand."""
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    path = shutil.which("chromium")
    assert path, "these tests need Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(transactional_db: None, world: World, portal: str, chromium: Browser) -> Visit:
    """Sign a person in; returns their page. What goes wrong in the browser fails the test."""

    def sign_in(person: Person = world.alice, *, width: int = 1140, scripts: bool = True, quiet: bool = False) -> Page:
        context = chromium.new_context(
            base_url=portal,
            viewport={"width": width, "height": 900},
            java_script_enabled=scripts,
            accept_downloads=True,
        )
        context.set_default_timeout(20_000)
        page = context.new_page()
        if not quiet:
            page.on("pageerror", lambda error: pytest.fail(f"script error: {error}"))
            page.on("console", lambda said: pytest.fail(f"console: {said.text}") if said.type == "error" else None)
        page.goto("/sign-in")
        page.get_by_label("Email").fill(person.email)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url("**/")
        return page

    return sign_in
