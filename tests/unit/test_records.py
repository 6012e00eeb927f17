"""Records written one by one are the bytes of records written at once."""

from collections import deque
from collections.abc import Iterator

import pytest

from scheduler.objects.memory import MemoryStore
from scheduler.records import SetAsideRow, dump, load, writing


def _rows(count: int) -> list[SetAsideRow]:
    return [SetAsideRow(row=row, code="too_long", detail={"tokens": row}, columns={"文": "潮"}) for row in range(count)]


@pytest.mark.parametrize("count", [0, 1, 5000])
def test_writing_one_by_one_equals_dumping(count: int) -> None:
    store = MemoryStore()
    with writing(store, "a") as write:
        for row in _rows(count):
            write(row)
    assert store.get("a") == dump(_rows(count))
    assert list(load(store, "a", SetAsideRow)) == _rows(count)


def test_an_error_in_the_middle_leaves_no_object() -> None:
    store = MemoryStore()

    def rows() -> Iterator[SetAsideRow]:
        yield from _rows(1)
        raise RuntimeError

    with pytest.raises(RuntimeError), writing(store, "a") as write:
        deque(map(write, rows()))
    assert not store.exists("a")
