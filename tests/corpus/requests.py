"""OpenAI batch lines."""

import json
from typing import Any

from portal.packages.manifest.reading import Wish
from tests.corpus.case import Case
from tests.corpus.writers import json_lines

REQUEST_COLUMNS = ("custom_id", "prompt", "messages", "max_tokens", "temperature")


def _request(
    custom_id: Any, content: Any = "你好", *, url: str = "/v1/chat/completions", **body: Any
) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": content}]
    body = {"model": "smollm2", "messages": messages, **body}
    return {
        "custom_id": custom_id,
        "method": "POST",
        "url": url,
        "body": {key: value for key, value in body.items() if value != "absent"},
    }


def _asked(custom_id: str, text: str = "你好", tokens: str = "", temperature: str = "") -> tuple[str, ...]:
    said = json.dumps(text, ensure_ascii=False)
    messages = f'[{{"role":"system","content":"Be brief."}},{{"role":"user","content":{said}}}]'
    return custom_id, text, messages, tokens, temperature


def _requests() -> list[Case]:
    good, last = _request("a"), _request("z")
    kept = (_asked("a"), _asked("z"))

    def one(name: str, middle: Any, parameter: str) -> Case:
        return Case(
            f"openai/{name}.jsonl",
            json_lines([good, middle, last]).encode(),
            REQUEST_COLUMNS,
            kept,
            {2: "unsupported_request"},
            told={"line": 2, "parameter": parameter},
        )

    parts = [{"type": "text", "text": "你"}, {"type": "text", "text": "好"}]
    image = [{"type": "image_url", "image_url": {"url": "https://example.test/a.png"}}]
    return [
        Case(
            "openai/plain.jsonl",
            json_lines([good, _request("b", "好吗", max_tokens=50, temperature=0.0), last]).encode(),
            REQUEST_COLUMNS,
            (kept[0], _asked("b", "好吗", "50", "0.0"), kept[1]),
            found={"format": "openai"},
        ),
        Case(
            "openai/gb18030.jsonl",
            json_lines([good, last] * 5).encode("gb18030"),
            REQUEST_COLUMNS,
            kept * 5,
            found={"format": "openai", "encoding": "gb18030"},
        ),
        Case(
            "openai/newer-name-of-the-limit.jsonl",
            json_lines([_request("a", max_completion_tokens=9)]).encode(),
            REQUEST_COLUMNS,
            (_asked("a", tokens="9"),),
        ),
        Case(
            "openai/text-in-parts.jsonl",
            json_lines([_request("a", parts)]).encode(),
            REQUEST_COLUMNS,
            (_asked("a", "你\n好"),),
        ),
        Case(
            "openai/as-if-left-out.jsonl",
            json_lines([_request("a", n=1, stream=False, user="u7", top_p=1, tools=[])]).encode(),
            REQUEST_COLUMNS,
            (_asked("a"),),
        ),
        one("another-endpoint", _request("b", url="/v1/embeddings"), "url"),
        one("stream", _request("b", stream=True), "stream"),
        one("two-answers", _request("b", n=2), "n"),
        one("tools", _request("b", tools=[{"type": "function"}]), "tools"),
        one("picture", _request("b", image), "content"),
        one("without-an-id", {key: value for key, value in _request("b").items() if key != "custom_id"}, "custom_id"),
        one("id-an-object", _request({"n": 7}), "custom_id"),
        one("no-messages", _request("b", messages=[]), "messages"),
        one("odd-role", _request("b", messages=[{"role": "tool", "content": "x"}]), "role"),
        one("odd-temperature", _request("b", temperature=9), "temperature"),
        one("no-tokens", _request("b", max_tokens=0), "max_tokens"),
        one("unheard-of", _request("b", moonshine=1), "moonshine"),
        Case(
            "openai/broken-line.jsonl",
            (json_lines([good]) + '{"custom_id": "b", \n' + json_lines([last])).encode(),
            REQUEST_COLUMNS,
            kept,
            {2: "malformed_row"},
            told={"line": 2},
        ),
        Case(
            "openai/big5-by-wish.jsonl",
            json_lines([_request("a", "你好嗎")]).encode("big5"),
            REQUEST_COLUMNS,
            (_asked("a", "你好嗎"),),
            wish=Wish(encoding="big5"),
        ),
    ]


CASES = [*_requests()]
