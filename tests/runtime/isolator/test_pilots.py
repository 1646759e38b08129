"""Several tasks in one allocation, on the embedded manager: each has nodes and spares of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runtime.isolator.test_nodes import RULES, Cluster, until

pytestmark = pytest.mark.slow

RANKS = """\
srun bash -c 'echo "$WHESL_RESTART_COUNT $SLURMD_NODENAME" >> {name}.ranks
while [ ! -e {name}.done ]; do sleep 0.1; done'
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path, nodes=6)
    yield made
    made.whesl("local", "stop")


def pilot(cluster: Cluster, names: str, nodes: int, ranks: str = RANKS, part: str = "--nodes 1") -> None:
    """Submit a job whose script starts tasks that run at the same time.

    Args:
        cluster: runs it.
        names: the tasks', a letter each.
        nodes: the job's.
        ranks: the script of each.
        part: how each says which part of the nodes it uses.
    """
    (cluster.place / "rules.esl").write_text(RULES.replace("JOB [app]", "JOB [*]"))
    lines = [f"cd {cluster.place}"]
    for name in names:
        (cluster.place / f"{name}.sh").write_text("#!/bin/bash\n" + ranks.format(name=name))
        words = f"{sys.executable} -m whesl exec --workflow wf --step {name} --no-coordinator --quiet"
        words += f" --task-dir {cluster.place}/{name} -e {cluster.place}/rules.esl {part}"
        # One after the other, since the test says who takes which node.
        lines.append(f"( {words} --script {name}.sh; echo $? > {name}.status ) &")
        lines.append(f"while [ ! -s {name}.ranks ]; do sleep 0.1; done")
    lines.append("wait")
    job = cluster.place / "job.sh"
    job.write_text(f"#!/bin/bash\n#SBATCH -N {nodes} --output={cluster.out}\n" + "\n".join(lines) + "\n")
    subprocess.run(["sbatch", "--no-kill", job], env=cluster.environment, check=True, capture_output=True)


def ranks(cluster: Cluster, name: str) -> list[str]:
    file = cluster.place / f"{name}.ranks"
    return file.read_text().splitlines() if file.exists() else []


def test_a_lost_node_concerns_only_who_uses_it_and_no_spare_is_taken_twice(cluster: Cluster) -> None:
    """All tasks took the first node, and with a node that was lost each of them ended with 75."""
    pilot(cluster, "abc", 4)
    until(lambda: all(ranks(cluster, name) for name in "abc"), "the tasks")
    assert [ranks(cluster, name) for name in "abc"] == [["0 n01"], ["0 n02"], ["0 n03"]]
    cluster.whesl("local", "kill-node", "n02")
    until(lambda: len(ranks(cluster, "b")) == 2, "the task of the lost node on the spare")
    assert ranks(cluster, "b") == ["0 n02", "1 n04"], "no other task's node was taken"
    (cluster.place / "c.done").touch()
    until((cluster.place / "c.status").exists, "the end of another task")
    for name in "ab":
        (cluster.place / f"{name}.done").touch()
    until(lambda: all((cluster.place / f"{name}.status").exists() for name in "ab"), "the ends")
    assert [(cluster.place / f"{name}.status").read_text() for name in "abc"] == ["0\n"] * 3
    assert [ranks(cluster, name) for name in "ac"] == [["0 n01"], ["0 n03"]]


def test_what_the_nodes_of_steps_say_where_no_task_says_it(cluster: Cluster) -> None:
    """A node that one task alone used was lost, and both tasks failed."""
    pilot(cluster, "ab", 6, ranks=RANKS.replace("srun", "srun -N2"), part="")
    until(lambda: all(len(ranks(cluster, name)) == 2 for name in "ab"), "the tasks")
    assert [sorted(ranks(cluster, name)) for name in "ab"] == [["0 n01", "0 n02"], ["0 n03", "0 n04"]]
    cluster.whesl("local", "kill-node", "n04")
    until(lambda: len(ranks(cluster, "b")) == 4, "the task of the lost node, on a node of nobody")
    assert sorted(ranks(cluster, "b")[2:]) == ["1 n03", "1 n05"]
    cluster.whesl("local", "kill-node", "n02")
    until(lambda: len(ranks(cluster, "a")) == 4, "the other task, on the last node of nobody")
    for name in "ab":
        (cluster.place / f"{name}.done").touch()
    until(lambda: all((cluster.place / f"{name}.status").exists() for name in "ab"), "the ends")
    assert [(cluster.place / f"{name}.status").read_text() for name in "ab"] == ["0\n"] * 2
    assert sorted(ranks(cluster, "a")[2:]) == ["1 n01", "1 n06"]
    assert len(ranks(cluster, "b")) == 4, "the loss of a neighbour's node concerned it"
