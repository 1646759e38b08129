"""The handler ``node-health``: checks a task's nodes before its next attempt, and replaces the unfit ones.

It runs a probe on each node of the allocation that the task may use, as steps of the resource manager.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import msgspec

from whesl.managers.resource import current_allocation
from whesl.managers.resource.port import Allocation, Step, StepRequest
from whesl.model.allocation_nodes import NodeSet
from whesl.model.errors import WheslError
from whesl.runtime.node_health.judgement import Facts, replaced, unfit
from whesl.runtime.wire.keys import home

PROBE = "whesl.runtime.node_health.node_probe"
_AT_ONCE = 32  # steps: a controller starts so many within a second
_LOOK = 0.1  # seconds between two looks at them


class Arguments(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a step may say.

    Attributes:
        check: an executable that is run on each node, too; a status other than 0 makes the node unfit.
        directories: written to and read from on each node, besides the workspace, /tmp and /dev/shm.
        timeout: seconds that a node has for its answer; a node without one is unfit.
        without: what is done when too few fit spares are left: ``escalate``, ``fail``, ``pause`` or
            ``continue`` (on the unfit nodes).
        handler_timeout: seconds for the whole step, of which the isolator takes care.
    """

    check: str = ""
    directories: tuple[str, ...] = ()
    timeout: float = 30.0
    without: Literal["escalate", "fail", "pause", "continue"] = "escalate"
    handler_timeout: float | None = None


def handle(request: dict[str, Any]) -> dict[str, Any]:
    """Check the nodes, and return the handler's answer (docs/handlers.md).

    Args:
        request: as the isolator gives it.

    Raises msgspec.ValidationError for arguments that are none, OSError.
    """
    arguments = msgspec.convert(request["step"]["arguments"], Arguments)
    nodes = msgspec.convert(request["nodes"], NodeSet)
    directories = (request["workspace"], "/tmp", "/dev/shm", *arguments.directories)  # noqa: S108
    there = tuple(dict.fromkeys(one for one in directories if Path(one).is_dir()))
    told, unasked = _told(current_allocation(os.environ), (*nodes.active, *nodes.spares), there, arguments)
    found = unfit(told)
    bad = {node: found[node] for node in (*nodes.active, *nodes.spares) if node in found}
    for node, why in (bad | unasked).items():
        sys.stderr.write(f"{node}: {why}\n")
    after = replaced(nodes, bad)
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


def _told(
    allocation: Allocation, nodes: tuple[str, ...], directories: tuple[str, ...], arguments: Arguments
) -> tuple[dict[str, Facts | str], dict[str, str]]:
    """Return what each node told, and the nodes that could not be asked, with the reasons.

    A launcher that failed says nothing of its node, and neither does silence where no node has answered: the
    resource manager may be busy.
    """
    told: dict[str, Facts | str] = {}
    unasked: dict[str, str] = {}
    waiting, running = list(nodes), dict[str, tuple[Step, float]]()
    with tempfile.TemporaryDirectory(dir=home(), prefix="health-") as place:
        while waiting or running:
            while waiting and len(running) < _AT_ONCE:
                node = waiting.pop(0)
                request = StepRequest(
                    command=(sys.executable, "-m", PROBE, arguments.check, *directories),
                    nodes=(node,),
                    tasks=1,
                    workdir="/",
                    output=f"{place}/{node}",
                    error=f"{place}/{node}.error",
                )
                try:
                    running[node] = allocation.launch(request), time.monotonic() + arguments.timeout
                except (WheslError, OSError) as error:
                    unasked[node] = str(error)
            for node, (step, end) in list(running.items()):
                status = step.poll()
                if status is None and time.monotonic() < end:
                    continue
                del running[node]
                lines = _text(Path(place, node)).splitlines()
                if status is None:
                    allocation.signal(step, signal.SIGKILL)
                    told[node] = f"no answer within {arguments.timeout:g} s"
                elif not lines:
                    unasked[node] = f"its step ended with status {status}{_last_line(Path(place, node))}"
                else:
                    told[node] = _answer(lines, f"its check ended with status {status}")
            time.sleep(_LOOK)
    if not any(isinstance(one, Facts) for one in told.values()):
        unasked |= {node: str(why) for node, why in told.items()}
        told = {}
    return told, unasked


def _answer(lines: list[str], otherwise: str) -> Facts | str:
    try:
        return msgspec.json.decode(lines[-1], type=Facts)
    except msgspec.DecodeError:
        return otherwise


def _last_line(output: Path) -> str:
    said = _text(output.with_name(f"{output.name}.error")).strip().rpartition("\n")[2][:200]
    return f": {said}" if said else ""


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""
