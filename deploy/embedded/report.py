"""What the demo prints at its end, and whether the figures hold: each is checked against another source."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

RATINGS = {"stars": 3.0, "rating": 3.0, "mean_rating": 0.0}
"""Columns that say how the writer felt, and the value that means neither good nor bad."""


@dataclass(frozen=True)
class Outcome:
    """A package that is over, with everything that was downloaded for it."""

    package: dict[str, Any]
    labels: Sequence[str]
    files: dict[str, Path]
    bill: dict[str, Any]
    run_s: float
    whole_s: float

    def results(self) -> list[dict[str, Any]]:
        """The lines of results.jsonl."""
        return [json.loads(line) for line in self.files["results"].read_text(encoding="utf-8").splitlines()]


def report(outcome: Outcome) -> bool:
    """Print it; true if the package completed and every figure holds."""
    rows, results = outcome.package["rows"], outcome.results()
    _print_figures(outcome, results)
    held = {
        "the package completed": outcome.package["state"] == "completed",
        "succeeded + quarantined + failed = rows of the manifest": _adds_up(rows),
        "the result file tells the same counts": _same_counts(rows, results),
        "every label is one of the set": _labels_used(results) <= set(outcome.labels),
        "the bill's total is the ledger's sum": _billed(outcome),
    }
    print()
    for claim, holds in held.items():
        print(f"  {'yes' if holds else 'NO '}  {claim}")
    return all(held.values())


def _print_figures(outcome: Outcome, results: list[dict[str, Any]]) -> None:
    package, rows = outcome.package, outcome.package["rows"]
    print(f"\n{package['number']} “{package['name']}”: {package['state']}")
    for status in ("succeeded", "quarantined", "failed", "cancelled"):
        print(f"  {status:<12}{rows[status]:>7}")
    print(f"  {'rows':<12}{rows['total']:>7}")
    counts = _label_counts(results)
    print(f"  labels: {', '.join(f'{label} {counts[label]}' for label in outcome.labels)}")
    ran = rows["succeeded"] or 0
    print(f"  {outcome.run_s:.0f} s from promise to results, {ran / outcome.run_s:.1f} items/s")
    print(f"  {_minutes(outcome.whole_s)} in all, from the upload to the last download")
    for sentence in _agreement(results):
        print(f"  {sentence}")
    charged = package["charged"]
    print(f"  charged {charged['amount']} {charged['currency']} for this package")
    print(f"  bill of this month so far: {outcome.bill['total']} {outcome.bill['currency']}")
    for what, path in outcome.files.items():
        print(f"  {what:<12}{path}")


def _minutes(seconds: float) -> str:
    """``1.4 minutes``: what a person who waited would say."""
    return f"{seconds / 60:.1f} minutes"


def _adds_up(rows: dict[str, Any]) -> bool:
    ended: int = rows["succeeded"] + rows["quarantined"] + rows["failed"] + rows["cancelled"]
    return bool(ended == rows["total"] and rows["to_go"] == 0)


def _same_counts(rows: dict[str, Any], results: list[dict[str, Any]]) -> bool:
    counted = Counter(result["slackwater_status"] for result in results)
    return all(counted[status] == rows[status] for status in ("succeeded", "failed", "quarantined"))


def _label_counts(results: list[dict[str, Any]]) -> Counter[str]:
    return Counter(r["slackwater_output"] for r in results if r["slackwater_status"] == "succeeded")


def _labels_used(results: list[dict[str, Any]]) -> set[str]:
    return set(_label_counts(results))


def _billed(outcome: Outcome) -> bool:
    """The bill, rounded once, against the sum of the month's ledger entries, added up here from the downloaded file."""
    with outcome.files["ledger"].open(encoding="utf-8-sig", newline="") as stream:
        exact = sum((Decimal(entry["amount"]) for entry in csv.DictReader(stream)), Decimal(0))
    return Decimal(outcome.bill["total"]) == exact.quantize(Decimal("0.01"), ROUND_HALF_UP)


def _agreement(results: list[dict[str, Any]]) -> list[str]:
    """Where the manifest has a rating: how often the label has its sign. As measured; nothing is tuned for it."""
    found = []
    for column, middle in RATINGS.items():
        rated = [(_sign(r[column], middle), r["slackwater_output"]) for r in results if _is_rated(r, column)]
        if rated:
            same = sum(sign == label for sign, label in rated)
            found.append(f"labels with the sign of “{column}”: {same} of {len(rated)} ({same / len(rated):.0%})")
    return found


def _is_rated(result: dict[str, Any], column: str) -> bool:
    if result["slackwater_status"] != "succeeded" or column not in result:
        return False
    try:
        float(result[column])
    except (TypeError, ValueError):
        return False
    return True


def _sign(value: str, middle: float) -> str:
    distance = float(value) - middle
    return "positive" if distance > 0 else "negative" if distance < 0 else "neutral"
