"""Lines of the OpenAI batch format as rows."""

import io
import json
from typing import Any

import pytest

from portal.packages.manifest import BadRow, Row, openai_rows
from portal.packages.manifest.reading import RAW
from tests.manifests import read, reading_of


def line(custom_id: Any = "a", url: str = "/v1/chat/completions", **body: Any) -> str:
    asked = {"model": "m", "messages": [{"role": "user", "content": "hi"}], **body}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": asked}, ensure_ascii=False) + "\n"


def only(text: str) -> Row | BadRow:
    (row,) = read(text.encode(), "a.jsonl")
    return row


def test_requests_are_recognised_and_become_rows() -> None:
    chat = [
        {"role": "system", "content": "判断"},
        {"role": "user", "content": "潮水"},
        {"role": "assistant", "content": "好"},
    ]
    data = line("x-1", messages=chat, max_tokens=5, temperature=0.70) + line("x-2")
    reading = reading_of(data.encode(), "requests.txt")
    assert (reading.format, reading.columns) == ("openai", openai_rows.COLUMNS)
    first, second = read(data.encode())
    assert first == Row(1, {
        "custom_id": "x-1", "prompt": "潮水", "max_tokens": "5", "temperature": "0.7",
        "messages": '[{"role":"system","content":"判断"},{"role":"user","content":"潮水"},'
        '{"role":"assistant","content":"好"}]',
    })  # fmt: skip
    assert openai_rows.messages_of(first.values) == chat
    assert (second.values["max_tokens"], second.values["temperature"]) == ("", "")


def test_parts_of_text_are_one_text_and_developers_are_the_system() -> None:
    chat = [
        {"role": "developer", "content": "x"},
        {"role": "user", "name": "bo", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    ]
    row = only(line(messages=chat))
    assert openai_rows.messages_of(row.values) == [
        {"role": "system", "content": "x"},
        {"role": "user", "content": "a\nb"},
    ]


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        (line(url="/v1/embeddings"), "url"),
        (line(custom_id=None), "custom_id"),
        (line(custom_id=" "), "custom_id"),
        (line(custom_id=[]), "custom_id"),
        (line(stream=True), "stream"),
        (line(n=2), "n"),
        (line(tools=[{"type": "function"}]), "tools"),
        (line(response_format={"type": "json_object"}), "response_format"),
        (line(top_p=0.5), "top_p"),
        (line(guided_choice=["a"]), "guided_choice"),
        (line(temperature="0"), "temperature"),
        (line(temperature=3), "temperature"),
        (line(max_tokens=0), "max_tokens"),
        (line(max_tokens=1.5), "max_tokens"),
        (line(messages=[]), "messages"),
        (line(messages="hi"), "messages"),
        (line(messages=[{"role": "tool", "content": "x"}]), "role"),
        (line(messages=[{"role": ["user"], "content": "x"}]), "role"),
        (line(messages=[{"role": "user", "content": None}]), "content"),
        (line(messages=[{"role": "user", "content": 5}]), "content"),
        (line(messages=[{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]), "content"),
        (line(messages=[{"role": "assistant", "content": "", "tool_calls": [{}]}]), "tool_calls"),
    ],
)
def test_a_line_that_asks_for_what_is_not_offered_is_set_aside_and_named(text: str, parameter: str) -> None:
    row = only(text)
    assert row == BadRow(1, "unsupported_request", {"line": 1, "parameter": parameter}, {RAW: text.strip()})


@pytest.mark.parametrize(
    "body",
    [{"stream": False}, {"n": 1}, {"tools": []}, {"tools": None}, {"top_p": 1.0}, {"stop": None}, {"seed": 5},
     {"response_format": {"type": "text"}}, {"frequency_penalty": 0}, {"max_completion_tokens": 9}],
)  # fmt: skip
def test_parameters_that_ask_for_nothing_more_are_taken(body: dict[str, Any]) -> None:
    assert isinstance(only(line(**body)), Row)


def test_a_broken_line_and_half_a_character_are_set_aside() -> None:
    data = line("a") + "{broken\n" + line("b").replace("hi", "\\ud800") + line("c")
    rows = read(data.encode())
    assert [row.code if isinstance(row, BadRow) else "ok" for row in rows] == [
        "ok",
        "malformed_row",
        "malformed_row",
        "ok",
    ]


def test_the_first_good_line_says_what_a_task_begins_with() -> None:
    data = "{broken\n" + line("a", max_completion_tokens=64, temperature=0.2, model="qwen") + line("b", max_tokens=1)
    found = openai_rows.defaults(io.BytesIO(data.encode()), "utf-8")
    assert found == {"model": "qwen", "max_output_tokens": 64, "temperature": 0.2}
    assert openai_rows.defaults(io.BytesIO(b'{"a": 1}\n'), "utf-8") == {}


@pytest.mark.parametrize("messages", ["", "x", "[]", "{}", '[{"role":"user"}]'])
def test_messages_that_somebody_spoiled_are_told(messages: str) -> None:
    with pytest.raises(openai_rows.UnableToAsk):
        openai_rows.messages_of({"messages": messages})


@pytest.mark.parametrize("filename", ["a.jsonl", "a.txt"])
@pytest.mark.parametrize("said", ["a\u2028b", "a\x85b", "a\x0bb\x0cc\x1cd", "x" * 300_000, "好" * 300_000])
def test_requests_are_recognised_whatever_the_first_one_says(said: str, filename: str) -> None:
    data = line("a", messages=[{"role": "user", "content": said}]) + line("b")
    assert reading_of(data.encode(), filename).format == "openai"
    assert [row.values["prompt"] for row in read(data.encode(), filename)] == [said, "hi"]


def test_parameters_within_one_another_without_end_set_their_row_aside() -> None:
    deep = '{"a":' * 400 + "1" + "}" * 400
    first, bad = read((line("a") + line("b", max_tokens="DEEP").replace('"DEEP"', deep)).encode(), "a.jsonl")
    assert isinstance(first, Row)
    assert isinstance(bad, BadRow)
    assert (bad.code, bad.detail) == ("malformed_row", {"line": 2, "problem": "nested_too_deep"})
