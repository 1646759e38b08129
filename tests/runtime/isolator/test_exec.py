"""``whesl exec`` with real processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import shedding
from tests.alike import alike
from tests.runtime.isolator.bench import CRASH, PATIENCE, Bench, bench, until
from whesl.runtime.isolator.task.taskdir import TaskDir

__all__ = ["bench"]

# Transparency ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("true", 0),
        ("exit 3", 3),
        ("kill -9 $$", -9),
        ("kill -TERM $$", -15),
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
    assert (code, out, err) == (-11, "before\none\n", "two\n")


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


@pytest.mark.parametrize(("trap", "status"), [("-", -signal.SIGPIPE), ("''", 0)])
def test_a_reader_that_goes_away_ends_who_would_die_of_it(bench: Bench, trap: str, status: int) -> None:
    """``yes | head -1`` once went on after head's end, until the home was full."""
    script = f"trap {trap} PIPE; exec yes" if status else f"trap {trap} PIPE; seq 99999"
    child = bench.exec("bash", "-c", script, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.wait(PATIENCE) == status


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


@pytest.mark.parametrize("closed", alike(["<&- >&- 2>&-", "<&-", ">&-", "2>&-"]))
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


@pytest.mark.parametrize("killed", [False, True])
def test_each_attempt_reads_its_here_document_anew(bench: Bench, killed: bool) -> None:
    """bash gives one as a pipe; the second attempt once read nothing, and ended well all the same."""
    command = bench.script(
        'cat; [ "$WHESL_RESTART_COUNT" = 0 ] || exit 0\n'
        'until [ -e go ]; do sleep 0.01; done; echo "An error occurred in MPI_Send"; sleep 60\n'
    )
    read, write = os.pipe()
    os.write(write, b"first\nsecond\n")
    os.close(write)
    out = bench.place / "out"
    with out.open("wb") as stdout:
        child = bench.exec(*command, options=("-e", bench.rules()), stdin=read, stdout=stdout)
    os.close(read)
    until(lambda: "second" in out.read_text(), "the first attempt")
    if killed:
        os.kill(bench.isolator(), signal.SIGKILL)
    (bench.place / "go").touch()
    assert child.wait(PATIENCE) == 0
    assert out.read_text().count("first\nsecond\n") == 2


def test_a_pipe_that_is_still_written_is_the_task_s(bench: Bench) -> None:
    read, write = os.pipe()
    child = bench.exec("head", "-n", "1", stdin=read, stdout=subprocess.PIPE)
    os.close(read)
    until(lambda: "launched" in bench.kinds(), "the start")
    os.write(write, b"late\n")
    os.close(write)
    assert child.communicate(timeout=PATIENCE)[0] == b"late\n"


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


@pytest.mark.parametrize("kind", alike(shedding.KINDS, run=2))
def test_what_sheds_its_environment_is_gone_before_the_next_attempt(bench: Bench, kind: str) -> None:
    """On a machine without a resource manager there is no step, and a daemon belongs to nobody."""
    alive = bench.place / "alive"
    command = bench.script(
        f"""\
        if [ "$WHESL_RESTART_COUNT" = 0 ]; then
          (exec {sys.executable} {shedding.__file__} {kind} {alive}) &
          until [ -s {alive} ]; do sleep 0.02; done
          echo "An error occurred in MPI_Send"; exit 1
        fi
        wc -c < {alive}; sleep 1; wc -c < {alive}; touch {bench.place}/done
        """
    )
    code, out, _ = bench.run(*command, options=("-e", bench.rules()))
    assert code == 0
    before, after = out.split()[-2:]
    assert before == after, "it lives on beside the next attempt"


@pytest.mark.costly
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


@pytest.mark.parametrize(
    ("file", "written"),
    [
        ("~/logs/app.log", "logs/app.log"),
        ("$LOGS/app.log", "logs/app.log"),
        ("${LOGS}/app-${NUMBER}.log", "logs/app-7.log"),
        ("logs/*.log", "logs/rank-$$.log"),
        ("$LOGS/[r]ank*", "logs/rank-$$.log"),
    ],
)
def test_paths_of_the_rules_mean_what_they_mean_to_the_task(bench: Bench, file: str, written: str) -> None:
    rules = bench.rules(CRASH.replace("stdout", f'file "{file}"'))
    (bench.place / "logs").mkdir()
    (bench.place / "logs" / "rank-old.log").write_text("An error occurred in MPI_Send\n")
    bench.environment |= {"HOME": str(bench.place), "LOGS": str(bench.place / "logs"), "NUMBER": "7"}
    command = bench.script(
        f"""\
        [ "$WHESL_RESTART_COUNT" = 1 ] && exit 0
        echo "An error occurred in MPI_Send" > {written}
        sleep 300
        """
    )
    for again in range(2):  # once with rules that were checked before, too
        bench.directory = TaskDir(bench.place / f"task-{again}")
        for file_of_the_first in (bench.place / "logs").glob("app*"):
            file_of_the_first.unlink()
        assert bench.run(*command, options=("-e", rules))[0] == 0
        assert len(bench.raised()) == 1


def test_a_variable_that_is_not_defined_is_told(bench: Bench) -> None:
    rules = bench.rules(CRASH.replace("stdout", 'file "$NOWHERE/app.log"'))
    bench.environment.pop("NOWHERE", None)
    code, _, err = bench.run("true", options=("-e", rules))
    assert code == 0
    assert f"whesl: {rules}:6: warning[ESL086]: the variable NOWHERE is not defined" in err


def test_what_the_rules_could_not_see_is_in_the_summary(bench: Bench) -> None:
    rules = bench.rules(CRASH.replace("stdout", 'file "logs/*.log"') + CRASH.replace("CRASH", "OTHER"))
    assert bench.run("true", options=("-e", rules))[0] == 0
    summary = (bench.directory.path / "summary").read_text()
    assert f"{bench.place}/logs/*.log was watched, and never existed" in summary
    assert "OTHER saw no line: nothing was printed on stdout" in summary
    command = bench.script("mkdir logs; echo fine > logs/a.log; echo fine")
    bench.directory = TaskDir(bench.place / "again")
    assert bench.run(*command, options=("-e", rules))[0] == 0
    assert "was watched" not in (bench.directory.path / "summary").read_text()
    assert "saw no line" not in (bench.directory.path / "summary").read_text()


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


@pytest.mark.parametrize("pause", ["sleep 1; ", ""], ids=["early", "at the end"])
def test_observe_mode_reports_and_touches_nothing(bench: Bench, pause: str) -> None:
    """What it died of was told only where the line had been read before the end, not always."""
    command = bench.script(f'echo "An error occurred in MPI_Send"; {pause}echo "went on"; exit 4\n')
    code, out, _ = bench.run(*command, options=("--observe", "-e", bench.rules()))
    assert code == 4
    assert out.endswith("went on\n")
    kinds = bench.kinds()
    assert "observed" in kinds
    assert not {"decided", "fenced", "relaunched"} & set(kinds)
    assert "(only observed: CRASH; it died of " in (bench.directory.path / "summary").read_text()


def test_a_task_s_times_begin_with_its_program(bench: Bench) -> None:
    """They began when the isolator had loaded: three seconds were told as half a second on a bad home."""
    command = bench.script(f"date +%s.%N > {bench.place / 'began'}; sleep 1; exit 3\n")
    assert bench.run(*command)[0] == 3
    (launched,) = [data for kind, data in bench.records() if kind == "launched"]
    assert 0 < launched["began"] <= float((bench.place / "began").read_text())


def test_without_rules_a_task_runs_and_its_failure_shows(bench: Bench) -> None:
    assert bench.run("bash", "-c", "exit 5")[0] == 5
    assert bench.kinds()[-1] == "finished"


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
    bench.forked = False
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
