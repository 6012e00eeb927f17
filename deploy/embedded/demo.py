"""``./run demo``: one real package through the public API, from file to bill, and what came of it."""

import json
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from deploy.embedded.client import Slackwater, UnableToGoOn
from deploy.embedded.manifest import Manifest, manifest
from deploy.embedded.programs import Place
from deploy.embedded.report import Outcome, report

LABELS = ("positive", "neutral", "negative")
MODEL = "smollm2-135m"
TIER = "standard"
ZONE = ZoneInfo("Asia/Shanghai")
SPEAKS_EVERY_S = 5.0
BAR = 32
OVER = ("completed", "cancelled")
BEFORE_THE_PROMISE = ("draft", "validating", "invalid", "quoted", "refused")


def run(place: Place, *, data: Path | None, limit: int | None, column: str | None) -> bool:
    """Submit, follow and report; true if the package completed and every figure adds up."""
    folder = place.var / "demo"
    folder.mkdir(exist_ok=True)
    people = json.loads((place.var / "demo.json").read_text(encoding="utf-8"))
    try:
        with Slackwater(place.url, people["api_key"]) as portal:
            outcome = _to_the_end(portal, manifest(data, limit=limit, column=column, folder=folder), folder)
    except UnableToGoOn as reason:
        print(f"\n{reason}\nLogs: {place.logs}", file=sys.stderr)
        return False
    fine = report(outcome)
    _say_where(place, people["people"])
    return fine


def _to_the_end(portal: Slackwater, chosen: Manifest, folder: Path) -> Outcome:
    began = time.monotonic()
    package = portal.submit(chosen.path, _task(chosen))
    print(
        f"Submitted {chosen.path.name} as {package['number']}: tag column “{chosen.column}” with {', '.join(LABELS)}."
    )
    package = _follow(portal, package["id"], until=("quoted", "invalid"))
    if package["state"] != "quoted":
        raise UnableToGoOn(f"The manifest was not accepted: {package['refusal']}")
    _promise(portal, package)
    admitted = time.monotonic()
    package = _follow(portal, package["id"], until=OVER)
    kept = _downloads(portal, package, folder)
    month = f"{datetime.now(ZONE):%Y-%m}"
    return Outcome(
        package=package,
        labels=LABELS,
        files=kept,
        bill=portal.bill(month),
        run_s=time.monotonic() - admitted,
        whole_s=time.monotonic() - began,
    )


def _task(chosen: Manifest) -> dict[str, Any]:
    return {
        "name": f"Sentiment of {chosen.path.stem}",
        "kind": "tagging",
        "model": MODEL,
        "system": "You label the sentiment of texts that customers wrote.",
        "prompt": f"Is the sentiment of this text positive, neutral or negative?\n\n{{{{{chosen.column}}}}}",
        "labels": list(LABELS),
        "id_column": chosen.id_column,
        "max_output_tokens": 8,
    }


def _promise(portal: Slackwater, package: dict[str, Any]) -> None:
    """Take the standard tier's offer; a refusal says what would be possible."""
    rows = package["rows"]
    print(f"Read {rows['total']} rows, {rows['set_aside']} set aside; {package['input_tokens']} input tokens.")
    quote = portal.quote(package["id"], tier=TIER)
    if not quote["is_feasible"]:
        raise UnableToGoOn(
            f"{TIER} by {quote['deadline']} cannot be promised: earliest {quote['earliest_deadline']}, "
            f"or {quote['rows_that_fit']} rows by then."
        )
    portal.accept(package["id"], quote["id"])
    price = quote["price"]
    print(
        f"Promised by {_local(quote['deadline'])}, expected {_local(quote['expected_finish'])}; "
        f"price about {price['expected']} and at most {price['at_most']} {price['currency']}."
    )


def _local(at: str | None) -> str:
    return f"{datetime.fromisoformat(at).astimezone(ZONE):%Y-%m-%d %H:%M %Z}" if at else "unknown"


def _follow(portal: Slackwater, ref: str, *, until: tuple[str, ...]) -> dict[str, Any]:
    """Poll once a second and draw the bar until the package reaches one of the states ``until``."""
    bar = ProgressBar()
    while True:
        package = portal.package(ref)
        bar.show(package)
        if package["state"] in until:
            bar.close()
            return package
        time.sleep(1)


class ProgressBar:
    """One line that is redrawn on a terminal; elsewhere a line when something changed, every few seconds."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._spoke = -SPEAKS_EVERY_S
        self._shown = ""

    def show(self, package: dict[str, Any]) -> None:
        """Draw where ``package`` stands."""
        line = self._line(package)
        if sys.stdout.isatty():
            print(f"\r{line:<90}", end="", flush=True)
        elif line != self._shown and time.monotonic() - self._spoke >= SPEAKS_EVERY_S:
            self._spoke = time.monotonic()
            print(line, flush=True)
        self._shown = line

    def close(self) -> None:
        """Leave the last state standing."""
        print("" if sys.stdout.isatty() else self._shown, flush=True)

    def _line(self, package: dict[str, Any]) -> str:
        rows = package["rows"]
        if package["state"] in BEFORE_THE_PROMISE:  # rows that were set aside are no progress of the work
            return f"  {package['state']}: {rows['read']} rows read, {rows['set_aside']} set aside"
        done = rows["total"] - rows["to_go"]
        filled = BAR * done // rows["total"]
        bar = "█" * filled + "·" * (BAR - filled)
        return f"  {bar} {done}/{rows['total']} rows  {package['state']}  {time.monotonic() - self._began:.0f} s"


def _downloads(portal: Slackwater, package: dict[str, Any], folder: Path) -> dict[str, Path]:
    mine = folder / package["number"]
    mine.mkdir(exist_ok=True)
    base = f"/packages/{package['id']}"
    month = f"{datetime.now(ZONE):%Y-%m}"
    return {
        "results": portal.download(f"{base}/results?format=jsonl", mine / "results.jsonl"),
        "for Excel": portal.download(f"{base}/results?format=csv", mine / "results.csv"),
        "quarantine": portal.download(f"{base}/quarantine", mine / "quarantine.csv"),
        "report": portal.download(f"{base}/report", mine / "report.json"),
        "ledger": portal.download(f"/bills/{month}.csv", mine / f"ledger-{month}.csv"),
        "bill": portal.download(f"/bills/{month}.pdf", mine / f"bill-{month}.pdf"),
    }


def _say_where(place: Place, people: list[dict[str, str]]) -> None:
    print(f"\nPortal: {place.url}")
    for person in people:
        print(f"  {person['email']:<26} {person['password']:<18} {person['role']:<9} {person['department']}")
