"""Deliberate faults in the cores, put in for a while: a simulation that misses one is worth nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import msgspec

from tests.simulation import coordinator as sim_coordinator
from tests.simulation import isolator as sim_isolator
from tests.simulation.coordinator import Place
from whesl.model.outcomes import ToldBy
from whesl.model.states import TaskState
from whesl.runtime.coordinator.core import contested_claims, dependents_and_names, registration_and_ownership
from whesl.runtime.coordinator.core import state_machine as coordinator_core
from whesl.runtime.coordinator.core.changes import apply_record as coordinator_changes
from whesl.runtime.coordinator.core.events_and_commands import Requeue
from whesl.runtime.coordinator.core.persistent_map import Map
from whesl.runtime.coordinator.core.recovery import (
    dependent_reconfiguration,
    requeue_orders,
    silent_tasks,
    terminated_with_job,
)
from whesl.runtime.coordinator.core.recovery import workflow_recovery_sequence as coordinator_recovery
from whesl.runtime.coordinator.core.recovery.dependent_reconfiguration import WaitingPeers
from whesl.runtime.coordinator.core.state import TaskEntry
from whesl.runtime.coordinator.effects import workflow_recovery_steps
from whesl.runtime.coordinator.storage import snapshots as coordinator_snapshots
from whesl.runtime.isolator.core import apply_record as isolator_changes
from whesl.runtime.isolator.core import lost_nodes
from whesl.runtime.isolator.core import state as isolator_state
from whesl.runtime.isolator.core import state_machine as isolator_core
from whesl.runtime.isolator.core.events_and_commands import AttemptExited, Journal, RunStep, Signalled
from whesl.runtime.isolator.core.recovery import escalation_to_coordinator as isolator_escalation
from whesl.runtime.isolator.core.recovery import node_selection
from whesl.runtime.isolator.core.recovery import recovery_confirmation as isolator_recovered
from whesl.runtime.isolator.core.recovery import task_recovery_sequence as isolator_recovery
from whesl.runtime.isolator.nodes.fence_confirmation import Fence
from whesl.runtime.isolator.nodes.liveness import Silence
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.node_agent.lease import lead
from whesl.runtime.operations.recovery_limits import Budget
from whesl.runtime.wire.delivery import Outbox
from whesl.runtime.wire.messages import Escalate, RecoveryDone, RecoveryRequest, Welcome

Mutation = Callable[[], Any]


def _handlers(module: Any, name: str, kind: type, replacement: Callable[..., None]) -> Any:
    return patch.dict(getattr(module, name), {kind: replacement})


def spares_taken_unasked() -> Any:
    """A spare takes a dead node's place before a start, whoever uses it."""
    return patch.object(node_selection, "_own", lambda *_: True)


def lost_nodes_forgotten_at_the_end() -> Any:
    """A status of 0 is a success, whatever was lost under the attempt."""
    return patch.object(lost_nodes, "completed", lambda _state: (0, TaskState.COMPLETED, ""))


def last_lines_not_judged() -> Any:
    """What is read together with the program's end, as on a busy machine, raises nothing."""
    real = isolator_core._HANDLERS[AttemptExited]

    def on_exited(turn: Any, event: AttemptExited) -> None:
        real(turn, msgspec.structs.replace(event, found=()))

    return _handlers(isolator_core, "_HANDLERS", AttemptExited, on_exited)


def patience_forgotten() -> Any:
    """What is told to end is killed after a while, also where the batch shell alone was told."""
    real = isolator_core._HANDLERS[Signalled]

    def on_signal(turn: Any, event: Signalled) -> None:
        real(turn, msgspec.structs.replace(event, alone=False))

    return _handlers(isolator_core, "_HANDLERS", Signalled, on_signal)


def lost_acknowledgement_accepted() -> Any:
    """What was sent once counts as arrived."""

    def due(self: Outbox, now: float) -> list[Any]:
        late = [number for number, waiting in self._waiting.items() if waiting.due <= now]
        for number in late:
            self.acknowledged(number)
        return []

    return patch.object(Outbox, "due", due)


