"""Several nodes, on the embedded resource manager: agents, leases, fencing, swaps."""

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

import pytest

from tests import commands, shedding, waiting
from tests.alike import alike
from tests.processes import mentioning
from tests.runtime.isolator.bench import stop_for
from whesl.language import shipped_policy
from whesl.managers.resource.embedded import daemons
from whesl.managers.resource.embedded.cluster_directory import Cluster as LocalCluster
from whesl.runtime.isolator.nodes.fence_confirmation import Fence
from whesl.runtime.isolator.nodes.liveness import LEASE_MARGIN, Silence
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal
from whesl.runtime.node_agent.lease import Lease, lead

RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app]
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
HANG_RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE EXCEPTION STALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION STALLED LOG "tick" stdout TIMEOUT 2
EXCEPTION RECOVERY STEP STALLED JOB NODE.REPLACE
"""
DEFAULT = Path(shipped_policy.place("default"))
PATIENCE = 60.0


def until(condition: Callable[[], Any], what: str) -> Any:
    return waiting.until(condition, what, PATIENCE)


# The pure parts -------------------------------------------------------------------------------------


def test_a_lease_runs_from_the_sending_of_an_answered_heartbeat() -> None:
    lease = Lease(3.0, 100.0)
    first = lease.beat(100.0)
    second = lease.beat(101.0)
    lease.answered(second)
    lease.answered(first)
    over = 101.0 + 3.0 - lead(3.0)
    assert not lease.ran_out(over - 0.1)
    assert lease.ran_out(over)
    assert not lease.ran_out(105.0), "acts once"
    lease.answered(lease.beat(110.0))
    assert lease.ran_out(113.0)


def test_the_isolator_never_believes_a_lease_over_that_is_not() -> None:
    """However late answers arrive, the agent's lease ends before the isolator counts on it."""
    for delay in (0.0, 0.5, 2.9):
        lease, silence = Lease(3.0, 0.0), Silence(["n2"], 3.0)
        number = lease.beat(10.0)
        heard = 10.0 + delay
        silence.heard("n2", heard)
        lease.answered(number)
        over = next(t / 100 for t in range(1000, 3000) if silence.lease_over("n2", t / 100))
        assert lease.deadline() + LEASE_MARGIN <= over + 1e-9


def test_a_connection_that_comes_back_in_time_is_no_loss() -> None:
    silence = Silence(["n2"], 3.0, grace=0.2)
    silence.heard("n2", 1.0)
    silence.closed("n2", 1.1)
    silence.heard("n2", 1.25)
    assert silence.lost(1.5, step_over=False) == []


def test_a_closed_connection_is_a_loss_after_the_grace_and_silence_after_the_limit() -> None:
    silence = Silence(["n2", "n3"], 3.0, grace=0.2)
    silence.heard("n2", 1.0)
    silence.heard("n3", 1.0)
    silence.closed("n2", 1.1)
    assert [fact.node for fact in silence.lost(1.35, step_over=False)] == ["n2"]
    assert silence.lost(3.9, step_over=False) == []
    assert [fact.node for fact in silence.lost(4.0, step_over=False)] == ["n3"]


def test_the_end_of_the_agents_step_is_not_the_loss_of_all_nodes() -> None:
    silence = Silence(["n2"], 3.0, grace=0.2)
    silence.heard("n2", 1.0)
    silence.closed("n2", 1.1)
    assert silence.lost(2.0, step_over=True) == []
    assert silence.absent() == ("n2",)


def test_a_node_whose_agent_never_spoke_is_not_lost() -> None:
    assert Silence(["n2"], 3.0).lost(1e6, step_over=False) == []


def test_a_fence_waits_for_answers_or_leases() -> None:
    silence = Silence(["n2", "n3"], 3.0)
    silence.heard("n2", 100.0)
    silence.heard("n3", 100.0)
    fence = Fence(1, "t", ["n2", "n3"], 100.0)
    fence.local(2, [], ())
    fence.answered("n2", 1, 0)
    silence.closed("n3", 100.1)
    silence.lost(100.5, step_over=False)
    fence.check(silence, 102.0)
    assert not fence.over
    fence.check(silence, 103.0 + LEASE_MARGIN + 0.1)
    assert fence.over and fence.unreachable == ["n3"]


