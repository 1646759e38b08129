"""The report, from records as isolators write them."""

from __future__ import annotations

import io
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.journals import happening
from tests.report.records import (
    PLANNED,
    RECOVERED,
    STEP,
    TASK,
    Records,
    of,
    raised,
    told,
)
from tests.report.story import told as told_story
from whesl.model.evidence import Evidence, explain
from whesl.model.workflow import Task, Workflow
from whesl.report import progress_lines, text_report
from whesl.report.collection import Gathered, Happening
from whesl.report.exception_row import intended, noted
from whesl.report.page import html
from whesl.report.report_builder import summarise
from whesl.report.report_records import Report
from whesl.runtime.journal.records import isolator_records


def test_a_recovery_and_what_it_was_worth() -> None:
    result = summarise(told(RECOVERED))
    (row,) = result.exceptions
    assert (row.exception, row.outcome, row.node) == ("CRASH", "recovered", "n03")
    assert (row.line, row.file, row.offset) == ("An error in MPI_Send [red]x[/red]", "run.out", 17)
    assert row.steps == ["NODE.REPLACE of n03 (rank 5 ran there): n05 takes its place"]
    assert (row.seconds, row.lost_work) == (2.0, 10.0)
    assert result.assumptions.queue_wait == 6.0, "submitted at 3, begun at 9"
    assert row.resubmission == 6.0 + 60.0 + 10.0
    assert row.saved == 76.0 - 12.0
    assert row.node_hours == pytest.approx(64.0 * 4 / 3600)
    assert [bad.node for bad in result.bad_nodes] == ["n03"]
    assert (result.totals.completed, result.totals.tasks, result.totals.recovered) == (1, 2, 1)
    task = result.tasks[0]
    assert (task.state, task.attempts, task.jobs, task.exit_code) == ("completed", 2, ["17"], 0)


def test_assumptions_can_be_given() -> None:
    result = summarise(told(RECOVERED), queue_wait=3600, poll_interval=30)
    assert result.exceptions[0].resubmission == 3600 + 30 + 10
    assert result.assumptions.waits == 0


@pytest.mark.parametrize(
    ("records", "outcome", "state"),
    [
        ([("otherwise", 21.0, {"ordinal": 1, "action": "fail", "reason": "none left"}),
          ("finished", 22.0, {"code": 1, "state": "failed", "reason": "CRASH"})], "failed", "failed"),
        ([("paused", 21.0, {"ordinal": 1, "reason": "budget"})], "paused", "paused"),
        ([("paused", 21.0, {"ordinal": 1, "reason": "budget"}), ("resumed", 30.0, {"by": "x"}),
          ("confirmed", 31.0, {"ordinals": [1]})], "restarted", "recovering"),
        ([("escalated", 21.0, {"ordinal": 1, "reason": "spares-exhausted"})], "escalated", "escalated"),
        ([("finished", 21.0, {"code": 0, "state": "skipped", "reason": "by rule"})], "skipped", "skipped"),
        ([], "open", "recovering"),
    ],
)  # fmt: skip
def test_other_ends(records: Records, outcome: str, state: str) -> None:
    result = summarise(told(RECOVERED[:5] + records))
    assert (result.exceptions[0].outcome, result.tasks[0].state) == (outcome, state)
    if outcome != "recovered":
        assert result.exceptions[0].saved is None
        assert result.totals.node_hours == 0


DOUBT: Records = [
    *RECOVERED[:3],
    ("coordinator:unobserved", 30.0, {"task": TASK, "reason": "nothing was heard for 15 s"}),
    (
        "coordinator:requeue-decided",
        40.0,
        {"task": TASK, "job_id": "17", "because": "its batch host n01 is lost"},
    ),
]