def restarts_not_compared() -> Any:
    """A requeue is not told from the one that was carried out without an answer."""
    real = workflow_recovery_steps.ORDERS[Requeue]

    def requeue(scheduler: Any, command: Any) -> Any:
        return real(scheduler, msgspec.structs.replace(command, restarts=1_000_000))

    return patch.dict(workflow_recovery_steps.ORDERS, {Requeue: requeue})


def forgotten_batch_hosts_believed() -> Any:
    """A scheduler that was restarted is believed when it names another node for the batch host."""

    def lost(_entry: Any, record: Any, _order: Any) -> str | None:
        return record.batch_host if record.batch_host_lost else None

    return patch.object(silent_tasks, "_lost_batch_host", lost)


def orders_not_compared() -> Any:
    """Whether a job was ordered to run again before is not looked up."""
    real = requeue_orders.order_requeue

    def order(turn: Any, task: str, because: str, recovery: str = "") -> str:
        entry = turn.state.tasks[task]
        known = Map((key, value) for key, value in turn.state.requeues.items() if value.task != entry.id)
        turn.state = msgspec.structs.replace(turn.state, requeues=known)
        return real(turn, task, because, recovery)

    return patch.object(requeue_orders, "order_requeue", order)


def budget_not_counted() -> Any:
    """A recovery is not added to what was used."""
    return patch.object(Budget, "used", lambda self, _spec, _ordinal, _now: self)


def step_done_before_it_is() -> Any:
    """A step counts as done when it has begun."""

    real = isolator_changes._changed

    def changed(state: Any, record: Any, time: float) -> dict[str, Any]:
        fields = real(state, record, time)
        if isinstance(record, records.StepBegun):
            fields["recovery"] = msgspec.structs.replace(state.recovery, done=record.index + 1)
        return fields

    return patch.object(isolator_changes, "_changed", changed)


def claim_ignored() -> Any:
    """Whoever registers owns the task."""
    return patch.object(registration_and_ownership, "_why_not", lambda _entry, _message, _peer: "")


def refused_unasked() -> Any:
    """Another job's claim is refused before anybody has asked whether the task's owner lives."""
    return patch.object(contested_claims, "held", lambda _turn, _entry, _message: False)


@contextmanager
def replaced_claim_heard() -> Iterator[None]:
    """What a replaced claim says late still counts, and its scheduler is not asked."""

    def part(turn: Any, entry: TaskEntry, told: Any) -> None:
        turn.finished(entry, told.state, told.exit_code, "", ToldBy.ISOLATOR)

    with (
        patch.object(TaskEntry, "outdated", lambda _self, _peer, _claim: False),
        patch.object(terminated_with_job, "part", part),
    ):
        yield


def request_done_twice() -> Any:
    """A repeated request is taken for a new one."""
    real = coordinator_recovery.on_request

    def on_request(turn: Any, peer: str, message: Any) -> None:
        entry = turn.task(message.raised.task)
        if entry is not None:
            key = f"{entry.id}#{message.raised.ordinal}"
            keys = turn.state.recoveries_by_task
            own = tuple(name for name in keys.get(entry.id, ()) if name != key)
            turn.state = msgspec.structs.replace(
                turn.state,
                recoveries=turn.state.recoveries.without(key),
                recoveries_by_task=keys.with_(entry.id, own),
            )
        real(turn, peer, message)

    return _handlers(coordinator_core, "_MESSAGES", RecoveryRequest, on_request)


def grant_not_awaited() -> Any:
    """The isolator's steps begin without the coordinator's part."""

    def wait(turn: Any, recovery: Any) -> None:
        turn.record(records.StepBegun(ordinal=recovery.ordinal, index=recovery.done))
        turn.do(RunStep(ordinal=recovery.ordinal, index=recovery.done))

    return patch.object(isolator_recovery, "_wait_for_grant", wait)


def lease_ignored() -> Any:
    """A node that is cut off counts as rid of its processes at once."""
    return patch.object(Silence, "lease_over", lambda _self, _node, _now: True)


def nodes_without_an_agent_not_told_apart() -> Any:
    """A node that lived on without an agent counts as one whose agent ends what runs."""
    return patch.object(Silence, "witnessed", lambda *_: None)


