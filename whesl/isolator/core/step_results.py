"""What follows from a step of a recovery that has ended."""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.isolator.core import recovery
from whesl.isolator.core.events import StepDone
from whesl.isolator.core.state import Phase, State
from whesl.isolator.core.transition import Transition
from whesl.model.states import TaskState
from whesl.wire.messages import NodeSuspect


def on_step_done(transition: Transition, event: StepDone) -> None:
    """A step ended; repeats and steps of an abandoned recovery change nothing."""
    state = transition.state
    under_way = state.recovery
    if state.phase is not Phase.STEPS or under_way is None:
        return
    if (event.ordinal, event.index) != (under_way.ordinal, under_way.done):
        return
    if event.outcome in ("fail", "escalate"):
        transition.record("step-failed", ordinal=event.ordinal, index=event.index, note=event.note)
        _send_bad_nodes(transition, event)
        action = "escalate" if event.outcome == "escalate" else recovery.otherwise_of(transition, under_way)
        said = ": ".join(part for part in (event.reason, event.note) if part)
        recovery.instead(transition, action, said or "a step could not be done")
        return
    transition.record("step-done", **_step_data(state, event))
    _send_bad_nodes(transition, event)
    if event.outcome == "skip":
        transition.report_recovery(transition.recovery(), "skipped")
        transition.finish(
            0, TaskState.SKIPPED, event.note or f"{under_way.raised.exception}: skipped by its rule"
        )
    elif event.outcome == "pause":
        transition.record(
            "paused", ordinal=event.ordinal, reason=f"{under_way.raised.exception}: {event.note}"
        )
        transition.report_recovery(transition.recovery(), "paused")
    else:
        recovery.proceed(transition)


def _step_data(state: State, event: StepDone) -> dict[str, Any]:
    data: dict[str, Any] = msgspec.structs.asdict(event)
    if event.configuration is not None:
        # The step started from where the failed attempt's files are; what was told meanwhile still counts.
        data["ran"] = event.configuration.path_map
        rules_now = state.configuration.path_map.merged(event.configuration.path_map)
        data["configuration"] = msgspec.structs.replace(event.configuration, path_map=rules_now)
    return {name: value for name, value in data.items() if value not in (None, (), 0, "") or name == "index"}


def _send_bad_nodes(transition: Transition, event: StepDone) -> None:
    for bad in event.bad_nodes:
        transition.send(NodeSuspect(bad_node=bad))
