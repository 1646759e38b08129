"""PyTorch itself trains by the example's files on a real Slurm, and goes on after each loss."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.alike import alike
from tests.equipment.free_ports import free_ports
from tests.runtime.isolator.bench import Bench, bench
from tests.training.bed import EVERY, EXAMPLE, TORCHRUN, Training, need_torch, training

__all__ = ["bench"]

pytestmark = [pytest.mark.slow, pytest.mark.costly, pytest.mark.timeout(400)]


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Training]:
    with training(tmp_path) as made:
        yield made


def begin(bed: Training, script: str, steps: int) -> subprocess.Popen[str]:
    """Start it with two spares, and with a timer of seconds."""
    rules = bed.place / "rules.esl"
    rules.write_text(rules.read_text().replace("TIMEOUT 300", "TIMEOUT 20"))
    bed.environment |= {"STEPS": str(steps)}
    # A job with Flux inside cannot go on without its first node: it would need its four nodes again.
    command = ["whesl", "run", script, "-e", "rules.esl", "--spares", "2", "-y", "--poll", "1"]
    command += ["--inner", "slurm"]
    process = subprocess.Popen(
        command, cwd=bed.place, env=bed.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip
    bed.started.append(process)
    return process


def goes_on(bed: Training, ahead: int = 12) -> None:
    """Wait until it has got that many steps further than ever before."""
    goal = max(bed.steps(), default=0) + ahead
    bed.wait(lambda: max(bed.steps(), default=0) >= goal, f"step {goal}", 60)


@contextmanager
def late(bed: Training) -> Iterator[None]:
    """Show what there is where a run does not end in time."""
    try:
        yield
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"{(error.output or b'').decode()}\n{bed.evidence()}") from error


def end(bed: Training, process: subprocess.Popen[str], steps: int, *, example: bool = True) -> list[str]:
    """Wait for its end, and return what was raised. ``example``: it has the example's own checkpoint."""
    with late(bed):
        output, _ = process.communicate(timeout=200)
    assert process.returncode == 0, output + bed.evidence()
    # What is printed while the job's first node is gone is lost; the ranks train on until they are ended.
    read = "import torch; print(torch.load('checkpoint.pt')['step'])"
    if example:
        kept = subprocess.run(
            [need_torch(), "-c", read], cwd=bed.place, capture_output=True, text=True, check=True
        )
        assert kept.stdout == f"{steps}\n", bed.text()
    again = [before - after for before, after in pairwise(bed.steps())]
    assert max(again) < EVERY, "no more is done again than what comes after a checkpoint"
    report = json.loads(bed.whesl("report", "--json").stdout)
    return [row["exception"] for row in report["exceptions"]]


LOST = {"TASK_KILLED", "TORCH_RANK_LOST", "TORCHRUN_FAILED"}


@pytest.mark.slurm
def test_srun(bed: Training) -> None:
    """A killed rank, then the lost first node of the job."""
    process = begin(bed, "train.sh", 600)
    goes_on(bed)
    bed.ranks()[1].send_signal(signal.SIGKILL)
    goes_on(bed)
    bed.crash("n01")
    raised = end(bed, process, 600)
    assert {job["JobState"] for job in bed.jobs()} == {"COMPLETED"}, "it went on from another node"
    # Other ranks may tell of the lost peer before its node is known to be lost.
    assert len(raised) > 1 and set(raised[:-1]) <= LOST
    assert raised[-1] == "NODE_FAIL"


def begin_torchrun(bed: Training, steps: int) -> subprocess.Popen[str]:
    script = bed.place / "torchrun.sh"
    script.write_text(script.read_text().replace("--nproc_per_node 4", "--nproc_per_node 1"))
    return begin(bed, "torchrun.sh", steps)


@pytest.mark.slurm
@pytest.mark.parametrize("more", alike([False, True]))
def test_torchrun(bed: Training, more: bool) -> None:
    """A stopped first rank, then the lost first node of the job. Each line of the ranks has a label.

    Args:
        bed: the cluster.
        more: also a killed rank before, and a lost node between; a start of PyTorch takes seconds.
    """
    process = begin_torchrun(bed, 600)
    goes_on(bed)
    if more:
        bed.ranks()[1].send_signal(signal.SIGKILL)
        goes_on(bed)
    first = bed.ranks()[0]
    assert bed.node(first) == "n01"
    first.send_signal(signal.SIGSTOP)
    goes_on(bed)
    nodes = {bed.node(rank) for rank in bed.ranks().values()}
    assert nodes == {"n02", "n03"}, "another node is the first one now"
    if more:
        bed.crash("n03")
        goes_on(bed)
    bed.crash("n01")
    raised = end(bed, process, 600)
    assert {job["JobState"] for job in bed.jobs()} == {"COMPLETED"}, "it went on from another node"
    hung = raised.index("STANDS_STILL")
    assert bool(raised[:hung]) == more and set(raised[:hung]) <= LOST
    # Other ranks may tell of the lost peer before its node is known to be lost.
    lost = 2 if more else 1
    assert set(raised[hung + 1 : -lost]) <= LOST
    assert raised[-lost:] == ["NODE_FAIL"] * lost
    assert "[default0]:step 1 " in bed.text()


