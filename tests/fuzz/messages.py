"""The wire: frames as they arrive; and messages of any content, as both daemons take them in."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.fuzz.harness import Harness, text_of
from tests.runtime.coordinator.world import DIAMOND, RULES
from tests.runtime.isolator.conftest import exception, make_setup
from whesl.files.decode_errors import UNDECODABLE
from whesl.runtime.coordinator import json_views
from whesl.runtime.coordinator.core import state_machine as coordinator
from whesl.runtime.coordinator.core.changes import apply_record
from whesl.runtime.coordinator.core.events_and_commands import Arrived
from whesl.runtime.coordinator.core.events_and_commands import Journal as CoordinatorJournal
from whesl.runtime.coordinator.core.events_and_commands import Started as CoordinatorStarted
from whesl.runtime.coordinator.core.state import Settings, State
from whesl.runtime.isolator.core import state_machine as isolator
from whesl.runtime.isolator.core.events_and_commands import CoordinatorMessage, Started
from whesl.runtime.isolator.core.events_and_commands import Journal as IsolatorJournal
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.journal.records import isolator_records, of_coordinator, of_isolator
from whesl.runtime.node_agent import messages
from whesl.runtime.wire.agent_link import LINK_VERSION, _Codec
from whesl.runtime.wire.delivery import Inbox, Outbox
from whesl.runtime.wire.messages import AnyMessage, Envelope, decode, encode

NOW = 1_000_000.0
_MOST = 64  # messages of one input
_codec = _Codec((messages.Beat, messages.Killed, messages.Stacks))


def frames(data: bytes) -> None:
    """Take frames in as they come off a socket: ``length`` (two bytes), content, and so on."""
    inbox, outbox = Inbox(), Outbox("n", "i")
    outbox.post(decode_one(b'{"type":"ack","number":1}'), NOW)
    while data:
        size = int.from_bytes(data[:2], "big")
        frame, data = data[2 : 2 + size], data[2 + size :]
        _codec.decode(frame)
        envelope = decode(frame)
        if envelope is None:
            continue
        again = decode(encode(envelope))
        assert repr(again) == repr(envelope)  # NaN is not equal to itself
        taken = inbox.accept(envelope)
        assert not (taken and envelope.number and inbox.accept(envelope))
        outbox.acknowledged(envelope.number)
        outbox.due(NOW)


_one: msgspec.json.Decoder[AnyMessage] = msgspec.json.Decoder(AnyMessage)


def decode_one(line: bytes) -> AnyMessage:
    """Return a message that is written as JSON, as in the corpus."""
    return _one.decode(line)


def _messages(data: bytes) -> list[tuple[str, AnyMessage]]:
    """Return the lines ``peer message`` that are some, as a socket would deliver them."""
    found = []
    for line in data.split(b"\n")[:_MOST]:
        peer, _, content = line.partition(b" ")
        try:
            message = _one.decode(content)
            frame = encode(Envelope(1, text_of(peer), "i", 1, message))
        except (*UNDECODABLE, UnicodeError, OverflowError):
            continue
        envelope = decode(frame)
        if envelope is not None:
            found.append((f"{envelope.sender}#i", envelope.message))
    return found


def _known() -> State:
    told = records.Workflow(workflow=DIAMOND, spec=RULES, rjms="local", observe=False, environment={})
    return apply_record.apply(State(settings=Settings()), told, NOW)


_KNOWN = _known()


def to_coordinator(data: bytes) -> None:
    """Give messages to the coordinator's core; its journal alone has to give the same state again."""
    now = NOW
    written: list[tuple[records.AnyRecord, float]] = []
    state, _ = coordinator.step(_KNOWN, CoordinatorStarted(), now)
    for peer, message in _messages(data):
        now += 1.0
        state, commands = coordinator.step(state, Arrived(peer=peer, message=message), now)
        for command in commands:
            if isinstance(command, CoordinatorJournal):
                written.append((of_coordinator(msgspec.json.encode(command.record)), now))
            else:
                # Messages go out as they are.
                sent = getattr(command, "message", None)
                if sent is not None:
                    encode(Envelope(1, "coordinator", "i", 1, sent))
    again = _KNOWN
    for record, time in written:
        again = apply_record.apply(again, record, time)
    assert _settled(again) == _settled(state)
    msgspec.json.encode(json_views.status_view(state))
    msgspec.json.encode(json_views.nodes_view(state, now))


def _settled(state: State) -> str:
    """Return what of a state is durable; as text, since NaN is not equal to itself."""
    return repr(msgspec.structs.replace(state, volatile=_KNOWN.volatile))


_SETUP = make_setup(exception(), coordinator=True)


def to_isolator(data: bytes) -> None:
    """Give messages to the isolator's core while its task runs."""
    now = NOW
    state = isolator.rebuild(_SETUP, [])
    state, written = _taken(state, Started(alive=None), now, [])
    for peer, message in _messages(data):
        now += 1.0
        state, written = _taken(state, CoordinatorMessage(message=message), now, written)
        if peer.startswith("started"):
            event = isolator_records.Launched(attempt=state.attempt, pid=1, started=1)
            state, written = _taken(state, event, now, written)
    again = isolator.rebuild(_SETUP, written)
    assert (again.phase, again.attempt, again.raised, again.controls) == (
        state.phase,
        state.attempt,
        state.raised,
        state.controls,
    )


def _taken(state: Any, event: Any, now: float, written: list[Any]) -> tuple[Any, list[Any]]:
    state, commands = isolator.step(state, event, now)
    new = [
        (of_isolator(msgspec.json.encode(command.record)), now)
        for command in commands
        if isinstance(command, IsolatorJournal)
    ]
    return state, written + new


def agents(data: bytes) -> bytes:
    """Return a frame of an agent's link around any content (for seeds)."""
    return msgspec.msgpack.encode((LINK_VERSION, data))


_WORDS = (
    'w/a {"type":"register","task":"w/a","workflow":"w","step":"a","claim":"1.0","job_id":"1"}\n',
    'w/a {"type":"report","task":"w/a","time":1.0,'
    '"record":{"kind":"lease-ended","node":"n1","attempt":1,"reason":""}}\n',
    'w/a {"type":"heartbeat","task":"w/a","state":"running","attempt":1}\n',
    'w/a {"type":"finished","task":"w/a","state":"completed","exit_code":0,"attempts":1}\n',
    'cli {"type":"command","id":"1","action":"add-node","target":"n1","arguments":{"hours":"1"}}\n',
    'cli {"type":"raise","id":"r1","exception":"DISK","task":"w/a","node":"","job":"","evidence":"x"}\n',
    '"attempt":',
    '"ordinal":1,',
    '"nan"',
)

HARNESSES = (
    Harness("frames", frames),
    Harness("coordinator", to_coordinator, _WORDS),
    Harness(
        "isolator",
        to_isolator,
        (
            'c {"type":"welcome","task":"wf/app","admitted":true}\n',
            'started {"type":"control","task":"wf/app","id":"1","action":"pause"}\n',
            'started {"type":"raise","task":"wf/app","id":"1","exception":"CRASH","node":"n1"}\n',
            'c {"type":"reconfigure","task":"wf/app","configuration":{"version":2},"signal":10}\n',
            'c {"type":"recovery-grant","task":"wf/app","ordinal":1}\n',
            'c {"type":"escalation-decision","task":"wf/app","ordinal":1,"action":"fail"}\n',
        ),
    ),
)
