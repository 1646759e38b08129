"""``whesl exec`` with real processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from whesl.isolator import taskdir
from whesl.isolator.taskdir import Owner, TaskDir
from whesl.journal import Journal, JournalError

HEAD = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[ADD, REMOVE, REPLACE]

"""
CRASH = """\
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app]
EXCEPTION DETECTION CRASH LOG "An error occurred in MPI_" stdout
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
PATIENCE = 30.0


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something to become true, bounded."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.01)
    raise AssertionError(f"did not happen: {what}")


def exists(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


class Bench:
    """One task's directory, its files, and the processes that a test started."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.directory = TaskDir(place / "task")
        self.started: list[subprocess.Popen[bytes]] = []
        self.environment = {**os.environ, "WHESL_HOME": str(place / "home")}

    def rules(self, text: str = CRASH) -> str:
        path = self.place / "rules.esl"
        path.write_text(HEAD + text)
        return str(path)

    def script(self, text: str) -> list[str]:
        path = self.place / "app.sh"
        path.write_text(text)
        return ["bash", str(path)]

    def exec(self, *command: str, options: tuple[str, ...] = (), **settings: Any) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", "whesl", "exec", "--task-dir", str(self.directory.path)]
        child = subprocess.Popen(
            [*program, "--no-coordinator", *options, "--", *command],
            env=self.environment,
            cwd=self.place,
            **{"stdin": subprocess.DEVNULL, **settings},
        )
        self.started.append(child)
        return child

    def run(
        self, *command: str, options: tuple[str, ...] = (), stdin: Any = subprocess.DEVNULL
    ) -> tuple[int, str, str]:
        """Run to the end with regular files for output, as a batch job has them."""
        out, err = self.place / "out", self.place / "err"
        with out.open("ab") as stdout, err.open("ab") as stderr:
            child = self.exec(*command, options=options, stdout=stdout, stderr=stderr, stdin=stdin)
            code = child.wait(PATIENCE)
        return code, out.read_text(), err.read_text()

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        try:
            journal = Journal(self.directory.journal, read_only=True)
            return [(record.kind, record.data) for record in journal.read()]
        except JournalError:
            return []

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.records()]

    def raised(self) -> list[dict[str, Any]]:
        return [data["raised"] for kind, data in self.records() if kind == "raised"]

    def isolator(self) -> int:
        def owner() -> int:
            found = self.directory.owner()
            return found.pid if isinstance(found, Owner) and exists(found.pid) else 0

        pid: int = until(owner, "an isolator that holds the lock")
        return pid


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    for child in made.started:
        if child.poll() is None:
            child.kill()
            child.wait()
    owner = made.directory.owner()
    if owner is not None and owner.pid:
        os.kill(owner.pid, signal.SIGKILL)
    for kind, data in made.records():
        if kind == "launched" and exists(data["pid"]):
            os.killpg(data["pid"], signal.SIGKILL)


# Transparency ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", 0),
        ("exit 3", 3),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("no-such-command-at-all", 127),
    ],
)
def test_the_exit_status_is_the_task_s(bench: Bench, command: str, code: int) -> None:
    assert bench.run("bash", "-c", command)[0] == code


def test_a_program_that_does_not_exist_is_127(bench: Bench) -> None:
    code, _, err = bench.run("no-such-program-at-all")
    assert code == 127
    assert "no-such-program-at-all" in err


def test_the_files_hold_the_task_s_output_and_nothing_else(bench: Bench) -> None:
    (bench.place / "out").write_text("before\n")
    code, out, err = bench.run(
        "bash", "-c", "echo one; echo two >&2; kill -SEGV $$", options=("-e", bench.rules())
    )
    assert (code, out, err) == (139, "before\none\n", "two\n")


