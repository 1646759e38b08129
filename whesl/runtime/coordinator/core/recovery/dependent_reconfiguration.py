"""Changed configurations of tasks, above all of dependents: stored for later tasks, sent to running tasks.

One exception may change all tasks of a workflow. Ten thousand messages take some tenths of a second, during
which the coordinator would answer no other message. So the core orders all of them by one command, which the
shell performs in slices. A restarted coordinator sends every running task its configuration again, since a
kill may have lost the remaining slices.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from whesl.model.configuration_changes import Configuration
from whesl.model.states import TaskState
from whesl.runtime.coordinator.core.dependents_and_names import coupled, dependents, running
from whesl.runtime.coordinator.core.events_and_commands import Send, Tell
from whesl.runtime.coordinator.core.state import Recovery, State, TaskEntry
from whesl.runtime.coordinator.core.transition_context import Transition
from whesl.runtime.journal.records import coordinator_records as records
from whesl.runtime.wire.messages import Reconfigure


def apply_changes(transition: Transition, recovery: Recovery, *, own: bool = True) -> None:
    """Apply the changes of a recovery's steps to the configurations of the tasks concerned.

    Args:
        transition: the transition of the core.
        recovery: the recovery; all of its steps are done.
        own: whether the failed task's own configuration changes too; False where the grant has carried it.
    """
    if recovery.refused:
        return
    if own and recovery.configuration is not None:
        new = upon_present(transition, recovery, {recovery.task: recovery.configuration})
        configure(transition, new, because=recovery.id, signal=0)
    if recovery.dependents is not None:
        change = recovery.dependents
        changes = dict.fromkeys(dependents(transition.state, recovery.task), change)
        configure_by_change(transition, changes, because=recovery.exception, signal=recovery.signal)
    if recovery.others:
        new = upon_present(transition, recovery, recovery.others)
        configure(transition, new, because=recovery.exception, signal=recovery.signal)


def upon_present(
    transition: Transition, recovery: Recovery, new: dict[str, Configuration]
) -> dict[str, Configuration]:
    """Return a recovery's new configurations, rebased on the tasks' present configurations.

    A step's change may come into force long after the step: a requeue waits for its scheduler. Meanwhile
    another task's recovery may change the same configuration, for example by an ancestor's new paths.
    Rebasing keeps both changes.

    Args:
        transition: the present transition.
        recovery: the recovery.
        new: the configurations that the recovery's steps made, by task.
    """
    tasks, bases = transition.state.tasks, recovery.bases
    return {
        task: made.rebased(bases[task], tasks[task].configuration) if task in bases else made
        for task, made in new.items()
        if task in tasks
    }


def configure_by_change(
    transition: Transition, changes: dict[str, Configuration], *, because: str, signal: int = 0
) -> None:
    """Add to each task's configuration its change.

    Args:
        transition: the present transition.
        changes: the change to add, by task.
        because: the reason, for the record.
        signal: number of the signal to running tasks' programs, 0 for none.
    """
    tasks = transition.state.tasks
    new: dict[str, Configuration] = {}
    made: dict[tuple[int, int], Configuration] = {}  # thousands of dependents share one configuration
    for task, change in changes.items():
        entry = tasks.get(task)
        if entry is None:
            continue
        both = (id(entry.configuration), id(change))
        if both not in made:
            made[both] = entry.configuration.added(change)
        new[task] = made[both]
    configure(transition, new, because=because, signal=signal)


def configure(
    transition: Transition, new: dict[str, Configuration], *, because: str, signal: int = 0, tell: bool = True
) -> None:
    """Store new configurations; running tasks get them at once, other tasks when they register.

    Args:
        transition: the transition of the core.
                    new: whole configurations by task; unchanged ones are skipped; versions are assigned here.
        because: the reason, for the record.
        signal: number of the signal to running tasks' programs, 0 for none.
        tell: False where another message carries the configuration.
    """
    tasks = transition.state.tasks
    changed: dict[str, Configuration] = {}
    made: dict[tuple[int, int], Configuration | None] = {}
    for task, configuration in new.items():
        entry = tasks.get(task)
        if entry is None:
            continue
        both = (id(configuration), id(entry.configuration))
        if both not in made:
            made[both] = _next(configuration, entry.configuration)
        following = made[both]
        if following is not None:
            changed[task] = following
    if not changed:
        return
    # Thousands of dependents share one configuration: the record stores it once.
    numbers: dict[int, int] = {}
    transition.record(
        records.Configured(
            tasks={task: numbers.setdefault(id(new), len(numbers)) for task, new in changed.items()},
            configurations=tuple({id(new): new for new in changed.values()}.values()),
            because=because,
            signal=signal,
        )
    )
    if tell:
        told = tuple(entry.id for entry in running(transition.state, changed))
        if told:
            transition.do(Tell(tasks=told, signal=signal))


def tell_again(transition: Transition, entries: Iterable[TaskEntry]) -> None:
    """Send running tasks their configurations again: an earlier coordinator may have ended before it did so.

    These messages precede all others with configurations: a task ignores the signal of a configuration that
    it has already.

    Args:
        transition: the present transition.
        entries: the running tasks.
    """
    by_signal: dict[int, list[str]] = {}
    for entry in entries:
        if entry.configuration.version:
            by_signal.setdefault(entry.signal, []).append(entry.id)
    for signal, tasks in by_signal.items():
        transition.do(Tell(tasks=tuple(tasks), signal=signal))


def _next(configuration: Configuration, present: Configuration) -> Configuration | None:
    """Return a configuration with the next version; None when it equals the present configuration."""
    if configuration.says_the_same(present):
        return None
    return msgspec.structs.replace(configuration, version=present.version + 1)


def note_not_told(
    transition: Transition, task: str, exception: str, change: Configuration | None, signal: int
) -> None:
    """Record which running tasks do not hear of the restart of a task that they are coupled with.

    Args:
        transition: the transition of the core.
        task: the restarted task.
        exception: the exception that it was restarted for.
        change: the change of the coupled tasks' configurations, None for none.
        signal: the signal that the coupled tasks' programs get, 0 for none.
    """
    for entry in running(transition.state, coupled(transition.state, task)):
        if entry.quiet:
            reason = "its isolator does not answer"
        elif change is None:
            reason = f"{exception} has no step of DEPENDENT_JOB"
        elif not signal and not change.restart:
            reason = "no signal is named, so it knows only if it reads the file that WHESL_RECONFIGURE names"
        else:
            continue
        transition.record(records.NotTold(task=entry.id, other=task, exception=exception, reason=reason))
        transition.say(f"{entry.id} is not told that {task} was restarted: {reason}")


def tell_of_failure(transition: Transition, failed: TaskEntry) -> None:
    """Tell the user, and the running tasks that are coupled with a task, that the task has failed for good.

    The coupled tasks may wait for the failed task's data for ever. Their programs can read of the failure in
    the file that WHESL_RECONFIGURE names. They get no signal: no rule names one, and most signals end a
    program by default.

    Args:
        transition: the present transition.
        failed: the task that has failed.
    """
    workflow = transition.state.workflows.get(failed.workflow)
    if transition.state.tasks[failed.id].state is not TaskState.FAILED or (workflow and workflow.observe):
        return
    partners = tuple(running(transition.state, coupled(transition.state, failed.id)))
    change = Configuration(failed=(failed.id,))
    configure_by_change(transition, {each.id: change for each in partners}, because=f"{failed.id} has failed")
    for each in partners:
        transition.record(records.CoupledFailed(task=each.id, other=failed.id))
        transition.say(f"{each.id}: {failed.id}, with which it is coupled, has failed")


class WaitingPeers:
    """A queue of peers that wait for their tasks' configurations.

    A peer gets the configuration that its task has at the time of sending. A peer that another isolator has
    replaced, or whose task has ended, is skipped: the new isolator got the configuration when it registered.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[str, int]] = {}  # task and signal by peer

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, state: State, command: Tell) -> None:
        """Append tasks' peers to the queue. A waiting peer keeps its place, and its signal if the new is 0.

        Args:
            state: the state, which has the tasks' present peers.
            command: the tasks and their signal.
        """
        for task in command.tasks:
            entry = state.tasks.get(task)
            if entry is not None and entry.peer:
                _, before = self._waiting.get(entry.peer, (task, 0))
                self._waiting[entry.peer] = (task, command.signal or before)

    def take(self, state: State, most: int) -> list[Send]:
        """Remove the next peers from the queue, and return the messages to them.

        Args:
            state: the present state.
            most: the largest number of peers to take.
        """
        found = (self.before(state, peer) for peer in list(islice(self._waiting, most)))
        return [send for send in found if send is not None]

    def before(self, state: State, peer: str) -> Send | None:
        """Remove a peer from the queue; return its waiting message, which precedes newer ones, or None.

        Args:
            state: the coordinator's state.
            peer: the peer.
        """
        task, signal = self._waiting.pop(peer, ("", 0))
        entry = state.tasks.get(task)
        if entry is None or entry.peer != peer or not entry.live:
            return None
        message = Reconfigure(task=entry.alias or entry.id, configuration=entry.configuration, signal=signal)
        return Send(peer=peer, message=message)
