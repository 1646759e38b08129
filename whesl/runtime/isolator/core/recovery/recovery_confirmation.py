"""Whether restarts were recoveries: confirmed when the program runs, recovered when it went past its failure.

A launcher that the resource manager refuses (its controller is away, the nodes are still busy) ends without
having started anything. That is no failure of the program: the same start is tried again, with back-off, for
a bounded time, and then the exception that the restart was for comes to its ELSE. The record ``recovered``
follows ``whesl.model.recovery_criterion``.
"""

from __future__ import annotations

import msgspec

from whesl.managers.resource.step_refusal import refusal
from whesl.model.evidence import Evidence, Raised
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.recovery_criterion import Reach, seconds_past, went_past
from whesl.runtime.isolator.core import running_task_reconfiguration
from whesl.runtime.isolator.core.events_and_commands import (
    AttemptExited,
    AttemptStarted,
    ProbeProgram,
    ProgramSeen,
)
from whesl.runtime.isolator.core.recovery import recovery_decision, task_recovery_sequence
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records

FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
# Seconds from the first refusal; a controller that is updated is away for minutes.
REFUSED_LIMIT = 900.0


def on_attempt_started(transition: Transition, event: AttemptStarted) -> None:
    """Write down that an attempt's runner lives, and look for the program of one that was restarted."""
    state = transition.state
    if event.attempt != state.attempt or state.phase is not Phase.LAUNCHING:
        return
    launched = records.Launched(**msgspec.structs.asdict(event))
    transition.record(launched)
    if launched.outdated != state.outdated and (warning := launched.warning()):
        transition.say(warning)
    running_task_reconfiguration.tell(transition)
    for done in state.pending:
        transition.report_recovery(done, RecoveryOutcome.RELAUNCHED)
    probe(transition)


def probe(transition: Transition) -> None:
    """Have the program of a restarted attempt looked for."""
    if transition.state.pending:
        transition.do(ProbeProgram(attempt=transition.state.attempt))


def on_program_seen(transition: Transition, event: ProgramSeen) -> None:
    """The program runs: what was pending is confirmed."""
    state = transition.state
    if event.attempt != state.attempt or state.phase is not Phase.RUNNING or not state.pending:
        return
    first = state.pending[0]
    seconds = max(transition.now - first.raised.time, 0.0)
    transition.record(
        records.Confirmed(
            ordinals=tuple(item.ordinal for item in state.pending),
            attempt=event.attempt,
            seconds=seconds,
            node=event.node,
        )
    )
    transition.say(f"attempt {event.attempt} runs, {seconds:.2f} s after the exception")
    judge(transition)


def refused(transition: Transition, event: AttemptExited) -> bool:
    """Try a restart again whose launcher was refused; False when that is not what has happened.

    Args:
        transition: the present one.
        event: the attempt's end, which is written down already.
    """
    state = transition.state
    about_node = any(recovery_decision.nodes_of(item.evidence) for item in event.found)
    why = refusal((*event.last.stdout, *event.last.stderr)) if event.code and state.pending else ""
    if not why or about_node:
        return False
    wait = min(FIRST_WAIT * 2**state.refusals, LONGEST_WAIT)
    since = state.refused_since or transition.now
    transition.record(
        records.StartRefused(attempt=event.attempt, reason=why, since=since, not_before=transition.now + wait)
    )
    if transition.now - since < REFUSED_LIMIT:
        transition.say(f"attempt {event.attempt} was refused ({why}); trying again in {wait:g} s")
        # Its script may have left something behind.
        task_recovery_sequence.fence(transition)
        return True
    many = transition.state.refusals
    reason = f"the resource manager refused {many} starts in {transition.now - since:.0f} s: {why}"
    evidence = Evidence(kind="launcher", time=transition.now, line=why, detail=reason)
    task_recovery_sequence.give_up(transition, evidence, f"allocation-lost: {reason}")
    return True


# Seconds between two looks at an attempt whose output or progress may yet come to more.
AGAIN = 60.0


def on_reached(transition: Transition, reach: Reach) -> None:
    """Take how far the attempt has come; what it has printed past its failure shows that its program runs."""
    printed = msgspec.structs.replace(reach, seconds=0.0)
    pending = (done.raised for done in transition.state.pending)
    if any(went_past(raised.reached, raised.kinds, printed) for raised in pending):
        on_program_seen(transition, ProgramSeen(attempt=transition.state.attempt))
    judge(transition)


def judge(transition: Transition) -> None:
    """Write down which exceptions the present attempt has gone past, and ask for a tick for the others."""
    state = transition.state
    if state.phase is not Phase.RUNNING or not state.restarted:
        return
    ran = max(transition.now - state.attempt_started, 0.0)
    now = msgspec.structs.replace(state.reached or Reach(), seconds=ran)
    past: dict[str, list[Raised]] = {}
    for raised in state.restarted:
        if because := went_past(raised.reached, raised.kinds, now):
            past.setdefault(because, []).append(raised)
    for because, exceptions in past.items():
        _write(transition, exceptions, because)
    for raised in transition.state.restarted:
        due = state.attempt_started + seconds_past(raised.reached, raised.kinds)
        transition.wake(due if due > transition.now else transition.now + AGAIN)


def completed(transition: Transition) -> None:
    """The task is about to complete: what its last attempt was restarted for is recovered."""
    if exceptions := (*(done.raised for done in transition.state.pending), *transition.state.restarted):
        _write(transition, exceptions, "the task completed")


def _write(transition: Transition, exceptions: list[Raised] | tuple[Raised, ...], because: str) -> None:
    ordinals = tuple(raised.ordinal for raised in exceptions)
    names = tuple(raised.exception for raised in exceptions)
    transition.record(
        records.Recovered(
            ordinals=ordinals, exceptions=names, attempt=transition.state.attempt, because=because
        )
    )
    transition.say(f"recovered from {', '.join(dict.fromkeys(names))}: {because}")