def test_a_script_may_write_around_the_task(bench: Bench) -> None:
    line = f"{sys.executable} -m whesl exec --no-coordinator -- echo inside"
    out = bench.place / "all"
    with out.open("wb") as file:
        subprocess.run(
            ["bash", "-c", f"echo before; {line}; echo after"], stdout=file, env=bench.environment, check=True
        )
    assert out.read_text() == "before\ninside\nafter\n"


def test_both_streams_may_share_a_file(bench: Bench) -> None:
    out = bench.place / "all"
    with out.open("wb") as file:
        child = bench.exec("bash", "-c", "echo 1; echo 2 >&2; echo 3", stdout=file, stderr=subprocess.STDOUT)
        assert child.wait(PATIENCE) == 0
    assert out.read_text() == "1\n2\n3\n"


def test_pipes_are_copied_through(bench: Bench) -> None:
    child = bench.exec("bash", "-c", "echo 1; echo 2 >&2", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, out, err) == (0, b"1\n", b"2\n")


def test_a_hundred_megabytes_go_through_a_pipe_unchanged(bench: Bench) -> None:
    child = bench.exec("bash", "-c", "yes 0123456789 | head -c 100000000", stdout=subprocess.PIPE)
    assert child.stdout is not None
    count, bad = 0, False
    while block := child.stdout.read(11 * 4096):
        bad = bad or block.count(b"0123456789\n") < len(block) // 11 - 1
        count += len(block)
    assert child.wait(PATIENCE) == 0
    assert (count, bad) == (100_000_000, False)


