"""Confirmation of restarts: confirmed when the program runs, recovered when it has passed its failure.

A launcher that the resource manager refuses (its controller is away, the nodes are still busy) ends without
having started anything. A refusal is no failure of the program: the same start is tried again, with back-off,
for a limited time. Then the ELSE of the recovery's exception is carried out. The record ``recovered`` follows
``whesl.model.recovery_criterion``.
"""

from __future__ import annotations

import msgspec

from whesl.managers.resource.job_step_refusal import refusal
from whesl.model.evidence import Evidence, Raised
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.recovery_criterion import Reach, seconds_past, went_past
from whesl.runtime.isolator.core import running_task_reconfiguration
from whesl.runtime.isolator.core.events_and_commands import AttemptExited, ProbeProgram, ProgramSeen
from whesl.runtime.isolator.core.recovery import recovery_decision, task_recovery_sequence
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records

FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
# Seconds of retries from the first refusal; an update keeps a controller away for minutes.
REFUSED_LIMIT = 900.0


def on_attempt_started(transition: Transition, event: records.Launched) -> None:
    """Record that an attempt's runner lives, and look for the program of a restarted attempt.

    Args:
        transition: the present transition.
        event: the runner's process, and what still contains the name of a replaced node, which is logged.
    """
    state = transition.state
    if event.attempt != state.attempt or state.phase is not Phase.LAUNCHING:
        return
    transition.record(event)
    if event.outdated != state.outdated and (warning := event.warning()):
        transition.say(warning)
    running_task_reconfiguration.tell(transition)
    for done in state.pending:
        transition.report_recovery(done, RecoveryOutcome.RELAUNCHED)
    probe(transition)


def probe(transition: Transition) -> None:
    """Look for the program of a restarted attempt."""
    if transition.state.pending:
        transition.do(ProbeProgram(attempt=transition.state.attempt))


def on_program_seen(transition: Transition, event: ProgramSeen) -> None:
    """Confirm the pending recoveries, since the restarted program runs.

    Args:
        transition: the present transition.
        event: the attempt, and the node with its program ('' where the attempt's output or end shows it).
    """
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
    """Retry a restart whose launcher was refused; return False when the launcher was not refused.

    Args:
        transition: the present transition.
        event: the attempt's end, already recorded.
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
        # The attempt's script may have left processes behind.
        task_recovery_sequence.fence(transition)
        return True
    many = transition.state.refusals
    reason = f"the resource manager refused {many} starts in {transition.now - since:.0f} s: {why}"
    evidence = Evidence(kind="launcher", time=transition.now, line=why, detail=reason)
    task_recovery_sequence.give_up(transition, evidence, f"allocation-lost: {reason}")
    return True


# Seconds between two judgements of an attempt whose output or progress may still grow.
AGAIN = 60.0


def on_reached(transition: Transition, reach: Reach) -> None:
    """Take an attempt's progress; output past its failure shows that its program runs.

    Args:
        transition: the present transition.
        reach: bytes that the present attempt has printed, and its counters.
    """
    printed = msgspec.structs.replace(reach, seconds=0.0)
    pending = (done.raised for done in transition.state.pending)
    if any(went_past(raised.reached, raised.kinds, printed) for raised in pending):
        on_program_seen(transition, ProgramSeen(attempt=transition.state.attempt))
    judge(transition)


def judge(transition: Transition) -> None:
    """Record the exceptions that the present attempt has passed, and schedule a tick for the others."""
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
    """Record the exceptions of the last restart as recovered, since the task completes."""
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
