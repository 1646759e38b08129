"""Exceptions and predictions from outside: through the coordinator, or by files for tasks without one."""

from __future__ import annotations

import math
import time
import uuid
from pathlib import Path
from typing import Any

import msgspec

from whesl.client import uncoordinated_tasks
from whesl.model import home as places
from whesl.model.errors import RefusedError, TransientError, UsageError
from whesl.model.evidence import PredictedFailure
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.client.start import ensure_running
from whesl.runtime.coordinator.core.external_exceptions import RefusalError, node_of, on_node, targets
from whesl.runtime.coordinator.core.state import State, TaskEntry
from whesl.runtime.isolator.task import raise_requests
from whesl.runtime.wire import keys
from whesl.runtime.wire.client import request
from whesl.runtime.wire.endpoint import read_endpoint
from whesl.runtime.wire.messages import PredictFailure, RaiseException

_REPLY = 5.0
_LOOK = 0.1
_NAMED = 8


class RaisedOn(msgspec.Struct, frozen=True, kw_only=True):
    """An exception that was raised, and its tasks.

    ``uncovered`` are further tasks of the node or the job, whose rules do not declare the exception.
    """

    id: str
    exception: str
    tasks: tuple[str, ...]
    uncovered: tuple[str, ...] = ()


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that have received a predicted failure."""

    id: str
    tasks: tuple[str, ...]


def raise_exception(
    exception: str,
    *,
    task: str = "",
    node: str = "",
    job: str = "",
    evidence: str = "",
    id: str = "",  # noqa: A002 - as it is called in the message
    home: Path | None = None,
    timeout: float = 20.0,
) -> RaisedOn:
    """Raise an exception of the rules on running tasks, and return when the coordinator has recorded it.

    The exception is counted, limited, recovered and reported like a detected one. If a task is being
    recovered from another exception, the new one waits for the end of that recovery.

    Args:
        exception: the exception's name, which has to be declared for the task.
        task: a task's name, possibly abbreviated. Of ``task``, ``node`` and ``job`` one is given, or none
            where only one task is possible.
        node: selects all tasks that run on this node; the node is the suspect of the recovery.
        job: selects all tasks of this job, by the scheduler's id.
        evidence: the reason, one line for the report.
        id: the same id is one exception, however often it is raised; "" for a new one.
        home: the WHESL home; None for that of ``WHESL_HOME``.
        timeout: seconds to wait for the coordinator, which is started if it does not run.

    Raises:
        UsageError: several of ``task``, ``node`` and ``job`` are given, or no exception.
        RefusedError: the name is not declared, the task has ended, no task uses the node, several tasks fit.
        TransientError: the coordinator did not answer in time; a call with the same ``id`` can repeat it.
        HomeError: the home is not private to the user.
    """
    if sum(map(bool, (task, node, job))) > 1:
        raise UsageError("name a task, a node or a job, not several of them")
    if not exception:
        raise UsageError("no exception was named")
    place = home or keys.home()
    told = RaiseException(
        id=id or uuid.uuid4().hex,
        exception=exception,
        task=task,
        node=node,
        job=job.replace("ƒ", "f"),  # Flux prints job ids with ƒ, and accepts f as well
        evidence=evidence,
    )
    alone = uncoordinated_tasks.state(place)
    mine, why = _targets(alone, told)
    coordinated = places.coordinator_journal(place).exists()
    theirs = coordinated
    if mine and coordinated:
        others, _ = _targets(known_state(place).state, told)
        theirs = bool(others)
        if theirs and not (node or job):
            candidates = ", ".join(entry.id for entry in (*mine, *others)[:_NAMED])
            raise RefusedError("several tasks fit", hint=f"did you mean: {candidates}")
    if not mine and not coordinated:
        _, over = _targets(uncoordinated_tasks.ended(place), told) if task else ([], None)
        refusal = over if over is not None and not over.unknown else why
        assert refusal is not None
        raise _refused(str(refusal), refusal.candidates, refusal.hint)
    body = _told(place, told, timeout) if theirs else {"tasks": [], "uncovered": []}
    for entry in mine:
        name = msgspec.structs.replace(told, task=entry.id, node=node_of(entry, told.node), job="")
        raise_requests.leave(uncoordinated_tasks.directory_of(place, entry.id).raised, name)
    return RaisedOn(
        id=told.id,
        exception=exception,
        tasks=(*body["tasks"], *(entry.id for entry in mine)),
        uncovered=tuple(body["uncovered"]),
    )


def predict_failure(
    prediction: PredictedFailure,
    *,
    id: str = "",  # noqa: A002 - as it is called in the message
    home: Path | None = None,
    timeout: float = 20.0,
) -> Told:
    """Tell all running tasks that use a node its predicted failure, and return when the failure is recorded.

    A task's program is asked for a checkpoint if it runs under the coordinator of checkpoints; the
    ``PREDICTED`` detections of the task's rules judge the prediction.

    Args:
        prediction: the prediction; its ``time`` is by this host's clock.
        id: calls with the same id send one prediction; "" for a new one.
        home: the WHESL home; None for that of ``WHESL_HOME``.
        timeout: seconds to wait for the coordinator, which is started if it does not run.

    Raises:
        UsageError: the node is missing, or the lead or the confidence is out of range.
        RefusedError: no running task uses the node.
        TransientError: the coordinator did not answer in time; a call with the same ``id`` can repeat it.
        HomeError: the home is not private to the user.
    """
    _check(prediction)
    place = home or keys.home()
    told = PredictFailure(id=id or uuid.uuid4().hex, prediction=prediction.at(time.time()))
    if told.prediction.lead <= 0:
        raise UsageError(f"{prediction}: that time is over", hint="time and lead are seconds")
    mine: list[TaskEntry] = []
    tasks: tuple[str, ...] = ()
    coordinated = places.coordinator_journal(place).exists()
    try:
        mine = _on_node(uncoordinated_tasks.state(place), prediction.node)
    except RefusedError:
        if not coordinated:
            raise
    try:
        if coordinated and read_endpoint(place) is None:
            _on_node(known_state(place).state, prediction.node)  # no coordinator is started without a task
        if coordinated:
            tasks = tuple(_told(place, told, timeout)["tasks"])
    except RefusedError:
        if not mine:
            raise
    for entry in mine:
        node = node_of(entry, prediction.node)
        message = msgspec.structs.replace(
            told, task=entry.id, prediction=msgspec.structs.replace(told.prediction, node=node)
        )
        raise_requests.leave(uncoordinated_tasks.directory_of(place, entry.id).raised, message)
    return Told(id=told.id, tasks=(*tasks, *(entry.id for entry in mine)))


def _check(prediction: PredictedFailure) -> None:
    """Raise UsageError for a prediction with impossible values."""
    if not prediction.node:
        raise UsageError("no node is named")
    if not 0 < prediction.lead < math.inf:
        raise UsageError(f"a lead time of {prediction.lead:g} s is none", hint="seconds, above 0")
    if not 0 < prediction.confidence <= 1:
        raise UsageError(
            f"a confidence of {prediction.confidence:g} is none", hint="a probability above 0 and up to 1"
        )


def wait_until_taken(raised: RaisedOn, *, home: Path | None = None, timeout: float = 60.0) -> None:
    """Return once the isolators of all tasks have recorded a raised exception in their journals.

    Args:
        raised: the value that ``raise_exception`` returned.
        home: the WHESL home; None for that of ``WHESL_HOME``.
        timeout: the longest wait, seconds.

    Raises TransientError.
    """
    place = home or keys.home()
    deadline = time.monotonic() + timeout
    known = known_state(place)
    while True:
        waiting = {
            control.task
            for control in known.state.controls.values()
            if control.id.rpartition(".")[0] == raised.id
        }
        waiting |= uncoordinated_tasks.untaken(place, raised.tasks, raised.id)
        if not waiting:
            return
        if time.monotonic() >= deadline:
            raise TransientError(
                f"{', '.join(sorted(waiting)[:_NAMED])} has not taken it after {timeout:g} s",
                hint="its isolator may be silent; see `whesl status`",
            )
        time.sleep(_LOOK)
        known = known_state(place, known)


def _targets(state: State, told: RaiseException) -> tuple[list[TaskEntry], RefusalError | None]:
    try:
        return targets(state, told)[0], None
    except RefusalError as refusal:
        return [], refusal


def _on_node(state: State, node: str) -> list[TaskEntry]:
    """Return the running tasks that use a node. Raises RefusedError when there is none."""
    try:
        return on_node(state, node)
    except RefusalError as refusal:
        raise _refused(str(refusal), refusal.candidates, refusal.hint) from None


def _told(home: Path, told: RaiseException | PredictFailure, timeout: float) -> dict[str, Any]:
    """Send a message to the coordinator until it answers. Raises RefusedError.

    A coordinator that is killed meanwhile is started again, and recognises the message by its id.
    """
    deadline = time.monotonic() + timeout
    while True:
        ensure_running(home)
        try:
            reply = request(home, told, max(min(_REPLY, deadline - time.monotonic()), _LOOK))
            break
        except TransientError as error:
            if time.monotonic() >= deadline:
                raise TransientError(
                    error.message, hint=f"tell it again with the id {told.id}: it is one then"
                ) from None
    body: dict[str, Any] = msgspec.json.decode(reply.body) if reply.body else {}
    if not reply.ok:
        raise _refused(reply.error, tuple(body.get("candidates") or ()), body.get("hint", ""))
    return body


def _refused(error: str, candidates: tuple[str, ...], hint: str) -> RefusedError:
    meant = f"did you mean: {', '.join(candidates)}" if candidates else ""
    return RefusedError(error, hint="; ".join(filter(None, (hint, meant))) or "see `whesl status`")