def test_a_reader_that_goes_away_does_not_end_the_task(bench: Bench) -> None:
    mark = bench.place / "done"
    script = f"for i in $(seq 20000); do echo line $i; done; touch {mark}"
    child = bench.exec("bash", "-c", script, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(PATIENCE) == 0
    assert mark.exists()


def test_a_reader_that_reads_nothing_does_not_block_the_task(bench: Bench) -> None:
    mark = bench.place / "done"
    child = bench.exec("bash", "-c", f"head -c 5000000 /dev/zero; touch {mark}", stdout=subprocess.PIPE)
    until(mark.exists, "the task's end while nobody reads")
    assert child.stdout is not None
    assert len(child.stdout.read()) == 5_000_000
    assert child.wait(PATIENCE) == 0


def test_a_pipe_that_somebody_made_non_blocking_loses_nothing(bench: Bench) -> None:
    mark = bench.place / "done"
    read, write = os.pipe()
    os.set_blocking(write, False)
    child = bench.exec("bash", "-c", f"head -c 3000000 /dev/zero; touch {mark}", stdout=write)
    os.close(write)
    until(mark.exists, "the task's end while nobody reads")
    with os.fdopen(read, "rb") as pipe:
        assert len(pipe.read()) == 3_000_000
    assert child.wait(PATIENCE) == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_as_empty_ones(bench: Bench, closed: str) -> None:
    mark = bench.place / "done"
    program = f"{sys.executable} -m whesl exec --task-dir {bench.directory.path} --no-coordinator"
    bench.started.append(
        subprocess.Popen(
            ["bash", "-c", f"{program} -- sh -c 'cat; echo 1; echo 2 >&2; touch {mark}; exit 3' {closed}"],
            env=bench.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    )
    out, err = bench.started[0].communicate(timeout=PATIENCE)
    assert bench.started[0].returncode == 3
    assert mark.exists()
    assert out == (b"" if closed.startswith(">") or " >" in closed else b"1\n")
    assert err == (b"" if "2>" in closed else b"2\n")


def test_a_script_from_standard_input_runs_with_its_own_shell(bench: Bench) -> None:
    source = bench.place / "script"
    source.write_text(
        "#!/bin/bash -e\n[[ $0 == */script ]] && echo $BASHOPTS | grep -q . && echo $- $1\nfalse\n"
    )
    with source.open("rb") as stdin:
        code, out, _ = bench.run("arg", options=("--script", "-"), stdin=stdin)
    assert code == 1
    assert "e" in out.split()[0]
    assert out.split()[1] == "arg"


def test_each_attempt_reads_its_input_anew(bench: Bench) -> None:
    source = bench.place / "input"
    source.write_text("header\nfirst\nsecond\n")
    command = bench.script(
        'cat; [ "$WHESL_RESTART_COUNT" = 0 ] && echo "An error occurred in MPI_Send" && sleep 60; exit 0\n'
    )
    with source.open("rb") as stdin:
        os.lseek(stdin.fileno(), 7, os.SEEK_SET)
        code, out, _ = bench.run(*command, options=("-e", bench.rules()), stdin=stdin)
    assert code == 0
    assert out.count("first\nsecond\n") == 2
    assert "header" not in out


def test_the_task_is_told_what_the_page_says(bench: Bench) -> None:
    _, out, _ = bench.run("env", options=("--step", "app", "--workflow", "wf", "--instance", "X.1"))
    told = dict(line.split("=", 1) for line in out.splitlines() if "=" in line)
    assert told["WHESL_TASK"] == "wf/app_X.1"
    assert told["WHESL_WORKFLOW"] == "wf"
    assert told["WHESL_RESTART_COUNT"] == "0"
    assert Path(told["WHESL_HOSTFILE"]).read_text().split() == told["WHESL_NODELIST"].split(",")
    assert json.loads(Path(told["WHESL_RECONFIGURE"]).read_text())["version"] == 0


def test_wrong_rules_are_all_shown_and_nothing_runs(bench: Bench) -> None:
    bad = bench.place / "bad.esl"
    bad.write_text("DECLARE NONSENSE\nDECLARE ENTITY JOB\nDECLARE OTHER\n")
    mark = bench.place / "ran"
    code, out, err = bench.run("touch", str(mark), options=("-e", str(bad)))
    assert code == 2
    assert not mark.exists()
    assert "bad.esl:1" in err and "bad.esl:3" in err
    assert "Traceback" not in err + out


def test_a_compiled_specification_needs_no_parser(bench: Bench) -> None:
    rules = bench.rules()
    compiled = subprocess.run(
        [sys.executable, "-m", "whesl", "compile", rules],
        capture_output=True,
        env=bench.environment,
        check=True,
    )
    spec = bench.place / "spec.json"
    spec.write_bytes(compiled.stdout)
    command = bench.script(
        '[ "$WHESL_RESTART_COUNT" = 1 ] || { echo "An error occurred in MPI_Send"; sleep 60; }\n'
    )
    assert bench.run(*command, options=("-e", str(spec)))[0] == 0


# Recovery ---------------------------------------------------------------------------------------------


def test_a_crash_is_recovered_from_the_last_checkpoint(bench: Bench) -> None:
    command = bench.script(
        """\
        i=$(cat ckpt 2>/dev/null || echo 0)
        while [ $i -lt 6 ]; do
          i=$((i+1)); echo "step $i"; echo $i > ckpt
          if [ $i = 3 ] && [ "$WHESL_RESTART_COUNT" = 0 ]; then
            echo "An error occurred in MPI_Send"; exit 1
          fi
        done
        """
    )
    code, out, _ = bench.run(*command, options=("-e", bench.rules()))
    assert code == 0
    steps = [line for line in out.splitlines() if line.startswith("step")]
    assert steps == [f"step {number}" for number in range(1, 7)]
    evidence = bench.raised()[0]["evidence"][-1]
    assert evidence["line"] == "An error occurred in MPI_Send"
    content = (bench.place / "out").read_bytes()
    assert content[evidence["offset"] :].startswith(b"An error occurred")
    assert "confirmed" in bench.kinds()


def test_everything_of_the_old_attempt_is_gone_before_the_new_one_starts(bench: Bench) -> None:
    command = bench.script(
        """\
        if [ "$WHESL_RESTART_COUNT" = 0 ]; then
          setsid sleep 300 & echo $! >> pids
          env -i setsid sleep 300 & echo $! >> pids
          sleep 300 & echo $! >> pids; kill -STOP $!
          nohup bash -c 'trap "" TERM HUP INT; while :; do sleep 1; done' & echo $! >> pids
          echo "An error occurred in MPI_Send"; sleep 300
        fi
        for pid in $(cat pids); do
          if [ -e /proc/$pid ] && ! grep -q 'State:.Z' /proc/$pid/status; then echo "alive $pid"; fi
        done
        """
    )
    code, out, _ = bench.run(*command, options=("-e", bench.rules()))
    assert code == 0
    assert "alive" not in out
    assert len((bench.place / "pids").read_text().split()) == 4


def test_a_hang_is_raised_with_the_stacks_of_what_hung(bench: Bench) -> None:
    rules = bench.rules(
        """\
DECLARE EXCEPTION HANG JOB_LEVEL JOB [app]
EXCEPTION DETECTION HANG LOG "cycle = " stdout TIMEOUT 1
EXCEPTION RECOVERY STEP HANG JOB JOB.REPLACE
"""
    )
    command = bench.script(
        'echo "cycle = 1"; [ "$WHESL_RESTART_COUNT" = 1 ] || sleep 300; echo "cycle = 2"\n'
    )
    code, out, _ = bench.run(*command, options=("-e", rules))
    assert code == 0
    assert out == "cycle = 1\ncycle = 1\ncycle = 2\n"
    place = bench.directory.attempt(1) / "stacks" / "all.txt"
    assert f"stacks are in {place}\n" in (bench.directory.path / "summary").read_text()
    stacks = place.read_text()
    assert "sleep 300" in stacks
    kinds = bench.kinds()
    assert kinds.index("evidence") < kinds.index("fenced")


def test_a_recurring_match_is_raised_at_its_count(bench: Bench) -> None:
    rules = bench.rules(
        """\
DECLARE EXCEPTION FLAKY JOB_LEVEL JOB [app]
EXCEPTION DETECTION FLAKY LOG "link flapped" stdout RECURRING 3
EXCEPTION RECOVERY STEP FLAKY JOB JOB.REPLACE
"""
    )
    command = bench.script(
        """\
        echo "link flapped"; echo "link flapped"
        [ "$WHESL_RESTART_COUNT" = 1 ] && exit 0
        echo "link flapped"; sleep 300
        """
    )
    assert bench.run(*command, options=("-e", rules))[0] == 0
    assert len(bench.raised()) == 1
    assert len(bench.raised()[0]["evidence"]) == 3


def test_one_exception_becomes_another(bench: Bench) -> None:
    rules = bench.rules(
        CRASH
        + """\
DECLARE EXCEPTION BROKEN JOB_LEVEL JOB [app]
EXCEPTION DETECTION BROKEN EXCEPTION CRASH 2 TIMES
EXCEPTION RECOVERY STEP BROKEN JOB JOB.REPLACE {"environment": {"SAFE_MODE": "yes"}}
"""
    )
    command = bench.script('[ -n "$SAFE_MODE" ] && exit 0; echo "An error occurred in MPI_Send"; exit 1\n')
    assert bench.run(*command, options=("-e", rules))[0] == 0
    assert [raised["exception"] for raised in bench.raised()] == ["CRASH", "BROKEN"]
    assert bench.raised()[1]["transformed_from"] == ["CRASH"]


def test_a_spent_budget_is_a_visible_failure(bench: Bench) -> None:
    rules = bench.rules(CRASH.replace("[app]", "[app] LIMIT 2"))
    command = bench.script('echo "An error occurred in MPI_Send"; exit 9\n')
    code, out, _ = bench.run(*command, options=("-e", rules))
    assert code == 9
    assert len(out.splitlines()) == 3


def test_observe_mode_reports_and_touches_nothing(bench: Bench) -> None:
    command = bench.script('echo "An error occurred in MPI_Send"; sleep 1; echo "went on"; exit 4\n')
    code, out, _ = bench.run(*command, options=("--observe", "-e", bench.rules()))
    assert code == 4
    assert out.endswith("went on\n")
    kinds = bench.kinds()
    assert "observed" in kinds
    assert not {"decided", "fenced", "relaunched"} & set(kinds)
    assert "(only observed: CRASH)" in (bench.directory.path / "summary").read_text()


def test_without_rules_a_task_runs_and_its_failure_shows(bench: Bench) -> None:
    assert bench.run("bash", "-c", "exit 5")[0] == 5
    assert bench.kinds()[-1] == "finished"


# Signals ----------------------------------------------------------------------------------------------


def test_term_is_given_to_the_task_with_a_grace(bench: Bench) -> None:
    command = bench.script('trap "echo saved; exit 7" TERM; echo ready; while :; do sleep 0.1; done\n')
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "ready" in out.read_text(), "the task's start")
        child.terminate()
        assert child.wait(PATIENCE) == 7
    assert out.read_text() == "ready\nsaved\n"


def test_a_task_that_ignores_term_is_ended_after_the_grace(bench: Bench) -> None:
    command = bench.script('trap "" TERM; echo ready; while :; do sleep 0.1; done\n')
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, options=("--term-grace", "0.5"), stdout=stdout)
        until(lambda: "ready" in out.read_text(), "the task's start")
        child.terminate()
        assert child.wait(PATIENCE) == 143


