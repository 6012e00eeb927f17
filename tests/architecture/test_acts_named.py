"""Every act that the code records has a name for the people who read the audit trail."""

import re
from pathlib import Path

from portal.operations.acts import ACTS
from portal.packages.running import control
from scheduler.domain.lifecycle import PackageState

PORTAL = Path(__file__).resolve().parents[2] / "portal"
BUILT = {
    *(f"{thing}.{verb}" for thing in ("model", "pool", "window") for verb in ("created", "changed")),
    *(f"package.{end}" for end in (PackageState.COMPLETED, PackageState.CANCELLED)),
    *(f"package.{code}" for code in re.findall(r'code="(\w+)"', Path(control.__file__).read_text())),
}
"""Codes that are put together where they are recorded."""


def written() -> set[str]:
    """Codes that stand as a whole in the text of a program."""
    kinds = "api_key|department|model|package|person|pool|price_list|window"
    found = set()
    for path in PORTAL.rglob("*.py"):
        found |= set(re.findall(rf'"((?:{kinds})\.[a-z_]+)"', path.read_text(encoding="utf-8")))
    return found


def test_every_act_has_a_name() -> None:
    assert (BUILT | written()) - set(ACTS) == set()
    assert len(BUILT | written()) > 25
