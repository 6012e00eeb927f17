"""How much of the engine each request used, and how fast the engine is."""

import time
from collections import deque
from collections.abc import Callable

RATE_WINDOW_S = 10.0


class EngineMeter:
    """Shares the engine's time among the requests in flight.

    A request is charged ∫ dt / n(t) over its life, n requests being in flight at t: the shares add up to the time
    during which the engine was busy, whatever came and went.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._shared_s = 0.0
        self._last = clock()
        self._answers: deque[tuple[float, int]] = deque()
        self.in_flight = 0

    def begin(self) -> float:
        """A request starts; returns the mark to end it with."""
        self._advance()
        self.in_flight += 1
        return self._shared_s

    def end(self, mark: float) -> float:
        """The request that began with ``mark`` is over; returns its share in seconds."""
        self._advance()
        self.in_flight -= 1
        return self._shared_s - mark

    def _advance(self) -> None:
        now = self._clock()
        if self.in_flight:
            self._shared_s += (now - self._last) / self.in_flight
        self._last = now

    def count_tokens(self, completion_tokens: int) -> None:
        """An answer of so many tokens has come."""
        self._answers.append((self._clock(), completion_tokens))
        self._forget()

    def tokens_per_s(self) -> float:
        """Completion tokens per second over the last ten seconds."""
        self._forget()
        return sum(tokens for _, tokens in self._answers) / RATE_WINDOW_S

    def _forget(self) -> None:
        since = self._clock() - RATE_WINDOW_S
        while self._answers and self._answers[0][0] < since:
            self._answers.popleft()