def test_usr1_reaches_the_main_process_and_spares_its_children(bench: Bench) -> None:
    waiting = "until [ -e go ]; do sleep 0.05; done"
    command = bench.script(
        f'trap "echo usr1" USR1; echo ready; ({waiting}) & p=$!; wait $p; wait $p && echo "child lived"\n'
    )
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "ready" in out.read_text(), "the task's start")
        child.send_signal(signal.SIGUSR1)
        until(lambda: "usr1" in out.read_text(), "the signal")
        (bench.place / "go").touch()
        assert child.wait(PATIENCE) == 0
    assert out.read_text() == "ready\nusr1\nchild lived\n"


def test_a_pause_keeps_the_task_until_the_time_limit(bench: Bench) -> None:
    rules = bench.rules(CRASH.replace("[app]", "[app] LIMIT 1 ELSE PAUSE"))
    command = bench.script('echo "An error occurred in MPI_Send"; sleep 300\n')
    child = bench.exec(*command, options=("-e", rules), stdout=(bench.place / "out").open("wb"))
    until(lambda: "paused" in bench.kinds(), "the pause")
    assert child.poll() is None
    child.terminate()
    assert child.wait(PATIENCE) == 143


def test_a_first_attempt_that_ended_leaves_no_zombie_with_the_keeper(bench: Bench) -> None:
    command = bench.script(
        """\
        [ "$WHESL_RESTART_COUNT" = 0 ] && { echo "An error occurred in MPI_Send"; exit 1; }
        touch again; until [ -e go ]; do sleep 0.01; done
        """
    )
    child = bench.exec(*command, options=("-e", bench.rules()), stdout=(bench.place / "out").open("wb"))
    until((bench.place / "again").exists, "the second attempt")
    until(
        lambda: [c.status() for c in psutil.Process(child.pid).children()] == ["sleeping"], "one child, alive"
    )
    (bench.place / "go").touch()
    assert child.wait(PATIENCE) == 0


