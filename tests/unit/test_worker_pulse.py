"""How long a worker obeys a scheduler that it cannot hear."""

from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest
import redis

from gpuworker.pulse import HOLD_S, Pulse
from scheduler.wire import Control, Heartbeat

BEAT = Heartbeat("w", "p", "m", (), 0, 0.0, "ready", datetime(2026, 12, 1, tzinfo=UTC))


class Board:
    """Redis as the pulse uses it: ``word`` is the control key, ``None`` when it is gone."""

    def __init__(self) -> None:
        self.word: bytes | None = None
        self.reachable = True

    def set(self, *_: Any, **__: Any) -> None:
        if not self.reachable:
            raise redis.ConnectionError("away")

    def get(self, _: str) -> bytes | None:
        return self.word


@pytest.mark.parametrize("reachable", [True, False])
def test_the_last_word_holds_for_a_while_and_then_nothing_new_starts(reachable: bool) -> None:
    now, board = [0.0], Board()
    pulse = Pulse(cast("redis.Redis", board), "p", "w", clock=lambda: now[0])
    board.word = msgspec.json.encode(Control(in_flight_per_worker=3))
    pulse.beat(BEAT)
    assert pulse.control.in_flight_per_worker == 3

    board.word, board.reachable = None, reachable
    now[0] = HOLD_S
    pulse.beat(BEAT)
    assert pulse.control.in_flight_per_worker == 3
    now[0] = HOLD_S + 1
    pulse.beat(BEAT)
    assert pulse.control.in_flight_per_worker == 0

    board.word, board.reachable = msgspec.json.encode(Control(in_flight_per_worker=2)), True
    pulse.beat(BEAT)
    assert pulse.control.in_flight_per_worker == 2
