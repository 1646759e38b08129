"""What each record of the coordinator's journal changes. Pure; ``records.apply`` is how they are used.

The records are the keys of ``CHANGES``. Beside them, for people only: refused, coordinator-started,
coordinator-stopped.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from whesl.coordinator.core.hierarchy import added
from whesl.coordinator.core.persistent_map import Map
from whesl.coordinator.core.state import (
    KEPT_COMMANDS,
    Answer,
    ControlEntry,
    Outcome,
    OwnStep,
    Recovery,
    RequeueEntry,
    State,
    TaskEntry,
    WorkflowEntry,
    numbered,
)
from whesl.detect.transform import History
from whesl.esl.spec import Spec
from whesl.model.avoidance import repeated
from whesl.model.evidence import Raised
from whesl.model.states import TaskState
from whesl.model.workflow import BadNode, Configuration, Workflow

Data = dict[str, Any]

# What an isolator's own records say about its task's state.
_REPORTED_STATES = {
    "attempt": TaskState.RUNNING,
    "launched": TaskState.RUNNING,
    "decided": TaskState.RECOVERING,
    "resumed": TaskState.RECOVERING,
    "paused": TaskState.PAUSED,
    "escalated": TaskState.ESCALATED,
}


def _task(whole: State, task: str, **changes: Any) -> State:
    entry = whole.tasks.get(task)
    if entry is None:
        return whole
    return _with_task(whole, msgspec.structs.replace(entry, **changes))


def _with_task(whole: State, entry: TaskEntry, **more: Any) -> State:
    live, lives = whole.live, entry.live
    if lives is not (entry.id in live):
        live = live.with_(entry.id, None) if lives else live.without(entry.id)
    tasks = whole.tasks.with_(entry.id, entry)
    if tasks is whole.tasks and live is whole.live and not more:
        return whole  # a journal is replayed: its maps change in place
    return msgspec.structs.replace(whole, tasks=tasks, live=live, **more)


def _moved(state: State, task: str, new: TaskState, time: float, **changes: Any) -> State:
    """Change a task's state where the order of states allows it."""
    entry = state.tasks.get(task)
    if entry is None or not entry.state.may_become(new):
        return state
    return _task(state, task, state=new, state_time=time, **changes)


def _recovery(state: State, key: str, **changes: Any) -> State:
    recovery = state.recoveries.get(key)
    if recovery is None:
        return state
    changed = msgspec.structs.replace(recovery, **changes)
    return msgspec.structs.replace(state, recoveries=state.recoveries.with_(key, changed))


def _workflow(state: State, data: Data, time: float) -> State:
    workflow = msgspec.convert(data["workflow"], Workflow)
    before = state.workflows.get(workflow.id)
    entry = WorkflowEntry(
        workflow=workflow,
        spec=msgspec.convert(data["spec"], Spec),
        rjms=data["rjms"],
        observe=data["observe"],
        environment=data["environment"],
        time=time,
        history=before.history if before else History(),
        counted=before.counted if before else Map(),
    )
    tasks = {}
    for task in workflow.tasks:
        known = state.tasks.get(task.id)
        # Known already when its isolator registered before the workflow did, or the workflow is run again.
        tasks[task.id] = msgspec.structs.replace(
            known or TaskEntry(id=task.id, workflow=workflow.id, step=task.step),
            step=task.step,
            instance=task.instance,
            workspace=task.workspace,
            cancelled=False,
        )
    # What lives goes on living: neither claims nor states are changed by this.
    return msgspec.structs.replace(
        state, workflows=state.workflows.with_(workflow.id, entry), tasks=state.tasks.with_all(tasks)
    )