def test_a_fence_waits_for_an_answer_as_long_as_a_lease_may_last() -> None:
    silence = Silence(["n2"], 60.0)
    silence.heard("n2", 100.0)
    fence = Fence(1, "t", ["n2"], 100.1, 60.0)
    fence.local(0, [], ())
    fence.check(silence, 130.0)
    assert not fence.failed
    silence.lost(160.1, step_over=False)
    fence.check(silence, 160.1 + LEASE_MARGIN)
    assert fence.over and not fence.failed


def test_an_agent_may_take_as_long_to_start_as_to_be_silent_and_is_told_all_the_same() -> None:
    for limit, patience in ((1.0, 5.0), (20.0, 20.0)):
        fence = Fence(1, "t", ["n2"], 100.0, limit)
        fence.local(0, [], ())
        silence = Silence(["n2"], limit)
        fence.check(silence, 100.0 + patience)
        assert not fence.over
        fence.check(silence, 100.1 + patience)
        assert fence.over and fence.unreachable == [] and fence.unasked == ["n2"]
        assert fence.again(101.0 + patience) == ()


# Real nodes -----------------------------------------------------------------------------------------


class Cluster:
    """A local cluster and one job on it."""

    def __init__(self, place: Path, nodes: int = 4) -> None:
        self.place = place
        home = place / "home"
        home.mkdir(mode=0o700)
        self.environment = {**os.environ, "WHESL_HOME": str(home)}
        self.environment.pop("WHESL_LOCAL", None)
        self.whesl("local", "start", "--nodes", str(nodes))
        text = self.whesl("local", "env").stdout
        for line in text.splitlines():
            name, _, value = line.removeprefix("export ").partition("=")
            if line.startswith("export "):
                shown = subprocess.run(
                    ["sh", "-c", f"printf %s {value}"],
                    env=self.environment,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                self.environment[name] = shown.stdout
        self.directory = TaskDir(place / "task")
        self.out = place / "out"

    def whesl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return commands.whesl(*arguments, env=self.environment, check=True, timeout=PATIENCE)

    def submit(self, script: str, *options: str, nodes: int = 3, text: str = RULES) -> None:
        rules = self.place / "rules.esl"
        rules.write_text(text)
        line = " ".join(
            (
                f"{sys.executable} -m whesl exec --workflow wf --step app --no-coordinator",
                f"--task-dir {self.directory.path} -e {rules} --nodes 2 {' '.join(options)} --script -",
            )
        )
        job = self.place / "job.sh"
        job.write_text(
            f"#!/bin/bash\n#SBATCH -N {nodes} --output={self.out}\n"
            f"{line} <<'EOT'\n#!/bin/bash\n{script}\nEOT\necho status $?\n"
        )
        subprocess.run(
            ["sbatch", "--no-kill", str(job)], env=self.environment, check=True, capture_output=True
        )

    def text(self) -> str:
        return self.out.read_text() if self.out.exists() else ""

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        try:
            journal = Journal(self.directory.journal, read_only=True)
            return [(record.kind, record.data) for record in journal.read()]
        except JournalError:
            return []

    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.records()]

    def agents(self) -> dict[int, str]:
        """The agents' processes and their nodes: supervisors and workers."""
        found = {}
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"whesl.runtime.node_agent.agent" in command and str(self.directory.link).encode() in command:
                name = next(item for item in environment if item.startswith(b"SLURMD_NODENAME="))
                found[int(entry.name)] = name.partition(b"=")[2].decode()
        return found

    def agents_up(self) -> None:
        def up() -> bool:
            nodes = {data["node"] for kind, data in self.records() if kind == "agent"}
            return len(nodes) >= 2

        until(up, "the agents")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.whesl("local", "stop")


RANKS = """\
echo "start $WHESL_RESTART_COUNT on $SLURM_JOB_NODELIST"
srun bash -c 'echo $$ > pid-$WHESL_RESTART_COUNT-$SLURMD_NODENAME; echo "rank on $SLURMD_NODENAME"
for i in $(seq 3000); do [ -e done ] && exit 0; sleep 0.02; done; exit 1'
"""


