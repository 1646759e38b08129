"""From a started attempt to a running program: a restart is confirmed when the program runs, not before.

A launcher that the resource manager refuses (its controller is away, the nodes are still busy) ends without
having started anything. That is no failure of the program: the same start is tried again, with back-off, for
a bounded time, and then the exception that the restart was for comes to its ELSE.
"""

from __future__ import annotations

from whesl.isolator.core import reconfiguration, recovered, recovery, recovery_decision
from whesl.isolator.core.events import AttemptExited, AttemptStarted, ProbeProgram, ProgramSeen
from whesl.isolator.core.state import Phase
from whesl.isolator.core.transition import Transition
from whesl.model.evidence import Evidence
from whesl.model.outcomes import RecoveryOutcome
from whesl.records import isolator as records
from whesl.rjms.step_refusal import refusal

FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
# Seconds from the first refusal; a controller that is updated is away for minutes.
REFUSED_LIMIT = 900.0


def on_attempt_started(transition: Transition, event: AttemptStarted) -> None:
    """Write down that an attempt's runner lives, and look for the program of one that was restarted."""
    state = transition.state
    if event.attempt != state.attempt or state.phase is not Phase.LAUNCHING:
        return
    transition.record(
        records.Launched(attempt=event.attempt, pid=event.pid, started=event.started, began=event.began)
    )
    reconfiguration.tell(transition)
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
    recovered.judge(transition)


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
        recovery.fence(transition)
        return True
    many = transition.state.refusals
    reason = f"the resource manager refused {many} starts in {transition.now - since:.0f} s: {why}"
    evidence = Evidence(kind="launcher", time=transition.now, line=why, detail=reason)
    recovery.give_up(transition, evidence, f"allocation-lost: {reason}")
    return True