def punctual_agents_assumed() -> Any:
    """No agent's processor is ever late."""

    def over(self: Any, node: str, now: float) -> bool:
        return bool(now >= max(self._peers[node].heard, self._since) + self._limit - lead(self._limit))

    return patch.object(Silence, "lease_over", over)


def strange_steps_ignored() -> Any:
    """What nothing tells the owner of counts as nobody's."""
    real = Fence.answered

    def answered(self: Fence, node: str, count: int, left: int, number: int = 0, _strange: Any = ()) -> None:
        real(self, node, count, left, number)

    return patch.object(Fence, "answered", answered)


def fence_not_awaited() -> Any:
    """The next thing begins while the old attempt is being killed."""
    real = isolator_recovery.fence

    def fence(turn: Any) -> None:
        real(turn)
        state = turn.state
        if state.recovery is not None and not state.recovery.fenced:
            turn.record(records.Fenced(attempt=state.attempt, seconds=0.0))
            isolator_recovery.proceed(turn)

    return patch.object(isolator_recovery, "fence", fence)


def late_dependents_forgotten() -> Any:
    """Only dependents that run now get a path map."""
    real = dependents_and_names.dependents

    def dependents(state: Any, task: str) -> tuple[str, ...]:
        return tuple(name for name in real(state, task) if state.tasks[name].live)

    @contextmanager
    def both() -> Iterator[None]:
        with (
            patch.object(coordinator_recovery, "dependents", dependents),
            patch.object(dependent_reconfiguration, "dependents", dependents),
        ):
            yield

    return both()


def news_not_repeated() -> Any:
    """A restarted isolator does not say again how recoveries ended."""
    return patch.object(isolator_core, "_tell_again", lambda _transition: None)


def last_words_not_left() -> Any:
    """An isolator that ends out of the coordinator's reach leaves nothing."""
    return patch.object(sim_isolator, "worth_leaving", lambda _envelopes: [])


def files_not_asked() -> Any:
    """A task that gets no answer starts with what it has."""

    def knows_nothing(_place: Any, register: Any, _now: float) -> Welcome:
        return Welcome(task=register.task, admitted=True)

    return patch.object(Place, "would_answer", knows_nothing)


def numbers_not_told_apart() -> Any:
    """A recovery is recognised by its number alone, whichever run of the task it was."""
    real = coordinator_recovery.on_done

    def on_done(transition: Any, peer: str, message: Any) -> None:
        entry = transition.task(message.task)
        known = entry.outcomes.get(message.ordinal) if entry is not None else None
        real(transition, peer, msgspec.structs.replace(message, raised=known.raised) if known else message)

    return _handlers(coordinator_core, "_MESSAGES", RecoveryDone, on_done)


def replay_skips_a_record() -> Any:
    """A restarted isolator does not read what its steps have done."""
    real = isolator_core.rebuild

    def rebuild(setup: Any, written: Any) -> Any:
        return real(setup, (pair for pair in written if not isinstance(pair[0], records.StepDone)))

    return patch.object(isolator_core, "rebuild", rebuild)


def escalation_swallowed_by_the_isolator() -> Any:
    """Nobody is told."""

    def send(turn: Any) -> None:
        turn.wake(turn.state.since + turn.state.setup.coordinator_wait)

    return patch.object(isolator_escalation, "send", send)


def escalation_swallowed_by_the_coordinator() -> Any:
    """It is acknowledged, and nothing comes of it."""
    return _handlers(coordinator_core, "_MESSAGES", Escalate, lambda _turn, _peer, _message: None)


def back_off_ignored() -> Any:
    """The next attempt starts at once."""
    real = node_selection.place

    def due(turn: Any) -> None:
        if turn.state.phase is isolator_state.Phase.BACKOFF and real(turn):
            isolator_recovery.start_attempt(turn, turn.state.attempt + 1)

    return patch.object(isolator_recovery, "launch_when_due", due)


def the_hosts_clock_followed() -> Any:
    """Daemons ask their host's clock each time."""

    class Wall:
        def __init__(self, wall: Callable[[], float], _monotonic: Callable[[], float]) -> None:
            self._wall = wall

        def __call__(self) -> float:
            return self._wall()

        def follow(self, written: float) -> None:
            pass

    @contextmanager
    def both() -> Iterator[None]:
        with patch.object(sim_isolator, "Clock", Wall), patch.object(sim_coordinator, "Clock", Wall):
            yield

    return both()


