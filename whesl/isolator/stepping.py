"""What follows from a step of a recovery that has ended."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.isolator import recovery
from whesl.isolator.events import StepDone
from whesl.isolator.state import Phase, State
from whesl.isolator.turn import Turn
from whesl.model.states import TaskState
from whesl.wire.messages import NodeSuspect


def on_step_done(turn: Turn, event: StepDone) -> None:
    """A step ended; repeats and steps of an abandoned recovery change nothing."""
    state = turn.state
    under_way = state.recovery
    if state.phase is not Phase.STEPS or under_way is None:
        return
    if (event.ordinal, event.index) != (under_way.ordinal, under_way.done):
        return
    if event.outcome in ("fail", "escalate"):
        turn.record("step-failed", ordinal=event.ordinal, index=event.index, note=event.note)
        _send_bad_nodes(turn, event)
        action = "escalate" if event.outcome == "escalate" else recovery.otherwise_of(turn, under_way)
        said = ": ".join(part for part in (event.reason, event.note) if part)
        recovery.instead(turn, action, said or "a step could not be done")
        return
    turn.record("step-done", **_step_data(state, event))
    _send_bad_nodes(turn, event)
    if event.outcome == "skip":
        turn.report_recovery(turn.recovery(), "skipped")
        turn.finish(0, TaskState.SKIPPED, event.note or f"{under_way.raised.exception}: skipped by its rule")
    elif event.outcome == "pause":
        turn.record("paused", ordinal=event.ordinal, reason=f"{under_way.raised.exception}: {event.note}")
        turn.report_recovery(turn.recovery(), "paused")
    else:
        recovery.proceed(turn)


def _step_data(state: State, event: StepDone) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.structs.asdict(event)
    if event.configuration is not None:
        # The step started from where the failed attempt's files are; what was told meanwhile still counts.
        data["ran"] = event.configuration.path_map
        rules_now = state.configuration.path_map.merged(event.configuration.path_map)
        data["configuration"] = msgspec.structs.replace(event.configuration, path_map=rules_now)
    return {name: value for name, value in data.items() if value not in (None, (), 0, "") or name == "index"}


def _send_bad_nodes(turn: Turn, event: StepDone) -> None:
    for bad in event.bad_nodes:
        turn.send(NodeSuspect(bad_node=bad))