TICKS = """\
srun bash -c 'echo $$ > pid-$WHESL_RESTART_COUNT-$SLURMD_NODENAME
for i in $(seq 3000); do
    [ -e done ] && exit 0
    [ $SLURMD_NODENAME = n01 ] || echo "tick on $SLURMD_NODENAME"
    sleep 0.1
done; exit 1'
"""


@pytest.mark.slow
def test_a_killed_node_is_replaced_and_the_ranks_run_on_the_spare(cluster: Cluster) -> None:
    cluster.submit(f"cd {cluster.place}\n{RANKS}")
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    cluster.agents_up()
    cluster.whesl("local", "kill-node", "n02")
    until(lambda: cluster.text().count("rank on") == 4, "the ranks after the swap")
    (cluster.place / "done").touch()
    until(lambda: "\nstatus " in f"\n{cluster.text()}", "the end")
    text = cluster.text()
    assert "status 0" in text
    assert sorted(text.split("start 1")[1].count(f"rank on {node}") for node in ("n01", "n03")) == [1, 1]
    assert cluster.kinds().count("raised") == 1
    survivor = int((cluster.place / "pid-0-n01").read_text())
    assert not Path(f"/proc/{survivor}").exists(), "a rank of the old attempt outlived it"


@pytest.mark.slow
def test_the_shipped_policy_leaves_a_broken_gpu_and_a_wrong_input_alone(cluster: Cluster) -> None:
    cluster.submit(
        f"cd {cluster.place}\n"
        """srun bash -c 'if [ $WHESL_RESTART_COUNT = 0 ]; then
    [ $SLURMD_NODENAME = n01 ] && exec sleep 2
    echo "[rank1]: RuntimeError: CUDA error: uncorrectable ECC error encountered"
    exit 1
fi
echo "rank on $SLURMD_NODENAME"
echo "FileNotFoundError: [Errno 2] No such file or directory: /data/in"
exit 1'""",
        text=DEFAULT.read_text(),
    )
    until(lambda: "\nstatus " in f"\n{cluster.text()}", "the end")
    assert [cluster.text().count(f"rank on {node}") for node in ("n01", "n02", "n03")] == [1, 0, 1]
    decided = [(data["exception"], data["action"]) for kind, data in cluster.records() if kind == "decided"]
    assert decided == [("DEFAULT_BAD_GPU", "recover"), ("DEFAULT_MEND_FIRST", "fail")]


@pytest.mark.slow
@pytest.mark.parametrize("kind", alike(shedding.KINDS))
def test_ranks_that_shed_what_they_are_known_by_do_not_outlive_their_attempt(
    cluster: Cluster, kind: str
) -> None:
    program = f"{sys.executable} {shedding.__file__} {kind} alive-$SLURMD_NODENAME"
    cluster.submit(
        f"cd {cluster.place}\nif [ $WHESL_RESTART_COUNT = 0 ]; then srun bash -c 'exec {program}'\n"
        """else srun bash -c 'echo "rank on $SLURMD_NODENAME"; until [ -e done ]; do sleep 0.05; done'; fi"""
    )
    files = [cluster.place / f"alive-{node}" for node in ("n01", "n02")]
    until(lambda: all(file.exists() for file in files), "both ranks")
    cluster.agents_up()
    cluster.whesl("local", "kill-node", "n02")
    until(lambda: cluster.text().count("rank on") == 2, "the ranks after the swap")
    living = [file.stat().st_size for file in files]
    time.sleep(1.0)
    assert [file.stat().st_size for file in files] == living, "a rank of the old attempt lives on"
    (cluster.place / "done").touch()
    until(lambda: "status 0" in cluster.text(), "the end")


@pytest.mark.slow
def test_names_and_ranks_agree_after_the_first_node_is_replaced(cluster: Cluster) -> None:
    rules = HANG_RULES.replace('LOG "tick" stdout TIMEOUT 2', 'MATCH "^sick (?P<node>n0[0-9])" stdout')
    rules = rules.replace("NODE.REPLACE\n", 'NODE.REPLACE {"node": "${node}"}\n')
    ranks = """\
echo "names $(scontrol show hostnames | paste -sd,) $WHESL_NODELIST $(paste -sd, $WHESL_HOSTFILE)"
echo "ranks $(srun sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME' | sort -n | cut -d' ' -f2 | paste -sd,)"
[ "$WHESL_RESTART_COUNT" != 0 ] || { echo sick n01; sleep 600; }
"""
    cluster.submit(ranks, text=rules)
    until(lambda: "status" in cluster.text(), "the end")
    assert cluster.text().splitlines() == [
        "names n01,n02 n01,n02 n01,n02",
        "ranks n01,n02",
        "sick n01",
        "names n02,n03 n02,n03 n02,n03",
        "ranks n02,n03",
        "status 0",
    ]


