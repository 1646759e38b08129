"""The agent by itself, over a real link."""

from __future__ import annotations

import threading
import time

import pytest

from whesl.isolator import agent
from whesl.isolator.link import FROM_AGENT, Beat, BeatAnswer, Leave, LinkFile, ReadStacks, Stacks
from whesl.wire.keys import LinkKeys
from whesl.wire.link import LinkServer, Received


def test_an_agent_that_reads_stacks_is_not_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A debugger may take seconds; that must not look like the loss of the node."""
    beats_meanwhile = threading.Event()

    def slow(_pids: list[int], timeout: float) -> str:
        assert beats_meanwhile.wait(timeout=20), "no heartbeat while stacks were read"
        return f"read, {timeout:g} s allowed"

    monkeypatch.setattr(agent, "collect", slow)
    keys = LinkKeys.generate()
    server = LinkServer("127.0.0.1", 0, keys, FROM_AGENT)
    file = LinkFile(
        hosts=("127.0.0.1",),
        port=server.port,
        keys=keys,
        claim="1.0",
        prefix="none",
        heartbeat=0.05,
        limit=5.0,
    )
    thread = threading.Thread(target=agent.Agent(file, "n02").run, daemon=True)
    thread.start()
    asked = 0
    texts: list[str] = []
    deadline = time.monotonic() + 30
    while not texts and time.monotonic() < deadline:
        server.sockets[0].poll(50)
        for event in server.receive():
            if not isinstance(event, Received):
                continue
            if isinstance(event.message, Beat):
                server.send(event.peer, BeatAnswer(number=event.message.number))
                if asked < 3:  # impatience asks again, and is answered once
                    server.send(event.peer, ReadStacks(token="t"))
                    asked += 1
                elif event.message.number > 6:
                    beats_meanwhile.set()
            elif isinstance(event.message, Stacks):
                texts.append(event.message.text)
                server.send(event.peer, Leave())
    assert texts == ["read, 5 s allowed"]
    thread.join(timeout=10)
    assert not thread.is_alive()
    server.close()
