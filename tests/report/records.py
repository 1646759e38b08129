"""Records of one task, as the tests of the report put them into journals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from tests.journals import happening, of_daemon, of_task
from whesl.model.evidence import Evidence, Raised
from whesl.model.workflow import Task, Workflow
from whesl.report.collection import Gathered
from whesl.report.report_records import Report
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.journal.store import Journal

Records = list[tuple[str, float, dict[str, Any]]]  # kind, time, data

TASK = "w/run_N.1"
WORKFLOW = Workflow(
    id="w",
    name="w",
    wms="maestro",
    root="/r",
    tasks=(Task(id=TASK, step="run", instance="N.1", nodes=4), Task(id="w/end", step="end", parents=(TASK,))),
)
LINE = Evidence(
    kind="log",
    time=20.0,
    node="n01",
    pattern="MPI",
    line="An error in MPI_Send [red]x[/red]\n",
    file="run.out",
    offset=17,
)


def raised(ordinal: int = 1, exception: str = "CRASH", **fields: Any) -> dict[str, Any]:
    record = Raised(
        exception=exception,
        task=TASK,
        attempt=fields.pop("attempt", 1),
        ordinal=ordinal,
        time=fields.pop("time", 20.0),
        evidence=fields.pop("evidence", (LINE,)),
        **fields,
    )
    return {"raised": msgspec.to_builtins(record)}


PLANNED = PlanStep(
    id="1.0",
    resource="NODE",
    operation="REPLACE",
    suspect="n03",
    because="rank 5 ran there",
    raised=msgspec.convert(raised()["raised"], Raised),
)
STEP = msgspec.to_builtins(PLANNED)
RECOVERED: Records = [
    ("begun", 9.0, {"claim": "17.0", "job_id": "17"}),
    ("attempt", 9.5, {"attempt": 1, "nodes": ["n01", "n02", "n03", "n04"]}),
    ("launched", 10.0, {"attempt": 1}),
    ("raised", 20.0, raised()),
    ("decided", 20.0, {"exception": "CRASH", "ordinal": 1, "action": "recover", "steps": [STEP]}),
    ("fenced", 20.5, {"attempt": 1}),
    ("step-begun", 20.5, {"ordinal": 1, "index": 0}),
    (
        "step-done",
        20.6,
        {
            "ordinal": 1,
            "index": 0,
            "note": "n05 takes its place",
            "bad_nodes": [{"node": "n03", "reason": "CRASH", "task": TASK, "time": 20.6, "expires": 99.0}],
        },
    ),
    ("relaunched", 20.7, {"ordinal": 1, "attempt": 2}),
    ("attempt", 20.7, {"attempt": 2, "nodes": ["n01", "n02", "n05", "n04"]}),
    ("launched", 22.0, {"attempt": 2}),
    ("confirmed", 22.0, {"ordinals": [1], "attempt": 2, "seconds": 2.0}),
    ("recovered", 50.0, {"ordinals": [1], "exceptions": ["CRASH"], "because": "the task completed"}),
    ("finished", 50.0, {"code": 0, "state": "completed", "reason": ""}),
]


def told(records: Records) -> Gathered:
    return Gathered(
        workflow=WORKFLOW,
        happenings=tuple(
            happening(task=TASK, kind=kind, time=time, data=data) for kind, time, data in records
        ),
        submitted={"17": 3.0},
    )


def of(report: Report) -> list[tuple[str, str]]:
    return [(again.job, again.reason) for again in report.tasks[0].run_again]


def home(tmp_path: Path, *, coordinator: bool) -> Path:
    tmp_path.chmod(0o700)
    flow = tmp_path / "workflows" / "w"
    (flow / "submissions").mkdir(parents=True)
    (flow / "workflow.json").write_bytes(msgspec.json.encode(WORKFLOW))
    (flow / "submissions" / "x.json").write_text('{"number": 1, "job": "17", "submitted": {"17": 3.0}}')
    directory = tmp_path / "tasks" / "w" / "run_N.1"
    directory.mkdir(parents=True)
    (directory / "job.json").write_bytes(
        msgspec.json.encode({"setup": {"task": WORKFLOW.tasks[0], "workflow": "w"}})
    )
    if coordinator:
        (tmp_path / "coordinator").mkdir()
    path = (tmp_path / "coordinator" if coordinator else directory) / "journal.db"
    with Journal(path) as journal:
        for kind, time, data in RECOVERED:
            if coordinator:
                relayed = of_daemon("report", {"task": TASK, "kind": kind, "time": time, "data": data})
                journal.append("report", relayed, time + 0.01)
                other = of_daemon("report", {"task": "other/x", "kind": kind, "time": time})
                journal.append("report", other, time)
            else:
                journal.append(kind, of_task(kind, data), time)
    return tmp_path