@pytest.mark.slow
def test_a_dead_node_s_lease_is_not_waited_for(cluster: Cluster) -> None:
    """With a lease of an hour, recovery comes because the node's daemon is seen to have ended."""
    cluster.submit(f"cd {cluster.place}\n{RANKS}", "--heartbeat-limit 3600")
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    cluster.agents_up()
    cluster.whesl("local", "kill-node", "n02")
    until(lambda: cluster.text().count("rank on") == 4, "the ranks after the swap")
    (cluster.place / "done").touch()
    until(lambda: "status 0" in cluster.text(), "the end")
    reasons = [data["reason"] for kind, data in cluster.records() if kind == "node"]
    assert any("closed" in reason for reason in reasons)
    fenced = next(data for kind, data in cluster.records() if kind == "fenced")
    assert fenced["unreachable"] == ["n02"]


@pytest.mark.slow
def test_a_hang_is_blamed_on_the_node_whose_rank_is_stopped(cluster: Cluster) -> None:
    """Its agent and its daemon are well: that the program cannot run there is seen by its state alone."""
    cluster.submit(f"cd {cluster.place}\n{TICKS}", text=HANG_RULES)
    until(lambda: "tick on n02" in cluster.text(), "the program's progress")
    cluster.agents_up()
    os.kill(int((cluster.place / "pid-0-n02").read_text()), signal.SIGSTOP)
    until(lambda: "tick on n03" in cluster.text(), "its progress on the spare")
    (cluster.place / "done").touch()
    until(lambda: "status 0" in cluster.text(), "the end")
    (evidence,) = (data for kind, data in cluster.records() if kind == "evidence")
    assert [item["node"] for item in evidence["stuck"]] == ["n02"]


@pytest.mark.slow
def test_a_node_that_hangs_is_lost_by_its_silence(cluster: Cluster) -> None:
    cluster.submit(f"cd {cluster.place}\n{RANKS}", "--heartbeat 0.2 --heartbeat-limit 1.5")
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    cluster.agents_up()
    cluster.whesl("local", "hang-node", "n02")
    until(lambda: cluster.text().count("rank on") == 4, "the ranks after the swap")
    (cluster.place / "done").touch()
    until(lambda: "\nstatus " in f"\n{cluster.text()}", "the end")
    assert "status 0" in cluster.text()
    reasons = [data["reason"] for kind, data in cluster.records() if kind == "node"]
    assert any("no heartbeat" in reason for reason in reasons)


@pytest.mark.slow
def test_a_killed_agent_comes_back_and_nothing_is_raised(cluster: Cluster) -> None:
    cluster.submit(f"cd {cluster.place}\n{RANKS}")
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    cluster.agents_up()
    before = cluster.agents()
    parents = {int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) for pid in before}
    worker = next(pid for pid, node in before.items() if node == "n02" and pid not in parents)
    os.kill(worker, signal.SIGKILL)
    until(lambda: len(set(cluster.agents()) - set(before)) == 1, "another worker")
    time.sleep(1.0)
    assert "raised" not in cluster.kinds()
    (cluster.place / "done").touch()
    until(lambda: "status 0" in cluster.text(), "the end")


@pytest.mark.slow
def test_a_restarted_isolator_keeps_its_agents_and_still_sees_a_loss(cluster: Cluster) -> None:
    cluster.submit(f"cd {cluster.place}\n{RANKS}")
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    cluster.agents_up()
    agents = set(cluster.agents())
    owner = cluster.directory.owner()
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)
    until(lambda: "resumed-isolator" in cluster.kinds(), "another isolator")

    def heard_again() -> bool:
        kinds = cluster.kinds()
        return kinds[kinds.index("resumed-isolator") :].count("agent") >= 2  # nodes beside its own

    until(heard_again, "its agents")
    assert set(cluster.agents()) == agents
    assert "raised" not in cluster.kinds()
    cluster.whesl("local", "kill-node", "n02")
    until(lambda: cluster.text().count("rank on") == 4, "the ranks after the swap")
    (cluster.place / "done").touch()
    until(lambda: "status 0" in cluster.text(), "the end")


