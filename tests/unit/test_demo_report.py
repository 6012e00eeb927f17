"""What the demo says while it waits and at its end."""

import json
from pathlib import Path
from typing import Any

import pytest

from deploy.embedded.demo import ProgressBar
from deploy.embedded.report import Outcome, report

ROWS = {"total": 4, "read": 4, "set_aside": 1, "succeeded": 3, "quarantined": 1, "failed": 0, "cancelled": 0}


def package(state: str, to_go: int) -> dict[str, Any]:
    charged = {"amount": "0.38", "exact": "0.38022", "currency": "CNY"}
    return {"number": "PK-1", "name": "x", "state": state, "rows": {**ROWS, "to_go": to_go}, "charged": charged}


def outcome(folder: Path) -> Outcome:
    said = [("positive", "succeeded"), ("negative", "succeeded"), ("positive", "succeeded"), (None, "quarantined")]
    results = folder / "results.jsonl"
    results.write_text(
        "".join(json.dumps({"slackwater_output": label, "slackwater_status": status}) + "\n" for label, status in said)
    )
    ledger = folder / "ledger.csv"
    ledger.write_text("amount\n0.38022\n")
    return Outcome(
        package=package("completed", 0),
        labels=("positive", "neutral", "negative"),
        files={"results": results, "ledger": ledger},
        bill={"total": "0.38", "currency": "CNY"},
        run_s=60,
        whole_s=84,
    )


def test_rows_set_aside_are_not_drawn_as_progress(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.show(package("quoted", 3))
    bar.close()
    said = capsys.readouterr().out
    assert "quoted: 4 rows read, 1 set aside" in said
    assert "█" not in said


def test_progress_is_drawn_once_the_promise_stands(capsys: pytest.CaptureFixture[str]) -> None:
    bar = ProgressBar()
    bar.show(package("running", 2))
    bar.close()
    assert "2/4 rows  running" in capsys.readouterr().out


def test_the_report_names_every_label_and_the_minutes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(outcome(tmp_path))
    said = capsys.readouterr().out
    assert "labels: positive 2, neutral 0, negative 1" in said
    assert "1.4 minutes in all" in said
    assert "charged 0.38 CNY" in said