def _registered(state: State, data: Data, time: float) -> State:
    """An isolator was admitted: it owns the task from now on."""
    task = data["task"]
    before = state.tasks.get(task) or TaskEntry(id=task, workflow=data["workflow"], step=data["step"])
    run = data.get("run", "")  # journals of earlier versions have none
    another = before.of_another_run(data["claim"], run)
    if data["fresh"]:
        before = msgspec.structs.replace(
            before,
            state=TaskState.REGISTERED,
            exit_code=None,
            reason="",
            told_by="",
            attempt=0,
            started=0.0,
        )
    if data["attempt"] == 0 and another:
        # Its isolator begins with an empty journal: its exceptions are numbered from 1 again.
        before = msgspec.structs.replace(before, outcomes={}, exceptions=0, recovered=0)
        state = _forgotten(state, task, data["peer"])
    if another:
        before = msgspec.structs.replace(before, said=0.0, behind=0.0)
    own = TaskState(data["state"])
    new = TaskState.RUNNING if own is TaskState.REGISTERED else own
    entry = msgspec.structs.replace(
        before,
        instance=data["instance"] or before.instance,
        workspace=before.workspace or data["workspace"],
        alias=data["alias"],
        state=new if before.state.may_become(new) else before.state,
        # A restarted isolator of a task that has ended changes nothing.
        state_time=before.state_time if before.state.final else max(time, before.state_time),
        started=before.started or time,
        attempt=max(before.attempt, data["attempt"]),
        claim=data["claim"],
        run=run,
        peer=data["peer"],
        rjms=data["rjms"],
        job_id=data["job_id"],
        cluster=data.get("cluster", {}),
        nodes=tuple(data["nodes"]),
        uses=() if another else before.uses,
        declared=tuple(map(sys.intern, data.get("declared", ()))),
        quiet=0.0,
        over=0.0,
        trouble=before.trouble if data["peer"] == before.peer else "",
        parted="",
    )
    aliases = state.aliases.with_(data["alias"], task) if data["alias"] else state.aliases
    return _with_task(state, entry, aliases=aliases)


def _forgotten(state: State, task: str, peer: str) -> State:
    """Return the state without the recoveries of a task, but for those of the one who registers.

    What that one asked for may have overtaken its registration.
    """
    recoveries, kept = state.recoveries, []
    for recovery in state.recoveries_of(task):
        if recovery.peer == peer:
            kept.append(recovery.id)
        else:
            recoveries = recoveries.without(recovery.id)
    by_task = state.recoveries_by_task
    if by_task.get(task, ()) != tuple(kept):
        by_task = by_task.with_(task, tuple(kept)) if kept else by_task.without(task)
    return msgspec.structs.replace(state, recoveries=recoveries, recoveries_by_task=by_task)


def _fenced(state: State, data: Data, _time: float) -> State:
    entry = state.tasks.get(data["task"])
    if entry is None:
        return state
    peers = (data["peer"],) if data["peer"] else ()
    return _task(
        state,
        entry.id,
        fenced=tuple(dict.fromkeys((*entry.fenced, data["claim"]))),
        fenced_peers=tuple(dict.fromkeys((*entry.fenced_peers, *peers)))[-16:],
    )


def _report(state: State, data: Data, time: float) -> State:
    """What an isolator wrote down; a record older than what it has said since changes no state.

    That is seen by its own clock alone: hosts' clocks differ.
    """
    entry = state.tasks.get(data["task"])
    if entry is None or not data.get("current", True):
        return state
    when, inner = data["time"], data["data"]
    if data["kind"] == "raised":
        raised = inner["raised"] if isinstance(inner.get("raised"), dict) else {}
        ordinal = _whole(raised.get("ordinal"))
        if ordinal > entry.exceptions:
            state = _task(
                state,
                entry.id,
                exception=str(raised.get("exception", "")),
                exception_time=entry.ours(when, time),
                exceptions=ordinal,
            )
    if data["kind"] == "recovered":
        return _recovered(state, entry, inner)
    if data["kind"] == "journal":
        return _task(state, entry.id, trouble=str(inner.get("trouble", "")))
    if data["kind"] == "finished":
        return _task(state, entry.id, reason=str(inner.get("reason", "")))
    new = _REPORTED_STATES.get(data["kind"])
    if new is None or when < entry.said or entry.state is TaskState.REGISTERED:
        return state
    changes: Data = {"reason": str(inner.get("reason", ""))} if new in (TaskState.PAUSED,) else {}
    if data["kind"] == "attempt":
        changes["attempt"] = max(entry.attempt, _whole(inner.get("attempt")))
        changes["uses"] = _names(inner.get("nodes"))
    return _moved(state, entry.id, new, entry.ours(when, time), said=when, **changes)