def set_back_by_a_restart() -> Any:
    """A restarted isolator does not go on from its journal's last time."""
    return patch.object(Clock, "follow", lambda _self, _written: None)


def silence_forgotten_by_a_restart() -> Any:
    """Since when a task is quiet is not read by the next coordinator."""
    return patch.object(coordinator_changes, "_quiet", lambda state, _record: state)


def lost_nodes_not_raised() -> Any:
    """What is known of a lost node when nothing could be raised is forgotten."""
    return patch.object(isolator_recovery, "raise_lost", lambda _transition: False)


def drained_for_alive() -> Any:
    """A dead node that is drained counts as back."""

    def node(state: Any, record: records.Node) -> dict[str, Any]:
        others = tuple(name for name in state.down if name != record.node)
        return {"down": (*others, record.node) if record.state == "down" else others}

    return patch.object(isolator_changes, "_node", node)


def configurations_not_told() -> Any:
    """Those who wait to be told a new configuration are forgotten."""
    return patch.object(WaitingPeers, "take", lambda self, _state, _most: self._waiting.clear() or [])


def snapshot_without_the_bad_nodes() -> Any:
    """A snapshot leaves something out."""
    pieces = coordinator_snapshots.pieces

    def fewer(kept: Any) -> Any:
        state = msgspec.structs.replace(kept.state, bad_nodes={})
        return pieces(msgspec.structs.replace(kept, state=state))

    return patch.object(coordinator_snapshots, "pieces", fewer)


def restarted_for_recovered() -> Any:
    """Whatever runs again counts as recovered."""
    return patch.object(isolator_recovered, "went_past", lambda *_: "it runs")


def raised_ids_forgotten() -> Any:
    """An isolator does not remember what it was told to raise."""
    return patch.object(isolator_changes, "_control", lambda _state, _record: {})


def checkpoints_not_counted() -> Any:
    """A rule that only asks for checkpoints has no limit."""
    real = isolator_changes._checkpoint_asked

    def uncounted(state: Any, record: records.CheckpointAsked, time: float) -> dict[str, Any]:
        return {**real(state, record, time), "budget": state.budget}

    return patch.object(isolator_changes, "_checkpoint_asked", uncounted)


def losses_that_wait_forgotten() -> Any:
    """A program that ends of a node's loss ends its task, as the loss still waits for a checkpoint."""
    real = isolator_recovery.raise_queued

    def forget(turn: Any) -> bool:
        written = [command.record for command in turn.commands if isinstance(command, Journal)]
        return not any(isinstance(record, records.Exited) for record in written) and real(turn)

    return patch.object(isolator_recovery, "raise_queued", forget)


MUTATIONS: tuple[Mutation, ...] = (
    lost_acknowledgement_accepted,
    restarts_not_compared,
    orders_not_compared,
    budget_not_counted,
    step_done_before_it_is,
    claim_ignored,
    refused_unasked,
    replaced_claim_heard,
    forgotten_batch_hosts_believed,
    request_done_twice,
    grant_not_awaited,
    lease_ignored,
    nodes_without_an_agent_not_told_apart,
    punctual_agents_assumed,
    strange_steps_ignored,
    fence_not_awaited,
    late_dependents_forgotten,
    news_not_repeated,
    last_words_not_left,
    files_not_asked,
    numbers_not_told_apart,
    replay_skips_a_record,
    escalation_swallowed_by_the_isolator,
    escalation_swallowed_by_the_coordinator,
    back_off_ignored,
    the_hosts_clock_followed,
    set_back_by_a_restart,
    silence_forgotten_by_a_restart,
    lost_nodes_not_raised,
    drained_for_alive,
    configurations_not_told,
    snapshot_without_the_bad_nodes,
    restarted_for_recovered,
    checkpoints_not_counted,
    losses_that_wait_forgotten,
    raised_ids_forgotten,
    spares_taken_unasked,
    lost_nodes_forgotten_at_the_end,
    patience_forgotten,
    last_lines_not_judged,
)
