"""Stopping a node, with a process that cannot stop yet."""

from __future__ import annotations

import signal

import pytest

from whesl.managers.resource import command_call
from whesl.managers.resource.embedded import process_lookup
from whesl.managers.resource.embedded.process_lookup import Process
from whesl.model.errors import TransientError


class Node:
    """A shell that waits in the kernel for the child of its vfork, which was stopped; and one that runs."""

    def __init__(self, *, stubborn: bool) -> None:
        self.states = {10: "D", 11: "T", 12: "R"}
        self.stubborn = stubborn
        self.sent: list[tuple[int, int]] = []

    def look(self, pid: int) -> Process:
        return Process(pid, self.states[pid], 1, 1, 1)

    def send(self, pid: int, signum: int) -> None:
        self.sent.append((pid, signum))
        if pid == 12 and not self.stubborn:
            self.states[pid] = "T"


@pytest.mark.parametrize("stubborn", [False, True])
def test_what_waits_in_the_kernel_for_a_stopped_child_counts_as_stopped(
    monkeypatch: pytest.MonkeyPatch, stubborn: bool
) -> None:
    node = Node(stubborn=stubborn)
    monkeypatch.setattr(process_lookup, "of_node", lambda *_: list(node.states))
    monkeypatch.setattr(process_lookup, "look", node.look)
    monkeypatch.setattr(command_call, "send", node.send)
    if stubborn:
        with pytest.raises(TransientError, match="do not stop"):
            process_lookup.freeze("cluster", "n02", 9, patience=0.1)
    else:
        process_lookup.freeze("cluster", "n02", 9, patience=5.0)
        assert node.sent == [(9, signal.SIGSTOP), (10, signal.SIGSTOP), (12, signal.SIGSTOP)]
