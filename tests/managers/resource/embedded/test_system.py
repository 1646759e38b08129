"""Real processes: jobs, steps, limits, arrays, drained nodes, two clusters."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from pathlib import Path

import psutil

from tests.managers.resource.embedded.conftest import Bed, MakeBed, alive, wait_until
from whesl.managers.resource.embedded import daemons


def test_a_job_sees_what_slurm_would_show_it(bed: Bed, tmp_path: Path) -> None:
    job = bed.submit(
        tmp_path, "env", "-N2", "-n4", "-J", "look", "-o", "%x-%j.out", "--export=ALL,COLOUR=blue"
    )
    assert bed.ended(job).state.value == "COMPLETED"
    lines = (tmp_path / f"look-{job}.out").read_text().splitlines()
    environment = dict(line.split("=", 1) for line in lines if "=" in line)
    expected = {
        "SLURM_JOB_ID": job,
        "SLURM_JOB_NAME": "look",
        "SLURM_JOB_NODELIST": "n[01-02]",
        "SLURM_NODELIST": "n[01-02]",
        "SLURM_NNODES": "2",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_NTASKS": "4",
        "SLURM_TASKS_PER_NODE": "2(x2)",
        "SLURM_CPUS_ON_NODE": "2",
        "SLURM_JOB_CPUS_PER_NODE": "2(x2)",
        "SLURM_SUBMIT_DIR": str(tmp_path),
        "SLURM_JOB_PARTITION": "main",
        "SLURM_CLUSTER_NAME": "local",
        "SLURMD_NODENAME": "n01",
        "WHESL_LOCAL": bed.cluster.path,
        "COLOUR": "blue",
    }
    assert {name: environment.get(name) for name in expected} == expected
    assert "SLURM_RESTART_COUNT" not in environment
    assert environment["WHESL_NODE_STORAGE"].endswith("nodes/n01/storage")


def test_a_step_s_tasks_know_their_places(bed: Bed, tmp_path: Path) -> None:
    show = "echo $SLURM_PROCID $SLURM_NTASKS $SLURM_NODEID $SLURM_LOCALID $SLURMD_NODENAME $SLURM_STEP_ID"
    job = bed.submit(tmp_path, f"srun sh -c 'true'; srun sh -c '{show}' | sort", "-N2", "-n4", "-o", "out")
    bed.ended(job)
    assert (tmp_path / "out").read_text() == "0 4 0 0 n01 1\n1 4 0 1 n01 1\n2 4 1 0 n02 1\n3 4 1 1 n02 1\n"


def test_a_job_is_told_of_variables_that_somebody_has_removed(bed: Bed, tmp_path: Path) -> None:
    """Jobs of Snakemake's Slurm executor, which removes them, had failed there."""
    ask = "import os; from whesl.managers.resource import withheld; print(withheld(os.environ))"
    removed = "for each in $(compgen -e SLURM); do [ $each = SLURM_JOB_ID ] || unset $each; done"
    script = f"{removed}; python -c '{ask}'"
    bed.ended(bed.submit(tmp_path, f"bash -c {shlex.quote(script)}", "-N2", "-o", "out"))
    nodes = {"SLURM_JOB_NODELIST": "n[01-02]", "SLURMD_NODENAME": "n01"}
    assert (tmp_path / "out").read_text() == f"{nodes}\n"


def test_paths_words_and_variables_have_any_bytes(bed: Bed, tmp_path: Path) -> None:
    """sbatch had ended in a traceback: messages are UTF-8."""
    name = os.fsdecode(b"caf\xe9")
    (tmp_path / name).mkdir()
    show = 'srun sh -c \'printf "$PWD $NAME $0"\' "$NAME"'
    bed.ended(bed.submit(tmp_path / name, show, "-o", f"{name}.out", NAME=name))
    shown = (tmp_path / name / f"{name}.out").read_bytes()
    assert os.fsdecode(shown) == f"{tmp_path / name} {name} {name}"


def test_srun_outside_a_job_gets_one(bed: Bed) -> None:
    assert sorted(bed.run("srun", "-N2", "-l", "echo", "hi").splitlines()) == ["0: hi", "1: hi"]
    assert (
        bed.run("srun", "sh", "-c", "exit 7", code=7).strip()
        == "srun: error: n01: task 0: Exited with exit code 7"
    )
    assert bed.run("srun", "no-such-command", code=2).splitlines()[0] == (
        "slurmstepd: error: execve(): no-such-command: No such file or directory"
    )
    result = subprocess.run(
        ["srun", "-n2", "wc", "-c"],
        input=b"x" * 3_000_000,
        env=bed.environment,
        capture_output=True,
        check=True,
    )
    assert result.stdout.split() == [b"3000000", b"3000000"]


