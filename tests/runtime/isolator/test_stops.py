"""Healthy jobs of several nodes on real Slurm, while some of it does not run: stalls, stops, suspension."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.alike import alike
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from tests.processes import originals
from tests.runtime.isolator.test_slurm import RULES, Protected
from tests.waiting import until

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.processor, pytest.mark.timeout(300)]

ISOLATOR = "whesl.runtime.isolator --task-dir"
LIMIT = 1.0
OPTIONS = ("--heartbeat", "0.2", "--heartbeat-limit", str(LIMIT))
STOPPED = 6 * LIMIT  # seconds, several leases
HANG = """\
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION STALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION STALLED LOG "tick" stdout TIMEOUT 4
EXCEPTION RECOVERY STEP STALLED JOB JOB.REPLACE
"""
TICKING = """\
cd {place}
srun bash -c 'echo "attempt $WHESL_RESTART_COUNT on $(hostname)"
for i in $(seq 3000); do
  [ -e done ] && exit 0; echo tick; echo x >> alive-$WHESL_RESTART_COUNT-$(hostname); sleep 0.05
done; exit 1'
"""


def begin(
    bed: SlurmBed,
    place: Path,
    shared: Path | None = None,
    *,
    text: str = RULES,
    options: tuple[str, ...] = OPTIONS,
) -> Protected:
    made = Protected(bed, place, *options, text=text, shared=shared, ranks=TICKING)
    made.wait(lambda: made.text().count("attempt 0 on") == 2, "both ranks")
    made.wait(lambda: made.kinds().count("agent") == 2, "the agents")
    return made


def running(bed: SlurmBed, node: str, *words: str) -> list[psutil.Process]:
    """Return a node's processes with one of these words in their command lines."""
    found = []
    for process in bed.processes(node):
        try:
            line = " ".join(process.cmdline())
        except psutil.NoSuchProcess:
            continue
        if any(word in line for word in words):
            found.append(process)
    return found


def isolator(bed: SlurmBed, node: str = "n01") -> psutil.Process:
    return one(bed, node, ISOLATOR)


def one(bed: SlurmBed, node: str, word: str) -> psutil.Process:
    """Wait for a node's process with this word in its command line."""
    found: list[psutil.Process] = until(lambda: originals(running(bed, node, word)), word, 60)
    return found[0]


def goes_on(made: Protected, node: str) -> None:
    """Wait for what a node's rank does next."""
    alive = made.place / f"alive-0-{node}"
    size = alive.stat().st_size
    made.wait(lambda: alive.stat().st_size > size, f"the rank on {node} runs on")


def ends_well(made: Protected) -> None:
    """Nothing was raised, blamed or started again."""
    goes_on(made, "n02")
    time.sleep(3 * LIMIT)  # what was noted meanwhile has its time to do harm
    (made.place / "done").touch()
    made.wait(lambda: "\nstatus " in f"\n{made.text()}", "the end")
    assert "status 0" in made.text()
    assert made.text().count("attempt") == 2, "something was started again"
    assert not {"raised", "node", "lease-ended"} & set(made.kinds())