@pytest.mark.slurm
@pytest.mark.variant
@pytest.mark.parametrize("framework", ["lightning", "accelerate", "transformers"])
def test_frameworks(bed: Training, framework: str) -> None:
    """A killed rank, then a lost node."""
    if subprocess.run([need_torch(), "-c", f"import {framework}"], check=False).returncode:
        pytest.skip(f"{framework} is not installed: set TORCH_PYTHON to a Python that has it")
    (bed.place / f"train_{framework}.py").replace(bed.place / "train.py")
    script = bed.place / "train.sh"
    local = "LOCAL_RANK=$SLURM_LOCALID RANK=$SLURM_PROCID"
    script.write_text(script.read_text().replace("RANK=$SLURM_PROCID", local))
    if framework == "lightning":
        script.write_text("#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=1\nsrun python train.py\n")
    process = begin(bed, "train.sh", 300)
    goes_on(bed)
    bed.ranks()[1].send_signal(signal.SIGKILL)
    goes_on(bed)
    bed.crash(bed.node(bed.ranks()[1]))
    raised = end(bed, process, 300, example=False)
    assert {job["JobState"] for job in bed.jobs()} == {"COMPLETED"}
    assert max(bed.steps()) == 300
    assert len(raised) > 1 and set(raised[:-1]) <= LOST
    assert raised[-1] == "NODE_FAIL"


@pytest.mark.slurm
@pytest.mark.variant
@pytest.mark.parametrize("script", ["train.sh", "torchrun.sh"])
def test_ranks_that_wait_for_a_stopped_one_begin_again(bed: Training, script: str) -> None:
    """As `-e default` says it, with a shorter silence."""
    rules = (bed.place / "rules.esl").read_text().partition("# A rank has died")[0]
    stopped = "EXCEPTION DETECTION STOPPED SILENCE TIMEOUT 8 STOPPED"
    declared = "DECLARE EXCEPTION STOPPED JOB_LEVEL JOB [*] LIMIT 1"
    restart = "EXCEPTION RECOVERY STEP STOPPED JOB JOB.REPLACE"
    (bed.place / "rules.esl").write_text("\n".join((rules, declared, stopped, restart)))
    process = begin_torchrun(bed, 300) if script == "torchrun.sh" else begin(bed, script, 300)
    goes_on(bed)
    bed.ranks()[1].send_signal(signal.SIGSTOP)
    goes_on(bed)
    assert end(bed, process, 300) == ["STOPPED"]


@pytest.mark.slurm
@pytest.mark.variant
def test_a_script_that_asks_for_a_requeue_goes_on(bed: Training) -> None:
    """As at a time limit with --signal=B:USR1@90: the script gets USR1, and has its job requeued."""
    script = bed.place / "train.sh"
    trap = "trap 'scontrol requeue $SLURM_JOB_ID' USR1\nsrun bash"
    script.write_text(script.read_text().replace("srun bash", trap).rstrip() + " &\nwait\nwait\n")
    process = begin(bed, "train.sh", 400)
    goes_on(bed)
    (job,) = bed.jobs()
    bed.call("scancel", "--batch", "--signal=USR1", job["JobId"])
    bed.wait(lambda: bed.jobs()[0]["JobState"] == "PENDING", "it was requeued", 60)
    bed.call("scontrol", "update", f"jobid={job['JobId']}", "StartTime=now")  # not after two minutes
    assert end(bed, process, 400) == []
    assert [(each["JobId"], each["JobState"]) for each in bed.jobs()] == [(job["JobId"], "COMPLETED")]


@pytest.mark.slurm
@pytest.mark.variant
def test_torchrun_is_killed(bed: Training) -> None:
    process = begin_torchrun(bed, 1500)
    goes_on(bed)
    rank = bed.ranks()[1]
    torchrun = rank.parent()
    assert torchrun is not None
    torchrun.send_signal(signal.SIGKILL)
    bed.wait(lambda: not rank.is_running(), "its rank has been ended, too", 60)  # it trains on at first
    assert set(end(bed, process, 1500)) <= LOST


def on_one_host(bench: Bench, *before: str, **variables: str) -> tuple[int, str]:
    """Train with one rank of torchrun on this host; return the exit status and what was printed."""
    (port,), claims = free_ports(1)
    for claim in claims:
        claim.close()
    bench.environment |= {"OMP_NUM_THREADS": "1", "STEPS": "20", **variables}
    torchrun = (need_torch(), *TORCHRUN, "--nproc_per_node", "1", "--master_port", str(port))
    command = (*before, *torchrun, str(EXAMPLE / "train.py"))
    out = bench.place / "out"
    with out.open("ab") as stdout:
        running = bench.exec(
            *command, options=("-e", str(EXAMPLE / "rules.esl")), stdout=stdout, stderr=stdout
        )
    return running.wait(300), out.read_text()


@pytest.mark.variant  # test_training.py has the same rules
def test_a_loss_that_is_nan_does_not_restart_for_ever(bench: Bench) -> None:
    code, out = on_one_host(bench, RATE="1e30")
    assert code != 0
    assert [raised["exception"] for raised in bench.raised()] == ["TORCH_NAN"] * 3, out


@pytest.mark.variant
def test_a_loss_that_diverges_is_finite_with_half_the_rate(bench: Bench) -> None:
    code, out = on_one_host(bench, RATE="1.5", STEPS="150")
    assert code == 0, out
    assert [raised["exception"] for raised in bench.raised()] == ["TORCH_NAN"], out


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts another /dev/shm")
@pytest.mark.parametrize(  # too small for locks, for tensors
    "size", ["64k", pytest.param("256k", marks=pytest.mark.variant)]
)
def test_a_full_dev_shm_is_trained_around(bench: Bench, size: str) -> None:
    mount = f'mount -t tmpfs -o size={size} tmpfs /dev/shm && exec "$@"'
    before = ("unshare", "--mount", "sh", "-c", mount, "sh")
    code, out = on_one_host(bench, *before, LOADERS="2", BATCH="1024")
    assert code == 0, out
    assert [raised["exception"] for raised in bench.raised()] == ["TORCH_SHARED_MEMORY"], out
    assert "[default0]:step 20 " in out
