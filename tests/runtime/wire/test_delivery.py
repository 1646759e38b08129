"""Delivery over a network that loses, repeats and reorders, on a virtual clock."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.alike import examples
from whesl.model.states import TaskState
from whesl.runtime.journal.records.isolator_records import LeaseEnded
from whesl.runtime.wire.delivery import Inbox, Outbox
from whesl.runtime.wire.messages import Envelope, Heartbeat, Report, decode, encode


def report(number: int) -> Report:
    return Report(task="w/t", time=0.0, record=LeaseEnded(node="", attempt=number, reason=""))


def content(envelope: Envelope) -> int:
    assert isinstance(envelope.message, Report)
    assert isinstance(envelope.message.record, LeaseEnded)
    return envelope.message.record.attempt


def test_repetition_backs_off_and_ends_with_the_acknowledgement() -> None:
    outbox = Outbox("s", "i", first=1.0, last=4.0)
    outbox.post(report(1), 0.0)
    times = []
    now = 0.0
    while now < 20:
        now += 0.5
        times += [now for _ in outbox.due(now)]
    assert times == [1.0, 3.0, 7.0, 11.0, 15.0, 19.0]
    outbox.acknowledged(1)
    assert outbox.next_deadline() is None
    assert outbox.due(100.0) == []


def test_what_waits_is_due_at_once_when_the_receiver_is_back() -> None:
    outbox = Outbox("s", "i")
    for number in range(3):
        outbox.post(report(number), 0.0)
    outbox.due(100.0)
    outbox.hurry(101.0)
    assert [content(e) for e in outbox.due(101.0)] == [0, 1, 2]


def test_messages_without_a_number_are_not_kept() -> None:
    outbox = Outbox("s", "i")
    beat = Heartbeat(task="w/t", state=TaskState.RUNNING, attempt=1)
    envelope = outbox.post(beat, 0.0, reliable=False)
    assert envelope.number == 0 and len(outbox) == 0
    inbox = Inbox()
    assert inbox.accept(envelope) and inbox.accept(envelope)


def test_a_full_outbox_gives_up_expendable_messages_only() -> None:
    outbox = Outbox("s", "i", capacity=3)
    outbox.post(report(1), 0.0)
    for number in range(2, 6):
        outbox.post(report(number), 0.0, expendable=True)
    outbox.post(report(6), 0.0)
    assert outbox.dropped == 3
    assert [content(e) for e in outbox.due(10.0)] == [1, 5, 6]


def test_a_receiver_that_forgot_everything_takes_high_numbers() -> None:
    outbox = Outbox("s", "i")
    for number in range(1, 50_001):
        outbox.post(report(number), 0.0)
        outbox.acknowledged(number)
    late = outbox.post(report(50_001), 1.0)
    inbox = Inbox(window=10)
    assert inbox.accept(late)
    assert not inbox.accept(late)


def test_incarnations_are_told_apart() -> None:
    inbox = Inbox()
    assert inbox.accept(Outbox("s", "one").post(report(1), 0.0))
    assert inbox.accept(Outbox("s", "two").post(report(1), 0.0))
    assert inbox.accept(Outbox("other", "one").post(report(1), 0.0))


def test_memory_is_bounded_by_senders_and_window() -> None:
    inbox = Inbox(window=5, senders=3)
    for sender in range(100):
        for number in range(2, 30):
            inbox.accept(Envelope(1, str(sender), "i", number, report(number), 1))
    assert len(inbox._streams) == 3
    assert all(stream.above is not None and len(stream.above) <= 5 for stream in inbox._streams.values())


@settings(max_examples=examples(150), deadline=None)
@given(
    seed=st.integers(0, 2**32),
    count=st.integers(1, 60),
    loss=st.floats(0, 0.7),
    repeat=st.floats(0, 0.5),
    restarts=st.integers(0, 3),
    window=st.sampled_from([4, 64, 4096]),
)
def test_exactly_once_over_a_bad_network(
    seed: int, count: int, loss: float, repeat: float, restarts: int, window: int
) -> None:
    """Every message arrives; once for each memory that the receiver had (a restart forgets)."""
    chance = random.Random(seed)
    outbox, inbox = Outbox("s", "i", first=0.5, last=2.0), Inbox(window=window)
    network: list[tuple[float, str, bytes]] = []
    got: dict[int, int] = {}
    restart_at = sorted(chance.uniform(0, 20) for _ in range(restarts))

    def throw(kind: str, content: bytes, now: float) -> None:
        if chance.random() >= loss:
            for _ in range(2 if chance.random() < repeat else 1):
                network.append((now + chance.uniform(0, 3), kind, content))

    now, posted = 0.0, 0
    while posted < count or len(outbox):
        now += 0.1
        assert now < 3000, "not all arrived"
        while restart_at and restart_at[0] <= now:
            restart_at.pop(0)
            inbox = Inbox(window=window)
        if posted < count:
            throw("message", encode(outbox.post(report(posted), now)), now)
            posted += 1
        for late in outbox.due(now):
            throw("message", encode(late), now)
        for item in [item for item in network if item[0] <= now]:
            network.remove(item)
            if item[1] == "ack":
                outbox.acknowledged(int(item[2]))
                continue
            envelope = decode(item[2])
            assert envelope is not None
            if inbox.accept(envelope):
                got[content(envelope)] = got.get(content(envelope), 0) + 1
            if inbox.seen(envelope):
                throw("ack", str(envelope.number).encode(), now)
    assert sorted(got) == list(range(count))
    assert max(got.values()) <= 1 + restarts


@given(st.binary(max_size=200))
def test_no_bytes_break_the_decoder(frame: bytes) -> None:
    decode(frame)


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8))
def test_no_damaged_frame_breaks_the_decoder(position: int, damage: bytes) -> None:
    frame = bytearray(encode(Outbox("sender", "incarnation").post(report(1), 0.0)))
    place = position % len(frame)
    frame[place : place + len(damage)] = damage
    decode(bytes(frame))


@pytest.mark.parametrize("change", [{"version": 2}, {"message": None}, {"number": "x"}])
def test_other_versions_and_types_are_not_understood(change: dict[str, object]) -> None:
    good = Envelope(1, "s", "i", 1, report(1))
    assert decode(encode(good)) == good
    fields = {**msgspec.structs.asdict(good), **change}
    assert decode(msgspec.msgpack.encode(list(fields.values()))) is None


def test_envelopes_of_before_the_floor_are_understood() -> None:
    whole = msgspec.msgpack.decode(encode(Envelope(1, "s", "i", 1, report(1))))
    assert decode(msgspec.msgpack.encode(whole[:5])) == Envelope(1, "s", "i", 1, report(1))