# Killed parts of ourselves -------------------------------------------------------------------------------


def test_an_exception_printed_while_no_isolator_lived_is_handled(bench: Bench) -> None:
    command = bench.script(
        """\
        echo "start $WHESL_RESTART_COUNT"
        [ "$WHESL_RESTART_COUNT" = 1 ] && exit 0
        until [ -e go ]; do sleep 0.01; done
        echo "An error occurred in MPI_Send"; sleep 300
        """
    )
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, options=("-e", bench.rules()), stdout=stdout)
        until(lambda: "launched" in bench.kinds(), "the isolator's record of the start")
        isolator = bench.isolator()
        (bench.place / "go").touch()
        os.kill(isolator, signal.SIGKILL)
        assert child.wait(PATIENCE) == 0
    assert out.read_text() == "start 0\nAn error occurred in MPI_Send\nstart 1\n"
    assert "resumed-isolator" in bench.kinds()
    assert len(bench.raised()) == 1


def test_a_killed_isolator_costs_the_task_nothing(bench: Bench) -> None:
    command = bench.script("echo start; until [ -e go ]; do sleep 0.01; done; exit 6\n")
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        first = bench.isolator()
        os.kill(first, signal.SIGKILL)
        second = until(lambda: (pid := bench.isolator()) != first and pid, "another isolator")
        assert second != first
        (bench.place / "go").touch()
        assert child.wait(PATIENCE) == 6
    assert out.read_text() == "start\n"


