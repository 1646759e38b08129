"""All that was run in some days: what failed, why, where, what it cost, what a rule would have saved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.language.test_command import call
from tests.report.records import home
from whesl.model.evidence import Advice, Cause, CauseClass, Evidence, LastLines, Raised
from whesl.model.outcomes import FUNCTION_RAISED
from whesl.model.states import TaskState
from whesl.model.workflow import Task
from whesl.report import overview_forms
from whesl.report.exception_row import ExceptionRow
from whesl.report.overview import overview
from whesl.report.report_records import Assumptions, Report, Run, TaskRow, Totals
from whesl.report.task_row_from_records import TaskFold
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records.isolator_records import Attempt, Finished, Launched

DAY = 86400.0
HOST = Cause(
    cause=CauseClass.NODE,
    sentence="a node was lost",
    advice=Advice.OTHER_NODES,
    sure=0.9,
    text="srun: error: Node failure on n07",
    node="n07",
)
BUG = Cause(cause=CauseClass.BUG, sentence="it crashed", advice=Advice.NONE, sure=0.9, text="Segfault")


def task(
    name: str, state: str, began: float, hours: float, cause: Cause | None = None, nodes: int = 2
) -> TaskRow:
    run = Run(attempt=1, started=began, ended=began + hours * 3600, exit_code=1 if cause else 0, cause=cause)
    row = TaskRow(task=name, step="s", instance="", state=state, nodes=nodes, runs=[run])
    row.started, row.ended, row.exit_code = began, run.ended, run.exit_code
    return row


def report(*tasks: TaskRow, exceptions: tuple[ExceptionRow, ...] = ()) -> Report:
    totals = Totals(
        tasks=0, completed=0, failed=0, observed=0, cancelled=0, exceptions=0, recovered=0, restarted=0,
        recovery_seconds=0, saved_seconds=0, node_hours=0,
    )  # fmt: skip
    assumed = Assumptions(queue_wait=0, waits=0, poll_interval=60)
    return Report(
        workflow="w", name="w", wms="", root="", totals=totals, assumptions=assumed, exceptions=exceptions,
        tasks=tasks, bad_nodes=(),
    )  # fmt: skip


def crash(name: str, time: float, outcome: str, **fields: object) -> ExceptionRow:
    return ExceptionRow(
        task=name, exception="CRASH", ordinal=1, attempt=1, time=time, kind="log", line="boom", node="n01",
        outcome=outcome, lost_work=1800.0, **fields,  # type: ignore[arg-type]  # as the test gives them
    )  # fmt: skip


def test_failures_are_summed_up_over_workflows() -> None:
    now = 40 * DAY
    since = now - 30 * DAY
    first = report(
        task("a/1", "completed", now - DAY, 3),
        task("a/2", "failed", now - DAY, 2, HOST),
        task("a/3", "failed", now - DAY, 1, BUG),
        task("a/old", "failed", now - 35 * DAY, 50, HOST),
        exceptions=(
            crash("a/1", now - DAY, "recovered", node_hours=0.5),
            crash("a/1", now - DAY + 60, "failed"),
            crash("a/old", now - 35 * DAY, "failed"),
        ),
    )
    second = report(task("b/1", "failed", now - 2 * DAY, 4, HOST), task("b/2", "running", now - 3600, 1))
    found = overview([first, second, report()], since, now)
    assert (found.workflows, found.tasks, found.completed, found.failed) == (2, 5, 1, 3)
    assert found.ran == pytest.approx(2 * (3 + 2 + 1 + 4 + 1))
    node, crashes, bug = (each for each in found.failures)
    assert (node.what, node.ruled, node.times, node.lost, node.avoidable) == ("node-lost", False, 2, 12, 12)
    assert (node.nodes, node.why) == ({"n07": 2}, HOST.text)
    assert (crashes.what, crashes.times, crashes.tasks, crashes.recovered) == ("CRASH", 2, 1, 1)
    assert (crashes.lost, crashes.saved, crashes.avoidable) == (2, 0.5, 0)
    assert (bug.what, bug.lost, bug.avoidable) == ("segfault/app-bug", 2, 0), "no restart mends it"
    assert (found.lost, found.saved, found.avoidable) == (16, 0.5, 12)
    assert found.nodes == {"n07": 2, "n01": 2}


@pytest.mark.parametrize(
    ("line", "nodes", "blamed"),
    [
        ("srun: error: Node failure on n05", ("n04", "n05"), {"n05": 1}),
        ("boom", ("n04", "n05"), {}),
        ("boom", ("n04",), {"n04": 1}),
    ],
)
def test_a_failure_is_that_of_the_node_which_its_evidence_blames(
    line: str, nodes: tuple[str, ...], blamed: dict[str, int]
) -> None:
    """The host on which the log was read had all failures of the month."""
    fold = TaskFold(Task(id="w/a", step="s"), {})
    seen = Evidence(kind="log", time=12.0, node="n04", line=line)
    raised = Raised(exception="CRASH", task="w/a", attempt=1, ordinal=1, time=12.0, evidence=(seen,))
    for time, record in (
        (10.0, Attempt(attempt=1, token="t", nodes=nodes, configuration_version=1)),
        (11.0, Launched(attempt=1, pid=1, started=1)),
        (12.0, records.Raised(raised=raised)),
    ):
        fold.take(record, time)
    (found,) = overview([report(fold.row, exceptions=tuple(fold.raised()))], 0, DAY).failures
    assert found.nodes == blamed


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (("    solve(x)", "grid.SolverError: step 3", "hint: smaller steps"), "grid.SolverError"),
        (
            ("Traceback (most recent call last):", '  File "<stdin>", line 1', "KeyboardInterrupt"),
            "KeyboardInterrupt",
        ),
        (("hint: smaller steps", "note: none"), "status 214"),
    ],
)
def test_a_function_failed_by_the_type_of_its_exception(lines: tuple[str, ...], what: str) -> None:
    row = task("w/f", "failed", 100.0, 1)
    row.exit_code = row.runs[-1].exit_code = FUNCTION_RAISED
    row.runs[-1].last = LastLines(stderr=lines)
    (found,) = overview([report(row)], 0, DAY).failures
    assert (found.what, found.ruled) == (what, False)


def test_the_host_of_a_task_on_one_node_is_that_of_its_failure() -> None:
    """A failure whose log names no node had none, though the journal tells where the attempt ran."""
    folds = []
    for name, nodes in (("w/alone", ["n03"]), ("w/wide", ["n04", "n05"])):
        fold = TaskFold(Task(id=name, step="s"), {})
        for time, record in (
            (10.0, Attempt(attempt=1, token="t", nodes=tuple(nodes), configuration_version=1)),
            (11.0, Launched(attempt=1, pid=1, started=1)),
            (12.0, Finished(state=TaskState.FAILED, code=3, reason="it failed")),
        ):
            fold.take(record, time)
        folds.append(fold.row)
    (found,) = overview([report(*folds)], 0, DAY).failures
    assert (found.times, found.nodes) == (2, {"n03": 1})


def test_the_page_shows_what_came_from_logs_as_text() -> None:
    cause = Cause(cause=CauseClass.BUG, sentence="", advice=Advice.NONE, sure=1, text="<script>x</script>")
    page = overview_forms.html(overview([report(task("a", "failed", 100, 1, cause))], 0, DAY))
    assert "<script>" not in page
    assert "&lt;script&gt;x" in page


@pytest.mark.parametrize("coordinator", [True, False])
def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], coordinator: bool
) -> None:
    monkeypatch.setenv("WHESL_HOME", str(home(tmp_path, coordinator=coordinator)))
    ever = ("report", "--days", "30000")  # these records are of 1970
    assert call(*ever, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["what"] for each in found["failures"]] == ["CRASH"]
    assert (found["workflows"], found["completed"]) == (1, 1)
    assert call(*ever) == 0
    assert "CRASH" in capsys.readouterr().out
    assert call("report", "--days", "30", "--html", tmp_path / "page") == 0
    assert "CRASH" not in (tmp_path / "page").read_text()
    assert call(*ever, "w") == 2
