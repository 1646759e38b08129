"""Tasks that are over before an isolator has loaded: told as ever, and judged wherever there is reason to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.alike import alike
from tests.runtime.isolator.bench import Bench, bench, until
from whesl.runtime.isolator.launch import short_task_without_isolator

__all__ = ["bench"]


@pytest.fixture(autouse=True)
def program(bench: Bench) -> None:
    """The beginning of a process is a part of what is tested."""
    bench.forked = False


OWN = ("claim", "token", "pid", "started", "began")  # of each task


@pytest.fixture
def checked(bench: Bench) -> str:
    """Return rules that were checked before."""
    rules = bench.rules()
    first = Bench(bench.place / "first")
    first.place.mkdir()
    first.environment = bench.environment
    assert first.run("true", options=("-e", rules))[0] == 0
    return rules


def told(bench: Bench) -> tuple[list[Any], dict[str, Any], str, bool]:
    """Return what a task has left: records, result, summary, and whether an isolator was there."""
    records = [(kind, {k: v for k, v in data.items() if k not in OWN}) for kind, data in bench.records()]
    result = json.loads(bench.directory.result_file.read_bytes())
    summary = bench.directory.summary.read_text().splitlines()
    summary[0] = summary[0].rpartition(",")[0]
    judged = (bench.directory.attempt(1) / "watch.json").exists()
    return records, {k: v for k, v in result.items() if k not in OWN}, "\n".join(summary), judged


@pytest.mark.parametrize("program", alike(["echo well", "true", "echo well >&2"], run=2))
def test_a_short_task_leaves_what_an_isolator_leaves(bench: Bench, checked: str, program: str) -> None:
    other = Bench(bench.place / "other")
    other.place.mkdir()
    other.environment = bench.environment
    options = ("-e", checked, "--step", "app")
    assert bench.run("sh", "-c", program, options=options)[0] == 0
    assert other.run("sh", "-c", program, options=(*options, "--json-summary", "/dev/null"))[0] == 0
    *short, judged = told(bench)
    *long, judged_there = told(other)
    assert short == long
    assert (judged, judged_there) == (False, True)


JOB = {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NNODES": "2", "SLURM_JOB_NUM_NODES": "2"}


def test_a_short_task_of_several_nodes_needs_no_isolator(bench: Bench, checked: str) -> None:
    """Each of them loaded one, which cost more than twice as much as the rest."""
    bench.environment |= {**JOB, "SLURMD_NODENAME": "n1"}
    assert bench.run("true", options=("-e", checked, "--nodes", "1"))[0] == 0
    records = dict(bench.records())
    assert (records["nodes"]["nodes"]["active"], records["nodes"]["nodes"]["spares"]) == (["n1"], ["n2"])
    assert records["attempt"]["nodes"] == ["n1"]
    assert not (bench.directory.attempt(1) / "watch.json").exists()


@pytest.mark.parametrize("kept", [False, True])
def test_in_a_job_that_outlives_a_lost_node_an_isolator_loads(kept: bool) -> None:
    """srun ends with 0 behind a lost node of such a job."""
    setup: dict[str, Any] = {"task": {"id": "w/a"}, "spec": None, "nodes": ["n1", "n2"], "kept": kept}
    setup |= {"restarts": 0, "earlier": 0, "components": ()}
    job = {"checkpoints": None, "json_summary": "", "setup": setup}
    ends = os.pipe()
    assert short_task_without_isolator.gate(ends, job, started=True) == (0 if kept else ends[1])
    if not kept:
        os.close(ends[1])


def test_a_line_of_a_short_task_that_ends_well_is_judged(bench: Bench, checked: str) -> None:
    program = '[ "$WHESL_RESTART_COUNT" = 1 ] || echo "An error occurred in MPI_Send"'
    assert bench.run("sh", "-c", program, options=("-e", checked, "--step", "app"))[0] == 0
    assert [each["exception"] for each in bench.raised()] == ["CRASH"]


def test_a_short_task_that_fails_is_judged(bench: Bench, checked: str) -> None:
    assert bench.run("sh", "-c", "exit 3", options=("-e", checked, "--step", "app"))[0] == 3
    assert bench.kinds()[-1] == "finished"


def test_a_signal_ends_a_task_whose_isolator_has_not_loaded(bench: Bench, checked: str) -> None:
    child = bench.exec("sleep", "600", options=("-e", checked, "--step", "app"))
    # Before its job is written down, the command has begun nothing, and ends by the signal as any does.
    until(bench.directory.job_file.exists, "its job")
    child.send_signal(signal.SIGTERM)
    assert child.wait(60) == -signal.SIGTERM
    until(lambda: bench.kinds()[-1:] == ["finished"], "its record")


# A program that is sent SIGTERM when its task is written down and not yet started.
SIGNALLED = """\
import os, signal, sys
from whesl.files import file_retry
from whesl.cli import main
replace = file_retry.replace
def signalled(path, *rest, **more):
    replace(path, *rest, **more)
    if os.path.basename(path) == "job.json":
        os.kill(os.getpid(), signal.SIGTERM)
file_retry.replace = signalled
main()
"""


@pytest.mark.costly
@pytest.mark.parametrize("fast", [True, False])
def test_a_signal_that_comes_while_the_task_is_written_down_ends_it(
    bench: Bench, checked: str, fast: bool
) -> None:
    options = () if fast else ("--nodes", "1")
    words = ("exec", "--task-dir", str(bench.directory.path), "--no-coordinator", *options, "-e", checked)
    child = subprocess.Popen(
        [sys.executable, "-c", SIGNALLED, *words, "--step", "app", "--", "sleep", "600"],
        env=bench.environment,
        cwd=bench.place,
        stdin=subprocess.DEVNULL,
    )
    bench.started.append(child)
    assert child.wait(60) == -signal.SIGTERM
    until(lambda: bench.kinds()[-1:] == ["finished"], "its record")


def test_the_isolator_of_a_keeper_that_is_killed_takes_the_task_up(bench: Bench, checked: str) -> None:
    child = bench.exec("sh", "-c", "sleep 2; touch done", options=("-e", checked, "--step", "app"))
    until(lambda: bench.directory.status(1).exists(), "the program's start")
    child.kill()
    child.wait()
    until(bench.directory.result_file.exists, "the task's end")
    assert (bench.place / "done").exists()
    assert bench.kinds()[-1] == "finished"
