"""The tide chart as geometry: what can be promised over the coming hours, drawn to scale. Pure.

The template ``packages/fragments/tide.html`` turns a :class:`Chart` into SVG; coordinates are already text, so that
no locale can put a comma into them. A wide and a narrow drawing come from the same data.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import pairwise

from portal.capacity.tide import Tide
from portal.packages.following.scale import Frame, Scale, text

LABEL_WIDTH = 84
DAY_WIDTH = 60
DEADLINE_WIDTH = 140
SLIVER_WIDTH = 6


@dataclass(frozen=True)
class Hour:
    """A label on the time axis; ``is_midnight`` begins a day."""

    x: str
    at: datetime
    is_midnight: bool


@dataclass(frozen=True)
class Level:
    """A line across the plot at so many GPUs."""

    y: str
    text_y: str
    label: str


@dataclass(frozen=True)
class Band:
    """A window: shaded from ``x`` over ``width``; ``percent`` of the pool is offline's then."""

    x: str
    width: str
    middle: str
    name: str
    percent: int
    has_room: bool


@dataclass(frozen=True)
class Label:
    """Where the words "your package" go: inside the block, or beside it where the block is a sliver."""

    x: str
    y: str
    anchor: str
    is_inside: bool
    dot_x: str
    dot_y: str


@dataclass(frozen=True)
class Chart:
    """Everything the template draws."""

    frame: Frame
    start_ms: int
    end_ms: int
    hours: list[Hour]
    days: list[Hour]
    levels: list[Level]
    bands: list[Band]
    free: str
    shore: str
    promised: str
    yours: str
    label: Label | None
    hatch_width: str
    deadline_x: str
    deadline_flips: bool
    deadline_at: datetime | None


@dataclass(frozen=True)
class Stretch:
    """A row of the table that says the same: a stretch of even capacity, in GPU-hours."""

    start_at: datetime
    end_at: datetime
    window: str
    gpus: float
    free_h: float
    promised_h: float
    yours_h: float


def draw(tide: Tide, frame: Frame, *, zone: tzinfo) -> Chart:
    """``tide`` drawn into ``frame``, with hours and days of ``zone``."""
    scale = Scale(tide, frame)
    deadline_x = _inside(tide.deadline_at, scale)
    hours = list(_hours(scale, zone))
    yours_top = [p + y for p, y in zip(tide.promised, tide.yours, strict=True)]
    return Chart(
        frame=frame,
        start_ms=_ms(tide.start_at),
        end_ms=_ms(scale.end_at),
        hours=hours,
        days=_days(hours, frame),
        levels=_levels(scale),
        bands=list(_bands(tide, scale)),
        free=_area(scale, tide.capacity),
        shore=_top(scale, tide.capacity),
        promised=_area(scale, tide.promised),
        yours=" ".join(_block(scale, run, tide.promised, yours_top) for run in _runs(tide.yours)),
        label=_label(tide, scale, yours_top),
        hatch_width=_hatch(tide, scale),
        deadline_x=text(deadline_x) if deadline_x is not None else "",
        deadline_flips=deadline_x is not None and deadline_x > frame.right - DEADLINE_WIDTH,
        deadline_at=tide.deadline_at,
    )


def stretches(tide: Tide) -> list[Stretch]:
    """The chart as a table: one row per stretch of even capacity."""
    edges = [0, *(i for i in range(1, len(tide.capacity)) if _turns(tide.capacity, i)), len(tide.capacity)]
    return [_stretch(tide, start, end) for start, end in pairwise(edges)]


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _inside(at: datetime | None, scale: Scale) -> float | None:
    return scale.x(at) if at is not None and scale.start_at <= at <= scale.end_at else None


def _levels(scale: Scale) -> list[Level]:
    count = round(scale.top_gpus / scale.level)
    heights = [scale.level * (i + 1) for i in range(count)]
    return [Level(text(scale.y(g)), text(scale.y(g) + 3.5), f"{g:g}") for g in heights]


def _hours(scale: Scale, zone: tzinfo) -> Iterator[Hour]:
    """Whole hours of ``zone`` that the frame labels; stepping in UTC keeps daylight-saving days right."""
    every = scale.hours_apart
    at = scale.start_at.astimezone(zone).replace(minute=0, second=0, microsecond=0)
    while (at := _next_hour(at, zone)) <= scale.end_at:
        if at.hour % every == 0:
            yield Hour(text(scale.x(at)), at, at.hour == 0)


def _days(hours: Sequence[Hour], frame: Frame) -> list[Hour]:
    """The midnights whose date has room before the next label and the right edge."""
    shown: list[Hour] = []
    for hour in hours:
        has_room = not shown or float(hour.x) - float(shown[-1].x) >= DAY_WIDTH
        if hour.is_midnight and has_room and float(hour.x) < frame.right - DAY_WIDTH:
            shown.append(hour)
    return shown


