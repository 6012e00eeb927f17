"""The tokenizer of a GGUF model file: the file's own vocabulary, merges and chat template.

It counts what llama.cpp counts (tests/engines compares them); known to differ by a token are only digits newer
than llama.cpp's Unicode tables and code points of unassigned planes. As there, the names of control tokens inside
a message's text become control tokens: a row that contains ``<|im_end|>`` can end its own message early. It can
change nothing but its own answer, because every row is a request of its own.
"""

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from jinja2 import TemplateError
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from scheduler.model_file import model_file
from scheduler.tokenizers.chat_template import ChatTemplate
from scheduler.tokenizers.port import ChatMessage, UnableToRenderChat

CACHE_VERSION = 1
CONTROL, USER_DEFINED = 3, 4  # llama.cpp's token types that are matched in the text before any splitting

_FAULTS_OF_TEMPLATES = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a template's own expressions raise for messages that they were not written for."""


class UnableToReadTokenizer(ValueError):
    """The model file has no tokenizer that this adapter knows."""


class GgufFacts(msgspec.Struct, frozen=True):
    """What counting needs of a model file: a Hugging Face ``tokenizer.json``, the chat template, two token texts."""

    tokenizer_json: str
    chat_template: str
    bos_token: str
    eos_token: str
    adds_bos: bool


class GgufTokenizer:
    """Counts tokens as llama.cpp does for the same file."""

    def __init__(self, facts: GgufFacts) -> None:
        self._tokenizer = Tokenizer.from_str(facts.tokenizer_json)
        self._extra = 1 if facts.adds_bos else 0
        self._longest, self._passed_over = _bounds(self._tokenizer)
        bos_token = "" if facts.adds_bos else facts.bos_token  # llama.cpp adds it itself
        self._template = ChatTemplate(facts.chat_template, bos_token=bos_token, eos_token=facts.eos_token)

    @classmethod
    def of(cls, location: str) -> "GgufTokenizer":
        """The tokenizer of the model at ``location``, kept for the life of the process.

        Raises ``UnableToFindModel`` and :class:`UnableToReadTokenizer`.
        """
        path = model_file(location)
        stat = path.stat()
        key = f"{path.resolve()}:{stat.st_size}:{stat.st_mtime_ns}:{CACHE_VERSION}"
        with _lock:
            if key not in _opened:
                _opened[key] = cls(_cached_facts(path, sha256(key.encode()).hexdigest()[:32]))
            return _opened[key]

    def render(self, messages: Sequence[ChatMessage]) -> str:
        """The text of the whole prompt, ready for the answer. Raises ``UnableToRenderChat``."""
        try:
            return self._template.render(messages)
        except (TemplateError, *_FAULTS_OF_TEMPLATES) as error:
            raise UnableToRenderChat(str(error)) from error

    def count_text(self, text: str) -> int:
        return len(self._tokenizer.encode(text, add_special_tokens=False))

    def count_chat(self, messages: Sequence[ChatMessage]) -> int:
        return self.count_text(self.render(messages)) + self._extra

    def count_chats(self, chats: Sequence[Sequence[ChatMessage]]) -> list[int]:
        texts = [self.render(messages) for messages in chats]
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [len(encoding) + self._extra for encoding in encodings]

    def at_least(self, text: str, times: int = 1) -> int:
        """Rounded down, so that tokens may lie across the ends of ``text``."""
        counted = text.encode(errors="replace").translate(None, self._passed_over)
        return len(counted) * times // self._longest


_opened: dict[str, GgufTokenizer] = {}
_lock = threading.Lock()


def _bounds(tokenizer: Tokenizer) -> tuple[int, bytes]:
    """The bytes of the longest token, and the bytes that are in no token: nothing is made of them."""
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    vocabulary = tokenizer.get_vocab()
    longest = max(len(token.encode()) if token in special else len(token) for token in vocabulary)
    return longest, bytes(byte for byte, letter in enumerate(_letters_of_bytes()) if letter not in vocabulary)


def _letters_of_bytes() -> list[str]:
    """The letter that stands for each byte in vocabularies of bytes: itself, if it can be seen and is no space."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in seen else chr(next(others)) for byte in range(0x100)]


# --- reading the file ------------------------------------------------------------------------------------
def _cached_facts(path: Path, key: str) -> GgufFacts:
    """The facts of ``path``; reading them takes seconds, so they are kept under SLACKWATER_VAR."""
    cached = _cache_folder() / f"tokenizer-{key}.json"
    try:
        return msgspec.json.decode(cached.read_bytes(), type=GgufFacts)
    except (OSError, msgspec.MsgspecError):
        facts = read_facts(path)
    _keep(cached, msgspec.json.encode(facts))
    return facts


def _cache_folder() -> Path:
    default = Path(__file__).resolve().parents[2] / "var"
    return Path(os.environ.get("SLACKWATER_VAR", default)) / "cache"


def _keep(path: Path, content: bytes) -> None:
    """Write ``path`` whole or not at all; without room for it, the next process reads the model again."""
    fresh = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_bytes(content)
        fresh.replace(path)
    except OSError:
        with suppress(OSError):
            fresh.unlink()


def read_facts(path: Path) -> GgufFacts:
    """Read a GGUF file's tokenizer (about two seconds); raises :class:`UnableToReadTokenizer`."""
    from gguf import GGUFReader  # slow to import; the cache usually makes it unnecessary

    try:
        fields = GGUFReader(path).fields
    except (OSError, ValueError, IndexError) as error:
        raise UnableToReadTokenizer(f"{path.name} is not a readable GGUF file: {error}") from error
    return _facts({name: field.contents() for name, field in fields.items() if name.startswith("tokenizer.")}, path)


def _facts(values: dict[str, Any], path: Path) -> GgufFacts:
    model, pre = values.get("tokenizer.ggml.model"), values.get("tokenizer.ggml.pre")
    if model != "gpt2" or pre not in _SPLITTERS:
        known = ", ".join(sorted(_SPLITTERS))
        raise UnableToReadTokenizer(f"{path.name} has a {model}/{pre} tokenizer; known are gpt2 with: {known}")
    if "tokenizer.chat_template" not in values:
        raise UnableToReadTokenizer(f"{path.name} has no chat template")
    tokens: list[str] = values["tokenizer.ggml.tokens"]
    bos, eos = (values.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos"))
    return GgufFacts(
        tokenizer_json=_hugging_face(values, tokens).to_str(),
        chat_template=values["tokenizer.chat_template"],
        bos_token="" if bos is None else tokens[bos],
        eos_token="" if eos is None else tokens[eos],
        adds_bos=bool(values.get("tokenizer.ggml.add_bos_token", False)),
    )


def _hugging_face(values: dict[str, Any], tokens: list[str]) -> Tokenizer:
    vocabulary = {token: number for number, token in enumerate(tokens)}
    merges = [_pair(line) for line in values["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = _SPLITTERS[values["tokenizer.ggml.pre"]]()
    tokenizer.decoder = decoders.ByteLevel()
    types = values["tokenizer.ggml.token_type"]
    special = [token for token, kind in zip(tokens, types, strict=True) if kind in {CONTROL, USER_DEFINED}]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return tokenizer


def _pair(line: str) -> tuple[str, str]:
    left, _, right = line.partition(" ")
    return left, right


def _gpt2() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


def _smollm() -> pre_tokenizers.PreTokenizer:
    """llama.cpp's LLAMA_VOCAB_PRE_TYPE_SMOLLM: each digit alone, then GPT-2's expression."""
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _gpt2()])


_SPLITTERS = {"gpt-2": _gpt2, "smollm": _smollm}