def test_an_interactive_job_ends_with_its_srun(bed: Bed) -> None:
    process = subprocess.Popen(["srun", "-J", "lonely", "sleep", "300"], env=bed.environment)
    wait_until(lambda: bed.run("squeue", "-h", "-s", "-n", "lonely"), "the step runs")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not bed.run("squeue", "-h", "-n", "lonely"), "the job has ended")


def test_output_of_any_size_and_kind_arrives(bed: Bed, tmp_path: Path) -> None:
    make = "import os; os.write(1, bytes(range(256)) * 20000); os.write(1, b'no end of line')"
    job = bed.submit(
        tmp_path,
        f"srun -n1 python3 -c \"{make}\" > copy; srun -n2 -o part-%t sh -c 'echo $SLURM_PROCID'",
        "-N2",
    )
    bed.ended(job)
    assert (tmp_path / "copy").read_bytes() == bytes(range(256)) * 20000 + b"no end of line"
    assert [(tmp_path / f"part-{task}").read_text() for task in (0, 1)] == ["0\n", "1\n"]


def test_the_highest_exit_code_counts_and_k_ends_the_step(bed: Bed, tmp_path: Path) -> None:
    script = """
srun sh -c 'exit $SLURM_PROCID' 2>err1; echo $?
srun sh -c 'kill -9 $$' 2>err2; echo $?
srun -K sh -c 'test $SLURM_PROCID = 0 && exit 4; sleep 300' 2>err3; echo $?
"""
    job = bed.submit(tmp_path, script, "-N2", "-o", "out")
    bed.ended(job)
    assert (tmp_path / "out").read_text().split() == ["1", "137", "143"]
    assert (tmp_path / "err1").read_text() == "srun: error: n02: task 1: Exited with exit code 1\n"
    assert "srun: error: n02: task 1: Killed\n" in (tmp_path / "err2").read_text()
    assert "srun: error: n01: task 0: Exited with exit code 4\n" in (tmp_path / "err3").read_text()


def test_a_step_waits_while_the_nodes_are_busy(bed: Bed, tmp_path: Path) -> None:
    script = """
srun sh -c 'touch began; while ! test -e go; do sleep 0.05; done' &
while ! test -e began; do sleep 0.05; done
srun --overlap true && echo beside
srun echo after 2>err &
while ! grep -q busy err 2>/dev/null; do sleep 0.05; done
echo waited; touch go; wait
"""
    job = bed.submit(tmp_path, script, "-o", "out")
    bed.ended(job)
    assert (tmp_path / "out").read_text().split() == ["beside", "waited", "after"]
    message = f"srun: Job {job} step creation temporarily disabled, retrying (Requested nodes are busy)\n"
    assert (tmp_path / "err").read_text() == message + f"srun: Step created for job {job}\n"


def test_signals_reach_tasks_and_scripts(bed: Bed, tmp_path: Path) -> None:
    script = """
trap 'echo script' USR1
srun sh -c 'trap "echo task; exit 3" USR2; touch up; while :; do sleep 0.05; done' & srun=$!
while ! test -e up; do sleep 0.05; done
touch ready
while ! test -e go; do sleep 0.05; done
kill -USR2 $srun; wait $srun; echo $?
"""
    job = bed.submit(tmp_path, script, "-o", "out", "-e", "err")
    wait_until((tmp_path / "ready").exists, "the script waits")
    bed.run("scancel", "-b", "-s", "USR1", job)
    wait_until(lambda: "script" in (tmp_path / "out").read_text(), "the script got its signal")
    (tmp_path / "go").touch()
    bed.ended(job)
    assert (tmp_path / "out").read_text().split() == ["script", "task", "3"]


def test_a_time_limit_kills_what_does_not_obey(bed: Bed, tmp_path: Path) -> None:
    job = bed.submit(
        tmp_path, "trap '' TERM; sh -c 'trap \"\" TERM; while :; do sleep 1; done'", "-t", "0:1", "-o", "out"
    )
    record = bed.ended(job)
    assert record.state.value == "TIMEOUT"
    assert "JOB " + job + " ON n01 CANCELLED AT" in (tmp_path / "out").read_text()
    assert "DUE TO TIME LIMIT ***" in (tmp_path / "out").read_text()


def test_nothing_stays_behind_when_a_job_ends(bed: Bed, tmp_path: Path) -> None:
    script = "setsid sleep 301 & echo $! > pid1; (env -i setsid sleep 302 & echo $! > pid2); sleep 0.2"
    bed.ended(bed.submit(tmp_path, script))
    pids = [int((tmp_path / name).read_text()) for name in ("pid1", "pid2")]
    wait_until(lambda: not any(alive(pid) for pid in pids), "nothing is left")


