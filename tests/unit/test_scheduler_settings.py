"""Settings that cannot work are refused by name."""

import pytest

from scheduler.settings import UnableToStart, from_environment


def test_the_scheduler_ticks_every_second_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACKWATER_TICK_S", raising=False)
    assert from_environment().tick_s == 1.0
    monkeypatch.setenv("SLACKWATER_TICK_S", "0.25")
    assert from_environment().tick_s == 0.25


@pytest.mark.parametrize("name", ["SLACKWATER_TICK_S", "SLACKWATER_SWEEP_S"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "soon", "", "99999"])
def test_a_setting_that_cannot_work_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UnableToStart, match=name):
        from_environment()
