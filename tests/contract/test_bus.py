"""What every bus promises: each message to one member of a group, again if nobody acknowledged it."""

import os
import time
import uuid
from collections.abc import Callable, Iterator

import pytest
import redis

from scheduler.bus import Bus, Delivery, Subscription, UnableToReachBus, open_bus
from scheduler.bus.memory import MemoryBus
from scheduler.bus.streams import StreamsBus

REDELIVER_AFTER_S = 0.3


@pytest.fixture(params=["memory", "streams"])
def bus(request: pytest.FixtureRequest) -> Iterator[Bus]:
    made: Bus
    if request.param == "memory":
        made = MemoryBus(redeliver_after_s=REDELIVER_AFTER_S)
    else:
        made = StreamsBus(os.environ["BUS_URL"], redeliver_after_s=REDELIVER_AFTER_S)
    yield made
    made.close()


@pytest.fixture
def topic() -> str:
    return f"test.{uuid.uuid4().hex}"


def poll_until(subscription: Subscription, n: int, *, within_s: float = 5.0) -> list[Delivery]:
    """At least ``n`` messages, or what came before time was up."""
    got: list[Delivery] = []
    deadline = time.monotonic() + within_s
    while len(got) < n and time.monotonic() < deadline:
        got += subscription.poll(timeout_s=0.1, at_most=100)
    return got


def test_messages_come_in_the_order_in_which_they_were_published(bus: Bus, topic: str) -> None:
    subscription = bus.subscribe([topic], group="g", member="a")
    for n in range(20):
        bus.publish(topic, b"%d" % n, key="k")
    assert [d.payload for d in poll_until(subscription, 20)] == [b"%d" % n for n in range(20)]


def test_a_group_sees_what_was_published_before_it_subscribed(bus: Bus, topic: str) -> None:
    bus.publish(topic, b"early", key="k")
    (delivery,) = poll_until(bus.subscribe([topic], group="g", member="a"), 1)
    assert (delivery.topic, delivery.payload) == (topic, b"early")


def test_each_message_goes_to_one_member_of_a_group(bus: Bus, topic: str) -> None:
    members = [bus.subscribe([topic], group="g", member=name) for name in "ab"]
    for n in range(10):
        bus.publish(topic, b"%d" % n, key="k")
    seen = []
    for _ in range(5):
        for member in members:
            for delivery in member.poll(timeout_s=0.05, at_most=1):
                member.ack(delivery)
                seen.append(delivery.payload)
    assert sorted(seen) == [b"%d" % n for n in range(10)]


def test_every_group_sees_every_message(bus: Bus, topic: str) -> None:
    one, two = (bus.subscribe([topic], group=group, member="a") for group in ("one", "two"))
    bus.publish(topic, b"x", key="k")
    assert [d.payload for s in (one, two) for d in poll_until(s, 1)] == [b"x", b"x"]


def test_a_poll_gives_no_more_than_asked_over_several_topics(bus: Bus, topic: str) -> None:
    topics = [f"{topic}.{kind}" for kind in ("one", "two", "three")]
    subscription = bus.subscribe(topics, group="g", member="a")
    for name in topics:
        bus.publish(name, name.encode(), key="k")
    polls = [subscription.poll(timeout_s=1, at_most=1) for _ in topics]
    assert [len(got) for got in polls] == [1, 1, 1]
    assert sorted(got[0].payload.decode() for got in polls) == sorted(topics)


def test_an_empty_poll_ends_after_its_timeout(bus: Bus, topic: str) -> None:
    subscription = bus.subscribe([topic], group="g", member="a")
    began = time.monotonic()
    assert subscription.poll(timeout_s=0.2, at_most=1) == []
    assert 0.15 < time.monotonic() - began < 2
    assert subscription.poll(timeout_s=0, at_most=1) == []


def test_an_unacknowledged_message_comes_again_to_another_member(bus: Bus, topic: str) -> None:
    dead, alive = (bus.subscribe([topic], group="g", member=name) for name in ("dead", "alive"))
    bus.publish(topic, b"x", key="k")
    assert len(poll_until(dead, 1)) == 1
    (delivery,) = poll_until(alive, 1)
    assert delivery.payload == b"x"


def test_an_acknowledged_message_never_comes_again(bus: Bus, topic: str) -> None:
    subscription = bus.subscribe([topic], group="g", member="a")
    bus.publish(topic, b"x", key="k")
    (delivery,) = poll_until(subscription, 1)
    subscription.ack(delivery)
    other = bus.subscribe([topic], group="g", member="b")
    assert poll_until(other, 1, within_s=3 * REDELIVER_AFTER_S) == []


def test_a_member_that_leaves_loses_nothing(bus: Bus, topic: str) -> None:
    leaving = bus.subscribe([topic], group="g", member="leaving")
    for payload in (b"done", b"open"):
        bus.publish(topic, payload, key="k")
    done, _open = poll_until(leaving, 2)
    leaving.ack(done)
    leaving.close()
    (delivery,) = poll_until(bus.subscribe([topic], group="g", member="next"), 1)
    assert delivery.payload == b"open"


def test_any_bytes_arrive_as_they_were_sent(bus: Bus, topic: str) -> None:
    payload = bytes(range(256)) * 10
    bus.publish(topic, payload, key="键")
    (delivery,) = poll_until(bus.subscribe([topic], group="g", member="a"), 1)
    assert delivery.payload == payload


@pytest.fixture
def client() -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(os.environ["BUS_URL"]) as made:
        yield made


def test_streams_go_on_after_everything_was_flushed(client: "redis.Redis", topic: str) -> None:
    bus = StreamsBus(os.environ["BUS_URL"])
    subscription = bus.subscribe([topic], group="g", member="a")
    bus.publish(topic, b"lost", key="k")
    assert len(poll_until(subscription, 1)) == 1
    client.delete(topic)  # what a flush does to this topic; other tests keep theirs
    bus.publish(topic, b"new", key="k")
    assert [d.payload for d in poll_until(subscription, 1)] == [b"new"]
    bus.close()


def test_streams_stay_about_as_long_as_their_cap(client: "redis.Redis", topic: str) -> None:
    bus = StreamsBus(os.environ["BUS_URL"], cap=100)
    for n in range(1000):
        bus.publish(topic, b"%d" % n, key="k")
    assert 100 <= client.xlen(topic) < 400
    bus.close()


@pytest.mark.parametrize("act", ["publish", "poll", "ack"])
def test_a_bus_that_does_not_answer_says_so(act: str, topic: str) -> None:
    bus = StreamsBus("redis://127.0.0.1:1/0")
    subscription = bus.subscribe([topic], group="g", member="a")
    acts: dict[str, Callable[[], object]] = {
        "publish": lambda: bus.publish(topic, b"x", key="k"),
        "poll": lambda: subscription.poll(timeout_s=0, at_most=1),
        "ack": lambda: subscription.ack(Delivery(topic, b"x", "1-1")),
    }
    with pytest.raises(UnableToReachBus):
        acts[act]()
    subscription.close()
    bus.close()


def test_a_bus_is_opened_by_its_url() -> None:
    assert isinstance(open_bus("memory:"), MemoryBus)
    assert isinstance(open_bus("redis://127.0.0.1:1/0"), StreamsBus)
    with pytest.raises(ValueError, match="BUS_URL must begin with"):
        open_bus("amqp://127.0.0.1")
