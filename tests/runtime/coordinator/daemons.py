"""A real daemon for a test, and as much of an isolator as it sees."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import zmq

from tests import commands, waiting
from tests.runtime.coordinator.world import RULES
from whesl.language.spec import Spec
from whesl.model.workflow import Task, Workflow
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire.client import CoordinatorClient, request
from whesl.runtime.wire.endpoint import read_endpoint
from whesl.runtime.wire.messages import AnyMessage, Register, RegisterWorkflow

PATIENCE = 40.0
FLOW = Workflow(
    id="w",
    name="w",
    wms="maestro",
    root="/nowhere",
    tasks=(Task(id="w/a", step="a"), Task(id="w/b", step="b", parents=("w/a",))),
)


def kill(home: Path) -> int:
    """Kill the coordinator of a home; return its process id, 0 when there was none."""
    found = read_endpoint(home)
    if found is None or found.pid == os.getpid():
        return 0
    try:
        os.kill(found.pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    try:
        os.waitpid(found.pid, 0)
    except ChildProcessError:
        until(lambda: not Path(f"/proc/{found.pid}").exists(), "the end of the coordinator")
    return found.pid


def until(condition: Callable[[], Any], what: str, meanwhile: Callable[[], object] = lambda: None) -> Any:
    return waiting.until(condition, what, PATIENCE, meanwhile)


def whesl(*arguments: str) -> subprocess.CompletedProcess[str]:
    return commands.whesl(*arguments)


def journal(home: Path) -> list[tuple[str, dict[str, Any]]]:
    with Journal(home / "coordinator" / "journal.db", read_only=True) as found:
        return [(record.kind, record.data) for record in found.read()]


class Isolator:
    """As much of an isolator as the coordinator sees."""

    def __init__(self, home: Path, name: str, **more: Any) -> None:
        self.name = name
        self.client = CoordinatorClient(home, f"w/{name}")
        self.heard: list[AnyMessage] = []
        self.poller = zmq.Poller()
        for watched in self.client.sockets:
            self.poller.register(watched, zmq.POLLIN)
        fields = {"job_id": "", "rjms": "", "claim": f"{name}.0", **more}
        self.client.send(Register(task=f"w/{name}", workflow="w", step=name, **fields))

    def turn(self) -> None:
        self.poller.poll(20)
        self.heard += self.client.receive()
        self.client.tick()

    def wait(self, kind: type, count: int = 1) -> Any:
        def found() -> list[AnyMessage]:
            self.turn()
            return [message for message in self.heard if isinstance(message, kind)]

        until(lambda: len(found()) >= count, f"{kind.__name__} for {self.name}")
        return found()[count - 1]

    def send(self, message: AnyMessage) -> None:
        self.client.send(message)

    def flush(self) -> None:
        until(lambda: self.client.waiting == 0, "acknowledgements", meanwhile=self.turn)


def register(home: Path, rules: Spec = RULES) -> None:
    message = RegisterWorkflow(workflow=FLOW, spec=msgspec.json.encode(rules), rjms="local")
    assert request(home, message, PATIENCE).ok