def _recovered(state: State, entry: TaskEntry, inner: Data) -> State:
    """Restarts went on past what had failed (``whesl.model.recovered``)."""
    told = inner.get("ordinals")
    ordinals = {ordinal for item in told if (ordinal := _whole(item))} if isinstance(told, list) else set()
    outcomes = dict(entry.outcomes)
    for ordinal in ordinals:
        before = outcomes.get(ordinal)
        outcomes[ordinal] = Outcome("recovered", before.raised if before else 0.0)
    recovered = sum(outcome.word == "recovered" for outcome in outcomes.values())
    return _task(state, entry.id, outcomes=outcomes, recovered=recovered)


def _names(value: Any) -> tuple[str, ...]:
    """Return the names in a report, none for anything else."""
    names = value if isinstance(value, list) else []
    return tuple(name for name in names if isinstance(name, str))


def _whole(value: Any) -> int:
    """Return a number in a report, whose content is not checked when it arrives; 0 for anything else."""
    return value if isinstance(value, int) else 0


def _state(state: State, data: Data, time: float) -> State:
    entry = state.tasks[data["task"]]
    attempt = max(entry.attempt, data["attempt"])
    said = max(entry.said, data.get("said", 0.0))
    return _moved(state, entry.id, TaskState(data["state"]), time, attempt=attempt, said=said)


def _clock(state: State, data: Data, _time: float) -> State:
    return _task(state, data["task"], behind=data["behind"])


def _unobserved(state: State, data: Data, time: float) -> State:
    return _moved(state, data["task"], TaskState.UNOBSERVED, time, reason=data["reason"])


def _quiet(state: State, data: Data, _time: float) -> State:
    entries = ((state.tasks.get(task), since) for task, since in data["tasks"].items())
    changed = {
        entry.id: msgspec.structs.replace(entry, quiet=since) for entry, since in entries if entry is not None
    }
    return msgspec.structs.replace(state, tasks=state.tasks.with_all(changed))


def _heard(state: State, data: Data, _time: float) -> State:
    return _task(state, data["task"], quiet=0.0, over=0.0)


def _over(state: State, data: Data, _time: float) -> State:
    return _task(state, data["task"], over=data["since"])


def _counted(state: State, data: Data, _time: float) -> State:
    entry = state.workflows[data["workflow"]]
    changed = msgspec.structs.replace(
        entry,
        history=msgspec.convert(data["history"], History),
        counted=entry.counted.with_(numbered(data["task"], data["ordinal"], data.get("raised", 0.0)), None),
    )
    return msgspec.structs.replace(state, workflows=state.workflows.with_(data["workflow"], changed))


def _requested(state: State, data: Data, time: float) -> State:
    recovery = Recovery(
        id=data["recovery"],
        task=data["task"],
        raised=msgspec.convert(data["raised"], Raised),
        exception=data["exception"],
        origin=data["origin"],
        peer=data["peer"],
        reason=data["reason"],
        steps=msgspec.convert(data["steps"], tuple[OwnStep, ...]),
        refused=data["refused"],
        time=time,
    )
    keys = state.recoveries_by_task.get(recovery.task, ())
    state = msgspec.structs.replace(
        state,
        recoveries=state.recoveries.with_(recovery.id, recovery),
        recoveries_by_task=state.recoveries_by_task.with_(
            recovery.task, keys if recovery.id in keys else (*keys, recovery.id)
        ),
    )
    waits = {"request": TaskState.RECOVERING, "escalation": TaskState.ESCALATED}.get(recovery.origin)
    if waits is None:
        return state
    return _moved(_said(state, recovery.task, recovery.raised.time), recovery.task, waits, time)


def _said(state: State, task: str, when: float) -> State:
    """Note when an isolator spoke of its task's state, by its own clock."""
    entry = state.tasks.get(task)
    return state if entry is None or when <= entry.said else _task(state, task, said=when)