def _next_hour(at: datetime, zone: tzinfo) -> datetime:
    return datetime.fromtimestamp(at.timestamp() + 3600, zone)


def _bands(tide: Tide, scale: Scale) -> Iterator[Band]:
    for window in tide.windows:
        left, right = scale.x(window.start_at), scale.x(window.end_at)
        if right - left < 1:
            continue
        yield Band(
            x=text(left),
            width=text(right - left),
            middle=text((left + right) / 2),
            name=window.name,
            percent=round(window.share * 100),
            has_room=right - left > 40,
        )


def _turns(values: Sequence[float], index: int) -> bool:
    return abs(values[index] - values[index - 1]) > 1e-9


def _top(scale: Scale, values: Sequence[float], start: int = 0, end: int | None = None) -> str:
    """The upper edge of a step function over buckets [start, end), from left to right."""
    end = len(values) if end is None else end
    if start >= end:
        return ""
    path = f"M{text(scale.bucket_x(start))} {text(scale.y(values[start]))}"
    for index in range(start + 1, end):
        if _turns(values, index):
            path += f"H{text(scale.bucket_x(index))}V{text(scale.y(values[index]))}"
    return path + f"H{text(scale.bucket_x(end))}"


def _area(scale: Scale, values: Sequence[float]) -> str:
    if not any(value > 0 for value in values):
        return ""
    base = text(scale.y(0))
    return f"{_top(scale, values)}V{base}H{text(scale.bucket_x(0))}Z"


def _runs(values: Sequence[float]) -> list[range]:
    """The stretches of buckets in which ``values`` is above zero."""
    edges = [i for i in range(len(values) + 1) if _is_used(values, i) != _is_used(values, i - 1)]
    return [range(start, end) for start, end in zip(edges[::2], edges[1::2], strict=True)]


def _even_blocks(values: Sequence[float], lower: Sequence[float]) -> list[range]:
    """The runs of ``values``, cut where the block's top or bottom changes."""
    blocks = []
    for run in _runs(values):
        turns = [i for i in run if i > run.start and (_turns(values, i) or _turns(lower, i))]
        blocks += [range(start, end) for start, end in pairwise([run.start, *turns, run.stop])]
    return blocks


def _is_used(values: Sequence[float], index: int) -> bool:
    return 0 <= index < len(values) and values[index] > 1e-9


def _block(scale: Scale, run: range, lower: Sequence[float], upper: Sequence[float]) -> str:
    """The area between two step functions over ``run``."""
    path = _top(scale, upper, run.start, run.stop)
    for index in reversed(run):
        path += f"V{text(scale.y(lower[index]))}H{text(scale.bucket_x(index))}"
    return path + "Z"


def _label(tide: Tide, scale: Scale, tops: Sequence[float]) -> Label | None:
    """On the widest block of the package, or beside it when the words would not fit."""
    blocks = _even_blocks(tide.yours, tide.promised)
    if not blocks:
        return None
    run = max(blocks, key=lambda block: len(block) * tide.yours[block.start])
    left, right = scale.bucket_x(run.start), scale.bucket_x(run.stop)
    lower = max(tide.promised[i] for i in run)
    upper = min(tops[i] for i in run)
    fits = right - left >= LABEL_WIDTH and scale.y(lower) - scale.y(upper) >= 16
    y = (scale.y(lower) + scale.y(upper)) / 2
    flips = right > scale.frame.right - LABEL_WIDTH - 12
    is_sliver = right - left < SLIVER_WIDTH or scale.y(lower) - scale.y(upper) < SLIVER_WIDTH
    beside = left - 8 if flips else right + 8
    return Label(
        x=text((left + right) / 2 if fits else beside),
        y=text(y + 4),
        anchor="middle" if fits else ("end" if flips else "start"),
        is_inside=fits,
        dot_x=text((left + right) / 2) if is_sliver else "",
        dot_y=text(y),
    )


def _hatch(tide: Tide, scale: Scale) -> str:
    """How far from the left no deadline can be promised; the whole plot when none can within it."""
    if tide.earliest_deadline_at is None:
        return ""
    return text(scale.x(tide.earliest_deadline_at) - scale.frame.left)


def _stretch(tide: Tide, start: int, end: int) -> Stretch:
    hours = tide.step / timedelta(hours=1)
    promised, yours = sum(tide.promised[start:end]) * hours, sum(tide.yours[start:end]) * hours
    start_at = tide.start_at + tide.step * start
    return Stretch(
        start_at=start_at,
        end_at=tide.start_at + tide.step * end,
        window=next((w.name for w in tide.windows if w.start_at <= start_at < w.end_at), ""),
        gpus=tide.capacity[start],
        free_h=max(0.0, sum(tide.capacity[start:end]) * hours - promised - yours),
        promised_h=promised,
        yours_h=yours,
    )
