"""Two jobs that bear the same id are told apart by the process that leads them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.runtime.isolator.bench import Bench, bench, exists, until
from tests.runtime.isolator.conftest import make_setup
from tests.waiting import written
from whesl.files import file_retry
from whesl.managers.resource.port import AllocationInfo
from whesl.model.states import TaskState
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.launch import full_start
from whesl.runtime.isolator.launch.setup_json import Request
from whesl.runtime.isolator.task.taskdir import Job, Result, TaskDir
from whesl.runtime.locking import lock_scope, takeover_lock
from whesl.runtime.locking.job_leader_identity import gone

__all__ = ["bench"]


@pytest.fixture(autouse=True)
def program(bench: Bench) -> None:
    """The beginning of a process is a part of what is tested."""
    bench.forked = False


ASK = "from whesl.runtime.locking.job_leader_identity import leader; print(leader({'SLURM_JOB_ID': '7'}))"


def led(job: str = "7") -> tuple[subprocess.Popen[str], str]:
    """Start a job's script, which lives until its input ends; return it and who leads by its word."""
    script = '(bash -c "$0 -c \\"$1\\"; :"; :); read'
    child = subprocess.Popen(
        ["bash", "-c", script, sys.executable, ASK],
        env={**os.environ, "SLURM_JOB_ID": job},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    return child, child.stdout.readline().strip()


def ended(script: subprocess.Popen[str]) -> None:
    script.communicate()


def test_the_script_leads_whatever_it_calls() -> None:
    script, leader = led()
    assert leader.split(".")[1] == str(script.pid)
    assert not gone(leader)
    ended(script)
    assert gone(leader)


def test_what_cannot_be_seen_is_not_gone() -> None:
    script, leader = led(job="8")
    ended(script)
    assert leader == ""
    assert not gone("") and not gone("elsewhere/b.1.2")


@pytest.fixture
def directory(tmp_path: Path) -> TaskDir:
    made = TaskDir(tmp_path / "task")
    made.make()
    return made


def earlier(directory: TaskDir, leader: str, now: str, *, script_word: int = 0) -> object:
    """Return what is made of a task that has ended with status 3 in a job with this leader."""
    setup = make_setup(claim="7.0", rjms="slurm", job_id="7", leader=leader)
    job = Job(setup=setup, command=("true",), workdir=str(Path.cwd()))
    file_retry.replace(directory.job_file, msgspec.json.encode(job))
    result = Result(code=3, state=TaskState.FAILED, reason="", claim="7.0")
    file_retry.replace(directory.result_file, msgspec.json.encode(result))
    info = AllocationInfo(rjms="slurm", job_id="7", nodes=("n1",), batch_host="n1")
    again = msgspec.structs.replace(setup, leader=now)
    request = Request(command=("true",), script_word=script_word)
    return full_start._earlier(directory, again, info, request)


def test_a_later_job_of_the_same_id_runs_the_task(directory: TaskDir) -> None:
    script, leader = led()
    ended(script)
    assert isinstance(earlier(directory, leader, "n1/b.1.1"), Setup)
    assert (directory.path.parent / "task.1" / "result.json").exists()


def test_a_jobs_script_that_has_ended_is_told_and_not_run_again(
    directory: TaskDir, capsys: pytest.CaptureFixture[str]
) -> None:
    script, leader = led()
    assert earlier(directory, leader, leader, script_word=1) == 3
    assert earlier(directory, leader, "of a step", script_word=1) == 3
    ended(script)
    assert capsys.readouterr().err == 2 * "whesl: wf/app has ended in this job with status 3: not run again\n"


def test_a_command_that_has_ended_is_run_again_when_its_manager_calls_it_again(directory: TaskDir) -> None:
    """Snakemake's retries in one process were told of the first failure, and ran nothing."""
    script, leader = led()
    assert isinstance(earlier(directory, leader, leader), Setup)
    ended(script)


def test_what_a_faster_call_has_written_down_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two jobs began one task at once: the slower one wrote its job over that of the other, and both ran."""
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    look = full_start._earlier

    def overtaken(directory: TaskDir, *more: Any) -> object:
        found = look(directory, *more)
        owner = takeover_lock.owned("8.0", "slurm:8")
        owner.host = "elsewhere"
        os.close(takeover_lock.take(str(directory.lock_file), owner))
        directory.job_file.write_text("of the other")
        monkeypatch.setattr(full_start, "_earlier", look)
        return found

    monkeypatch.setattr(full_start, "_earlier", overtaken)
    monkeypatch.setattr(lock_scope, "mount_of", lambda _: lock_scope.Mount("/", "unknown", frozenset()))
    request = Request(workflow="wf", step="app", no_coordinator=True, command=("true",))
    with pytest.raises(full_start.AlreadyRunError, match="elsewhere"):
        full_start.prepare(request)
    assert (tmp_path / "home/tasks/wf/app/job.json").read_text() == "of the other"


# What Slurm tells the script of a job of one node.
JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1", "SLURM_NNODES": "1", "SLURM_JOB_NUM_NODES": "1"}
JOB |= {"SLURM_TASKS_PER_NODE": "1", "SLURM_JOB_CPUS_PER_NODE": "1", "SLURMD_NODENAME": "n1"}
SCRIPT = """\
export SLURM_TASK_PID=$$
{start} {whesl} exec --no-coordinator --task-dir {task} -- \\
  sh -c 'echo $$ >{pid}; while :; do sleep 0.05; done'
echo after it
"""


def test_a_task_ends_with_a_script_that_is_killed_before_it_begins(bench: Bench) -> None:
    """A script was killed in the first tenths of a second of ``whesl exec``, and the task ran to its end."""
    pid, go = bench.place / "pid", bench.place / "go"
    late = f"(while [ ! -e {go} ]; do sleep 0.05; done; exec"
    text = SCRIPT.format(start=late, whesl=f"{sys.executable} -m whesl", task=bench.directory.path, pid=pid)
    text = text.replace("\necho after it", ") & touch begun; wait")
    script = subprocess.Popen(["bash", "-c", text], env=bench.environment | JOB, cwd=bench.place)
    until((bench.place / "begun").exists, "the script")
    script.kill()
    script.wait()
    go.touch()
    until(bench.directory.result_file.exists, "the end of the task")
    kind, data = bench.records()[-1]
    assert (kind, data["code"], data["with_job"]) == ("finished", 137, True)
    assert not exists(int(written(pid) or 0)), "the program outlived its job"


@pytest.mark.parametrize("start", ["", "exec"])
def test_a_task_ends_with_the_script_of_its_job(bench: Bench, start: str) -> None:
    """It ran on when the job was over, with its isolator, where Slurm finds neither (linuxproc, pgid)."""
    pid, whesl = bench.place / "pid", f"{sys.executable} -m whesl"
    text = SCRIPT.format(start=start, whesl=whesl, task=bench.directory.path, pid=pid)
    script = subprocess.Popen(["bash", "-c", text], env=bench.environment | JOB, cwd=bench.place)
    bench.started.append(script)
    program = int(until(lambda: written(pid), "the program"))
    isolator = bench.isolator()
    script.kill()
    script.wait()
    until(lambda: not exists(program) and not exists(isolator), "the end of both")
    kind, data = bench.records()[-1]
    assert (kind, data["code"], data["with_job"]) == ("finished", 137, True)


@pytest.mark.parametrize("start", ["", "exec"])
def test_it_has_its_time_where_a_signal_ended_the_script(bench: Bench, start: str) -> None:
    """SIGTERM to all of a job ends a shell at once, and is the program's to handle."""
    pid, whesl = bench.place / "pid", f"{sys.executable} -m whesl"
    text = SCRIPT.format(start=start, whesl=whesl, task=bench.directory.path, pid=pid)
    text = text.replace("echo $$ ", 'trap "sleep 1; echo ready >saved; exit 0" TERM; echo $$ ')
    script = subprocess.Popen(
        ["bash", "-c", text], env=bench.environment | JOB, cwd=bench.place, start_new_session=True
    )
    bench.started.append(script)
    until(lambda: written(pid), "the program")
    bench.isolator()
    os.killpg(script.pid, signal.SIGTERM)
    until(lambda: (bench.place / "saved").exists(), "what it does at SIGTERM")
    until(lambda: "finished" in bench.kinds(), "its end")