def _step_begun(state: State, data: Data, _time: float) -> State:
    return _recovery(state, data["recovery"], begun=data["index"] + 1)


def _step_done(state: State, data: Data, _time: float) -> State:
    recovery = state.recoveries[data["recovery"]]
    own, dependents = data.get("configuration"), recovery.dependents
    if data.get("dependents"):
        change = msgspec.convert(data["dependents"], Configuration)
        dependents = added(dependents or Configuration(), change)
    others = msgspec.convert(data.get("others", {}), dict[str, Configuration])
    bases = msgspec.convert(data.get("bases", {}), dict[str, Configuration])
    return _recovery(
        state,
        recovery.id,
        done=data["index"] + 1,
        requeue=recovery.requeue or data["outcome"] == "requeue",
        configuration=msgspec.convert(own, Configuration) if own else recovery.configuration,
        dependents=dependents,
        others={**recovery.others, **others},
        bases={**bases, **recovery.bases},
        signal=data.get("signal", 0) or recovery.signal,
    )


def _step_failed(state: State, data: Data, _time: float) -> State:
    return _recovery(state, data["recovery"], refused=data["note"])


def _granted(state: State, data: Data, _time: float) -> State:
    return _recovery(state, data["recovery"], granted=True, refused=data["refused"])


def _recovery_done(state: State, data: Data, time: float) -> State:
    entry = state.tasks[data["task"]]
    outcome = Outcome(data["outcome"], data.get("raised", 0.0))
    outcomes = {**entry.outcomes, data["ordinal"]: outcome}
    state = _task(state, entry.id, outcomes=outcomes)
    if data["outcome"] == "relaunched" and entry.state in (TaskState.RECOVERING, TaskState.PAUSED):
        state = _said(state, entry.id, outcome.raised + data.get("seconds", 0.0))
        state = _moved(state, entry.id, TaskState.RUNNING, time)
    if data["outcome"] == "paused":
        return state
    for recovery in state.recoveries_of(entry.id):
        same = outcome.raised in (0.0, recovery.raised.time)
        if same and recovery.raised.ordinal == data["ordinal"]:
            state = _recovery(state, recovery.id, closed=recovery.closed or data["outcome"])
    return state


def _closed(state: State, data: Data, _time: float) -> State:
    return _recovery(state, data["recovery"], closed=data["outcome"])


def _configured(state: State, data: Data, _time: float) -> State:
    """Tasks by the number of their configuration: dependents come by the thousand, and share one."""
    changed, signal = {}, data["signal"]
    shared = msgspec.convert(data.get("configurations", []), tuple[Configuration, ...])
    made: dict[bytes, Configuration] = {}
    for task, which in data["tasks"].items():
        entry = state.tasks.get(task)
        if entry is not None:
            new = shared[which] if isinstance(which, int) else _own(which, made)
            changed[task] = msgspec.structs.replace(entry, configuration=new, signal=signal)
    return msgspec.structs.replace(state, tasks=state.tasks.with_all(changed))


def _own(content: Data, made: dict[bytes, Configuration]) -> Configuration:
    """Return a configuration that a journal of an earlier version has for each task anew."""
    text = msgspec.json.encode(content)
    return made.get(text) or made.setdefault(text, msgspec.convert(content, Configuration))


def _decided(state: State, data: Data, _time: float) -> State:
    return _recovery(state, data["recovery"], decision=data["action"], reason=data["reason"])


def _requeue_decided(state: State, data: Data, time: float) -> State:
    entry = RequeueEntry(
        token=data["token"],
        task=data["task"],
        rjms=data["rjms"],
        job_id=data["job_id"],
        claim=data["claim"],
        recovery=data["recovery"],
        because=data["because"],
        time=time,
    )
    state = msgspec.structs.replace(state, requeues=state.requeues.with_(entry.token, entry))
    return _moved(state, entry.task, TaskState.ESCALATED, time, reason=data["because"])


