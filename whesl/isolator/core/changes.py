"""What each record of the isolator's journal changes in its state. Pure.

Records, in the order of a recovery: raised, decided, requested, evidence, fenced, granted, step-begun,
step-done, relaunched, refused, confirmed, recovered; beside them begun, nodes, attempt, launched, exited,
dropped, queued, observed, node, job-exception, job-raise, job-raised, otherwise, reconfigured, control,
paused, resumed, escalated, stopping, finished.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.detect.transform import History
from whesl.isolator.core.events import Found
from whesl.isolator.core.outcomes import Ended, JobRaise
from whesl.isolator.core.state import Phase, Recovery, State
from whesl.model.allocation import NodeSet
from whesl.model.evidence import Evidence, Raised
from whesl.model.pathmap import PathMap
from whesl.model.workflow import BadNode, Configuration
from whesl.operations.budget import Budget

KEPT_CONTROLS = 64
_KILLED = 137


def apply(state: State, kind: str, data: dict[str, Any], time: float) -> State:
    """Return the state after a record. Records of unknown kind (notes, damage reports) change nothing.

    Args:
        state: the state before.
        kind: the record's word.
        data: its content, as JSON builtins.
        time: when it was written, seconds since the epoch.
    """
    change = CHANGES.get(kind)
    if change is None:
        return state
    fields = change(state, data, time)
    if fields.get("phase", state.phase) is not state.phase:
        fields["since"] = time
    return msgspec.structs.replace(state, **fields)


def _begun(_state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    """A new claim (another start of the job's script) starts with a new allocation and no processes."""
    return {
        "claim": data["claim"],
        "phase": Phase.NEW,
        "nodes": NodeSet(active=()),
        "down": (),
        "lingering": (),
        "alive": False,
        "paused": "",
        "recovery": None,
        "queued": (),
        "ended": None,
    }


def _nodes(_state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"nodes": msgspec.convert(data["nodes"], NodeSet)}


def _attempt(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {
        "phase": Phase.LAUNCHING,
        "attempt": data["attempt"],
        "token": data["token"],
        "alive": False,
        "exit_code": None,
        "observed": (),
        "restarted": (),
        "reached": None,
        "ran": state.configuration.path_map,
    }


def _launched(state: State, _data: dict[str, Any], time: float) -> dict[str, Any]:
    return {
        "leases_ended": (),
        "phase": Phase.RUNNING,
        "alive": True,
        "first_started": state.first_started or time,
        "attempt_started": time,
        "attempt_ended": 0.0,
    }


def _exited(state: State, data: dict[str, Any], time: float) -> dict[str, Any]:
    own = state.phase in (Phase.RUNNING, Phase.LAUNCHING)
    if state.phase is Phase.FENCING and state.recovery is not None:
        # It was given time for its last words; if it had to be killed in the end, that is seen by its status.
        own = state.recovery.action == "fail" and data["code"] != _KILLED
    return {
        "alive": False,
        "exit_code": data["code"] if own else state.exit_code,
        "attempt_ended": time,
    }


def _raised(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    raised = msgspec.convert(data["raised"], Raised)
    # What is raised while an attempt runs ends it before its program was seen, or after that: both restarted.
    over = state.pending if state.phase is Phase.RUNNING else ()
    return {
        "pending": state.pending if not over else (),
        "told": (*state.told, *over),
        "ordinal": raised.ordinal,
        "raised": (*state.raised, raised),
        "history": msgspec.convert(data["history"], History) if data.get("history") else state.history,
        "queued": tuple(found for found in state.queued if found.exception != data.get("queued")),
    }


def _decided(state: State, data: dict[str, Any], time: float) -> dict[str, Any]:
    raised = state.raised[-1]
    budget = state.budget
    if data["action"] == "recover" and state.setup.spec is not None:
        budget = budget.used(state.setup.spec.exception(raised.exception), raised.ordinal, time)
    return {
        "phase": Phase.FENCING,
        "refusals": 0,
        "refused_since": 0.0,
        "budget": budget,
        "recovery": Recovery(
            raised=raised,
            action=data["action"],
            reason=data.get("reason", ""),
            level=data.get("level", "JOB_LEVEL"),
            steps=tuple(data.get("steps", ())),
            backoff=data.get("backoff", 0.0),
            decided=time,
            request=data.get("request", False),
        ),
    }


def _observed(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"observed": (*state.observed, data["exception"])}


def _otherwise(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return _recovery(state, action=data["action"], reason=data["reason"], became=data.get("became", ""))


def _dropped(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {
        "queued": tuple(found for found in state.queued if found.exception != data["exception"]),
        "history": msgspec.convert(data["history"], History) if data.get("history") else state.history,
    }


def _requested(state: State, _data: dict[str, Any], time: float) -> dict[str, Any]:
    return _recovery(state, requested=time)


def _fenced(state: State, data: dict[str, Any], time: float) -> dict[str, Any]:
    down = tuple(dict.fromkeys((*state.down, *data.get("unreachable", ()))))
    told = (*data.get("unasked", ()), *data.get("lingering", ()))
    lingering = tuple(dict.fromkeys((*state.lingering, *told)))
    fields: dict[str, Any] = {
        "alive": False,
        "down": down,
        "lingering": lingering,
        "attempt_ended": state.attempt_ended or time,
    }
    if state.recovery is None:
        return {**fields, "phase": Phase.BACKOFF} if state.is_refused else fields
    added = tuple(msgspec.convert(item, Evidence) for item in data.get("evidence", ()))
    raised = state.recovery.raised
    raised = msgspec.structs.replace(raised, evidence=(*raised.evidence, *added))
    steps = tuple(data["steps"]) if data.get("steps") is not None else state.recovery.steps
    open_files = msgspec.convert(data.get("open_files", ()), tuple[bytes, ...])
    return {
        **fields,
        **_recovery(state, fenced=True, raised=raised, steps=steps, open_files=open_files),
    }


def _granted(state: State, data: dict[str, Any], time: float) -> dict[str, Any]:
    """The coordinator may have made another exception of it, whose steps are done then, on its own budget."""
    became: dict[str, Any] = {}
    budget = state.budget
    if "raised" in data:
        raised = msgspec.convert(data["raised"], Raised)
        became = {"raised": raised, "steps": tuple(data["steps"])}
        if state.setup.spec is not None:
            budget = budget.used(state.setup.spec.exception(raised.exception), raised.ordinal, time)
    return {
        "budget": budget,
        "configuration": msgspec.convert(data["configuration"], Configuration),
        "coordinator_version": data.get("coordinator_version", state.coordinator_version),
        **_recovery(state, granted=True, **became),
    }


def _evidence(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    added = tuple(msgspec.convert(item, Evidence) for item in data.get("stuck", ()))
    if not added or state.recovery is None:
        return {}
    raised = state.recovery.raised
    steps = tuple(data["steps"]) if data["steps"] is not None else state.recovery.steps
    raised = msgspec.structs.replace(raised, evidence=(*raised.evidence, *added))
    return _recovery(state, raised=raised, steps=steps)


def _phase_of(phase: Phase) -> Any:
    return lambda _state, _data, _time: {"phase": phase}


def _step_begun(_state: State, _data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"phase": Phase.STEPS}


def _step_done(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if data.get("configuration") is not None:
        fields["configuration"] = msgspec.convert(data["configuration"], Configuration)
    if data.get("ran") is not None:
        fields["ran"] = msgspec.convert(data["ran"], PathMap)
    if data.get("nodes") is not None:
        fields["nodes"] = msgspec.convert(data["nodes"], NodeSet)
    if data.get("bad_nodes"):
        added = msgspec.convert(data["bad_nodes"], tuple[BadNode, ...])
        fields["bad_nodes"] = (*state.bad_nodes, *added)
    assert state.recovery is not None
    changed: dict[str, Any] = {"done": data["index"] + 1}
    if data.get("dependents") is not None:
        changed["dependents"] = msgspec.convert(data["dependents"], Configuration)
    if data.get("signal"):
        changed["signal"] = data["signal"]
    return {**fields, **_recovery(state, **changed)}


def _relaunched(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    assert state.recovery is not None
    done = msgspec.structs.replace(state.recovery, not_before=data["not_before"])
    return {"phase": Phase.BACKOFF, "recovery": None, "pending": (*state.pending, done)}


def _confirmed(state: State, _data: dict[str, Any], _time: float) -> dict[str, Any]:
    restarted = (*state.restarted, *(done.raised for done in state.pending))
    told = (*state.told, *state.pending)
    return {"pending": (), "restarted": restarted, "told": told, "refusals": 0, "refused_since": 0.0}


def _recovered(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    left = tuple(raised for raised in state.restarted if raised.ordinal not in data["ordinals"])
    return {"restarted": left}


def _refused(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    last = msgspec.structs.replace(state.pending[-1], not_before=data["not_before"])
    return {
        "phase": Phase.FENCING,
        "pending": (*state.pending[:-1], last),
        "refusals": state.refusals + 1,
        "refused_since": data["since"],
    }


def _queued(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"queued": (*state.queued, msgspec.convert(data["found"], Found))}


def _node(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    """A drained node takes no new work, alive or not: the word brings no dead one back."""
    others = tuple(node for node in state.down if node != data["node"])
    if data["state"] == "down":
        return {"down": (*others, data["node"])}
    return {"down": others} if data["state"] == "up" else {}


def _lease_ended(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"leases_ended": (*state.leases_ended, data["reason"])}


def _stopped(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    def later(item: Recovery) -> Recovery:
        asked = None if item.requested is None else item.requested + data["seconds"]
        times = {"decided": item.decided + data["seconds"], "not_before": item.not_before + data["seconds"]}
        return msgspec.structs.replace(item, requested=asked, **times)

    fields: dict[str, Any] = {"since": state.since + data["seconds"]}
    fields["recovery"] = None if state.recovery is None else later(state.recovery)
    return fields | {"pending": tuple(map(later, state.pending))}


def _job_raise(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"job_raises": (*state.job_raises, msgspec.convert(data, JobRaise))}


def _job_raised(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    outcome = {"outcome": data["outcome"], "reason": data["reason"]}
    return {
        "job_raises": tuple(
            msgspec.structs.replace(item, **outcome) if item.ordinal == data["ordinal"] else item
            for item in state.job_raises
        )
    }


def _reconfigured(_state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "configuration": msgspec.convert(data["configuration"], Configuration),
        "coordinator_version": data["coordinator_version"],
    }
    if data.get("bad_nodes"):
        fields["bad_nodes"] = msgspec.convert(data["bad_nodes"], tuple[BadNode, ...])
    return fields


def _control(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"controls": (*state.controls, data["id"])[-KEPT_CONTROLS:]}


def _paused(_state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"phase": Phase.PAUSED, "paused": data["reason"]}


def _resumed(state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    """A person decided: the exception's budget starts anew, and its recovery goes on.

    So does that of what the coordinator made of it, and of what it was made of.
    """
    recovery = state.recovery
    if recovery is None:
        return {"phase": Phase.FENCING, "paused": ""}
    names = (recovery.raised.exception, recovery.became)
    kept = {
        name: uses
        for name, uses in state.budget.uses.items()
        if name not in names and all(use.ordinal != recovery.ordinal for use in uses)
    }
    return {
        "phase": Phase.FENCING,
        "paused": "",
        "budget": Budget(kept),
        **_recovery(state, action="recover", backoff=0.0, request=data["request"], requested=None),
    }


def _stopping(_state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"phase": Phase.STOPPING, "stop_code": data["code"], "stop_reason": data["reason"]}


def _finished(_state: State, data: dict[str, Any], _time: float) -> dict[str, Any]:
    return {"phase": Phase.FINISHED, "ended": msgspec.convert(data, Ended), "alive": False}


def _recovery(state: State, **changes: Any) -> dict[str, Any]:
    assert state.recovery is not None
    return {"recovery": msgspec.structs.replace(state.recovery, **changes)}


CHANGES: dict[str, Any] = {
    "begun": _begun,
    "nodes": _nodes,
    "attempt": _attempt,
    "launched": _launched,
    "exited": _exited,
    "raised": _raised,
    "decided": _decided,
    "observed": _observed,
    "otherwise": _otherwise,
    "dropped": _dropped,
    "requested": _requested,
    "evidence": _evidence,
    "fenced": _fenced,
    "granted": _granted,
    "waiting": _phase_of(Phase.GRANT),
    "step-begun": _step_begun,
    "step-done": _step_done,
    "relaunched": _relaunched,
    "confirmed": _confirmed,
    "recovered": _recovered,
    "refused": _refused,
    "queued": _queued,
    "node": _node,
    "lease-ended": _lease_ended,
    "stopped": _stopped,
    "job-raise": _job_raise,
    "job-raised": _job_raised,
    "reconfigured": _reconfigured,
    "control": _control,
    "paused": _paused,
    "resumed": _resumed,
    "escalated": _phase_of(Phase.ESCALATED),
    "stopping": _stopping,
    "finished": _finished,
}
