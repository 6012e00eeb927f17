"""Whoever installs Slackwater finds every environment variable in docs/settings.md, and none that is not read."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = re.compile(
    r"""\b(?:environ\.get\(|environ\[|setdefault\(|environment\.get\(|_flag\(|_whole_number\(|_url\(|_text\(|_seconds\()"""
    r"""\s*(?:environment,\s*)?["']([A-Z][A-Z0-9_]+)["']"""
)
DOCUMENTED = re.compile(r"^\| `([A-Z][A-Z0-9_]+)` \|", re.MULTILINE)


def read_by_the_code() -> set[str]:
    rooms = ("portal", "scheduler", "gpuworker", "deploy", "tests")
    paths = [path for room in rooms for path in (ROOT / room).rglob("*.py") if "architecture" not in path.parts]
    found = {name for path in paths for name in READ.findall(path.read_text(encoding="utf-8"))}
    return {name for name in found if not name.startswith("DJANGO_")}  # those are Django's own


def test_every_setting_is_documented_and_every_documented_one_is_read() -> None:
    documented = set(DOCUMENTED.findall((ROOT / "docs" / "settings.md").read_text(encoding="utf-8")))
    assert documented == read_by_the_code()