def _requeue(state: State, token: str, **changes: Any) -> State:
    entry = msgspec.structs.replace(state.requeues[token], **changes)
    return msgspec.structs.replace(state, requeues=state.requeues.with_(token, entry))


def _requeue_begun(state: State, data: Data, _time: float) -> State:
    return _requeue(state, data["token"], status="begun", restarts=data["restarts"])


def _requeue_done(state: State, data: Data, _time: float) -> State:
    return _requeue(state, data["token"], status=data["outcome"])


def _job_cancel(state: State, data: Data, _time: float) -> State:
    return msgspec.structs.replace(state, cancels={**state.cancels, data["job_id"]: data["task"]})


def _job_cancelled(state: State, data: Data, _time: float) -> State:
    left = {job: task for job, task in state.cancels.items() if job != data["job_id"]}
    return msgspec.structs.replace(state, cancels=left)


def _bad_node(state: State, data: Data, _time: float) -> State:
    bad = msgspec.convert(data["bad_node"], BadNode)
    bad = repeated(state.bad_nodes.get(bad.node), bad)
    return msgspec.structs.replace(state, bad_nodes={**state.bad_nodes, bad.node: bad})


def _node_forgotten(state: State, data: Data, _time: float) -> State:
    left = {node: bad for node, bad in state.bad_nodes.items() if node != data["node"]}
    return msgspec.structs.replace(state, bad_nodes=left)


def _control(state: State, data: Data, time: float) -> State:
    entry = msgspec.convert(data, ControlEntry)
    state = msgspec.structs.replace(state, controls={**state.controls, entry.id: entry})
    if data["action"] == "cancel":
        state = _task(state, data["task"], cancelled=True)
    return state


def _control_done(state: State, data: Data, _time: float) -> State:
    left = {key: entry for key, entry in state.controls.items() if key != data["id"]}
    return msgspec.structs.replace(state, controls=left)


def _command(state: State, data: Data, _time: float) -> State:
    commands = dict(list(state.commands.items())[-KEPT_COMMANDS:])
    answer = Answer(data["error"], data.get("body", ""))
    return msgspec.structs.replace(state, commands={**commands, data["id"]: answer})


def _parted(state: State, data: Data, _time: float) -> State:
    return _task(state, data["task"], parted=data["state"], exit_code=data["exit_code"])


def _finished(state: State, data: Data, time: float) -> State:
    entry = state.tasks[data["task"]]
    new = TaskState(data["state"])
    for recovery in state.recoveries_of(entry.id):
        # Nobody is left who waits for it, whoever it was that told of the end.
        if not recovery.closed:
            state = _recovery(state, recovery.id, closed=new.value)
    left = {
        key: control
        for key, control in state.controls.items()
        if control.task != entry.id or control.action != "raise"
    }
    state = msgspec.structs.replace(state, controls=left)
    return _moved(
        state,
        entry.id,
        new,
        time,
        exit_code=data["exit_code"],
        attempt=max(entry.attempt, data["attempts"]),
        reason=data["reason"],
        told_by=data["told_by"],
        peer=entry.peer or data.get("peer", ""),
    )


CHANGES: dict[str, Callable[[State, Data, float], State]] = {
    "workflow": _workflow,
    "registered": _registered,
    "fenced": _fenced,
    "report": _report,
    "state": _state,
    "clock": _clock,
    "unobserved": _unobserved,
    "quiet": _quiet,
    "heard": _heard,
    "over": _over,
    "counted": _counted,
    "requested": _requested,
    "step-begun": _step_begun,
    "step-done": _step_done,
    "step-failed": _step_failed,
    "granted": _granted,
    "recovery-done": _recovery_done,
    "closed": _closed,
    "configured": _configured,
    "decided": _decided,
    "requeue-decided": _requeue_decided,
    "requeue-begun": _requeue_begun,
    "requeue-done": _requeue_done,
    "job-cancel": _job_cancel,
    "job-cancelled": _job_cancelled,
    "bad-node": _bad_node,
    "node-forgotten": _node_forgotten,
    "control": _control,
    "control-done": _control_done,
    "command": _command,
    "parted": _parted,
    "finished": _finished,
}
