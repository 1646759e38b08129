"""The resource manager's exceptions on the job: those that the rules raise, distinguished from all others.

An exception is recorded first, then raised by the shell. A restarted isolator raises the unconfirmed ones,
unless the job's record shows them already: each note ends with a mark of the task's run, which distinguishes
it from notes of other runs. No recovery waits for these exceptions. Source of types, severities and notes:
Flux RFC 21.
"""

from __future__ import annotations

from whesl.language.spec import ExceptionSpec
from whesl.model.evidence import Raised, explain
from whesl.model.outcomes import JobRaiseOutcome
from whesl.runtime.isolator.core.events_and_commands import JobExceptionSeen, RaiseJobException
from whesl.runtime.isolator.core.state import JobRaise, State
from whesl.runtime.isolator.core.task_setup import token_prefix
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records

MOST_CHARACTERS = 400
_SIGN = "whesl"
_RUN_CHARACTERS = 8


def announce(transition: Transition, spec: ExceptionSpec, raised: Raised) -> None:
    """Raise an exception on the job as well, when its declaration says so.

    Args:
        transition: the present transition.
        spec: the exception's declaration.
        raised: the occurrence of the exception.
    """
    if spec.raises is None or transition.state.setup.observe:
        return
    transition.record(
        records.JobRaise(
            ordinal=raised.ordinal,
            exception_type=spec.raises.exception_type,
            severity=spec.raises.severity,
            note=note_of(raised, token_prefix(transition.state.setup)[:_RUN_CHARACTERS]),
        )
    )
    transition.do(_command(transition.state.job_raises[-1]))


def note_of(raised: Raised, run: str) -> str:
    """Return the note on an exception for the job's record: its name, attempt and evidence in one line.

    Args:
        raised: the exception.
        run: the mark of this run of the task, at the end of the line.
    """
    why = ""
    if raised.evidence:
        last = raised.evidence[-1]
        why = f": {last.kind}: {explain(last.kind, last.line, last.detail) or last.pattern}"
    text = f"{_SIGN} {raised.task} #{raised.ordinal}: {raised.exception} in attempt {raised.attempt}{why}"
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    sign = f" ({run})"
    most = MOST_CHARACTERS - len(sign)
    return (shown if len(shown) <= most else shown[: most - 3] + "...") + sign


def again(transition: Transition) -> None:
    """Raise the exceptions that an earlier isolator recorded, but did not confirm as raised."""
    for item in transition.state.job_raises:
        if not item.outcome:
            transition.do(_command(item, again=True))


def _command(item: JobRaise, *, again: bool = False) -> RaiseJobException:
    return RaiseJobException(
        ordinal=item.ordinal,
        exception_type=item.exception_type,
        severity=item.severity,
        note=item.note,
        again=again,
    )


def is_ours(state: State, seen: JobExceptionSeen) -> bool:
    """Whether this task's isolator raised an exception of the job itself.

    Args:
        state: the task's state.
        seen: the exception in the job's record.
    """
    return any(
        (item.exception_type, item.note) == (seen.exception_type, seen.note) for item in state.job_raises
    )


def on_raised(transition: Transition, event: records.JobRaised) -> None:
    """Record whether the shell could raise an exception on the job; report each reason of a failure once.

    Args:
        transition: the present transition.
        event: the outcome for the task's exception of an ordinal, and the reason of a failure.
    """
    pending = any(item.ordinal == event.ordinal and not item.outcome for item in transition.state.job_raises)
    if not pending:
        return
    known = {(item.outcome, item.reason) for item in transition.state.job_raises}
    transition.record(event)
    if event.outcome is not JobRaiseOutcome.RAISED and (event.outcome, event.reason) not in known:
        transition.say(f"RAISE: not raised on the job: {event.reason}")
