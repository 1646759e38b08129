"""The coordinator's changes of a task's configuration, and the notice to its running program. Pure.

A program finds the configuration in the file that WHESL_RECONFIGURE names, and is sent a signal where the
rule names one. A program that began with another configuration is notified at least once, even if the change
came while the program was starting, did not handle the signal yet, or had no isolator or coordinator.
Where the change asks for a restart (a coupled task was started again), the attempt is ended, and the next
attempt begins with the new configuration.
"""

from __future__ import annotations

from whesl.runtime.isolator.core.events_and_commands import SignalAttempt, WriteReconfigure
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.transition_context import Transition, merged
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.wire.messages import Reconfigure, Welcome


def on_reconfigure(transition: Transition, message: Reconfigure) -> None:
    """Take over a newer configuration.

    Args:
        transition: the present transition.
        message: the coordinator's configuration, and the signal by which the program learns of it (0: none).
    """
    if message.configuration.version > transition.state.coordinator_version:
        _take_over(transition, message)


def on_welcome(transition: Transition, welcome: Welcome, *, anyway: bool = False) -> None:
    """Take over a welcome's bad nodes, and its configuration if it is newer.

    Args:
        welcome: the coordinator's message.
        anyway: whether to take over a configuration that is not newer, too.
    """
    state = transition.state
    if anyway or welcome.configuration.version > state.coordinator_version:
        _take_over(transition, welcome)
    elif welcome.bad_nodes != state.bad_nodes:
        transition.record(
            records.Reconfigured(
                configuration=state.configuration,
                coordinator_version=state.coordinator_version,
                bad_nodes=welcome.bad_nodes,
            )
        )


def _take_over(transition: Transition, message: Reconfigure | Welcome) -> None:
    state = transition.state
    transition.record(
        records.Reconfigured(
            configuration=merged(state.configuration, message.configuration),
            coordinator_version=max(state.coordinator_version, message.configuration.version),
            bad_nodes=message.bad_nodes if isinstance(message, Welcome) else (),
            signal=message.signal,
        )
    )
    if transition.state.phase is Phase.RUNNING:
        tell(transition)


def tell(transition: Transition) -> None:
    """Notify a running program of a configuration that is newer than the one it began with."""
    state = transition.state
    if state.notice is None:
        return
    if state.configuration.restart > state.restart_known and not state.setup.observe:
        transition.record(records.RestartedForAnother(attempt=state.attempt))
        transition.say("ended and started again, because a task that it is coupled with was")
        transition.end_attempt()
        return
    transition.do(WriteReconfigure(configuration=state.configuration))
    if state.notice:
        version = state.configuration.version
        transition.do(SignalAttempt(attempt=state.attempt, signum=state.notice, version=version))
