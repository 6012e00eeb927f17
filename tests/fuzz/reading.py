"""Reads bytes as an upload is read, and holds whatever comes of it to what every reader promises."""

import io
from collections import Counter
from contextlib import closing
from itertools import islice
from typing import Any

from portal.packages import reasons
from portal.packages.manifest import BadRow, Reading, Row, UnableToRead, rows
from portal.packages.manifest.probe import Probe
from portal.packages.manifest.reading import AS_FOUND, MAX_COLUMNS, RAW, Wish
from portal.packages.manifest.sniff import sniff

TRIED: Counter[str] = Counter()
"""Inputs by what they were and what came of them."""
MOST_ROWS = 20_000

Found = tuple[Reading, list[Row | BadRow]]


def found(data: bytes, filename: str, wish: Wish = AS_FOUND, *, kind: str = "") -> Found | UnableToRead:
    """How ``data`` is read and its rows, or why it is refused; anything else that is raised is a fault."""
    try:
        reading = reading_of(data, filename, wish)
        with closing(rows(io.BytesIO(data), reading)) as source:
            read = list(islice(source, MOST_ROWS))
    except UnableToRead as refusal:
        TRIED[f"{kind} refused"] += 1
        return _told(refusal)
    TRIED[f"{kind} read"] += 1
    _keeps_its_promises(reading, read)
    return reading, read


def _told(refused: UnableToRead) -> UnableToRead:
    assert refused.code in reasons.FILES, f"{refused.code} has no sentence"
    _is_told(refused.code, refused.details)
    return refused


def _is_told(code: str, facts: dict[str, Any]) -> None:
    """Its sentence has all the facts that it names."""
    assert str(reasons.ROWS.get(code) or reasons.FILES[code]) % facts


def reading_of(data: bytes, filename: str, wish: Wish) -> Reading:
    """What the portal keeps of an upload: it must survive being stored."""
    probe = Probe(limit=1 << 30, wish=wish)
    for start in range(0, len(data), 4096):
        probe.feed(data[start : start + 4096])
    reading = sniff(io.BytesIO(data), probe.finish(), filename, wish)
    assert Reading.from_json(reading.as_json()) == reading
    return reading


def _keeps_its_promises(reading: Reading, read: list[Row | BadRow]) -> None:
    columns = reading.columns
    assert 0 < len(columns) <= MAX_COLUMNS
    assert len(set(columns)) == len(columns)
    assert [row.number for row in read] == list(range(1, len(read) + 1))
    for row in read:
        text = "".join((*row.values, *row.values.values()))
        text.encode()  # no half characters
        if isinstance(row, Row):
            assert set(columns) <= row.values.keys()
            assert RAW not in row.values
            assert "\0" not in text
            assert any(value.strip() for value in row.values.values()), "an empty row is no row"
        else:
            assert row.code in reasons.LABELS
            _is_told(row.detail.get("problem", row.code), row.detail)
