"""What people tell the coordinator: register a workflow, resume, pause, cancel, nodes, stop.

Every command has an id: told twice, it is done once and answered twice.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.coordinator import escalation
from whesl.coordinator.events import Stop
from whesl.coordinator.hierarchy import AmbiguityError, resolve
from whesl.coordinator.state import TaskEntry
from whesl.coordinator.turn import Turn
from whesl.esl.spec import Spec
from whesl.model.decoding import UNDECODABLE
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import BadNode
from whesl.wire.messages import Command, Control, RegisterWorkflow, Reply

DEFAULT_HOURS = 24.0
MOST_HOURS = 24.0 * 365
_PAUSABLE = frozenset({TaskState.RUNNING, TaskState.UNOBSERVED})


class _RefusalError(Exception):
    """A command cannot be carried out; the text says why, ``candidates`` what was perhaps meant."""

    def __init__(self, message: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


def on_register_workflow(turn: Turn, peer: str, message: RegisterWorkflow) -> None:
    """A workflow is about to run; told again, it is the same."""
    try:
        spec = msgspec.json.decode(message.spec, type=Spec)
    except UNDECODABLE as error:
        turn.send(peer, Reply(ok=False, error=f"the specification is not valid: {error}"))
        return
    known = turn.state.workflows.get(message.workflow.id)
    told = (message.workflow, spec, message.rjms, message.observe, message.environment)
    if known is None or told != (
        known.workflow,
        known.spec,
        known.rjms,
        known.observe,
        known.environment,
    ):
        turn.record(
            "workflow",
            workflow=message.workflow,
            spec=spec,
            rjms=message.rjms,
            observe=message.observe,
            environment=message.environment,
        )
        turn.say(f"workflow {message.workflow.id}: {len(message.workflow.tasks)} tasks")
    turn.send(peer, Reply(ok=True))


def on_command(turn: Turn, peer: str, message: Command) -> None:
    """Carry a person's command out, once for its id, and answer."""
    if message.id in turn.state.commands:
        error = turn.state.commands[message.id]
        turn.send(peer, Reply(ok=not error, error=error))
        return
    body: dict[str, Any] = {}
    error = ""
    try:
        body = _carry_out(turn, message)
    except _RefusalError as refused:
        error = str(refused)
        body = {"candidates": refused.candidates}
    turn.record("command", id=message.id, action=message.action, target=message.target, error=error)
    turn.send(peer, Reply(ok=not error, error=error, body=msgspec.json.encode(body)))


def _carry_out(turn: Turn, message: Command) -> dict[str, Any]:
    if message.action in ("resume", "pause", "cancel"):
        return _control(turn, message)
    if message.action == "add-node":
        return _add_node(turn, message)
    if message.action == "forget-node":
        if message.target not in turn.state.bad_nodes:
            known = tuple(sorted(turn.state.bad_nodes))
            raise _RefusalError(f"node {message.target!r} is not in the memory of bad nodes", known)
        turn.record("node-forgotten", node=message.target)
        return {"node": message.target}
    if message.action == "job-ended":
        return _job_ended(turn, message)
    if message.action == "stop":
        turn.do(Stop())
        return {}
    raise _RefusalError(f"there is no command {message.action!r}")


def _control(turn: Turn, message: Command) -> dict[str, Any]:
    try:
        entry = turn.state.tasks[resolve(turn.state.tasks, message.target)]
    except AmbiguityError as error:
        raise _RefusalError(str(error), error.candidates) from None
    action = message.action
    if entry.state.final:
        raise _RefusalError(f"{entry.id} has ended: it is {entry.state.value}")
    if action == "resume" and entry.state is not TaskState.PAUSED:
        raise _RefusalError(f"{entry.id} is {entry.state.value}, not paused")
    if action == "pause" and entry.state not in _PAUSABLE:
        raise _RefusalError(f"{entry.id} is {entry.state.value}; only a running task can be paused")
    turn.record("control", id=message.id, task=entry.id, action=action)
    if entry.claim:
        turn.send(entry.peer, Control(task=entry.alias or entry.id, id=message.id, action=action))
    if action == "cancel" and not (entry.claim and entry.state is not TaskState.UNOBSERVED):
        _cancel_alone(turn, entry, message.id)
    return {"task": entry.id, "state": turn.state.tasks[entry.id].state.value}


def _cancel_alone(turn: Turn, entry: TaskEntry, control: str) -> None:
    """Cancel a task whose isolator cannot be told: it has not started, or it is silent."""
    turn.record("control-done", id=control, task=entry.id)
    turn.record(
        "finished",
        task=entry.id,
        state=TaskState.CANCELLED,
        exit_code=-1,
        attempts=entry.attempt,
        reason="cancelled by a person",
        told_by="coordinator",
    )
    escalation.cancel_job(turn, entry)


def _job_ended(turn: Turn, message: Command) -> dict[str, Any]:
    """Take what the scheduler said of a job whose isolator was never heard; others are asked about here."""
    entry = turn.state.tasks.get(message.target)
    if entry is None:
        raise _RefusalError(f"there is no task {message.target!r}")
    if entry.claim or entry.state.final:
        return {"task": entry.id, "state": entry.state.value}
    given = message.arguments
    try:
        state, code = JobState(given.get("state", "")), int(given.get("exit_code", "-1"))
    except ValueError as error:
        raise _RefusalError(f"the end of a job could not be read: {error}") from None
    if not state.ended:
        raise _RefusalError(f"a job that is {state.value} has not ended")
    escalation.ended_unheard(turn, entry, given.get("job", ""), state, given.get("word", state.value), code)
    return {"task": entry.id, "state": turn.state.tasks[entry.id].state.value}


def _add_node(turn: Turn, message: Command) -> dict[str, Any]:
    try:
        hours = float(message.arguments.get("hours", DEFAULT_HOURS))
    except ValueError:
        hours = 0.0
    if not 0.0 < hours <= MOST_HOURS:
        raise _RefusalError(f"hours have to be between 0 and {MOST_HOURS:g}")
    if not message.target:
        raise _RefusalError("no node was named")
    bad = BadNode(
        node=message.target,
        reason=message.arguments.get("reason", "") or "no reason given",
        task="",
        time=turn.now,
        expires=turn.now + hours * 3600.0,
        source="user",
        chosen=True,
    )
    turn.record("bad-node", bad_node=bad)
    body: dict[str, Any] = msgspec.to_builtins(bad)
    return body