def test_an_isolator_that_keeps_dying_does_not_end_a_task_that_is_well(bench: Bench) -> None:
    command = bench.script("echo start; until [ -e go ]; do sleep 0.01; done; exit 6\n")
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        pid = 0
        for _ in range(6):
            pid = until(lambda last=pid: (now := bench.isolator()) != last and now, "another isolator")
            os.kill(pid, signal.SIGKILL)
        until(lambda: not exists(pid), "the last one's end")
        assert child.poll() is None
        (bench.place / "go").touch()
        assert child.wait(PATIENCE) == 6
    assert out.read_text() == "start\n"


def test_a_task_that_ended_while_no_isolator_lived_keeps_its_status(bench: Bench) -> None:
    command = bench.script("echo start; until [ -e go ]; do sleep 0.01; done; exit 6\n")
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        isolator = bench.isolator()
        os.kill(child.pid, signal.SIGSTOP)
        os.kill(isolator, signal.SIGKILL)
        (bench.place / "go").touch()
        until(lambda: taskdir.read_status(bench.directory.status(1)) == 6, "the runner's word")
        os.kill(child.pid, signal.SIGCONT)
        assert child.wait(PATIENCE) == 6


def test_a_killed_keeper_costs_nothing_and_the_next_call_attaches(bench: Bench) -> None:
    command = bench.script("echo start $WHESL_RESTART_COUNT; until [ -e go ]; do sleep 0.01; done; exit 8\n")
    out = bench.place / "out"
    with out.open("ab") as stdout:
        first = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        isolator = bench.isolator()
        first.kill()
        assert first.wait(PATIENCE) == -9
        second = bench.exec(*command, stdout=stdout)
        keeper = Path(f"/proc/{second.pid}/cmdline")
        until(lambda: b"keeper.py" in keeper.read_bytes(), "the second call has attached")
        assert bench.isolator() == isolator
        (bench.place / "go").touch()
        assert second.wait(PATIENCE) == 8
    assert out.read_text() == "start 0\n"


def test_keeper_and_isolator_killed_the_next_call_takes_the_task_up(bench: Bench) -> None:
    command = bench.script("echo start $WHESL_RESTART_COUNT; until [ -e go ]; do sleep 0.01; done; exit 8\n")
    out = bench.place / "out"
    with out.open("ab") as stdout:
        first = bench.exec(*command, stdout=stdout)
        until(lambda: "start" in out.read_text(), "the task's start")
        isolator = bench.isolator()
        first.kill()
        first.wait(PATIENCE)
        os.kill(isolator, signal.SIGKILL)
        second = bench.exec(*command, stdout=stdout)
        bench.isolator()
        (bench.place / "go").touch()
        assert second.wait(PATIENCE) == 8
    assert out.read_text() == "start 0\n"