def test_a_lost_batch_host_and_the_same_job_again() -> None:
    assert summarise(told(DOUBT)).tasks[0].state == "unobserved"
    again = [("coordinator:requeue-done", 41.0, {"task": TASK, "outcome": "done"}), *RECOVERED[:3]]
    result = summarise(told([*DOUBT, *((kind, time + 60, data) for kind, time, data in again)]))
    assert (result.tasks[0].state, of(result)) == ("running", [("17", "its batch host n01 is lost")])
    assert "job 17 was to run again: its batch host n01 is lost" in text_report.markdown(result)
    (line,) = [progress_lines.line(item) for item in told(DOUBT).happenings if "requeue" in item.record.kind]
    assert line is not None and line.endswith("job 17 is to run again: its batch host n01 is lost")


@pytest.mark.parametrize(("nodes", "only"), [(["n01"], ", its only node"), (["n01", "n02"], "")])
def test_a_job_that_its_resource_manager_ran_again_is_told(nodes: list[str], only: str) -> None:
    """A job without a second node ran again after its node's loss, and the report had no word of it."""
    first: Records = [RECOVERED[0], ("attempt", 9.5, {"attempt": 1, "nodes": nodes}), RECOVERED[2]]
    again: Records = [("begun", 60.0, {"claim": "17.1", "job_id": "17"}), ("launched", 61.0, {"attempt": 2})]
    why = f"its last run was cut off on {', '.join(nodes)}{only}"
    assert of(summarise(told([*first, *again]))) == [("17", why)]


def test_a_recovery_by_a_new_run_of_the_job_is_a_restart() -> None:
    """More memory or time comes with a requeue, which ends the job's first run: it was told as cancelled."""
    asked = {"task": TASK, "job_id": "17", "because": "CRASH"}
    first: Records = [*RECOVERED[:5], ("coordinator:requeue-decided", 21.0, asked)]
    ended = ("finished", 22.0, {"state": "cancelled", "code": 143, "reason": ""})
    again: Records = [("begun", 60.0, {"claim": "17.1", "job_id": "17"}), ("launched", 61.0, {"attempt": 1})]
    (row,) = summarise(told([*first, ended, *again])).exceptions
    assert row.outcome == "restarted"


def test_what_happened_to_a_job_is_told_of_that_job_and_of_no_later_one() -> None:
    """The manager submitted the task anew: what was raised in the first job was once told of the second."""
    crash: Records = [
        *RECOVERED[:5],
        ("otherwise", 21.0, {"ordinal": 1, "action": "fail", "reason": "none left"}),
    ]
    first: Records = [
        *crash,
        ("coordinator:requeue-decided", 22.0, {"task": TASK, "job_id": "17", "because": "lost"}),
    ]
    again: Records = [("begun", 60.0, {"claim": "18.0", "job_id": "18"}), ("launched", 61.0, {"attempt": 1})]
    later: Records = [("raised", 70.0, raised(exception="HANG", time=70.0))]
    result = summarise(told([*first, *again, *later]))
    assert result.tasks[0].jobs == ["17", "18"]
    assert [(row.exception, row.job) for row in result.exceptions] == [("CRASH", "17"), ("HANG", "18")]
    assert [run.job for run in result.tasks[0].runs] == ["17", "18"]
    assert text_report.again_lines(result) == ["run_N.1: job 17 was to run again: lost"]
    text = text_report.markdown(result)
    assert "CRASH (attempt 1 of job 17)" in text and "HANG (attempt 1 of job 18)" in text


def failing(number: int) -> Records:
    """One of three attempts that cannot start its program."""
    at, line = 10.0 * number, "mpirunn: not found"
    seen = (Evidence(kind="exit", time=at, line=line, detail="exit status 127"),)
    last = {"stdout": ["begins"], "stderr": [line]}
    records: Records = [
        ("launched", at, {"attempt": number}),
        ("exited", at + 1, {"attempt": number, "code": 127, "last": last}),
        ("raised", at + 1, raised(number, "ANYHOW", attempt=number, evidence=seen)),
        ("decided", at + 1, {"ordinal": number, "action": ("recover", "fail")[number == 3]}),
    ]
    return records + [("confirmed", at + 10, {"ordinals": [number], "seconds": 9.0})] * (number < 3)


