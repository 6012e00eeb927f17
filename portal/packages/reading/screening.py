"""From manifest rows to items that can run: rendered, counted, and the rest set aside with a reason."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from portal.packages.manifest import BadRow, Row
from portal.packages.manifest.reading import MAX_COLUMNS, is_usable_column
from portal.packages.reading.counting import count, counter_thread
from portal.packages.reading.row_faults import FAULTS_OF_ROWS, Why, unaskable, unreadable, writable
from portal.packages.reading.seen import Seen, key_of
from portal.packages.task import Task
from scheduler.records import RepeatedRow, SetAsideRow, ShardItem
from scheduler.tokenizers import ChatMessage, Tokenizer

GROUP = 4096
"""Rows whose tokens are counted in one call, at most."""
GROUP_CHARACTERS = 4_000_000
"""When a group has so many it is large enough."""
WAITED_S = 1.0
"""While tokens are counted, whoever asks for items is told so often that it goes on."""
MOST_KNOWN = 10_000
"""Requests that are too long of which it is remembered."""
_encode = msgspec.json.Encoder().encode


@dataclass(slots=True)
class _Asked:
    """A row with what the model would be asked for it."""

    row: Row
    id: str
    chat: list[ChatMessage]
    key: bytes = b""


@dataclass(slots=True)
class _Group:
    """Rows whose tokens are being counted. ``firsts`` has for each of ``rows`` the first row with its request.

    ``new`` are those that are counted, ``known`` has the tokens of rows that ask what was found to be too long before.

    The group had ``size`` rows, those that are set aside included, and ``last`` is the number of its last.
    """

    size: int
    last: int
    rows: list[_Asked]
    firsts: list[int]
    new: list[_Asked]
    known: dict[int, int]
    counted: Future[list[int | Exception]]


@dataclass
class Screening:
    """One pass over a manifest. ``set_aside`` is told every row that cannot run, ``repeated`` every row that needs not.

    The sums grow as it goes; ``good`` rows are items and repeats. What it remembers of large manifests lies in
    ``folder``.
    """

    task: Task
    tokenizer: Tokenizer
    set_aside: Callable[[SetAsideRow], None]
    repeated: Callable[[RepeatedRow], None] | None = None
    """``None``: every row runs, repeat or not."""
    folder: Path | None = None
    meanwhile: Callable[[], None] = lambda: None
    """Called every now and then while tokens are counted; what it raises ends the pass at once."""
    rows_read: int = 0
    good: int = 0
    repeats: int = 0
    input_tokens: int = 0
    by_code: Counter[str] = field(default_factory=Counter)
    columns: dict[str, None] = field(default_factory=dict)
    """Columns in the order found: those of the upload's first rows, and what JSON Lines brought later."""

    def __post_init__(self) -> None:
        assert self.task.model is not None
        self._limit = self.task.model.context_tokens - self.task.max_output_tokens
        self._ids, self._requests = Seen(self.folder), Seen(self.folder)
        self._waiting: list[SetAsideRow] = []
        brought = ("prompt",) if self.task.brings_messages else ()
        self._mentions = Counter(self.task.system.columns + self.task.user.columns + brought)
        self._too_long: dict[bytes, int] = {}
        self._fixed = len(self.task.system.fixed()) + len(self.task.user.fixed())

    def items(self, rows: Iterable[Row | BadRow]) -> Iterator[ShardItem]:
        """The items of ``rows`` that can run, in their order.

        While the tokens of one group are counted, in a thread, the group before is taken by whoever asks for items,
        and the next one is read.
        """
        with counter_thread() as counter:
            before: _Group | None = None
            for group in grouped(rows, fixed=self._fixed, times=max(self._mentions.values(), default=1)):
                asked = self._asked(self._unique(self._whole(group)))
                items = self._items(before) if before else []
                before = self._counting(group, asked, counter)
                yield from items
            yield from self._items(before) if before else []

    def _whole(self, group: list[Row | BadRow]) -> list[Row]:
        """Rows in which nothing is missing."""
        whole = []
        for row in group:
            if isinstance(row, BadRow):
                self._aside(row.number, row.code, row.detail, row.values)
                continue
            if not row.values.keys() <= self.columns.keys():
                self._meet(row.values)
            try:
                why = self._lacks(row.values)
            except FAULTS_OF_ROWS as fault:
                why = unreadable(fault, row.number)
            if why:
                self._aside(row.number, *why, row.values)
            else:
                whole.append(row)
        return whole

    def _lacks(self, values: dict[str, str]) -> Why | None:
        if blank := self.task.first_blank(values):
            return "missing_field", {"column": blank}
        if self.task.id_column and not values[self.task.id_column].strip():
            return "missing_id", {"column": self.task.id_column}
        if self.task.brings_messages and (other := differs_from(self.task, values)):
            return "differs_from_task", other
        return None

    def _meet(self, values: dict[str, str]) -> None:
        """Take in new columns, as many as a file may have; what comes later is kept with its row alone."""
        new = (name for name in values if name not in self.columns and is_usable_column(name))
        self.columns.update(dict.fromkeys(islice(new, max(0, MAX_COLUMNS - len(self.columns)))))

    def _unique(self, rows: list[Row]) -> list[tuple[Row, str]]:
        """Rows with their ids; those whose id was used before are set aside."""
        if not self.task.id_column:
            return [(row, str(row.number)) for row in rows]
        ids = [row.values[self.task.id_column].strip() for row in rows]
        keys = [key_of(id_.encode(errors="surrogatepass")) for id_ in ids]
        unique = []
        for row, id_, first in zip(rows, ids, self._ids.add(keys, [row.number for row in rows]), strict=True):
            if first:
                self._aside(row.number, "duplicate_id", {"id": id_[:200], "first_row": first}, row.values)
            else:
                unique.append((row, id_))
        return unique

    def _asked(self, rows: list[tuple[Row, str]]) -> list[_Asked]:
        asked = []
        for row, id_ in rows:
            try:
                found = self._prompted(row, id_)
            except FAULTS_OF_ROWS as fault:
                found = unaskable(fault, row.number)
            if isinstance(found, _Asked):
                asked.append(found)
            else:
                self._aside(row.number, *found, row.values)
        return asked

    def _prompted(self, row: Row, id_: str) -> _Asked | Why:
        """The row with its chat; what is far too long is not even put together."""
        values = row.values
        is_long = sum(len(values[column]) * times for column, times in self._mentions.items()) > self._limit
        if is_long and (least := self._least(values)) > self._limit:
            return "too_long", {"problem": "far_too_long", "tokens": least, "limit": self._limit}
        found = _Asked(row, id_, self.task.chat(values))
        if is_long or self.repeated is not None:
            found.key = key_of(_encode(found.chat))
        return found

    def _least(self, values: dict[str, str]) -> int:
        """Tokens that the prompt has at least; spaces at the ends do not count, for some chat templates cut them."""
        mentions = self._mentions.items()
        return sum(self.tokenizer.at_least(values[column].strip(), times) for column, times in mentions)

    def _counting(self, group: list[Row | BadRow], rows: list[_Asked], counter: ThreadPoolExecutor) -> _Group:
        """Begin to count the tokens of the new requests among ``rows``; those of earlier groups are known by now."""
        firsts = self._firsts(rows)
        new = [asked for asked, first in zip(rows, firsts, strict=True) if first == asked.row.number]
        known = {asked.row.number: self._too_long[asked.key] for asked in new if asked.key in self._too_long}
        if known:
            new = [asked for asked in new if asked.row.number not in known]
        counted = counter.submit(count, self.tokenizer, [asked.chat for asked in new])
        return _Group(len(group), group[-1].number, rows, firsts, new, known, counted)

    def _tokens(self, group: _Group) -> dict[int, int | Exception]:
        """The tokens of each row with a request of its own, waited for; what is too long is remembered."""
        while not wait([group.counted], WAITED_S).done:
            self.meanwhile()
        tokens: dict[int, int | Exception] = {**group.known}
        for asked, found in zip(group.new, group.counted.result(), strict=True):
            tokens[asked.row.number] = found
            if isinstance(found, int) and found > self._limit and asked.key:
                self._remember(asked.key, found)
        return tokens

    def _remember(self, key: bytes, tokens: int) -> None:
        if len(self._too_long) >= MOST_KNOWN:
            del self._too_long[next(iter(self._too_long))]
        self._too_long[key] = tokens

    def _items(self, group: _Group) -> list[ShardItem]:
        """The rows of ``group`` that the model is to be asked: those of a new request, if it is not too long."""
        tokens = self._tokens(group)
        items = []
        for asked, first in zip(group.rows, group.firsts, strict=True):
            row, found = asked.row, tokens.get(first, 0)
            if isinstance(found, Exception):
                self._aside(row.number, *unaskable(found, row.number), row.values)
            elif found > self._limit:
                self._aside(row.number, "too_long", {"tokens": found, "limit": self._limit}, row.values)
            elif first == row.number:
                items.append(ShardItem(row=row.number, id=asked.id, request=asked.chat, tokens=found))
            else:
                self._repeat(row.number, first)
        self._take_in(group, items)
        return items

    def _take_in(self, group: _Group, items: list[ShardItem]) -> None:
        """Count ``group``, and remember its items: later rows can repeat them, but none that was set aside."""
        self.rows_read += group.size
        self.good += len(items)
        self.input_tokens += sum(item.tokens for item in items)
        if self.repeated is not None:
            rows = {item.row for item in items}
            self._requests.keep({asked.key: asked.row.number for asked in group.new if asked.row.number in rows})
        self._tell(group.last)

    def _firsts(self, rows: list[_Asked]) -> list[int]:
        """For each of ``rows`` the first row with its request: its own number, unless it repeats another."""
        if self.repeated is None:
            return [asked.row.number for asked in rows]
        here: dict[bytes, int] = {}
        known = self._requests.find([asked.key for asked in rows])
        return [first or here.setdefault(asked.key, asked.row.number) for asked, first in zip(rows, known, strict=True)]

    def _repeat(self, row: int, first: int) -> None:
        assert self.repeated is not None
        self.good += 1
        self.repeats += 1
        self.repeated(RepeatedRow(row, first))

    def _aside(self, row: int, code: str, detail: dict[str, Any], values: dict[str, str]) -> None:
        self.by_code[code] += 1
        self._waiting.append(SetAsideRow(row=row, code=code, detail=detail, columns=values))

    def _tell(self, last: int) -> None:
        """Hand over the rows up to ``last`` that are set aside, in row order whatever check they failed."""
        waiting = sorted(self._waiting, key=lambda aside: aside.row)
        told = bisect_right(waiting, last, key=lambda aside: aside.row)
        for row in waiting[:told]:
            try:
                self.set_aside(row)
            except UnicodeEncodeError:
                self.set_aside(writable(row))
        self._waiting = waiting[told:]


def differs_from(task: Task, values: Mapping[str, str]) -> dict[str, Any] | None:
    """What a row that brings its messages asks for otherwise than ``task``, which holds for all rows alike."""
    limit, temperature = values.get("max_tokens", "").strip(), values.get("temperature", "").strip()
    if limit and int(limit) != task.max_output_tokens:
        return {"parameter": "max_tokens", "value": limit, "task": task.max_output_tokens}
    if temperature and float(temperature) != task.temperature:
        return {"parameter": "temperature", "value": temperature, "task": task.temperature}
    return None


def grouped(rows: Iterable[Row | BadRow], *, fixed: int = 0, times: int = 1) -> Iterator[list[Row | BadRow]]:
    """``rows`` in groups that are counted at once, so small that they need little memory however long rows are.

    Each row's prompt has ``fixed`` characters beside it, and no column more than so many ``times``.
    """
    group: list[Row | BadRow] = []
    characters = 0
    for row in rows:
        group.append(row)
        characters += fixed + times * sum(map(len, row.values.values()))
        if len(group) >= GROUP or characters >= GROUP_CHARACTERS:
            yield group
            group, characters = [], 0
    if group:
        yield group
