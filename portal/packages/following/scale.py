"""From instants and GPUs to the units of a drawing. Pure."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from portal.capacity.tide import Tide

LEVEL_STEPS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
MOST_LEVELS = 4


@dataclass(frozen=True)
class Frame:
    """A drawing's size and the edges of its plot, in SVG units; ``apart`` is the room a label of an hour needs."""

    name: str
    width: int
    height: int
    left: int
    right: int
    top: int
    bottom: int
    apart: int

    # Where the template puts what belongs to the frame and not to the data.
    @property
    def plot_height(self) -> int:
        return self.bottom - self.top

    @property
    def band_y(self) -> int:
        return self.top + 14

    @property
    def axis_x(self) -> int:
        return self.left - 6

    @property
    def hour_y(self) -> int:
        return self.bottom + 16

    @property
    def day_y(self) -> int:
        return self.bottom + 31


WIDE = Frame("wide", width=660, height=232, left=34, right=648, top=22, bottom=192, apart=22)
BROAD = Frame("wide", width=976, height=226, left=34, right=964, top=22, bottom=186, apart=26)
NARROW = Frame("narrow", width=340, height=214, left=28, right=334, top=22, bottom=176, apart=34)


class Scale:
    """From instants and GPUs to SVG units."""

    def __init__(self, tide: Tide, frame: Frame) -> None:
        self.frame = frame
        self.start_at = tide.start_at
        self.step = tide.step
        self.count = len(tide.capacity)
        self.end_at = tide.end_at
        self.level = level_step(max(tide.capacity, default=0.0))
        self.top_gpus = self.level * max(1, math.ceil(max(tide.capacity, default=0.0) * 1.04 / self.level))

    def x(self, at: datetime) -> float:
        """Where ``at`` lies, at the nearer edge when it is outside."""
        share = (at - self.start_at) / (self.end_at - self.start_at)
        return self.frame.left + min(max(share, 0.0), 1.0) * (self.frame.right - self.frame.left)

    def bucket_x(self, index: int) -> float:
        """The left edge of a step."""
        return self.frame.left + index / self.count * (self.frame.right - self.frame.left)

    def y(self, gpus: float) -> float:
        """The height of so many GPUs, counted from the top as SVG does."""
        return self.frame.bottom - gpus / self.top_gpus * (self.frame.bottom - self.frame.top)

    @property
    def hours_apart(self) -> int:
        """Hours between labels of the time axis, such that they do not run into each other."""
        an_hour = (self.frame.right - self.frame.left) / ((self.end_at - self.start_at) / timedelta(hours=1))
        return next((hours for hours in (1, 2, 3, 6, 12) if hours * an_hour >= self.frame.apart), 24)


def text(value: float) -> str:
    """A coordinate as SVG wants it: a point for the decimals whatever the locale, one place at most."""
    return f"{value:.1f}".removesuffix(".0")


def level_step(most: float) -> float:
    """GPUs between two lines across the plot: round, and at most ``MOST_LEVELS`` of them up to ``most``."""
    return next((step for step in LEVEL_STEPS if most * 1.04 <= step * MOST_LEVELS), most or 1.0)
