"""``./run check``: everything that can be said about the code without running it."""

import difflib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import polib

from deploy.embedded.programs import ROOT

BIN = Path(sys.executable).parent
OPENAPI = ROOT / "docs" / "openapi.json"
LANGUAGES = ("zh_Hans",)
CODE = ("portal", "scheduler", "gpuworker", "deploy", "tests", "run", "manage.py")

Complaint = str | None


def run() -> int:
    """Run every check, print one line each and what the failing ones say; 0 if all hold."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="slackwater-check-") as var:
        environment = {**os.environ, "SLACKWATER_VAR": var}
        for name, check in CHECKS.items():
            began = time.monotonic()
            complaint = check(environment)
            print(f"{'FAILED' if complaint else 'ok':<7}{name} ({time.monotonic() - began:.1f} s)", flush=True)
            if complaint:
                failed += 1
                print(complaint, flush=True)
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _says(environment: dict[str, str], *command: str) -> Complaint:
    """``None`` if ``command`` exits 0, else what it printed."""
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return None if done.returncode == 0 else done.stdout


def _tool(name: str, *arguments: str) -> Callable[[dict[str, str]], Complaint]:
    return lambda environment: _says(environment, str(BIN / name), *arguments)


def _manage(*arguments: str) -> Callable[[dict[str, str]], Complaint]:
    return lambda environment: _says(environment, sys.executable, "manage.py", *arguments)


def _translations(environment: dict[str, str]) -> Complaint:
    """The catalogues hold every text of code and templates, each translated and none doubtful."""
    with tempfile.TemporaryDirectory(prefix="slackwater-texts-") as folder:
        copy = Path(folder)
        for name in ("portal", "templates", "scheduler", "manage.py"):
            source = ROOT / name
            copier = shutil.copytree if source.is_dir() else shutil.copy2
            copier(source, copy / name)
        (copy / "static").mkdir()
        locales = [argument for language in LANGUAGES for argument in ("--locale", language)]
        command = [sys.executable, "manage.py", "makemessages", *locales, "--no-location", "--no-wrap"]
        (copy / "portal" / "locale").mkdir(exist_ok=True)
        done = subprocess.run(
            command, cwd=copy, env=_apart(environment, copy), capture_output=True, text=True, check=False
        )
        if done.returncode:
            return done.stdout + done.stderr
        return "\n".join(line for language in LANGUAGES for line in _gaps(copy, language)) or None


def _apart(environment: dict[str, str], root: Path) -> dict[str, str]:
    return {**environment, "PYTHONPATH": str(root)}


def _gaps(root: Path, language: str) -> list[str]:
    catalogue = polib.pofile(str(root / "portal" / "locale" / language / "LC_MESSAGES" / "django.po"))
    unfinished = [*catalogue.untranslated_entries(), *catalogue.fuzzy_entries()]
    return [f"{language}: not translated: {entry.msgid!r}" for entry in unfinished]


def described_api(environment: dict[str, str]) -> str:
    """The OpenAPI description that the code gives now, as the text of docs/openapi.json."""
    command = [sys.executable, "manage.py", "describe_api"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n") + "\n"


def _openapi(environment: dict[str, str]) -> Complaint:
    now = described_api(environment)
    kept = OPENAPI.read_text(encoding="utf-8") if OPENAPI.exists() else ""
    if now == kept:
        return None
    changes = difflib.unified_diff(
        kept.splitlines(), now.splitlines(), "docs/openapi.json", "the code", lineterm="", n=1
    )
    return "\n".join([*changes, "", "If the change is meant: ./run check --write"])


def write_openapi() -> None:
    """Keep the present description as the agreed one."""
    with tempfile.TemporaryDirectory(prefix="slackwater-check-") as var:
        OPENAPI.write_text(described_api({**os.environ, "SLACKWATER_VAR": var}), encoding="utf-8")


CHECKS: dict[str, Callable[[dict[str, str]], Complaint]] = {
    "lint: ruff": _tool("ruff", "check", "--quiet", *CODE),
    "format: ruff": _tool("ruff", "format", "--check", "--quiet", *CODE),
    "types: mypy --strict": _tool("mypy", "--no-error-summary"),
    "layers: import-linter": _tool("lint-imports", "--no-cache"),
    "templates: djlint --lint": _tool("djlint", "templates", "--lint", "--quiet"),
    "templates: djlint --check": _tool("djlint", "templates", "--check"),
    "migrations complete": _manage("makemigrations", "--check", "--dry-run"),
    "settings sound": _manage("check", "--fail-level", "WARNING"),
    "translations complete": _translations,
    "API description current": _openapi,
}
