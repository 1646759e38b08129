"""How each record of the isolator's journal changes the isolator's state. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Raised
from whesl.model.journal_record import Damage, assert_never
from whesl.model.outcomes import Action
from whesl.model.states import NodeState
from whesl.runtime.isolator.core.state import Asked, JobRaise, Phase, Recovery, State
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.operations.recovery_limits import Budget

KEPT_CONTROLS = 64
_KILLED = 137


def apply(state: State, record: records.AnyRecord, time: float) -> State:
    """Return the state after a record; records that only inform users change nothing.

    Args:
        state: the state before.
        record: the journal record.
        time: when the record was written, seconds since the epoch.
    """
    fields = _changed(state, record, time)
    if fields.get("phase", state.phase) is not state.phase:
        fields["since"] = time
    return msgspec.structs.replace(state, **fields) if fields else state


def _changed(state: State, record: records.AnyRecord, time: float) -> dict[str, Any]:
    match record:
        case records.Begun():
            return _begun(record)
        case records.Nodes():
            return {"nodes": record.nodes.in_order(state.setup.nodes)}
        case records.Attempt():
            return _attempt(state, record)
        case records.Launched():
            return _launched(state, record, time)
        case records.Exited():
            return _exited(state, record, time)
        case records.Raised():
            return _raised(state, record)
        case records.CheckpointAsked():
            return _checkpoint_asked(state, record, time)
        case records.CheckpointEnded():
            return _checkpoint_ended(state, record)
        case records.Decided():
            return _decided(state, record, time)
        case records.Observed():
            return {"observed": (*state.observed, record.exception)}
        case records.Otherwise():
            return _recovery(state, action=record.action, reason=record.reason, became=record.became)
        case records.Dropped():
            return _dropped(state, record)
        case records.Requested():
            return _recovery(state, requested=time)
        case records.EvidenceTaken():
            return _evidence(state, record)
        case records.Fenced():
            return _fenced(state, record, time)
        case records.Granted():
            return _granted(state, record, time)
        case records.WaitsForGrant():
            return {"phase": Phase.GRANT}
        case records.StepBegun():
            return {"phase": Phase.STEPS}
        case records.StepDone():
            return _step_done(state, record)
        case records.Relaunched():
            return _relaunched(state, record)
        case records.Confirmed():
            return _confirmed(state)
        case records.Recovered():
            return _recovered(state, record)
        case records.StartRefused():
            return _refused(state, record)
        case records.Queued():
            return {"queued": (*state.queued, record.found)}
        case records.Node():
            return _node(state, record)
        case records.LeaseEnded():
            return {"leases_ended": (*state.leases_ended, record.reason)}
        case records.TimeStopped():
            return _stopped(state, record)
        case records.JobRaise():
            return {"job_raises": (*state.job_raises, JobRaise(**msgspec.structs.asdict(record)))}
        case records.JobRaised():
            return _job_raised(state, record)
        case records.Reconfigured():
            return _reconfigured(state, record)
        case records.RestartedForAnother():
            return {"phase": Phase.FENCING, "notice": None}
        case records.Control():
            return _control(state, record)
        case records.Paused():
            return {"phase": Phase.PAUSED, "paused": record.reason}
        case records.Resumed():
            return _resumed(state, record)
        case records.Escalated():
            return {"phase": Phase.ESCALATED}
        case records.Stopping():
            return {
                "phase": Phase.STOPPING,
                "stop_code": record.code,
                "stop_reason": record.reason,
                "stop_state": record.state,
                "patient": record.patient,
            }
        case records.Finished():
            return {"phase": Phase.FINISHED, "ended": record, "alive": False}
        case (
            records.IsolatorResumed()
            | records.Unfenced()
            | records.StepFailed()
            | records.Agent()
            | records.JobException()
            | records.Signal()
            | records.JournalTroubled()
            | Damage()
        ):
            return {}
        case _:
            return assert_never(record)


def _begun(record: records.Begun) -> dict[str, Any]:
    """A new claim (another start of the job's script) starts with a new allocation and no processes."""
    return {
        "claim": record.claim,
        "phase": Phase.NEW,
        "nodes": NodeSet(active=()),
        "down": (),
        "lost": (),
        "lingering": (),
        "alive": False,
        "paused": "",
        "recovery": None,
        "queued": (),
        "asked": (),
        "ended": None,
    }


def _attempt(state: State, record: records.Attempt) -> dict[str, Any]:
    return {
        "phase": Phase.LAUNCHING,
        "attempt": record.attempt,
        "token": record.token,
        "alive": False,
        "exit_code": None,
        "cause": None,
        "observed": (),
        "lost": tuple(node for node in state.lost if node in state.down),
        "restarted": (),
        "reached": None,
        "ran": state.configuration.path_map,
        "restart_known": state.configuration.restart,
        "notice": None,
    }


def _launched(state: State, record: records.Launched, time: float) -> dict[str, Any]:
    began = record.start(time)
    return {
        "leases_ended": (),
        "outdated": record.outdated,
        "phase": Phase.RUNNING,
        "alive": True,
        "first_started": state.first_started or began,
        "attempt_started": began,
        "attempt_ended": 0.0,
        "moving": None,
        "theta": state.theta if state.moving is None else time - state.moving,
    }


def _exited(state: State, record: records.Exited, time: float) -> dict[str, Any]:
    own = state.phase in (Phase.RUNNING, Phase.LAUNCHING)
    if state.phase is Phase.FENCING and state.recovery is not None:
        # The attempt had time to end by itself; status 137 shows that it had to be killed.
        own = state.recovery.action is Action.FAIL and record.code != _KILLED
    return {
        "alive": False,
        "exit_code": record.code if own else state.exit_code,
        "attempt_ended": time,
        "cause": record.cause,
    }


def _raised(state: State, record: records.Raised) -> dict[str, Any]:
    raised = record.raised
    # The exception ends the attempt: pending recoveries are over, whether or not the program was seen.
    over = state.pending if state.phase is Phase.RUNNING and not record.goes_on else ()
    return {
        "pending": state.pending if not over else (),
        "told": (*state.told, *over),
        "ordinal": raised.ordinal,
        "raised": (*state.raised, raised),
        "history": record.history or state.history,
        "queued": tuple(found for found in state.queued if found.exception != record.queued),
    }


def _checkpoint_asked(state: State, record: records.CheckpointAsked, time: float) -> dict[str, Any]:
    raised = _of(state, record.ordinal)
    moves = None if record.counted else time
    asked = Asked(raised=raised, until=record.until, moves=moves, arguments=record.arguments)
    budget = state.budget
    if record.counted and state.setup.spec is not None:
        budget = budget.used(state.setup.spec.exception(raised.exception), raised.ordinal, time)
    return {"asked": (*state.asked, asked), "budget": budget}


def _checkpoint_ended(state: State, record: records.CheckpointEnded) -> dict[str, Any]:
    ended = [asked for asked in state.asked if asked.raised.ordinal == record.ordinal]
    moves = [asked.moves for asked in ended if record.checkpoint and not record.stays]
    return {
        "asked": tuple(asked for asked in state.asked if asked not in ended),
        "moving": moves[-1] if moves else state.moving,
    }


def _of(state: State, ordinal: int) -> Raised:
    """Return the task's exception of an ordinal. Raises IndexError where a damaged journal lacks it."""
    return [raised for raised in state.raised if raised.ordinal == ordinal][-1]


def _decided(state: State, record: records.Decided, time: float) -> dict[str, Any]:
    raised = _of(state, record.ordinal)
    budget = state.budget
    # The exception may have been raised earlier and have waited for a checkpoint since.
    over = state.pending if state.phase is Phase.RUNNING else ()
    if record.action is Action.RECOVER and state.setup.spec is not None:
        budget = budget.used(state.setup.spec.exception(raised.exception), raised.ordinal, time)
    return {
        "phase": Phase.FENCING,
        "pending": state.pending if not over else (),
        "told": (*state.told, *over),
        "refusals": 0,
        "refused_since": 0.0,
        "budget": budget,
        "recovery": Recovery(
            raised=raised,
            action=record.action,
            reason=record.reason,
            level=record.level,
            steps=record.steps,
            backoff=record.backoff,
            decided=time,
            request=record.request,
        ),
    }


def _dropped(state: State, record: records.Dropped) -> dict[str, Any]:
    return {
        "queued": tuple(found for found in state.queued if found.exception != record.exception),
        "history": record.history or state.history,
    }


def _fenced(state: State, record: records.Fenced, time: float) -> dict[str, Any]:
    down = tuple(dict.fromkeys((*state.down, *record.unreachable)))
    told = (*record.unasked, *record.lingering)
    lingering = tuple(dict.fromkeys((*state.lingering, *told)))
    fields: dict[str, Any] = {
        "alive": False,
        "down": down,
        "lingering": lingering,
        "attempt_ended": state.attempt_ended or time,
    }
    if state.recovery is None:
        return {**fields, "phase": Phase.BACKOFF} if state.is_refused else fields
    raised = state.recovery.raised
    raised = msgspec.structs.replace(raised, evidence=(*raised.evidence, *record.evidence))
    steps = record.steps if record.steps is not None else state.recovery.steps
    changed = _recovery(state, fenced=True, raised=raised, steps=steps, open_files=record.open_files)
    return {**fields, **changed}


def _granted(state: State, record: records.Granted, time: float) -> dict[str, Any]:
    """Apply a grant: a new exception from the coordinator brings its own steps and budget."""
    became: dict[str, Any] = {}
    budget = state.budget
    if (raised := record.raised) is not None:
        became = {"raised": raised, "steps": record.steps}
        if state.setup.spec is not None:
            budget = budget.used(state.setup.spec.exception(raised.exception), raised.ordinal, time)
    return {
        "budget": budget,
        "configuration": record.configuration,
        "coordinator_version": record.coordinator_version,
        **_recovery(state, granted=True, **became),
    }


def _evidence(state: State, record: records.EvidenceTaken) -> dict[str, Any]:
    if not record.stuck or state.recovery is None:
        return {}
    raised = state.recovery.raised
    steps = record.steps if record.steps is not None else state.recovery.steps
    raised = msgspec.structs.replace(raised, evidence=(*raised.evidence, *record.stuck))
    return _recovery(state, raised=raised, steps=steps)


def _step_done(state: State, record: records.StepDone) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if record.configuration is not None:
        fields["configuration"] = record.configuration
    if record.ran is not None:
        fields["ran"] = record.ran
    if record.nodes is not None:
        fields["nodes"] = record.nodes.in_order(state.setup.nodes)
    if record.bad_nodes:
        fields["bad_nodes"] = (*state.bad_nodes, *record.bad_nodes)
    assert state.recovery is not None
    changed: dict[str, Any] = {"done": record.index + 1}
    if record.dependents is not None:
        changed["dependents"] = record.dependents
    if record.signal:
        changed["signal"] = record.signal
    return {**fields, **_recovery(state, **changed)}


def _relaunched(state: State, record: records.Relaunched) -> dict[str, Any]:
    assert state.recovery is not None
    done = msgspec.structs.replace(state.recovery, not_before=record.not_before)
    return {"phase": Phase.BACKOFF, "recovery": None, "pending": (*state.pending, done)}


def _confirmed(state: State) -> dict[str, Any]:
    restarted = (*state.restarted, *(done.raised for done in state.pending))
    told = (*state.told, *state.pending)
    return {"pending": (), "restarted": restarted, "told": told, "refusals": 0, "refused_since": 0.0}


def _recovered(state: State, record: records.Recovered) -> dict[str, Any]:
    left = tuple(raised for raised in state.restarted if raised.ordinal not in record.ordinals)
    return {"restarted": left, "recovered": (*state.recovered, *record.ordinals)}


def _refused(state: State, record: records.StartRefused) -> dict[str, Any]:
    last = msgspec.structs.replace(state.pending[-1], not_before=record.not_before)
    return {
        "phase": Phase.FENCING,
        "pending": (*state.pending[:-1], last),
        "refusals": state.refusals + 1,
        "refused_since": record.since,
    }


def _node(state: State, record: records.Node) -> dict[str, Any]:
    """A drained node takes no new work, alive or dead, so a drain report does not revive a dead node."""
    others = tuple(node for node in state.down if node != record.node)
    if record.state.unusable:
        down = record.state is NodeState.DOWN and record.source == records.RESOURCE_MANAGER
        told = down and record.node not in state.lost
        return {"down": (*others, record.node), "lost": (*state.lost, record.node) if told else state.lost}
    return {"down": others} if record.state is NodeState.UP else {}


def _stopped(state: State, record: records.TimeStopped) -> dict[str, Any]:
    def later(item: Recovery) -> Recovery:
        asked = None if item.requested is None else item.requested + record.seconds
        times = {"decided": item.decided + record.seconds, "not_before": item.not_before + record.seconds}
        return msgspec.structs.replace(item, requested=asked, **times)

    fields: dict[str, Any] = {"since": state.since + record.seconds}
    fields["recovery"] = None if state.recovery is None else later(state.recovery)
    return fields | {"pending": tuple(map(later, state.pending))}


def _job_raised(state: State, record: records.JobRaised) -> dict[str, Any]:
    def told(item: JobRaise) -> JobRaise:
        if item.ordinal != record.ordinal:
            return item
        return msgspec.structs.replace(item, outcome=record.outcome, reason=record.reason)

    return {"job_raises": tuple(map(told, state.job_raises))}


def _reconfigured(state: State, record: records.Reconfigured) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "configuration": record.configuration,
        "coordinator_version": record.coordinator_version,
    }
    if record.bad_nodes:
        fields["bad_nodes"] = record.bad_nodes
    runs = state.phase in (Phase.LAUNCHING, Phase.RUNNING)
    if runs and record.configuration != state.configuration:
        fields["notice"] = record.signal or state.notice or 0
    return fields


def _control(state: State, record: records.Control) -> dict[str, Any]:
    return {"controls": (*state.controls, record.id)[-KEPT_CONTROLS:]}


def _resumed(state: State, record: records.Resumed) -> dict[str, Any]:
    """A user resumed the task: the exception's budget starts anew, and its recovery goes on.

    The budgets of the exceptions that this exception was transformed from or to start anew as well.
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
        **_recovery(state, action=Action.RECOVER, backoff=0.0, request=record.request, requested=None),
    }


def _recovery(state: State, **changes: Any) -> dict[str, Any]:
    assert state.recovery is not None
    return {"recovery": msgspec.structs.replace(state.recovery, **changes)}
