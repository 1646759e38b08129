"""Workflows with a past, as isolators write it down: for tests of the report's forms."""

from __future__ import annotations

from typing import Any

import msgspec

from tests.journals import happening
from whesl.model.evidence import Evidence, Raised
from whesl.model.workflow import Task, Workflow
from whesl.report.collection import Gathered, Happening
from whesl.report.report_builder import summarise
from whesl.report.report_records import Report
from whesl.runtime.journal.records.recovery_plan_step import PlanStep

HOSTILE = "<script>alert('x')</script> \x1b[31mred\x1b[0m \x00 \u202egnp.exe </pre></style>"
_BEGIN = 1_700_000_000.0


def told(tasks: int, *, every: int = 3, line: str = "write: No space left on device") -> Report:
    """Return a report on ``tasks`` tasks of four steps, of which each ``every``-th had an exception.

    Of those, the first was recovered, the next failed, the next is paused, and so on.
    """
    names = [(("mesh", "solve", "analyse", "plot")[n % 4], f"CASE.{n}") for n in range(tasks)]
    rows = tuple(Task(id=f"w/{step}_{case}", step=step, instance=case, nodes=2) for step, case in names)
    found: list[Happening] = []
    for number, task in enumerate(rows):
        found += _past(task, number, every, line)
    workflow = Workflow(id="w", name="w", wms="maestro", root="/scratch/study", tasks=rows)
    submitted = {str(number): _BEGIN + number % 50 for number in range(tasks)}
    kept = sorted(found, key=lambda item: item.time)
    return summarise(Gathered(workflow=workflow, happenings=tuple(kept), submitted=submitted))


def _past(task: Task, number: int, every: int, line: str) -> list[Happening]:
    begin = _BEGIN + number % 50 + 20
    records: list[tuple[float, str, dict[str, Any]]] = [
        (0, "begun", {"claim": f"{number}.0", "job_id": str(number)}),
        (1, "launched", {"attempt": 1}),
    ]
    if number % every:
        records.append((40, "finished", {"state": "completed", "code": 0, "reason": ""}))
    else:
        records += _exception(task, begin, line, number // every % 3)
    return [happening(task=task.id, kind=kind, time=begin + at, data=data) for at, kind, data in records]


def _exception(task: Task, begin: float, line: str, kind: int) -> list[tuple[float, str, dict[str, Any]]]:
    seen = Evidence(
        kind="log",
        time=begin + 20,
        node="n07",
        pattern="No space",
        line=line,
        file=f"/scratch/{line}",
        offset=4096,
    )
    raised = Raised(
        exception="DISKFULL", task=task.id, attempt=1, ordinal=1, time=begin + 20, evidence=(seen,)
    )
    bad = {"node": "n07", "reason": line, "task": task.id, "time": begin + 21, "expires": begin + 9e4}
    step = PlanStep(
        id="1.0", resource="NODE", operation="REPLACE", suspect="n07", because=line, raised=raised
    )
    steps = [msgspec.to_builtins(step)]
    records: list[tuple[float, str, dict[str, Any]]] = [
        (20, "exited", {"attempt": 1, "code": 1, "last": {"stdout": ["cycle 7"], "stderr": [line]}}),
        (20, "raised", {"raised": msgspec.to_builtins(raised)}),
        (20.1, "decided", {"ordinal": 1, "action": "recover", "steps": steps}),
        (21, "step-done", {"ordinal": 1, "index": 0, "note": line, "bad_nodes": [bad]}),
    ]
    if kind == 0:
        records += [
            (24, "launched", {"attempt": 2}),
            (24, "confirmed", {"ordinals": [1], "attempt": 2}),
            (60, "recovered", {"ordinals": [1], "because": "the task completed"}),
            (60, "finished", {"state": "completed", "code": 0, "reason": ""}),
        ]
    elif kind == 1:
        records += [(25, "finished", {"state": "failed", "code": 1, "reason": line})]
    else:
        records += [(25, "paused", {"ordinal": 1, "reason": line})]
    return records
