"""The consequences of a recovery step that has ended."""

from __future__ import annotations

import msgspec

from whesl.model.outcomes import Action, RecoveryOutcome, StepOutcome
from whesl.model.states import TaskState
from whesl.runtime.isolator.core.recovery import task_recovery_sequence
from whesl.runtime.isolator.core.state import Phase, State
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import NodeSuspect


def on_step_done(transition: Transition, event: records.StepDone) -> None:
    """Take the result of a recovery step; repeats and steps of an abandoned recovery change nothing.

    Args:
        transition: the present transition.
        event: the step's outcome and its changes to configuration and nodes.
    """
    state = transition.state
    under_way = state.recovery
    if state.phase is not Phase.STEPS or under_way is None:
        return
    if (event.ordinal, event.index) != (under_way.ordinal, under_way.done):
        return
    if event.outcome in (StepOutcome.FAIL, StepOutcome.ESCALATE):
        transition.record(records.StepFailed(ordinal=event.ordinal, index=event.index, note=event.note))
        _send_bad_nodes(transition, event)
        given_up = event.outcome is StepOutcome.ESCALATE
        action = Action.ESCALATE if given_up else task_recovery_sequence.otherwise_of(transition, under_way)
        said = ": ".join(part for part in (event.reason, event.note) if part)
        task_recovery_sequence.instead(transition, action, said or "a step could not be done")
        return
    transition.record(_step_done(state, event))
    _send_bad_nodes(transition, event)
    if event.outcome is StepOutcome.SKIP:
        transition.report_recovery(transition.recovery(), RecoveryOutcome.SKIPPED)
        transition.finish(
            0, TaskState.SKIPPED, event.note or f"{under_way.raised.exception}: skipped by its rule"
        )
    elif event.outcome is StepOutcome.PAUSE:
        transition.record(
            records.Paused(ordinal=event.ordinal, reason=f"{under_way.raised.exception}: {event.note}")
        )
        transition.report_recovery(transition.recovery(), RecoveryOutcome.PAUSED)
    else:
        task_recovery_sequence.proceed(transition)


def _step_done(state: State, event: records.StepDone) -> records.StepDone:
    ran, configuration = None, event.configuration
    if configuration is not None:
        # The step's result starts from the failed attempt's paths; later configuration changes are merged in.
        ran = configuration.path_map
        rules_now = state.configuration.path_map.merged(ran)
        configuration = msgspec.structs.replace(configuration, path_map=rules_now)
    return msgspec.structs.replace(event, configuration=configuration, ran=ran)


def _send_bad_nodes(transition: Transition, event: records.StepDone) -> None:
    for bad in event.bad_nodes:
        transition.send(NodeSuspect(bad_node=bad))
