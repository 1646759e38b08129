"""The handler ``node-health``: checks a task's nodes before the next attempt, and replaces unfit nodes.

The handler runs a probe on each node of the allocation that the task may use, as a step of the resource
manager.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from whesl.managers.resource import current_allocation
from whesl.managers.resource.port import Allocation, StepRequest
from whesl.model.allocation_nodes import NodeSet
from whesl.model.errors import WheslError
from whesl.runtime.node_health.judgement import Facts, replaced, unfit
from whesl.runtime.wire.keys import home

PROBE = "whesl.runtime.node_health.node_probe"
_AT_ONCE = 32  # concurrent steps, which a controller starts within a second
_LOOK = 0.1  # seconds between two looks at the running steps


class Unasked(NamedTuple):
    """A node that could not be asked, which says nothing of its health.

    Attributes:
        why: the reason as text.
    """

    why: str


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a step in the rules.

    Attributes:
        check: an executable to run on each node; an exit status other than 0 makes the node unfit.
        directories: directories to write and read on each node, besides the workspace, /tmp and /dev/shm.
        timeout: seconds for a node's answer; a node without an answer is unfit.
        without: the action when too few fit spares are left: ``escalate``, ``fail``, ``pause`` or
            ``continue`` (on the unfit nodes).
        handler_timeout: seconds for the whole step, enforced by the isolator.
    """

    check: str = ""
    directories: tuple[str, ...] = ()
    timeout: float = 30.0
    without: Literal["escalate", "fail", "pause", "continue"] = "escalate"
    handler_timeout: float | None = None


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Check the nodes, and return the handler's answer (docs/handlers.md).

    Args:
        request: the isolator's request.

    Raises msgspec.ValidationError for invalid arguments, OSError.
    """
    arguments = msgspec.convert(request["step"]["arguments"], Arguments)
    nodes = msgspec.convert(request["nodes"], NodeSet)
    unusable = frozenset(request["unusable"])
    asked = (*nodes.active, *(spare for spare in nodes.spares if spare not in unusable))
    directories = (request["workspace"], "/tmp", "/dev/shm", *arguments.directories)  # noqa: S108
    there = tuple(dict.fromkeys(one for one in directories if Path(one).is_dir()))
    command = (sys.executable, "-m", PROBE, arguments.check, *there)
    answers = _answers(current_allocation(os.environ), asked, command, arguments.timeout)
    unasked = {node: one.why for node, one in answers.items() if isinstance(one, Unasked)}
    told = {node: one for node, one in answers.items() if not isinstance(one, Unasked)}
    found = unfit(told)
    bad = {node: found[node] for node in asked if node in found}
    for node, why in (bad | unasked).items():
        sys.stderr.write(f"{node}: {why}\n")
    after = replaced(nodes, bad, unusable)
    answer = {
        "outcome": "continue",
        "note": _note(len(told), bad, unasked, after.missing),
        "node_set": msgspec.to_builtins(after.nodes),
        "bad_nodes": [{"node": node, "reason": f"check: {why}"[:200]} for node, why in bad.items()],
    }
    if after.missing and arguments.without != "continue":
        answer |= {"outcome": arguments.without, "reason": "spares-exhausted"}
    return answer


def _note(checked: int, bad: Iterable[str], unasked: Iterable[str], missing: Iterable[str]) -> str:
    parts = [f"{checked} nodes checked"]
    for nodes, what in ((bad, "unfit"), (unasked, "could not be asked"), (missing, "without a fit spare")):
        if names := ", ".join(nodes):
            parts.append(f"{names} {what}")
    return "; ".join(parts)


def _answers(
    allocation: Allocation, nodes: Sequence[str], command: tuple[str, ...], timeout: float
) -> dict[str, Facts | str | Unasked]:
    """Run the probe on each node, some concurrently, and return each node's answer.

    When no node has answered, the nodes count as unasked, since the resource manager may be busy.
    """
    told: dict[str, Facts | str | Unasked] = {}
    waiting, running = deque(nodes), list[_Probe]()
    with tempfile.TemporaryDirectory(dir=home(), prefix="health-") as place:
        while waiting or running:
            while waiting and len(running) < _AT_ONCE:
                node = waiting.popleft()
                try:
                    running.append(_Probe(allocation, node, command, Path(place, node), timeout))
                except (WheslError, OSError) as error:
                    told[node] = Unasked(str(error))
            told |= {probe.node: answer for probe in running if (answer := probe.answer()) is not None}
            running = [probe for probe in running if probe.node not in told]
            time.sleep(_LOOK)
    if any(isinstance(one, Facts) for one in told.values()):
        return told
    return {node: Unasked(one) if isinstance(one, str) else one for node, one in told.items()}


class _Probe:
    """The probe of one node, a step of the resource manager."""

    def __init__(
        self, allocation: Allocation, node: str, command: tuple[str, ...], output: Path, timeout: float
    ) -> None:
        self.node = node
        self._allocation, self._output, self._timeout = allocation, output, timeout
        self._error = output.with_name(f"{node}.error")
        self._step = allocation.launch(
            StepRequest(
                command=command,
                nodes=(node,),
                tasks=1,
                workdir="/",
                output=str(output),
                error=str(self._error),
            )
        )
        self._end = time.monotonic() + timeout

    def answer(self) -> Facts | str | Unasked | None:
        """Return the node's answer, the reason for a missing one, or None while it may still answer."""
        status = self._step.poll()
        if status is None and time.monotonic() < self._end:
            return None
        if status is None:
            self._allocation.signal(self._step, signal.SIGKILL)
            return f"no answer within {self._timeout:g} s"
        lines = _text(self._output).splitlines()
        if not lines:  # without the probe's first line, the launcher has failed, not the node
            said = _text(self._error).strip().rpartition("\n")[2][:200]
            return Unasked(f"its step ended with status {status}{f': {said}' if said else ''}")
        try:
            return msgspec.json.decode(lines[-1], type=Facts)
        except msgspec.DecodeError:
            return f"its check ended with status {status}"


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
