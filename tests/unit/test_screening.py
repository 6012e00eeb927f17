"""Rows are taken in groups that stay small, however long the rows are, and what is in a row costs no other."""

from collections.abc import Callable, Iterator, Sequence
from threading import Event
from typing import Any

import pytest

from portal.capacity.models import LanguageModel
from portal.packages.manifest import BadRow, Row
from portal.packages.reading import screening
from portal.packages.reading.screening import GROUP, GROUP_CHARACTERS, Screening, grouped
from portal.packages.task import NOTHING, Task
from portal.packages.template import parse
from scheduler.records import RepeatedRow, SetAsideRow, ShardItem
from scheduler.tokenizers import ChatMessage


def _rows(count: int, characters: int) -> Iterator[Row | BadRow]:
    return (Row(number, {"text": "x" * characters}) for number in range(1, count + 1))


def test_short_rows_fill_groups() -> None:
    assert [len(group) for group in grouped(_rows(2 * GROUP + 1, 3))] == [GROUP, GROUP, 1]


def test_long_rows_make_small_groups() -> None:
    assert [len(group) for group in grouped(_rows(5, GROUP_CHARACTERS // 2))] == [2, 2, 1]


def test_no_row_is_lost_between_groups() -> None:
    found = [row.number for group in grouped(_rows(1_000, GROUP_CHARACTERS // 100)) for row in group]
    assert found == list(range(1, 1_001))


def test_what_the_prompt_makes_of_a_row_counts() -> None:
    long = GROUP_CHARACTERS // 4
    assert [len(group) for group in grouped(_rows(4, long), times=2)] == [2, 2]
    assert [len(group) for group in grouped(_rows(4, 1), fixed=long)] == [4]
    assert [len(group) for group in grouped(_rows(4, 1), fixed=2 * long)] == [2, 2]


class Letters:
    """A token is a letter, or ten of one kind; how often it was asked for each text is kept."""

    def __init__(self, waits: Callable[[], object] = lambda: None) -> None:
        self.asked: list[str] = []
        self._waits = waits

    def count_text(self, text: str) -> int:
        text.encode()
        return len(text)

    def count_chat(self, messages: Sequence[ChatMessage]) -> int:
        self.asked += (message["content"] for message in messages)
        return sum(self.count_text(message["content"]) for message in messages)

    def count_chats(self, chats: Sequence[Sequence[ChatMessage]]) -> list[int]:
        self._waits()
        return [self.count_chat(messages) for messages in chats]

    def at_least(self, text: str, times: int = 1) -> int:
        return len(text) * times // 10


Found = tuple[list[ShardItem], list[SetAsideRow]]


def task_with(prompt: str, **fields: Any) -> Task:
    """A task for a model whose prompts have at most 100 tokens."""
    model = LanguageModel(context_tokens=110)
    values: dict[str, Any] = {"temperature": 0.0, "run_repeats_once": True, "system": NOTHING, "user": parse(prompt)}
    return Task("", "generation", model, "", "", prompt, [], None, 10, **values | fields)


def screened(tokenizer: Any, texts: Sequence[str], prompt: str = "{{text}}", *, once: bool = True, **how: Any) -> Found:
    aside: list[SetAsideRow] = []
    repeated: list[RepeatedRow] = []
    found = Screening(task_with(prompt), tokenizer, aside.append, repeated.append if once else None, **how)
    rows = (Row(number, {"text": text}) for number, text in enumerate(texts, start=1))
    return list(found.items(rows)), aside


def test_a_row_whose_length_says_that_it_is_too_long_is_kept_whole_and_not_counted() -> None:
    tokenizer, long = Letters(), "a" * 1_010
    items, aside = screened(tokenizer, ["b", long, "c"])
    assert ([item.row for item in items], tokenizer.asked) == ([1, 3], ["b", "c"])
    assert aside == [
        SetAsideRow(2, "too_long", {"problem": "far_too_long", "tokens": 101, "limit": 100}, {"text": long})
    ]


def test_space_that_a_chat_template_may_cut_makes_no_row_too_long() -> None:
    (_, aside), tokenizer = screened(tokenizer := Letters(), [" " * 2_000 + "a"]), tokenizer
    assert len(tokenizer.asked) == 1
    assert aside[0].detail == {"tokens": 2_001, "limit": 100}


def test_a_prompt_that_names_a_column_over_and_over_is_not_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Task, "chat", lambda *_args: pytest.fail("put together"))
    _, aside = screened(Letters(), ["abcde" * 10], "{{text}}" * 100)
    assert aside[0].detail == {"problem": "far_too_long", "tokens": 500, "limit": 100}


@pytest.mark.parametrize("once", [True, False])
def test_the_same_request_is_found_too_long_once(monkeypatch: pytest.MonkeyPatch, once: bool) -> None:
    monkeypatch.setattr(screening, "GROUP", 1)
    tokenizer = Letters()
    items, aside = screened(tokenizer, ["a" * 200, "b", "a" * 200, "c" * 101, "a" * 200], once=once)
    assert [item.row for item in items] == [2]
    assert [(row.row, row.code, row.detail["tokens"]) for row in aside] == [
        (1, "too_long", 200), (3, "too_long", 200), (4, "too_long", 101), (5, "too_long", 200),
    ]  # fmt: skip
    assert sorted(tokenizer.asked) == sorted(["a" * 200, "b", "c" * 101])


def test_no_more_requests_are_remembered_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "GROUP", 1)
    monkeypatch.setattr(screening, "MOST_KNOWN", 2)
    tokenizer = Letters()
    screened(tokenizer, [letter * 200 for letter in "abcab"])
    assert [text[0] for text in tokenizer.asked] == ["a", "b", "c", "a", "b"]


def test_while_tokens_are_counted_whoever_asks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "WAITED_S", 0.001)
    told = Event()
    items, _ = screened(Letters(told.wait), ["a"], meanwhile=told.set)
    assert len(items) == 1


def test_who_stops_does_not_wait_for_the_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "WAITED_S", 0.001)
    stopped = Event()

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        screened(Letters(stopped.wait), ["a"], meanwhile=stop)
    stopped.set()  # only now the thread can go on


@pytest.mark.parametrize("fault", [ValueError("secret"), RecursionError("secret"), KeyError("secret")])
def test_what_a_row_makes_the_code_raise_costs_that_row_alone(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def at(row: str) -> Callable[..., Any]:
        original = getattr(Task, step)

        def or_fault(task: Task, values: dict[str, str]) -> Any:
            if values["text"] == row:
                raise fault
            return original(task, values)

        return or_fault

    for step, text in (("first_blank", "b"), ("chat", "d")):
        monkeypatch.setattr(Task, step, at(text))
    items, aside = screened(Letters(), ["a", "b", "c", "d", "e"])
    assert [item.row for item in items] == [1, 3, 5]
    assert [(row.row, row.code) for row in aside] == [(2, "malformed_row"), (4, "template_fault")]
    assert "secret" not in str(aside)


@pytest.mark.parametrize("once", [True, False])
def test_half_a_surrogate_pair_costs_its_row_alone(once: bool) -> None:
    items, aside = screened(Letters(), ["a", "\ud800", "c"], once=once)
    assert [item.row for item in items] == [1, 3]
    assert [(row.row, row.code) for row in aside] == [(2, "template_fault")]


def test_a_row_with_half_a_surrogate_pair_can_be_written_down() -> None:
    written: list[SetAsideRow] = []

    def write(row: SetAsideRow) -> None:
        str(row.columns).encode()
        "".join(row.columns.values()).encode()
        written.append(row)

    found = Screening(task_with("{{text}}"), Letters(), write)
    assert list(found.items([BadRow(1, "malformed_row", {"line": 1}, {"text": "a\ud800"})])) == []
    assert written == [SetAsideRow(1, "malformed_row", {"line": 1}, {"text": "a?"})]