WRONG: Records = [
    ("begun", 9.0, {"claim": "17.0", "job_id": "17"}),
    *failing(1),
    *failing(2),
    *failing(3),
    ("finished", 32.0, {"code": 127, "state": "failed", "reason": "ANYHOW: budget-spent"}),
]


def test_a_job_that_is_lost_between_a_recovery_and_its_start_is_told_all_the_same() -> None:
    """The report ended with a traceback: the next start of the job knows no exception of that number."""
    place = [kind for kind, _, _ in RECOVERED].index("relaunched")
    again: Records = [("begun", 60.0, {"claim": "17.1", "job_id": "17"}), ("launched", 61.0, {"attempt": 2})]
    result = summarise(told([*RECOVERED[: place + 1], *again]))
    assert [(row.exception, row.outcome) for row in result.exceptions] == [("CRASH", "open")]
    assert result.tasks[0].state == "running"


def test_restarts_that_failed_again_are_no_recoveries_and_save_nothing() -> None:
    result = summarise(told(WRONG))
    assert [row.outcome for row in result.exceptions] == ["restarted", "restarted", "failed"]
    totals = result.totals
    assert (totals.exceptions, totals.recovered, totals.restarted) == (3, 0, 2)
    assert (totals.saved_seconds, totals.node_hours, totals.recovery_seconds) == (0, 0, 0)
    assert all(row.saved is row.resubmission is None for row in result.exceptions)
    for text in (text_report.markdown(result), html(result), text_report.headline(result)):
        assert "0 recovered in place, 2 restarted" in text
        assert "saved" not in text and "resubmission would" not in text


def test_why_an_exit_came_is_told_with_what_was_printed_last() -> None:
    result = summarise(told(WRONG))
    assert result.exceptions[0].last.stderr == result.tasks[0].runs[0].last.stderr == ("mpirunn: not found",)
    file = io.StringIO()
    text_report.show(result, Console(file=file, width=200))
    assert "why   exit status 127; the last line: mpirunn: not found" in file.getvalue()
    assert "last  stdout: begins" in file.getvalue() and "last  stderr: mpirunn: not found" in file.getvalue()
    assert "stderr: mpirunn: not found" in html(result)
    lines = [progress_lines.line(item) for item in told(WRONG).happenings if item.record.kind == "raised"]
    assert lines[0] and lines[0].endswith("raised ANYHOW: exit status 127; the last line: mpirunn: not found")


def test_a_failure_while_only_observed_is_no_failure_in_the_banner() -> None:
    records: Records = [
        ("begun", 9.0, {"claim": "17.0", "job_id": "17", "observe": True}),
        ("launched", 10.0, {"attempt": 1}),
        ("finished", 12.0, {"code": 1, "state": "failed", "reason": "only observed: CRASH"}),
    ]
    result = summarise(told(records))
    assert (result.totals.failed, result.totals.observed) == (0, 1)
    assert "0 failed, 1 failed while only observed" in text_report.headline(result)
    assert 'class="verdict bad"' not in html(result)
    assert "1 failed while only observed" in html(result)
    acted = summarise(told([("begun", 9.0, {"claim": "17.0"}), *records[1:]]))
    assert (acted.totals.failed, acted.totals.observed) == (1, 0)
    assert 'class="verdict bad"' in html(acted)


def test_the_end_of_a_task_that_nobody_was_left_to_tell_of() -> None:
    ending = {"task": TASK, "state": "failed", "exit_code": 1, "reason": "refused", "told_by": "coordinator"}
    records: Records = [
        ("coordinator:requeue-done", 41.0, {"task": TASK, "outcome": "refused", "reason": "no"}),
        ("coordinator:finished", 42.0, ending),
    ]
    result = summarise(told([*DOUBT, *records]))
    task = result.tasks[0]
    assert (task.state, task.exit_code, task.reason, result.totals.failed) == ("failed", 1, "refused", 1)
    assert of(result) == [("17", "its batch host n01 is lost: refused: no")]


