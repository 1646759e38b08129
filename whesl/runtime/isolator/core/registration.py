"""The task's registration with the coordinator, repeated until the task is admitted. Pure."""

from __future__ import annotations

from whesl.runtime.isolator.core.recovery import recovery_decision
from whesl.runtime.isolator.core.task_setup import token_prefix
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.wire.messages import Register, Welcome


def register(transition: Transition) -> None:
    """Tell the coordinator that this isolator has started."""
    transition.send(registration(transition))


def registration(transition: Transition) -> Register:
    """Return the message by which the task registers."""
    setup = transition.state.setup
    own_first = tuple(sorted(setup.nodes, key=lambda node: node != setup.own_node))
    return Register(
        task=setup.task.id,
        workflow=setup.workflow,
        step=setup.task.step,
        instance=setup.task.instance,
        workspace=setup.task.workspace,
        rjms=setup.rjms,
        job_id=setup.job_id,
        claim=setup.claim,
        run=token_prefix(setup),
        nodes=own_first if setup.moves else setup.nodes,
        exceptions=recovery_decision.names(transition.state),
        attempt=transition.state.attempt,
        state=transition.state.task_state,
        configuration_version=transition.state.coordinator_version,
        cluster=setup.cluster,
        requeue=setup.requeue,
        kept=setup.kept,
        sizes=setup.sizes,
        moves=setup.moves,
    )


def wait(transition: Transition, welcome: Welcome) -> None:
    """Delay the start while another job may run this task, and schedule another registration.

    Args:
        transition: the present transition.
        welcome: the coordinator's refusal, with the seconds after which the isolator registers again.
    """
    if transition.state.register_at is None:
        transition.say(f"not admitted yet, the coordinator asks about the other job: {welcome.reason}")
    due = transition.now + welcome.again
    transition.volatile(register_at=due)
    if transition.state.welcome_deadline is not None:
        transition.volatile(welcome_deadline=due + transition.state.setup.welcome_wait)
    transition.wake(due)


def when_due(transition: Transition) -> None:
    """Register again when that is due. The deadline of the first welcome covers a lost answer."""
    due = transition.state.register_at
    if not due:
        return
    if transition.now < due:
        transition.wake(due)
    else:
        transition.volatile(register_at=0.0)
        register(transition)
