"""What the isolator tells the coordinator of the task at first, and again until it is admitted. Pure."""

from __future__ import annotations

from whesl.isolator.setup import token_prefix
from whesl.isolator.turn import Turn
from whesl.wire.messages import Register, Welcome


def register(turn: Turn) -> None:
    """Say that this isolator is up."""
    turn.send(registration(turn))


def registration(turn: Turn) -> Register:
    """Return what the coordinator is told."""
    setup = turn.state.setup
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
        nodes=setup.nodes,
        attempt=turn.state.attempt,
        state=turn.state.task_state,
        configuration_version=turn.state.coordinator_version,
        cluster=setup.cluster,
    )


def wait(turn: Turn, welcome: Welcome) -> None:
    """Another job may run this task: register again when the coordinator knows more, and start nothing."""
    if turn.state.register_at is None:
        turn.say(f"not admitted yet, the coordinator asks about the other job: {welcome.reason}")
    due = turn.now + welcome.again
    turn.volatile(register_at=due)
    if turn.state.welcome_deadline is not None:
        turn.volatile(welcome_deadline=due + turn.state.setup.welcome_wait)
    turn.wake(due)


def when_due(turn: Turn) -> None:
    """Register again when it is time; an answer that is lost is for the deadline of the first welcome."""
    due = turn.state.register_at
    if not due:
        return
    if turn.now < due:
        turn.wake(due)
    else:
        turn.volatile(register_at=0.0)
        register(turn)
