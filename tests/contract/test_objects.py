"""What every object store promises."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.objects import (
    ObjectBusy,
    ObjectExists,
    ObjectInfo,
    ObjectNotFound,
    ObjectStore,
    OffsetMismatch,
    open_store,
)
from scheduler.objects.file import FileStore
from scheduler.objects.memory import MemoryStore


@pytest.fixture(params=["file", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    url = f"file://{tmp_path}/objects" if request.param == "file" else "memory:"
    return open_store(url)


def test_what_was_put_is_read_back_whole_and_by_stream(store: ObjectStore) -> None:
    store.put("d/p/a", b"\x00tide\xff")
    assert store.get("d/p/a") == b"\x00tide\xff"
    assert store.size("d/p/a") == 6
    with store.open_read("d/p/a") as stream:
        stream.seek(1)
        assert stream.read(4) == b"tide"


def test_put_replaces(store: ObjectStore) -> None:
    store.put("a", b"one")
    store.put("a", b"two")
    assert store.get("a") == b"two"


def test_an_unknown_key_is_not_found(store: ObjectStore) -> None:
    store.put("folder/object", b"x")
    for key in ("nothing", "folder", "folder/object/below"):
        assert not store.exists(key)
        with pytest.raises(ObjectNotFound):
            store.get(key)
        with pytest.raises(ObjectNotFound):
            store.size(key)


def test_a_written_object_appears_only_when_its_block_ends(store: ObjectStore) -> None:
    with store.open_write("late") as writer:
        writer.write(b"half")
        assert not store.exists("late")
        writer.write(b" whole")
    assert store.get("late") == b"half whole"


def test_an_interrupted_write_leaves_the_old_object_and_nothing_else(store: ObjectStore) -> None:
    store.put("kept", b"old")

    def interrupted() -> None:
        with store.open_write("kept") as writer:
            writer.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert store.get("kept") == b"old"
    assert [found.key for found in store.list("")] == ["kept"]


def test_put_new_lets_exactly_one_of_many_win(store: ObjectStore) -> None:
    barrier, won = Barrier(8), list[int]()

    def claim(me: int) -> None:
        barrier.wait()
        try:
            store.put_new("claims/1", b"%d" % me)
        except ObjectExists:
            return
        won.append(me)

    threads = [Thread(target=claim, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert store.get("claims/1") == b"%d" % won[0]


def test_list_gives_keys_in_order_with_sizes(store: ObjectStore) -> None:
    for key in ("p/parts/10/1-1", "p/parts/1/1-2", "p/parts/1/1-1", "q/parts/1/1-1"):
        store.put(key, b"xy")
    assert list(store.list("p/parts/1/")) == [ObjectInfo("p/parts/1/1-1", 2), ObjectInfo("p/parts/1/1-2", 2)]
    assert [found.key for found in store.list("p/parts/1")] == ["p/parts/1/1-1", "p/parts/1/1-2", "p/parts/10/1-1"]
    assert list(store.list("nobody/")) == []


def test_delete_takes_one_or_a_whole_prefix(store: ObjectStore) -> None:
    for key in ("p/a", "p/b/c", "q/a"):
        store.put(key, b"x")
    store.delete("p/a")
    store.delete("p/a")
    assert store.delete_prefix("p/") == 1
    assert [found.key for found in store.list("")] == ["q/a"]


@pytest.mark.parametrize("key", ["", "/", "../x", "a//b", "a/../b", "a/./b", "a\0b", "/etc/passwd", "a/"])
def test_a_key_that_could_leave_the_store_is_refused(store: ObjectStore, key: str) -> None:
    with pytest.raises(ValueError, match="not an object key"):
        store.put(key, b"x")


def test_stale_unfinished_writes_are_swept(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    writer = store.open_write("never")
    writer.write(b"x")
    staged = next((tmp_path / ".staging").iterdir())
    written_at = staged.stat().st_mtime
    assert store.sweep_staging(older_than_s=60, now_s=written_at + 59) == 0
    assert store.sweep_staging(older_than_s=60, now_s=written_at + 61) == 1
    assert list((tmp_path / ".staging").iterdir()) == []
    writer.__exit__(ZeroDivisionError, None, None)


@settings(max_examples=50, deadline=None)
@given(chunks=st.lists(st.binary(max_size=200), max_size=8))
def test_chunks_are_stored_in_their_order(chunks: list[bytes]) -> None:
    store = MemoryStore()
    with store.open_write("k") as writer:
        for chunk in chunks:
            writer.write(chunk)
    assert store.get("k") == b"".join(chunks)


def test_what_a_dead_writer_left_is_discarded_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    started = datetime.now(UTC)
    dead, alive = store.open_write("a"), store.open_write("b")
    dead.write(b"half" * 100_000)  # more than a buffer, so that the two staged files can be told apart
    (written_later,) = [path for path in (tmp_path / ".staging").iterdir() if path.stat().st_size == 0]
    os.utime(written_later, (0, started.timestamp() + 3600))
    assert store.discard_unfinished(before=started + timedelta(minutes=1)) == 1
    with alive:
        alive.write(b"whole")
    assert store.get("b") == b"whole"
    assert not store.exists("a")
    dead.__exit__(RuntimeError, None, None)


def test_there_is_nothing_to_discard_in_an_orderly_store(store: ObjectStore) -> None:
    store.put("a", b"x")
    assert store.discard_unfinished(before=datetime.now(UTC) + timedelta(days=1)) == 0
    assert store.get("a") == b"x"


def append(store: ObjectStore, key: str, at: int, data: bytes) -> None:
    """A piece; the first one begins the object."""
    if at == 0:
        store.begin(key)
    with store.open_append(key, at=at) as writer:
        writer.write(data)


def test_an_object_that_comes_in_pieces_appears_whole_once_it_is_finished(store: ObjectStore) -> None:
    append(store, "d/p/a", 0, b"high ")
    append(store, "d/p/a", 5, b"tide")
    assert not store.exists("d/p/a")
    assert list(store.list("")) == []
    assert store.unfinished_size("d/p/a") == 9
    store.finish("d/p/a")
    assert store.get("d/p/a") == b"high tide"
    with pytest.raises(ObjectNotFound):
        store.unfinished_size("d/p/a")


def test_finishing_replaces_what_lay_under_the_key_and_not_before(store: ObjectStore) -> None:
    store.put("a", b"old")
    append(store, "a", 0, b"new")
    assert store.get("a") == b"old"
    store.finish("a")
    assert store.get("a") == b"new"


def test_an_object_without_a_byte_can_be_begun_and_finished(store: ObjectStore) -> None:
    store.begin("a")
    assert store.unfinished_size("a") == 0
    append(store, "a", 0, b"")
    store.finish("a")
    assert store.get("a") == b""


def test_beginning_again_changes_nothing(store: ObjectStore) -> None:
    append(store, "a", 0, b"tide")
    store.begin("a")
    assert store.unfinished_size("a") == 4


def test_nothing_is_added_to_an_object_that_was_never_begun_or_is_finished(store: ObjectStore) -> None:
    with pytest.raises(ObjectNotFound):
        store.open_append("a", at=0)
    append(store, "a", 0, b"tide")
    store.finish("a")
    with pytest.raises(ObjectNotFound):
        store.open_append("a", at=0)
    assert store.get("a") == b"tide"


def test_what_came_before_a_piece_broke_off_is_kept(store: ObjectStore) -> None:
    def broken() -> None:
        store.begin("a")
        with store.open_append("a", at=0) as writer:
            writer.write(b"half")
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        broken()
    assert store.unfinished_size("a") == 4
    append(store, "a", 4, b" more")
    store.finish("a")
    assert store.get("a") == b"half more"


@pytest.mark.parametrize("at", [0, 3, 5])
def test_a_piece_that_begins_elsewhere_is_refused_with_the_size(store: ObjectStore, at: int) -> None:
    append(store, "a", 0, b"tide")
    with pytest.raises(OffsetMismatch) as refused:
        store.open_append("a", at=at)
    assert refused.value.size == 4
    store.finish("a")
    assert store.get("a") == b"tide"


def test_while_a_piece_is_added_nobody_else_adds_or_finishes(store: ObjectStore) -> None:
    store.begin("a")
    with store.open_append("a", at=0) as writer:
        writer.write(b"mine")
        for at in (0, 4):
            with pytest.raises(ObjectBusy):
                store.open_append("a", at=at)
        with pytest.raises(ObjectBusy):
            store.finish("a")
    store.finish("a")
    assert store.get("a") == b"mine"


def test_of_many_that_add_at_once_exactly_one_does(store: ObjectStore) -> None:
    barrier, won = Barrier(8), list[int]()
    store.begin("a")

    def add(me: int) -> None:
        barrier.wait()
        try:
            with store.open_append("a", at=0) as writer:
                writer.write(b"%d" % me * 1000)
        except (ObjectBusy, OffsetMismatch):
            return
        won.append(me)

    threads = [Thread(target=add, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.finish("a")
    assert [store.get("a")] == [b"%d" % me * 1000 for me in won]


def test_an_unfinished_object_can_be_forgotten_also_while_it_grows(store: ObjectStore) -> None:
    store.begin("a")
    with store.open_append("a", at=0) as writer:
        writer.write(b"gone")
        store.discard("a")
    store.discard("a")
    for lost in (store.unfinished_size, store.finish, lambda key: store.open_append(key, at=0)):
        with pytest.raises(ObjectNotFound):
            lost("a")
    append(store, "a", 0, b"again")
    assert store.unfinished_size("a") == 5


def test_an_unfinished_object_that_nothing_is_added_to_is_discarded(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    append(store, "old", 0, b"x")
    append(store, "new", 0, b"y" * 2)
    (old,) = [path for path in (tmp_path / ".unfinished").iterdir() if path.stat().st_size == 1]
    os.utime(old, (0, old.stat().st_mtime - 3600))
    assert store.discard_unfinished(before=datetime.now(UTC) - timedelta(minutes=1)) == 1
    assert store.unfinished_size("new") == 2
    with pytest.raises(ObjectNotFound):
        store.unfinished_size("old")


def test_pieces_outlive_the_store_that_took_them(tmp_path: Path) -> None:
    append(FileStore(tmp_path), "a", 0, b"before ")
    append(FileStore(tmp_path), "a", 7, b"after")
    FileStore(tmp_path).finish("a")
    assert FileStore(tmp_path).get("a") == b"before after"


@pytest.mark.parametrize("key", ["", "../x", "a//b", "/etc/passwd"])
def test_an_unfinished_object_cannot_leave_the_store_either(store: ObjectStore, key: str) -> None:
    with pytest.raises(ValueError, match="not an object key"):
        store.begin(key)
