"""People's commands to the coordinator: register a workflow, resume, pause, cancel, nodes, stop.

Every command has an id: a command that is sent twice is performed once and answered twice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.language.spec import Spec
from whesl.model.outcomes import ControlAction, ToldBy
from whesl.model.states import JobState, TaskState
from whesl.model.workflow import BadNode
from whesl.runtime.coordinator.core import external_exceptions
from whesl.runtime.coordinator.core.dependents_and_names import AmbiguityError, resolve
from whesl.runtime.coordinator.core.events_and_commands import Stop
from whesl.runtime.coordinator.core.external_exceptions import RefusalError
from whesl.runtime.coordinator.core.recovery import requeue_orders, silent_tasks
from whesl.runtime.coordinator.core.state import TaskEntry, request_of
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.wire.messages import Command, PredictFailure, RaiseException, RegisterWorkflow, Reply

T = TypeVar("T", Command, RaiseException, PredictFailure)

DEFAULT_HOURS = 24.0
MOST_HOURS = 24.0 * 365
_ASKED = (ControlAction.RESUME, ControlAction.PAUSE, ControlAction.CANCEL)
_PAUSABLE = frozenset({TaskState.RUNNING, TaskState.UNOBSERVED})


def on_register_workflow(transition: Transition, peer: str, message: RegisterWorkflow) -> None:
    """Register a workflow that is about to run; a repeated message changes nothing.

    Args:
        transition: the present transition.
        peer: the sender of the message.
        message: the message.
    """
    try:
        spec = msgspec.json.decode(message.spec, type=Spec)
    except UNDECODABLE as error:
        transition.send(peer, Reply(ok=False, error=f"the specification is not valid: {error}"))
        return
    known = transition.state.workflows.get(message.workflow.id)
    told = (message.workflow, spec, message.rjms, message.observe, message.environment)
    if known is None or told != (
        known.workflow,
        known.spec,
        known.rjms,
        known.observe,
        known.environment,
    ):
        transition.record(
            records.Workflow(
                workflow=message.workflow,
                spec=spec,
                rjms=message.rjms,
                observe=message.observe,
                environment=message.environment,
            )
        )
        transition.say(f"workflow {message.workflow.id}: {len(message.workflow.tasks)} tasks")
    transition.send(peer, Reply(ok=True))


def on_command(transition: Transition, peer: str, message: Command) -> None:
    """Perform a person's command, once for its id, and answer it.

    Args:
        transition: the present transition.
        peer: the sender of the message.
        message: the message.
    """
    _answered(transition, peer, message.id, message.action, message.target, _carry_out, message)


def on_raise(transition: Transition, peer: str, message: RaiseException) -> None:
    """Raise an exception on tasks, once for the message's id, and answer.

    Args:
        transition: the present transition.
        peer: the sender of the message.
        message: the message.
    """
    target = message.task or message.node or message.job
    _answered(transition, peer, message.id, "raise", target, external_exceptions.raise_on_tasks, message)


def on_predict(transition: Transition, peer: str, message: PredictFailure) -> None:
    """Tell all tasks that use a node of the node's predicted failure, once for the message's id, and answer.

    Args:
        transition: the present transition.
        peer: the sender of the message.
        message: the message.
    """
    node = message.prediction.node
    _answered(transition, peer, message.id, "predict", node, external_exceptions.predict_for_tasks, message)


def _answered(
    transition: Transition,
    peer: str,
    command: str,
    action: str,
    target: str,
    carry_out: Callable[[Transition, T], dict[str, Any]],
    message: T,
) -> None:
    answer = transition.state.commands.get(command)
    if answer is None:
        body: dict[str, Any] = {}
        error = ""
        try:
            body = carry_out(transition, message)
        except RefusalError as refused:
            error = str(refused)
            body = {"candidates": refused.candidates, "hint": refused.hint}
        text = msgspec.json.encode(body).decode()
        transition.record(records.Command(id=command, action=action, target=target, error=error, body=text))
        answer = transition.state.commands[command]
    transition.send(peer, Reply(ok=not answer.error, error=answer.error, body=answer.body.encode()))


def _carry_out(transition: Transition, message: Command) -> dict[str, Any]:
    if message.action in _ASKED:
        return _control(transition, message, ControlAction(message.action))
    if message.action == "add-node":
        return _add_node(transition, message)
    if message.action == "forget-node":
        if message.target not in transition.state.bad_nodes:
            known = tuple(sorted(transition.state.bad_nodes))
            raise RefusalError(f"node {message.target!r} is not in the memory of bad nodes", known)
        transition.record(records.NodeForgotten(node=message.target))
        return {"node": message.target}
    if message.action == "job-ended":
        return _job_ended(transition, message)
    if message.action == "job-waits":
        return _job_waits(transition, message)
    if message.action == "stop":
        transition.do(Stop())
        return {}
    raise RefusalError(f"there is no command {message.action!r}")


def _control(transition: Transition, message: Command, action: ControlAction) -> dict[str, Any]:
    try:
        entry = transition.state.tasks[resolve(transition.state.tasks, message.target)]
    except AmbiguityError as error:
        raise RefusalError(str(error), error.candidates) from None
    if entry.state.final:
        raise RefusalError(f"{entry.id} has ended: it is {entry.state.value}")
    if action is ControlAction.RESUME and entry.state is not TaskState.PAUSED:
        raise RefusalError(f"{entry.id} is {entry.state.value}, not paused")
    if action is ControlAction.PAUSE and entry.state not in _PAUSABLE:
        raise RefusalError(f"{entry.id} is {entry.state.value}; only a running task can be paused")
    transition.record(records.Control(id=message.id, task=entry.id, action=action))
    if entry.claim:
        told = request_of(transition.state.controls[message.id], entry.alias or entry.id, transition.now)
        transition.send(entry.peer, told)
    if action is ControlAction.CANCEL and not (entry.claim and entry.state is not TaskState.UNOBSERVED):
        _cancel_alone(transition, entry, message.id)
    return {"task": entry.id, "state": transition.state.tasks[entry.id].state.value}


def _cancel_alone(transition: Transition, entry: TaskEntry, control: str) -> None:
    """Cancel a task whose isolator is not in reach: it has not started, or it is silent."""
    transition.record(records.ControlDone(id=control, task=entry.id))
    transition.finished(entry, TaskState.CANCELLED, -1, "cancelled by a person", ToldBy.COORDINATOR)
    requeue_orders.cancel_job(transition, entry)


def _job_ended(transition: Transition, message: Command) -> dict[str, Any]:
    """Handle a client's report that a job has ended without a report of its isolator.

    For a task that has registered, the report counts only if it names the task's present job and no requeue
    of that job is under way.
    """
    entry = transition.state.tasks.get(message.target)
    if entry is None:
        raise RefusalError(f"there is no task {message.target!r}")
    given = message.arguments
    another = entry.claim and given.get("job") != entry.job_id
    again = entry.claim and requeue_orders.pending_requeue(transition, entry) is not None
    if another or again or entry.state.final:
        return {"task": entry.id, "state": entry.state.value}
    try:
        state, code = JobState(given.get("state", "")), int(given.get("exit_code", "-1"))
    except ValueError as error:
        raise RefusalError(f"the end of a job could not be read: {error}") from None
    if not state.ended:
        raise RefusalError(f"a job that is {state.value} has not ended")
    silent_tasks.ended_unheard(
        transition, entry, given.get("job", ""), state, given.get("word", state.value), code
    )
    return {"task": entry.id, "state": transition.state.tasks[entry.id].state.value}


def _job_waits(transition: Transition, message: Command) -> dict[str, Any]:
    """Take the scheduler's reasons why jobs wait, by task. A task that was heard meanwhile waits no more."""
    for task, reason in message.arguments.items():
        entry = transition.state.tasks.get(task)
        if entry is not None and not entry.claim and not entry.state.final:
            transition.record(records.JobWaits(task=task, reason=reason))
    return {}


def _add_node(transition: Transition, message: Command) -> dict[str, Any]:
    try:
        hours = float(message.arguments.get("hours", DEFAULT_HOURS))
    except ValueError:
        hours = 0.0
    if not 0.0 < hours <= MOST_HOURS:
        raise RefusalError(f"hours have to be between 0 and {MOST_HOURS:g}")
    if not message.target:
        raise RefusalError("no node was named")
    bad = BadNode(
        node=message.target,
        reason=message.arguments.get("reason", "") or "no reason given",
        task="",
        time=transition.now,
        expires=transition.now + hours * 3600.0,
        source="user",
        chosen=True,
    )
    transition.record(records.BadNodeSeen(bad_node=bad))
    body: dict[str, Any] = msgspec.to_builtins(bad)
    return body
