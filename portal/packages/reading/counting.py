"""Tokens of many chats, counted in a thread beside whoever reads the rows."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from portal.packages.reading.row_faults import FAULTS_OF_ROWS
from scheduler.tokenizers import ChatMessage, Tokenizer


@contextmanager
def counter_thread() -> Iterator[ThreadPoolExecutor]:
    """A thread that counts tokens. Whoever leaves early does not wait for it: a long text takes it seconds."""
    thread = ThreadPoolExecutor(1, "tokens")
    try:
        yield thread
    finally:
        thread.shutdown(wait=False, cancel_futures=True)


def count(tokenizer: Tokenizer, chats: list[list[ChatMessage]]) -> list[int | Exception]:
    """The tokens of each chat, or why it has none; the halves of a group with such a chat are counted apart."""
    if not chats:
        return []
    try:
        return [*tokenizer.count_chats(chats)]
    except (*FAULTS_OF_ROWS, TypeError) as fault:  # a TypeError: what native code says of text that is none
        if len(chats) == 1:
            return [fault]
    half = len(chats) // 2
    return [*count(tokenizer, chats[:half]), *count(tokenizer, chats[half:])]
