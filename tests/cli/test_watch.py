"""``whesl status --watch``: on a terminal of 80 columns and 24 lines, and into a pipe."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from tests.journals import of_daemon, rebuild
from whesl.cli.inspect.watch import Watcher
from whesl.language.spec import Spec
from whesl.model.evidence import Evidence, Raised
from whesl.model.states import TaskState
from whesl.model.workflow import Task, Workflow
from whesl.report import terminal_view
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.json_views import status_view
from whesl.runtime.journal.store import Journal

PATIENCE = 60.0
NOW = 1_700_000_100.0
Records = list[tuple[str, dict[str, Any], float]]


def begun(tasks: int, flow: str = "w", time: float = NOW - 90) -> Records:
    """A workflow whose tasks have been registered; each runs."""
    rows = tuple(Task(id=f"{flow}/solve_CASE.{n}", step="solve", instance=f"CASE.{n}") for n in range(tasks))
    workflow = Workflow(id=flow, name=flow, wms="maestro", root="/r", tasks=rows)
    spec = Spec(file="", entities=(), levels=(), resources=(), exceptions=())
    content = {
        "workflow": msgspec.to_builtins(workflow),
        "spec": msgspec.to_builtins(spec),
        "rjms": "slurm",
        "observe": False,
        "environment": {},
    }
    records: Records = [("workflow", content, time)]
    for number, task in enumerate(rows):
        one = {
            "task": task.id, "workflow": flow, "step": task.step, "instance": task.instance, "workspace": "",
            "fresh": True, "attempt": 1, "claim": f"{number}.0", "state": "running", "alias": "", "peer": "p",
            "rjms": "slurm", "job_id": str(number), "nodes": [f"n{number:02}", f"n{number + 1:02}"],
        }  # fmt: skip
        records.append(("registered", one, time + 1))
    return records


def raised(task: str, line: str, time: float) -> Records:
    seen = Evidence(kind="log", time=time, line=line, file="run.out", offset=3)
    found = Raised(exception="DISKFULL", task=task, attempt=1, ordinal=1, time=time, evidence=(seen,))
    said = {"raised": msgspec.to_builtins(found)}
    return [
        ("report", {"task": task, "kind": "raised", "time": time, "data": said}, time),
        ("report", {"task": task, "kind": "decided", "time": time, "data": {"ordinal": 1}}, time),
    ]


def finished(task: str, state: str, time: float) -> Records:
    code = 0 if state == "completed" else 1
    data = {
        "task": task, "state": state, "exit_code": code, "attempts": 1, "reason": "", "told_by": "isolator",
    }  # fmt: skip
    return [("finished", data, time)]


# The picture -----------------------------------------------------------------------------------------------


def lines(view: dict[str, Any], said: list[str], width: int, height: int, **more: Any) -> list[str]:
    printed = io.StringIO()
    console = Console(file=printed, width=width, height=height, color_system=None, legacy_windows=False)
    console.print(terminal_view.picture(view, said, width=width, height=height, **{"now": NOW, **more}))
    return printed.getvalue().splitlines()


STATES = [state for state in TaskState if state is not TaskState.REGISTERED]


@settings(deadline=None)
@given(
    flows=st.lists(st.lists(st.sampled_from(STATES), max_size=30), max_size=4),
    said=st.lists(st.text(max_size=200), max_size=8),
    width=st.integers(30, 200),
    height=st.integers(4, 60),
)
def test_it_fits_any_terminal(flows: list[list[TaskState]], said: list[str], width: int, height: int) -> None:
    view: dict[str, Any] = {"workflows": []}
    for number, states in enumerate(flows):
        (flow,) = status_view(rebuild(begun(len(states), f"flow{number}")))["workflows"]
        for task, state in zip(flow["tasks"], states, strict=True):
            task |= {"state": state.value, "reason": "why " * 50, "exception": "X" * 40, "exceptions": 1}
        view["workflows"].append(flow)
    found = lines(view, said, width, height)
    assert len(found) <= height
    assert all(len(line) <= width for line in found)


def test_what_stands_there() -> None:
    records = begun(40)
    records += raised("w/solve_CASE.5", "No space left\x1b[2J", NOW - 40)
    for number in range(10, 40):
        records += finished(f"w/solve_CASE.{number}", "completed", NOW - 30)
    records += finished("w/solve_CASE.7", "failed", NOW - 20)
    view = status_view(rebuild(records))
    found = lines(view, ["22:00:00 solve_CASE.5: raised DISKFULL: \x1b[2J"], 80, 23)
    assert found[0].startswith("w  maestro on slurm") and found[0].endswith("30 of 40, 1:30 min")
    assert set(found[1]) == {"━"} and len(found[1]) == 80
    assert found[2].startswith("30 completed  1 recovering  1 failed  8 running  1 exception, 0 recovered")
    assert found[4].split()[:6] == ["solve_CASE.5", "recovering", "1", "40", "s", "n05,n06"]
    assert "DISKFULL" in found[4]
    assert found[5].split()[:2] == ["solve_CASE.7", "failed"]
    assert found[-1].endswith("raised DISKFULL: ␛[2J"), "a log line cannot drive the terminal"
    assert set(lines(view, [], 80, 23, ascii_only=True)[1]) == {"#"}
    short = lines(view, [], 80, 10)
    assert short[-1] == "and 5 more"
    assert terminal_view.duration(200_000) == "2 d 7 h"


def test_what_goes_on_comes_first() -> None:
    records = begun(2, "old", NOW - 500) + begun(2, "new", NOW - 90)
    for number in range(2):
        records += finished(f"new/solve_CASE.{number}", "completed", NOW - 80)
    found = lines(status_view(rebuild(records)), [], 80, 24)
    assert found[0].startswith("old")
    assert found[-1] == "and 1 more workflow"
    assert lines({"workflows": []}, [], 80, 24) == ["nothing was run yet"]


def test_a_workflow_that_will_never_end_stands_behind_the_one_that_runs() -> None:
    """``whesl run`` was killed there: its last tasks stay as they are for good."""
    stuck = begun(30, "stuck", NOW - 50)
    records = begun(2, "runs", NOW - 500) + stuck[:1]
    for number in range(29):
        records += [stuck[number + 1], *finished(f"stuck/solve_CASE.{number}", "failed", NOW - 40)]
    found = lines(status_view(rebuild(records)), [], 80, 24)
    assert found[0].startswith("runs")
    assert any(line.startswith("stuck") for line in found)


def test_all_workflows_that_run_are_shown() -> None:
    records = begun(60, "large", NOW - 50) + begun(2, "small", NOW - 90)
    found = lines(status_view(rebuild(records)), [], 80, 24)
    assert [line.split()[0] for line in found if "maestro on slurm" in line] == ["large", "small"]


def test_the_clocks_of_what_has_ended_stand_still() -> None:
    records = begun(3)  # registered 89 s ago
    records += finished("w/solve_CASE.0", "failed", NOW - 80)
    records += finished("w/solve_CASE.1", "cancelled", NOW - 60)
    later = dict(records[1][1], attempt=0, peer="p")
    records.append(("registered", {**later, "fresh": False}, NOW - 10))  # its isolator was started again
    view = status_view(rebuild(records))
    tasks = {task["id"][-1]: task for task in view["workflows"][0]["tasks"]}
    assert (tasks["0"]["started"], tasks["0"]["ended"]) == (NOW - 89, NOW - 80)
    assert (tasks["2"]["started"], tasks["2"]["ended"]) == (NOW - 89, 0.0)
    for now in (NOW, NOW + 3600):
        found = lines(view, [], 80, 24, now=now)
        rows = {line.split()[1]: line.split()[3:5] for line in found if "CASE." in line}
        assert rows["failed"] == ["9", "s"] and rows["cancelled"] == ["29", "s"]
    assert rows["running"][0] == "1:01"


def test_a_task_that_runs_again_begins_anew() -> None:
    again = begun(1)[1][1] | {"claim": "7.0", "job_id": "7"}
    records = begun(1) + finished("w/solve_CASE.0", "failed", NOW - 80) + [("registered", again, NOW - 5)]
    (task,) = status_view(rebuild(records))["workflows"][0]["tasks"]
    assert (task["state"], task["started"], task["ended"]) == ("running", NOW - 5, 0.0)


def test_tasks_of_no_workflow_have_no_begin_in_common() -> None:
    records = [record for record in begun(2) if record[0] != "workflow"]
    assert lines(status_view(rebuild(records)), [], 80, 24)[0].endswith("  0 of 2")


# The command -----------------------------------------------------------------------------------------------


@pytest.fixture
def journal(whesl_home: Path) -> Iterator[Journal]:
    whesl_home.mkdir(mode=0o700)
    (whesl_home / "coordinator").mkdir()
    with Journal(whesl_home / "coordinator" / "journal.db") as opened:
        yield opened


def append(journal: Journal, records: Records) -> None:
    for kind, data, at in records:
        journal.append(kind, of_daemon(kind, data), at)


class Terminal:
    """A terminal of 80 columns and 24 lines with ``whesl`` on it."""

    def __init__(self, *words: str, **environment: str) -> None:
        self.screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self.screen)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "whesl", *words],
            stdin=slave, stdout=slave, stderr=slave,
            env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment},
        )  # fmt: skip
        os.close(slave)

    def until(self, wanted: str) -> list[str]:
        """Return the screen once ``wanted`` is on it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if wanted in "\n".join(self.screen.display):
                return list(self.screen.display)
            if not self._take(0.2):
                break
        raise AssertionError(f"{wanted!r} did not come:\n" + "\n".join(self.screen.display))

    def end(self) -> int:
        """Take what still comes and return the exit status."""
        while self._take(PATIENCE):
            pass
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._master)

    def _take(self, patience: float) -> bool:
        """Take what has come; False when the other side is closed."""
        if not select.select([self._master], [], [], patience)[0]:
            return True
        try:
            data = os.read(self._master, 65536)
        except OSError:  # EIO: the last one on the terminal has gone
            return False
        self._stream.feed(data)
        return bool(data)


