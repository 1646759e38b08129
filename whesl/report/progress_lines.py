"""Lines on what happens in a running workflow. Pure."""

from __future__ import annotations

import time

from whesl.model.evidence import Raised, explain, shortened
from whesl.model.outcomes import OrderStatus, ToldBy
from whesl.model.printable import visible
from whesl.report.collection import Happening
from whesl.runtime.journal.records import coordinator_records, isolator_records

_LINE = 140


def line(item: Happening) -> str | None:
    """Return a line about a record, None for a record that users do not see."""
    text = _text(item.record)
    if text is None:
        return None
    stamp = time.strftime("%H:%M:%S", time.localtime(item.time))
    return visible(f"{stamp} {item.task.partition('/')[2]}: {text}".replace("\n", " "))


def _text(record: isolator_records.AnyRecord | coordinator_records.AnyRecord) -> str | None:
    match record:
        case isolator_records.Launched():
            again = "runs" if record.attempt == 1 else f"runs again (attempt {record.attempt})"
            return f"{again}; {record.warning()}".removesuffix("; ")
        case isolator_records.Raised():
            return _raised(record.raised)
        case isolator_records.StepDone():
            return f"step {record.index + 1} done{f': {record.note}' if record.note else ''}"
        case isolator_records.Confirmed():
            return f"restarted in {record.seconds:.2f} s"
        case isolator_records.Recovered():
            return f"recovered from {', '.join(dict.fromkeys(record.exceptions))}: {record.because}"
        case isolator_records.Observed():
            return f"observed {record.exception}: would {record.action}; nothing was touched"
        case isolator_records.Otherwise():
            return f"otherwise: {record.reason or record.action}"
        case isolator_records.Paused() | isolator_records.Escalated():
            return f"{record.kind}: {record.reason}".rstrip(": ")
        case isolator_records.StepFailed():
            return f"step-failed: {record.note}".rstrip(": ")
        case isolator_records.LeaseEnded():
            return record.reason
        case isolator_records.Finished() if not record.terminated:
            status = f" ({record.code})" if record.code else ""
            return f"{record.state.value}{status}{f': {record.reason}' if record.reason else ''}"
        case coordinator_records.Unobserved():
            return f"unobserved: {record.reason}"
        case coordinator_records.NotTold():
            return f"not told that {record.other.partition('/')[2]} was restarted: {record.reason}"
        case coordinator_records.CoupledFailed():
            return f"{record.other.partition('/')[2]}, with which it is coupled, has failed"
        case isolator_records.RestartedForAnother():
            return "is restarted, since a task that it is coupled with was"
        case coordinator_records.RequeueDecided():
            return f"job {record.job_id} is to run again: {record.because}"
        case coordinator_records.RequeueDone(outcome=OrderStatus.REFUSED):
            return f"the scheduler refused to run the job again: {record.reason}"
        case coordinator_records.Finished() if record.told_by is not ToldBy.ISOLATOR:
            return f"{record.state.value}: {record.reason}"
        case _:
            return None


def _raised(raised: Raised) -> str:
    evidence = raised.evidence
    main = next((item for item in evidence if item.line), evidence[0] if evidence else None)
    why = explain(main.kind, main.line, main.detail) if main else ""
    return f"raised {raised.exception}: {shortened(why, _LINE)}" if why else f"raised {raised.exception}"