@pytest.mark.costly
def test_of_very_many_tasks_those_are_shown_to_which_something_happened() -> None:
    """A table of 20,000 rows took 40 s to print, and nobody read it; --json and --html have all of them."""
    file = io.StringIO()
    text_report.show(told_story(3000, every=100), Console(file=file, width=200))
    lines = file.getvalue().splitlines()
    assert len(lines) < 400
    assert "and 2,970 tasks more: whesl report --json" in lines
    assert sum("DISKFULL in attempt 1" in line for line in lines) == 30
    file = io.StringIO()
    text_report.show(told_story(3000, every=1), Console(file=file, width=200))
    lines = file.getvalue().splitlines()
    assert "and 2,750 exceptions more: whesl report --json" in lines
    assert sum("DISKFULL in attempt 1" in line for line in lines) == 250


def test_why_tasks_have_not_completed_is_told_once_for_each_reason() -> None:
    """A study whose partition does not exist: nothing ran, and nothing else could tell why."""

    def end(task: str, state: str, reason: str) -> tuple[str, float, dict[str, Any]]:
        data = {"task": task, "state": state, "exit_code": -1, "reason": reason, "told_by": "scheduler"}
        return ("coordinator:finished", 42.0, data)

    tasks = tuple(Task(id=f"w/run_{number}", step="run", instance=str(number)) for number in range(7))
    last = Task(id="w/end", step="end")
    records = [
        *(end(task.id, "failed", "it was not submitted: no [such] partition") for task in tasks),
        end(last.id, "cancelled", "it was never submitted: its manager has ended"),
    ]
    happenings = [
        happening(task=data["task"], kind=kind, time=time, data=data) for kind, time, data in records
    ]
    workflow = Workflow(id="w", name="w", wms="maestro", root="/r", tasks=(*tasks, last))
    report = summarise(Gathered(workflow=workflow, happenings=tuple(happenings)))
    assert (report.totals.failed, report.totals.cancelled) == (7, 1)
    file = io.StringIO()
    text_report.show(report, Console(file=file, width=400))
    for text in (file.getvalue(), text_report.markdown(report).replace("\\", "")):
        assert "0 of 8 tasks completed, 7 failed, 1 cancelled; 0 exceptions" in text
        names = "run_0, run_1, run_2, run_3, run_4 and 2 more"
        assert f"{names}: failed: it was not submitted: no [such] partition" in text
        assert "end: cancelled: it was never submitted: its manager has ended" in text


@pytest.mark.parametrize(
    ("ended", "done"),
    [
        (
            {"checkpoint": "checkpoint 1", "stays": "no spare is left"},
            "checkpoint: checkpoint 1 after 2.0 s [no spare is left: the program went on]",
        ),
        ({"checkpoint": "", "why": "n02 was lost"}, "checkpoint: not written: n02 was lost"),
    ],
)
def test_what_came_of_a_prediction_is_told(ended: dict[str, str], done: str) -> None:
    """Nothing was told of an exception for which a checkpoint was all that was done."""
    asked = ("checkpoint-ended", 22.0, {"ordinal": 1, "seconds": 2.0, **ended})
    end = ("finished", 50.0, {"code": 0, "state": "completed", "reason": ""})
    (row,) = summarise(told([*RECOVERED[:4], asked, end])).exceptions
    assert text_report.done(row) == done


def test_what_a_failed_step_has_told_is_not_told_again() -> None:
    told_before = "n02 is to be replaced, but no usable spare is left"
    row = msgspec.structs.replace(
        summarise(told(RECOVERED)).exceptions[0],
        steps=[f"NODE.REPLACE of n02: failed: {told_before}"],
        reason=f"spares-exhausted: {told_before}",
    )
    assert text_report.done(row) == f"NODE.REPLACE of n02: failed: {told_before} [spares-exhausted]"