@pytest.mark.slow
def test_without_a_spare_the_task_fails(cluster: Cluster) -> None:
    cluster.submit(f"cd {cluster.place}\n{RANKS}", nodes=2)
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    until(lambda: any(kind == "agent" for kind in cluster.kinds()), "the agent")
    cluster.whesl("local", "kill-node", "n02")
    until(lambda: "\nstatus " in f"\n{cluster.text()}", "the end")
    assert "status 1\n" in cluster.text()
    result = json.loads(cluster.directory.result_file.read_text())
    assert "spare" in result["reason"]


@pytest.mark.slow
@pytest.mark.parametrize("otherwise", alike(["ESCALATE", "FAIL", "PAUSE"]))
def test_what_else_says_is_done_when_no_spare_is_left(cluster: Cluster, otherwise: str) -> None:
    """As on Slurm (``test_slurm_else.py``)."""
    status = {"ESCALATE": "status 75", "FAIL": "status 1"}.get(otherwise)
    text = RULES.replace("JOB [app]", f"JOB [app] LIMIT 3 ELSE {otherwise}")
    cluster.submit(f"cd {cluster.place}\n{RANKS}", nodes=2, text=text)
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    until(lambda: "agent" in cluster.kinds(), "the agent")
    cluster.whesl("local", "kill-node", "n02")
    if not status:
        until(lambda: "paused" in cluster.kinds(), "the pause")
        assert "status" not in cluster.text()
        return
    until(lambda: f"\n{status}\n" in cluster.text(), "the end")
    result = json.loads(cluster.directory.result_file.read_text())
    assert "spares-exhausted" in result["reason"]
    assert "start 1" not in cluster.text()


@pytest.mark.slow
def test_a_start_that_the_manager_refuses_is_tried_again(cluster: Cluster) -> None:
    """As on Slurm (``test_slurm_refused.py``): its server is away while a node is lost."""
    cluster.submit(f"cd {cluster.place}\n{RANKS}", text=RULES)
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    cluster.agents_up()
    manager = LocalCluster(cluster.environment["WHESL_LOCAL"])
    pid = daemons.server_pid(manager)
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    until(lambda: daemons.server_pid(manager) is None, "the server's end")
    daemons.kill_node(manager, "n02")
    until(lambda: "refused" in cluster.kinds(), "a refusal")
    assert "confirmed" not in cluster.kinds()
    daemons.start_server(manager)
    until(lambda: "confirmed" in cluster.kinds(), "the program")
    until(lambda: cluster.text().count("rank on") == 4, "the ranks after the swap")
    (cluster.place / "done").touch()
    until(lambda: "\nstatus " in f"\n{cluster.text()}", "the end")
    assert "status 0" in cluster.text()
    assert cluster.kinds().count("raised") == 1, "a refusal is no failure of the program's"


@pytest.mark.slow
def test_all_of_a_job_that_was_stopped_goes_on(cluster: Cluster) -> None:
    """As on a machine that was paused: nobody suspends a job here, so nobody can be asked."""
    script = f"cd {cluster.place}\n" + RANKS.replace("sleep 0.02", "echo tick; sleep 0.1")
    cluster.submit(
        script, text=RULES + HANG_RULES.partition("[ADD, REMOVE, REPLACE]\n")[2].replace("OUT 2", "OUT 4")
    )
    until(lambda: cluster.text().count("rank on") == 2, "both ranks")
    cluster.agents_up()
    stopped = mentioning(str(cluster.directory.path))
    assert len(stopped) > 8
    stop_for(stopped, 12.0)
    ticks = cluster.text().count("tick")
    until(lambda: cluster.text().count("tick") > ticks + 20, "that the ranks go on")
    time.sleep(4.0)
    (cluster.place / "done").touch()
    until(lambda: "\nstatus " in f"\n{cluster.text()}", "the end")
    assert "status 0" in cluster.text()
    assert not {"raised", "node", "lease-ended"} & set(cluster.kinds())