def test_order_and_backfilling(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(2)
    go = tmp_path / "go"
    hold = f"while ! test -e {go}; do sleep 0.05; done"
    bed.submit(tmp_path, hold, "-N1", "--exclusive", "-t", "5")
    head = bed.submit(tmp_path, "true", "-N2", "--exclusive", "-t", "5")
    too_long = bed.submit(tmp_path, "true", "-N1", "--exclusive", "-t", "10")
    fits = bed.submit(tmp_path, "true", "-N1", "--exclusive", "-t", "1")
    assert bed.ended(fits).state.value == "COMPLETED"
    assert bed.run("squeue", "-h", "-o", "%i %T %r", "-t", "PD").split("\n")[:2] == [
        f"{head} PENDING Resources",
        f"{too_long} PENDING Priority",
    ]
    go.touch()
    assert bed.ended(head).started <= bed.ended(too_long).started


def test_strict_order(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(2, policy="fcfs")
    go = tmp_path / "go"
    bed.submit(tmp_path, f"while ! test -e {go}; do sleep 0.05; done", "-N1", "--exclusive", "-t", "5")
    wide = bed.submit(tmp_path, "true", "-N2", "--exclusive", "-t", "5")
    small = bed.submit(tmp_path, "true", "-N1", "-t", "1")
    go.touch()
    assert bed.ended(small).started >= bed.ended(wide).started


def test_a_queue_wait(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(1, queue_wait="fixed:1.5")
    record = bed.ended(bed.submit(tmp_path, "true"))
    assert record.started - record.submitted >= 1.5


def test_arrays_and_dependencies(bed: Bed, tmp_path: Path) -> None:
    array = bed.submit(
        tmp_path,
        "echo $SLURM_ARRAY_TASK_ID $SLURM_ARRAY_JOB_ID; test $SLURM_ARRAY_TASK_ID != 2",
        "--array=1-3%2",
    )
    good = bed.submit(tmp_path, "true", f"--dependency=afterok:{array}")
    bad = bed.submit(tmp_path, "echo after >> order", f"--dependency=afternotok:{array}")
    last = bed.submit(tmp_path, "echo last >> order", f"--dependency=afterany:{bad}")
    for task, code in ((1, 0), (2, 1), (3, 0)):
        assert bed.ended(f"{array}_{task}").exit_code == code
        assert (tmp_path / f"slurm-{array}_{task}.out").read_text() == f"{task} {array}\n"
    bed.ended(last)
    assert (tmp_path / "order").read_text() == "after\nlast\n"
    wait_until(lambda: bed.job(good).reason == "DependencyNeverSatisfied", "it can never run")
    bed.run("scancel", good)
    assert bed.ended(good).state.value == "CANCELLED"


def test_a_drained_node_takes_nothing_new(bed: Bed, tmp_path: Path) -> None:
    go = tmp_path / "go"
    job = bed.submit(
        tmp_path, f"while ! test -e {go}; do sleep 0.05; done; srun echo still", "-w", "n01", "-o", "out"
    )
    bed.wait(job, "RUNNING")
    assert "reason" in bed.run("scontrol", "update", "nodename=n01", "state=drain", code=1)
    bed.run("scontrol", "update", "nodename=n01", "state=drain", "reason=bad disk")
    assert (
        bed.run("sinfo", "-h", "-N", "-n", "n01", "-o", "%n %t %T %E").strip() == "n01 drng draining bad disk"
    )
    other = bed.submit(tmp_path, "true", "-N1")
    assert bed.ended(other).nodes == ("n02",)
    go.touch()
    bed.ended(job)
    assert (tmp_path / "out").read_text() == "still\n"
    assert bed.node("n01").base == "idle"
    assert bed.run("sinfo", "-h", "-n", "n01", "-o", "%t").strip() == "drain"
    waiting = bed.submit(tmp_path, "true", "-w", "n01")
    wait_until(lambda: bed.job(waiting).reason == "ReqNodeNotAvail", "it waits for the node")
    bed.run("scontrol", "update", "nodename=n01", "state=resume")
    assert bed.ended(waiting).state.value == "COMPLETED"


def test_a_requeued_job_appends_or_starts_its_output_anew(bed: Bed, tmp_path: Path) -> None:
    count = "${SLURM_RESTART_COUNT:-0}"
    script = f"echo run {count}; touch began{count}; test {count} = 1 || sleep 300"
    for mode, expected in (("append", ["run 0", "run 1"]), ("truncate", ["run 1"])):
        directory = tmp_path / mode
        directory.mkdir()
        job = bed.submit(directory, script, f"--open-mode={mode}", "-o", "out")
        wait_until((directory / "began0").exists, "the first run")
        bed.run("scontrol", "requeue", job)
        record = bed.ended(job)
        assert (record.state.value, record.restarts) == ("COMPLETED", 1)
        lines = (directory / "out").read_text().splitlines()
        assert [line for line in lines if line.startswith("run")] == expected
    fixed = bed.submit(tmp_path, "sleep 300", "--no-requeue")
    bed.wait(fixed, "RUNNING")
    assert "disabled" in bed.run("scontrol", "requeue", fixed, code=1)
    bed.run("scontrol", "update", f"jobid={fixed}", "Requeue=1")
    bed.run("scontrol", "requeue", fixed)
    bed.run("scontrol", "update", f"jobid={fixed}", "StartTime=now", code=None)
    wait_until(lambda: bed.job(fixed).restarts == 1, "it was requeued")
    bed.run("scancel", fixed)


def test_a_node_gives_its_jobs_no_more_room_than_it_has(make_bed: MakeBed, tmp_path: Path) -> None:
    bed = make_bed(1, storage_limit=1_000_000)
    script = 'dd if=/dev/zero of=$WHESL_NODE_STORAGE/big bs=65536 count=64; echo $?; ls "$WHESL_NODE_STORAGE"'
    bed.ended(bed.submit(tmp_path, script, "-o", "out", "-e", "err"))
    assert (tmp_path / "out").read_text() == "1\nbig\n"
    assert "File too large" in (tmp_path / "err").read_text()


def test_a_job_begins_with_no_signal_ignored(make_bed: MakeBed, tmp_path: Path) -> None:
    """A limit of storage is the one reason to ignore SIGXFSZ; it was ignored on all clusters.

    Jobs of a cluster that was started where a signal was ignored, as by nohup, ignored it too. Signals
    32 and 33 belong to the C library: no program can set them, and what posix_spawn starts, as make does,
    ignores them.
    """
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        bed = make_bed(1)
    finally:
        signal.signal(signal.SIGHUP, before)
    bed.ended(
        bed.submit(tmp_path, "grep SigIgn /proc/self/status; srun grep SigIgn /proc/self/status", "-o", "out")
    )
    masks = [int(line.removeprefix("SigIgn:"), 16) for line in (tmp_path / "out").read_text().splitlines()]
    assert [mask & ~(3 << 31) for mask in masks] == [0, 0]


def test_two_clusters_side_by_side(bed: Bed, make_bed: MakeBed, tmp_path: Path) -> None:
    other = make_bed(2, node_timeout=2.0)
    script = "echo $WHESL_LOCAL; while ! test -e go; do sleep 0.05; done; srun echo $SLURMD_NODENAME"
    for name, one in (("a", bed), ("b", other)):
        (tmp_path / name).mkdir()
        one.submit(tmp_path / name, script, "-w", "n02", "-o", "out")
    wait_until(lambda: all((tmp_path / name / "out").exists() for name in "ab"), "both run")
    daemons.kill_node(other.cluster, "n02")
    (tmp_path / "a" / "go").touch()
    wait_until(
        lambda: (tmp_path / "a" / "out").read_text() == f"{bed.cluster.path}\nn02\n", "only one was hit"
    )
    wait_until(lambda: other.node("n02").base == "down", "the other is down")
    assert bed.node("n02").base in ("idle", "mixed", "completing")


def test_the_queue_of_a_machine_that_was_full_is_short_work(make_bed: MakeBed, tmp_path: Path) -> None:
    """64 nodes and 500 jobs: the nodes stay small, the queue is answered at once and runs empty."""
    bed = make_bed(64, node_timeout=20.0)
    pids = [daemons.node_pid(bed.cluster, name) for name in bed.settings.nodes]
    sizes = [psutil.Process(pid).memory_full_info().pss for pid in pids if pid is not None]
    assert len(sizes) == 64
    assert sum(sizes) / 64 < 12e6
    hold = bed.submit(
        tmp_path, "while ! test -e go; do sleep 0.1; done", "-N64", "--exclusive", "-o", "/dev/null"
    )
    bed.wait(hold, "RUNNING")
    array = bed.submit(tmp_path, "true", "--array=1-500", "-o", "/dev/null")
    begun = time.monotonic()
    assert len(bed.run("squeue", "-h", "-r").splitlines()) == 501
    assert time.monotonic() - begun < 10
    (tmp_path / "go").touch()
    wait_until(lambda: bed.run("squeue", "-h") == "", "the queue is empty", 90)
    assert bed.run("sacct", "-n", "-X", "-P", "-o", "state", "-j", array).split() == ["COMPLETED"] * 500