def test_a_finished_task_is_not_run_again_under_the_same_claim(bench: Bench) -> None:
    options = " ".join(("--workflow wf --step app --no-coordinator", f"--task-dir {bench.directory.path}"))
    line = f"{sys.executable} -m whesl exec {options} -- bash -c 'echo ran; exit 137'"
    loop = f"for i in 1 2 3; do {line} && s=0 || s=$?; [ $s -eq 137 ] || break; done; exit $s"
    done = subprocess.run(["bash", "-c", loop], env=bench.environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (137, b"ran\n")


def test_the_same_command_later_is_another_run(bench: Bench) -> None:
    for _ in range(2):
        assert bench.run("echo", "ran", options=("--name", "app"))[0] == 0
    assert (bench.place / "out").read_text() == "ran\nran\n"
    assert (bench.place / "task.1" / "journal.db").exists()


def test_a_name_that_no_exception_is_for_is_said(bench: Bench) -> None:
    options = ("-e", bench.rules(), "--summary", "--step", "solve")
    child = bench.exec("true", options=options, stderr=subprocess.PIPE)
    _, said = child.communicate(timeout=PATIENCE)
    assert b"no exception of the rules is for a job called solve, only for: app\n" in said
    child = bench.exec("true", options=(*options[:-1], "app"), stderr=subprocess.PIPE)
    assert b"no exception" not in child.communicate(timeout=PATIENCE)[1]


def test_the_summary_says_what_was_raised_and_done(bench: Bench) -> None:
    command = bench.script(
        '[ "$WHESL_RESTART_COUNT" = 1 ] || { echo "An error occurred in MPI_Send"; exit 1; }\n'
    )
    target = bench.place / "summary.json"
    options = ("-e", bench.rules(), "--summary", "--json-summary", str(target))
    child = bench.exec(*command, options=options, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, err = child.communicate(timeout=PATIENCE)
    assert b"raised CRASH" in err and b"2 attempts" in err
    told = json.loads(target.read_text())
    assert (told["attempts"], told["handled"][0]["exception"]) == (2, "CRASH")


def test_the_isolator_stays_small(bench: Bench) -> None:
    child = bench.exec("sleep", "300", options=("-e", bench.rules()), stdout=subprocess.DEVNULL)
    isolator = bench.isolator()
    until(lambda: "launched" in bench.kinds(), "the task's start")
    maps = Path(f"/proc/{isolator}/maps").read_text()
    assert "antlr" not in maps
    status = Path(f"/proc/{isolator}/status").read_text()
    resident = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")))
    assert resident < 60 * 1024, f"{resident} KiB"
    threads = int(next(line.split()[1] for line in status.splitlines() if line.startswith("Threads")))
    assert threads <= 8
    child.terminate()
    child.wait(PATIENCE)


def test_a_signal_before_anything_runs_is_not_lost(bench: Bench) -> None:
    """TERM comes while the isolator's interpreter is still starting."""
    mark = bench.place / "ended"
    child = bench.exec("bash", "-c", f"sleep 20; touch {mark}", stdout=subprocess.DEVNULL)
    until(bench.directory.job_file.exists, "the isolator's start")
    time.sleep(0.05)
    child.terminate()
    assert child.wait(PATIENCE) in (143, -15)
    assert not mark.exists()


def test_what_was_ignored_stays_so_as_under_nohup(bench: Bench) -> None:
    child = bench.exec(
        "bash",
        "-c",
        f"touch {bench.place / 'runs'}; sleep 0.5; exit 4",
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        stdout=subprocess.DEVNULL,
    )
    until((bench.place / "runs").exists, "the task's start")
    child.send_signal(signal.SIGHUP)
    assert child.wait(PATIENCE) == 4


def test_the_task_inherits_no_blocked_or_ignored_signals(bench: Bench) -> None:
    code, out, _ = bench.run("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")
    assert code == 0
    # Signals 32 and 33 are the C library's own: it blocks them for moments, and nobody else can.
    own = 0b11 << 31
    assert [int(line.split()[1], 16) & ~own for line in out.splitlines()] == [0, 0]