@pytest.mark.parametrize("also", alike(["killed", ""]))
def test_a_stall_of_the_home_s_file_system_ends_nothing(
    also: str, nfs_bed: Callable[..., NfsBed], slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Every file call of isolator, keeper and agents on it blocks; an isolator killed then cannot start."""
    nfs = nfs_bed("all")
    bed = slurm_bed(nodes=4)
    made = begin(bed, tmp_path, nfs.at("all"))
    nfs.change("all", stalled=True)
    if also:
        isolator(bed).kill()
    time.sleep(STOPPED)
    nfs.change("all", stalled=False)
    ends_well(made)


def test_a_stopped_isolator_ends_nothing(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    bed = slurm_bed(nodes=4)
    made = begin(bed, tmp_path, text=RULES + HANG)
    process = isolator(bed)
    process.suspend()
    time.sleep(STOPPED)
    process.resume()
    ends_well(made)


@pytest.mark.parametrize("signum", [signal.SIGSTOP, pytest.param(signal.SIGKILL, marks=pytest.mark.variant)])
def test_with_everything_of_ours_stopped_or_dead_on_its_node_that_node_still_answers(
    signum: signal.Signals, slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Isolator and responder; stopped ones answer nobody, and dead ones are slow to come back."""
    bed = slurm_bed(nodes=4)
    made = begin(bed, tmp_path)
    keeper, *others = (
        one(bed, "n01", word)
        for word in ("isolator_keeper.py", ISOLATOR, "whesl.runtime.isolator.nodes.heartbeat_responder")
    )
    keeper.suspend()
    for process in others:
        process.send_signal(signum)
    time.sleep(STOPPED)
    for process in (keeper, *others) if signum == signal.SIGSTOP else (keeper,):
        process.resume()
    ends_well(made)


def test_an_isolator_killed_again_and_again_ends_nothing(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    bed = slurm_bed(nodes=4)
    made = begin(bed, tmp_path)
    for _ in range(5):
        process = isolator(bed)
        process.kill()
        bed.wait_for(lambda gone=process: not gone.is_running(), "its end")  # type: ignore[misc]  # bound
    ends_well(made)


@pytest.mark.parametrize("also", alike(["killed", "stalled", ""]))
def test_a_node_cut_off_is_still_fenced_and_its_agent_says_so(
    also: str, nfs_bed: Callable[..., NfsBed], slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Also while the isolator can do nothing, and by an agent whose working half is killed meanwhile."""
    nfs = nfs_bed("all")
    # Slurm would call the node down after 10 s, and kill its agent in the moment in which it is back.
    bed = slurm_bed(4, "net", slurmd_timeout=600)
    # A busy machine may be late by a quarter of it.
    made = begin(bed, tmp_path, nfs.at("all"), options=("--heartbeat", "0.2", "--heartbeat-limit", "4"))
    with made.evidence():
        ranks = running(bed, "n02", "echo tick")
        worker = max(running(bed, "n02", "whesl.runtime.node_agent.agent"), key=lambda found: found.pid)
        assert ranks
        nfs.change("all", stalled=also == "stalled")
        bed.cut("n02")
        try:
            if also == "stalled":
                bed.wait_for(
                    lambda: not any(rank.is_running() for rank in ranks), "the end of the ranks there"
                )
        finally:
            nfs.change("all", stalled=False)
        if also == "killed":
            time.sleep(2)  # half of its lease
            worker.kill()
        bed.wait_for(lambda: "attempt 1 on" in made.text(), "the next attempt")
        assert not any(rank.is_running() for rank in ranks), "a rank lived when the next attempt began"
        bed.wait_for(lambda: made.text().count("attempt 1 on") == 2, "the ranks after the swap")
        old = (tmp_path / "alive-0-n02").stat().st_size
        bed.heal("n02")
        bed.wait_for(lambda: "lease-ended" in made.kinds(), "what the agent has to tell")
        (tmp_path / "done").touch()
        bed.wait_for(lambda: "\nstatus " in f"\n{made.text()}", "the end")
        assert "status 0" in made.text()
        assert (tmp_path / "alive-0-n02").stat().st_size == old, "a rank of the old attempt lived on"
        (ended,) = (data for kind, data in made.records() if kind == "lease-ended")
        assert ended["node"] == "n02" and "had answered" in ended["reason"]


@pytest.mark.parametrize(
    ("rounds", "options"),
    [
        (3, ()),
        pytest.param(1, (), marks=pytest.mark.variant),
        pytest.param(1, OPTIONS, marks=pytest.mark.variant),
    ],
)
def test_a_suspended_job_goes_on_when_it_is_resumed(
    rounds: int, options: tuple[str, ...], slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """All processes of the job are stopped, the isolator's too: that time counts for nobody."""
    bed = slurm_bed(nodes=4)
    made = begin(bed, tmp_path, text=RULES + HANG, options=options)
    for _ in range(rounds):
        assert bed.run("scontrol", "suspend", made.job).returncode == 0
        bed.wait_job(made.job, "SUSPENDED")
        time.sleep(STOPPED / rounds)
        assert bed.run("scontrol", "resume", made.job).returncode == 0
        bed.wait_job(made.job, "RUNNING")
        time.sleep(0.5)
    ends_well(made)


def test_the_nodes_of_a_suspended_job_may_be_stopped_long_before_its_isolator(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Slurm tells each node by itself; one that is slow goes on for a while."""
    bed = slurm_bed(nodes=4)
    made = begin(bed, tmp_path, text=RULES + HANG, options=())
    ours = [*running(bed, "n01", "whesl"), *running(bed, "n01", "srun")]
    assert bed.run("scontrol", "suspend", made.job).returncode == 0
    bed.wait_job(made.job, "SUSPENDED")
    for process in ours:
        os.kill(process.pid, signal.SIGCONT)
    time.sleep(STOPPED)
    assert bed.run("scontrol", "resume", made.job).returncode == 0
    ends_well(made)


def test_a_hang_is_raised_all_the_same(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    """It was held back for good once, since what had been held back was judged anew."""
    bed = slurm_bed(nodes=4)
    made = begin(bed, tmp_path, text=RULES + HANG, options=())
    assert bed.run("scontrol", "suspend", made.job).returncode == 0
    bed.wait_job(made.job, "SUSPENDED")
    time.sleep(LIMIT)
    assert bed.run("scontrol", "resume", made.job).returncode == 0
    bed.wait_job(made.job, "RUNNING")
    for node in ("n01", "n02"):
        goes_on(made, node)
    for rank in (*running(bed, "n01", "echo tick"), *running(bed, "n02", "echo tick")):
        rank.suspend()
    made.wait(lambda: made.text().count("attempt 1 on") == 2, "the ranks of the next attempt")
    (tmp_path / "done").touch()
    made.wait(lambda: "status 0" in made.text(), "the end")
    (raised,) = (data for kind, data in made.records() if kind == "raised")
    assert "STALLED" in str(raised)