def test_a_job_that_ran_again_keeps_what_was_raised_before() -> None:
    """Exceptions and attempts are numbered anew in each start of a job."""
    escalated = [
        *RECOVERED[:-1],
        ("raised", 30.0, raised(2, "HANG", time=30.0)),
        ("escalated", 31.0, {"ordinal": 2, "reason": "spares-exhausted"}),
    ]
    again = [
        (kind, time + 60, {**data, "claim": "17.1"} if kind == "begun" else data)
        for kind, time, data in [*RECOVERED[:3], ("raised", 20.0, raised(time=80.0)), RECOVERED[-1]]
    ]
    result = summarise(told([*escalated, *again]))
    found = [(row.exception, row.outcome, row.ended) for row in result.exceptions]
    assert found == [("CRASH", "recovered", None), ("HANG", "escalated", 69.0), ("CRASH", "completed", None)]
    assert result.tasks[0].attempts == 3
    page = html(result)
    bars = re.findall(r'<rect[^>]*class="undecided"[^>]*>', page)
    widths = [float(width) for bar in bars for width in re.findall(r'width="([0-9.]+)%"', bar)]
    # The first is that of the legend.
    assert widths[1:] == pytest.approx([(69 - 30) / (110 - 3) * 100], rel=0.1), "until the job began again"


def test_a_job_that_counts_its_attempts_on_has_made_each_of_them_once() -> None:
    """A job that ran again for its lost batch host made attempts 4 and 5, and nine were reported."""
    again: Records = [
        ("begun", 40.0, {"claim": "17.1", "job_id": "17"}),
        ("attempt", 41.0, {"attempt": 3, "nodes": ["n02"]}),
        ("launched", 42.0, {"attempt": 3, "pid": 9}),
    ]
    assert summarise(told([*RECOVERED[:-1], *again])).tasks[0].attempts == 3


def test_an_isolator_that_is_started_again_goes_on_with_the_same_numbers() -> None:
    records = [*RECOVERED[:-1], ("begun", 23.0, {"claim": "17.0", "job_id": "17"}), RECOVERED[-1]]
    result = summarise(told(records))
    assert (len(result.exceptions), result.tasks[0].attempts) == (1, 2)


def test_a_pipe_gets_whole_names() -> None:
    name = "a-step-whose-name-is-as-long-as-people-make-them_PRESSURE.1.5.TEMPERATURE.300"
    workflow = Workflow(id="w", name="w", wms="maestro", root="/r", tasks=(Task(id=f"w/{name}", step=name),))
    file = io.StringIO()
    text_report.show(summarise(Gathered(workflow=workflow, happenings=())), Console(file=file, width=80))
    assert name in file.getvalue()


def test_a_reason_that_is_told_again_is_told_once() -> None:
    because = "on n02: stopped (state T): bash (182)"
    step = intended(msgspec.structs.replace(PLANNED, suspect="n02", because=because))
    assert step == f"NODE.REPLACE of n02 ({because})"
    note = f"failed: n02 is to be replaced ({because}), but no usable spare is left"
    assert noted(step, note) == f"NODE.REPLACE of n02: {note}"
    assert noted(step, "replaced by n03") == f"{step}: replaced by n03"


def test_observed_is_not_recovered() -> None:
    records = [
        *RECOVERED[:4],
        ("observed", 20.0, {"exception": "CRASH", "ordinal": 1, "action": "recover", "steps": [STEP]}),
    ]
    (row,) = summarise(told(records)).exceptions
    assert (row.outcome, row.action) == ("observed", "would recover")
    assert row.steps == ["NODE.REPLACE of n03 (rank 5 ran there) (not done)"]


def test_an_exception_raised_in_the_place_of_another() -> None:
    second = raised(2, "HIGHER", time=21.0, transformed_from=("CRASH",))
    result = summarise(
        told([*RECOVERED[:5], ("raised", 21.0, second), ("confirmed", 23.0, {"ordinals": [2]})])
    )
    assert [row.outcome for row in result.exceptions] == ["transformed", "restarted"]


