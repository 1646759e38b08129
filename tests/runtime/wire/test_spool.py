"""What is left for a coordinator that was away: all of it, once, and nothing that somebody else put there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whesl.model import home as places
from whesl.model.errors import WheslError
from whesl.model.evidence import Raised
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.states import TaskState
from whesl.runtime.wire.client import CoordinatorClient
from whesl.runtime.wire.keys import user_keys
from whesl.runtime.wire.messages import Escalate, Finished, Heartbeat, RecoveryDone, RecoveryRequest, Register
from whesl.runtime.wire.server import CoordinatorServer
from whesl.runtime.wire.spool import collect, leave, put_aside

RAISED = Raised(exception="E", task="w/a", attempt=1, ordinal=1, time=1.0, evidence=())
DONE = RecoveryDone(task="w/a", ordinal=1, exception="E", outcome=RecoveryOutcome.RELAUNCHED)
FINISHED = Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=2)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir(mode=0o700)
    (made / "coordinator").mkdir(mode=0o700)
    return made


def left_by_a_client(home: Path) -> int:
    client = CoordinatorClient(home, "w/a")
    client.send(Register(task="w/a", workflow="w", step="a", claim="1.0"))
    client.send(Heartbeat(task="w/a", state=TaskState.RUNNING, attempt=1))
    client.send(RecoveryRequest(raised=RAISED))
    client.send(Escalate(raised=RAISED, reason="budget-spent"))
    client.send(DONE)
    client.send(FINISHED)
    count = client.leave()
    client.close()
    return count


def test_news_are_left_in_order_and_questions_are_not(home: Path) -> None:
    assert left_by_a_client(home) == 3
    (left,), unreadable = collect(home)
    assert not unreadable
    assert [type(envelope.message) for envelope in left.envelopes] == [Register, RecoveryDone, Finished]
    assert left.peer.startswith("w/a#")
    assert left.path.stat().st_mode & 0o777 == 0o600
    assert places.spool(home).stat().st_mode & 0o777 == 0o700


def test_a_client_without_news_leaves_nothing(home: Path) -> None:
    client = CoordinatorClient(home, "w/a")
    client.send(RecoveryRequest(raised=RAISED))
    assert client.leave() == 0
    client.close()
    assert collect(home) == ([], [])


def test_what_had_arrived_all_the_same_is_not_new(home: Path) -> None:
    left_by_a_client(home)
    ((left,), _) = collect(home)
    server = CoordinatorServer("127.0.0.1", 0, user_keys(home), "c")
    first, *others = server.take_in(left.envelopes)
    server.settle(first)
    assert [each.message for each in server.take_in(left.envelopes)] == [each.message for each in others]
    for each in others:
        server.settle(each)
    assert server.take_in(left.envelopes) == []
    server.close()


def test_more_than_a_receiver_s_window_is_taken_in(home: Path) -> None:
    client = CoordinatorClient(home, "w/a")
    for ordinal in range(6000):
        client.send(
            RecoveryDone(task="w/a", ordinal=ordinal, exception="E", outcome=RecoveryOutcome.RELAUNCHED)
        )
    client.leave()
    client.close()
    ((left,), _) = collect(home)
    server = CoordinatorServer("127.0.0.1", 0, user_keys(home), "c")
    for delivery in server.take_in(left.envelopes):
        server.settle(delivery)
    assert server.take_in(left.envelopes) == []
    server.close()


@pytest.mark.parametrize(
    "damage", ["empty", "cut", "text", "frame", "two senders", "link", "directory", "pipe"]
)
def test_what_is_no_isolator_s_is_put_aside_and_named_once(home: Path, tmp_path: Path, damage: str) -> None:
    left_by_a_client(home)
    ((left,), _) = collect(home)
    content = left.path.read_bytes()
    left.path.unlink()
    if damage in ("empty", "cut", "text", "frame"):
        left.path.write_bytes(
            {"empty": b"", "cut": content[:-9], "text": b"hello", "frame": b"\x91\xc4\x01\xff"}[damage]
        )
    elif damage == "two senders":
        other = list(left.envelopes[:1])
        others = [type(other[0])(1, "w/b", "other", 1, FINISHED)]
        leave(home, left.path.name.removesuffix(".messages"), [*other, *others])
    elif damage == "link":
        (tmp_path / "elsewhere").write_bytes(content)
        left.path.symlink_to(tmp_path / "elsewhere")
    elif damage == "directory":
        left.path.mkdir()
    else:
        os.mkfifo(left.path)
    found, unreadable = collect(home)
    assert found == [] and unreadable == [left.path]
    assert put_aside(left.path).name == left.path.name + ".unreadable"
    assert collect(home) == ([], [])
    if damage == "link":
        assert (tmp_path / "elsewhere").read_bytes() == content


def test_nothing_is_left_where_others_can_write(home: Path) -> None:
    places.spool(home).mkdir(mode=0o700)
    places.spool(home).chmod(0o777)
    client = CoordinatorClient(home, "w/a")
    client.send(FINISHED)
    with pytest.raises(WheslError):
        client.leave()
    client.close()
