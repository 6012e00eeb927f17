"""Files that are made while somebody waits: few at a time, and every place is given back."""

from collections.abc import Generator, Iterator
from threading import Event, Thread

import pytest

from portal.packages.delivering.making import AT_ONCE, Making, UnableToMakeNow


def pieces(ended: Event | None = None) -> Generator[bytes]:
    try:
        yield from (b"a", b"b")
    finally:
        if ended:
            ended.set()


@pytest.fixture
def busy() -> Iterator[list[Making]]:
    """As many files in the making as may be."""
    making = [Making(pieces()) for _place in range(AT_ONCE)]
    yield making
    for one in making:
        one.close()


def test_one_more_than_may_be_is_refused_and_told_what_to_do(busy: list[Making]) -> None:
    with pytest.raises(UnableToMakeNow, match="CSV") as refusal:
        Making(pieces())
    assert (refusal.value.status, refusal.value.code) == (429, "busy")


def test_whoever_has_it_all_makes_room(busy: list[Making]) -> None:
    assert b"".join(busy[0]) == b"ab"
    Making(pieces()).close()


def test_whoever_leaves_makes_room_also_before_the_first_piece(busy: list[Making]) -> None:
    busy[0].close()
    again = Making(pieces())
    next(again)
    again.close()
    again.close()  # twice is once
    Making(pieces()).close()


def test_what_fails_makes_room(busy: list[Making]) -> None:
    def failing() -> Generator[bytes]:
        yield b"a"
        raise ZeroDivisionError

    busy.pop().close()
    making = Making(failing())
    with pytest.raises(ZeroDivisionError):
        list(making)
    Making(pieces()).close()


def test_leaving_while_a_piece_is_being_made_ends_it_with_that_piece() -> None:
    begun, go_on, ended = Event(), Event(), Event()

    def slow() -> Generator[bytes]:
        try:
            begun.set()
            go_on.wait(10)
            yield b"a"
            yield b"b"
        finally:
            ended.set()

    making, found = Making(slow()), list[bytes]()
    thread = Thread(target=lambda: found.extend(making))
    thread.start()
    assert begun.wait(10)
    making.close()
    assert not ended.is_set()
    go_on.set()
    thread.join(10)
    assert (found, ended.is_set()) == ([b"a"], True)
