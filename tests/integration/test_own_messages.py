"""Manifests in the OpenAI batch format: each row brings its own messages, and is held to the package's one task."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from portal.packages import services
from portal.packages.delivering.results import set_aside_key
from portal.packages.models import Package
from portal.packages.prompts import tokenizer_of
from portal.packages.reading.repeats import repeated_rows
from portal.packages.services import UnableToSaveTask
from portal.packages.store import objects
from scheduler.domain.lifecycle import PackageState
from scheduler.records import SetAsideRow, ShardItem, load
from scheduler.tokenizers import ChatMessage, UnableToRenderChat
from scheduler.tokenizers.words import WordsTokenizer
from tests.manifests import NOW, draft, ingested, read_now
from tests.world import World

HELLO = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello there"}]


def line(custom_id: str, messages: Any, **body: Any) -> str:
    request = {"model": "gpt-4o-mini", "messages": messages, **body}
    return json.dumps(
        {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": request}, ensure_ascii=False
    )


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def aside(package: Package) -> dict[int, SetAsideRow]:
    return {row.row: row for row in load(objects(), set_aside_key(package), SetAsideRow)}


def items(package: Package) -> list[ShardItem]:
    found = [item for shard in package.shards.all() for item in load(objects(), shard.key, ShardItem)]
    return sorted(found, key=lambda item: item.row)


def read(world: World, lines: Sequence[str], **fields: Any) -> Package:
    task = {"kind": "generation", "labels": [], "user_template": "", **fields}
    return ingested(world, "\n".join(lines) + "\n", "requests.jsonl", **task)


def test_the_rows_messages_are_the_request_and_custom_id_is_the_id(world: World) -> None:
    chat = [*HELLO, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "再见 𠮷"}]
    package = read(world, [line("a-1", HELLO), line("a-2", chat)])
    assert package.state == PackageState.QUOTED
    assert package.id_column == "custom_id"
    assert [(item.id, item.request) for item in items(package)] == [("a-1", HELLO), ("a-2", chat)]


def test_requests_that_are_the_same_in_every_message_run_once(world: World) -> None:
    other_role = [{"role": "assistant", "content": "Be brief."}, {"role": "user", "content": "Hello there"}]
    package = read(world, [line("a", HELLO), line("b", user("Hello there")), line("c", other_role), line("d", HELLO)])
    assert [(repeat.row, repeat.of) for repeat in repeated_rows(package, objects())] == [(4, 1)]
    assert package.requests == 3


def test_a_custom_id_that_was_used_and_an_empty_message_are_set_aside(world: World) -> None:
    package = read(world, [line("a", HELLO), line("a", user("other")), line("b", user("  "))])
    assert {row: found.code for row, found in aside(package).items()} == {2: "duplicate_id", 3: "missing_field"}


def test_rows_that_ask_for_something_else_than_the_task_are_told_apart(world: World) -> None:
    lines = [
        line("same", HELLO, max_tokens=8, temperature=0),
        line("longer", user("1"), max_tokens=9),
        line("warmer", user("2"), temperature=0.7),
        line("says nothing", user("3")),
    ]
    package = read(world, lines)
    assert [item.row for item in items(package)] == [1, 4]
    found = aside(package)
    assert {row.code for row in found.values()} == {"differs_from_task"}
    assert found[2].detail == {"parameter": "max_tokens", "value": "9", "task": 8}
    assert found[3].detail == {"parameter": "temperature", "value": "0.7", "task": 0.0}


@pytest.mark.parametrize("field", ["user_template", "system_template"])
def test_a_prompt_beside_the_rows_own_messages_is_refused(world: World, field: str) -> None:
    with pytest.raises(UnableToSaveTask) as refused:
        draft(world, line("a", HELLO) + "\n", "a.jsonl", **{"user_template": "", field: "{{prompt}}"})
    assert (refused.value.code, refused.value.field) == ("brings_messages", field)


class Picky(WordsTokenizer):
    """A model whose chat template knows no system message."""

    def count_chat(self, messages: Sequence[ChatMessage]) -> int:
        if messages[0]["role"] == "system":
            raise UnableToRenderChat("System role not supported")
        return super().count_chat(messages)


def test_messages_that_the_models_template_has_no_form_for_are_set_aside_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tokenizer_of(world.echo)
    monkeypatch.setattr("portal.packages.reading.ingest.tokenizer_of", lambda _model: Picky())
    package = read(world, [line("a", HELLO), line("b", user("x y")), line("c", HELLO), line("d", user("z"))])
    assert [(item.row, item.tokens) for item in items(package)] == [(2, 3), (4, 2)]
    assert {row: found.code for row, found in aside(package).items()} == {1: "template_fault", 3: "template_fault"}
    assert aside(package)[1].detail == {"problem": "System role not supported"}


def test_a_system_prompt_that_the_model_does_not_take_is_refused_beside_its_field(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = draft(world, "text\na\n")
    monkeypatch.setattr("portal.packages.services.tokenizer_of", lambda _model: Picky())
    with pytest.raises(UnableToSaveTask) as refused:
        services.save_task(package=package, by=world.alice, now=NOW, system_template="Be brief.")
    assert (refused.value.code, refused.value.field) == ("template_fault", "system_template")
    read_now(package)
    assert package.state == PackageState.QUOTED