def test_a_job_that_runs_again() -> None:
    again: Records = [("begun", 60.0, {"claim": "17.1", "job_id": "17"}), ("launched", 61.0, {"attempt": 3})]
    row = summarise(told([*RECOVERED, *again])).tasks[0]
    assert (row.state, row.jobs, row.ended) == ("running", ["17"], None)


KINDS = [kind for kind, _, _ in RECOVERED] + ["observed", "otherwise", "paused", "resumed", "escalated", "x"]
SCALAR = st.one_of(st.none(), st.integers(0, 3), st.text(max_size=3))


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(RECOVERED), st.floats(0, 99)), max_size=20))
def test_any_order_of_records_gives_a_report(
    records: list[tuple[tuple[str, float, dict[str, Any]], float]],
) -> None:
    result = summarise(told([(kind, time, data) for (kind, _, data), time in records]))
    assert msgspec.json.decode(msgspec.json.encode(result), type=Report) == result
    text_report.markdown(result)


# On disk ------------------------------------------------------------------------------------------------


def test_a_hang_is_explained_by_the_time_and_not_by_its_last_good_line() -> None:
    """What was seen last looks like success; alone it says nothing of what is wrong."""
    silent = "the pattern did not appear for 5 s; the last was: cycle = 20"
    assert explain("hang", "cycle = 20\n", "the pattern did not appear for 5 s\nstacks") == silent
    assert explain("progress", "", "it was never seen") == "it was never seen"
    assert explain("log", "No space left on device\n", "detail") == "No space left on device"
    evidence = Evidence(kind="hang", time=1.0, line="cycle = 20", detail="the pattern did not appear for 5 s")
    known = told([("raised", 20.0, raised(exception="HANG", evidence=(evidence,)))])
    live = progress_lines.line(known.happenings[0])
    assert live is not None
    assert live.endswith(f"run_N.1: raised HANG: {silent}")
    result = summarise(known)
    printed = io.StringIO()
    console = Console(file=printed, width=200)
    text_report.show(result, console)
    assert silent in printed.getvalue()


def test_a_report_says_where_the_stacks_of_a_hang_are() -> None:
    collected = ("evidence", 20.1, {"attempt": 1, "detail": "/record/attempt-1/stacks/all.txt\non n01:\n"})
    result = summarise(told([*RECOVERED[:5], collected, *RECOVERED[5:]]))
    assert result.exceptions[0].stacks == "/record/attempt-1/stacks/all.txt"
    printed = io.StringIO()
    console = Console(file=printed, width=200)
    text_report.show(result, console)
    assert "see   /record/attempt-1/stacks/all.txt\n" in printed.getvalue()


def test_a_table_for_a_terminal() -> None:
    result = summarise(told(RECOVERED))
    printed = io.StringIO()
    console = Console(file=printed, force_terminal=True, width=120)
    text_report.show(result, console)
    assert "run_N.1" in printed.getvalue()


def test_an_agent_that_killed_because_of_its_lease_is_told() -> None:
    why = "the agent on n02 killed 3 processes of the task: nobody on n01 had answered it for 3.0 s"
    result = summarise(told([*RECOVERED[:3], ("lease-ended", 30.0, {"node": "n02", "reason": why})]))
    assert result.tasks[0].leases_ended == [why]
    assert why in text_report.node_lines(result)[0]


def test_what_still_names_a_replaced_node_is_told_once() -> None:
    outdated = {"pid": 1, "started": 1, "outdated": ["HEAD=n1"]}
    again = [("launched", 30.0 + number, {"attempt": number, **outdated}) for number in (2, 3)]
    result = summarise(told([*RECOVERED[:3], *again]))
    (line,) = text_report.node_lines(result)
    assert "HEAD=n1" in line
    launched = isolator_records.Launched(attempt=2, pid=1, started=1, outdated=("HEAD=n1",))
    said = progress_lines.line(Happening(task="wf/a", time=0.0, record=launched))
    assert said is not None
    assert "runs again (attempt 2); a node was replaced" in said
