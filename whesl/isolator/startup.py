"""From a started attempt to a running program: a restart is confirmed when the program runs, not before.

A launcher that the resource manager refuses (its controller is away, the nodes are still busy) ends without
having started anything. That is no failure of the program: the same start is tried again, with back-off, for
a bounded time, and then the exception that the restart was for comes to its ELSE.
"""

from __future__ import annotations

from whesl.isolator import recovered, recovery
from whesl.isolator.events import AttemptExited, AttemptStarted, ProbeProgram, ProgramSeen
from whesl.isolator.state import Phase
from whesl.isolator.turn import Turn
from whesl.model.evidence import Evidence
from whesl.rjms.refusals import refusal

FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
# Seconds from the first refusal; a controller that is updated is away for minutes.
REFUSED_LIMIT = 900.0


def on_attempt_started(turn: Turn, event: AttemptStarted) -> None:
    """Write down that an attempt's runner lives, and look for the program of one that was restarted."""
    state = turn.state
    if event.attempt != state.attempt or state.phase is not Phase.LAUNCHING:
        return
    turn.record("launched", attempt=event.attempt, pid=event.pid, started=event.started)
    for done in state.pending:
        turn.report_recovery(done, "relaunched")
    probe(turn)


def probe(turn: Turn) -> None:
    """Have the program of a restarted attempt looked for."""
    if turn.state.pending:
        turn.do(ProbeProgram(attempt=turn.state.attempt))


def on_program_seen(turn: Turn, event: ProgramSeen) -> None:
    """The program runs: what was pending is confirmed."""
    state = turn.state
    if event.attempt != state.attempt or state.phase is not Phase.RUNNING or not state.pending:
        return
    first = state.pending[0]
    seconds = max(turn.now - first.raised.time, 0.0)
    turn.record(
        "confirmed",
        ordinals=[item.ordinal for item in state.pending],
        attempt=event.attempt,
        seconds=seconds,
        node=event.node,
    )
    turn.say(f"attempt {event.attempt} runs, {seconds:.2f} s after the exception")
    recovered.judge(turn)


def refused(turn: Turn, event: AttemptExited) -> bool:
    """Try a restart again whose launcher was refused; False when that is not what has happened.

    Args:
        turn: the present one.
        event: the attempt's end, which is written down already.
    """
    state = turn.state
    about_node = any(recovery.nodes_of(item.evidence) for item in event.found)
    why = refusal((*event.last.stdout, *event.last.stderr)) if event.code and state.pending else ""
    if not why or about_node:
        return False
    wait = min(FIRST_WAIT * 2**state.refusals, LONGEST_WAIT)
    since = state.refused_since or turn.now
    turn.record("refused", attempt=event.attempt, reason=why, since=since, not_before=turn.now + wait)
    if turn.now - since < REFUSED_LIMIT:
        turn.say(f"attempt {event.attempt} was refused ({why}); trying again in {wait:g} s")
        # Its script may have left something behind.
        recovery.fence(turn)
        return True
    many = turn.state.refusals
    reason = f"the resource manager refused {many} starts in {turn.now - since:.0f} s: {why}"
    evidence = Evidence(kind="launcher", time=turn.now, line=why, detail=reason)
    recovery.give_up(turn, evidence, f"allocation-lost: {reason}")
    return True