def test_on_a_terminal_as_it_comes(journal: Journal) -> None:
    append(journal, begun(3, time=time.time() - 5))
    terminal = Terminal("status", "--watch")
    try:
        terminal.until("3 running")
        append(journal, raised("w/solve_CASE.1", "No space left on device " * 20, time.time()))
        shown = terminal.until("raised DISKFULL")
        assert any("1 recovering  2 running  1 exception" in line for line in shown)
        assert sum("solve_CASE.1" in line for line in shown) == 2, "its row and its line, each not wrapped"
        for number, state in enumerate(["completed", "completed", "failed"]):
            append(journal, finished(f"w/solve_CASE.{number}", state, time.time()))
        assert terminal.end() == 0
        last = "\n".join(terminal.screen.display)
        assert "2 completed  1 failed" in last, "the last picture stays"
        assert last.count("maestro on slurm") == 1
    finally:
        terminal.close()


def test_interrupted(journal: Journal) -> None:
    append(journal, begun(1))
    terminal = Terminal("status", "--watch")
    try:
        terminal.until("1 running")
        terminal.process.send_signal(2)
        assert terminal.end() == 130
        assert not terminal.screen.cursor.hidden
    finally:
        terminal.close()


@pytest.mark.parametrize("terminal", [False, True], ids=["pipe", "dumb"])
def test_plain_lines_elsewhere(journal: Journal, terminal: bool) -> None:
    append(journal, begun(1))
    append(journal, finished("w/solve_CASE.0", "completed", time.time()))
    if terminal:
        dumb = Terminal("status", "--watch", TERM="dumb")
        try:
            assert dumb.end() == 0
            assert dumb.screen.display[0].startswith("w/solve_CASE.0")
        finally:
            dumb.close()
        return
    done = subprocess.run(
        [sys.executable, "-m", "whesl", "status", "--watch"],
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert done.stdout == b"w/solve_CASE.0\tcompleted\t1\t0\tn00,n01\t-\t-\n"


def test_a_watcher_that_begins_with_what_was_known_sees_the_same(whesl_home: Path) -> None:
    """Of a long journal, only its end is read; and only what has changed is told again."""
    (whesl_home / "coordinator").mkdir(parents=True)
    with Journal(whesl_home / "coordinator" / "journal.db") as opened:
        append(opened, begun(2))
        append(opened, finished("w/solve_CASE.0", "completed", time.time()))
        known = known_state(whesl_home)
        late, early = Watcher(whesl_home, "", known), Watcher(whesl_home, "")
        early.look()
        assert not late.look() and late.view() == early.view() and late.said == early.said
        assert len(late.changed()) == len(early.changed()) > 1 and not late.changed()
        append(opened, finished("w/solve_CASE.1", "failed", time.time()))
    late.look()
    assert [task["id"] for task in late.changed()] == ["w/solve_CASE.1"]
    early.look()
    assert late.view() == early.view()


@pytest.mark.costly
def test_tasks_that_ran_without_a_coordinator_are_pointed_to(tmp_path: Path) -> None:
    """Nothing was ever told to a coordinator: an empty answer would look as if nothing had run."""
    environment = {**os.environ, "WHESL_HOME": str(tmp_path / "home")}

    def call(*words: str) -> tuple[str, str]:
        command = [sys.executable, "-m", "whesl", *words]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout, done.stderr

    assert call("status") == ("", "nothing was run yet\n")
    call("exec", "--workflow", "a b", "--no-coordinator", "--name", "one", "--", "true")
    assert call("status") == (
        "",
        "tasks that ran without a coordinator are not listed here; try whesl report 'a b'\n",
    )
    assert "whesl report" in call("events")[1]
    assert "1 of 1 task completed" in call("report", "a b")[0]
    assert "1 of 1 task completed" in call("report")[0]
