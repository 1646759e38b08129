"""A job of a real Slurm whose task runs under ``whesl exec``, with a coordinator or without."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests import commands
from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.bench import records
from whesl.runtime.isolator.task.taskdir import TaskDir

HEAD = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE RESOURCE JOB[REPLACE]
"""
NODE_LOST = """\
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
# Says which start it is on which node, notes in files that it is alive, and ends when it is told to.
RANK = """\
echo "start $WHESL_RESTART_COUNT on $(hostname)"
for i in $(seq 3000); do
  [ -e done ] && exit 0; echo x >> alive-$WHESL_RESTART_COUNT-$(hostname); sleep 0.05
done; exit 1
"""


def node_lost(otherwise: str = "") -> str:
    """Return rules that replace a lost node, with another ELSE than FAIL if there is one."""
    last = f" {otherwise}" if otherwise else ""
    return f"{HEAD}DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app] LIMIT 3{last}\n{NODE_LOST}"


class SlurmJob:
    """One task in one job.

    Args:
        bed: the cluster.
        place: where everything is; seen by all nodes.
        rules: their text.
        nodes: how many the job has.
        used: how many of them the task uses.
        options: more of ``whesl exec``.
        sbatch: more of ``sbatch``.
        coordinator: start one before, and have the task find it.
        before, after: lines of the script around the task.
        ranks: the command in the task's script; the ranks' own script is ``ranks.sh``.
    """

    def __init__(
        self,
        bed: SlurmBed,
        place: Path,
        rules: str,
        *,
        nodes: int = 3,
        used: int = 2,
        options: tuple[str, ...] = (),
        sbatch: tuple[str, ...] = (),
        coordinator: bool = False,
        ranks: str = "srun bash ranks.sh",
    ) -> None:
        self.bed = bed
        self.nodes = nodes
        self.place = place
        self.directory = TaskDir(place / "task")
        self.out = place / "out"
        self.home = place / "home"
        self.home.mkdir(mode=0o700)
        (place / "rules.esl").write_text(rules)
        (place / "ranks.sh").write_text(RANK)
        if coordinator:
            self.whesl("coordinator", "start")
        command = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", "app"]
        command += [] if coordinator else ["--no-coordinator"]
        command += ["--task-dir", str(self.directory.path), "-e", str(place / "rules.esl")]
        command += ["--nodes", str(used), "--inner", "slurm", *options, "--script", "-"]
        self.job = bed.submit(
            f"#!/bin/bash\nexport WHESL_HOME={self.home}\ncd {place}\n"
            f"{shlex.join(command)} <<'EOT'\n#!/bin/bash\n{ranks}\nEOT\n"
            f"code=$?\necho status $code\nexit $code\n",
            *("-N", str(nodes), "--no-kill", "--no-requeue", f"--output={self.out}", *sbatch),
        )

    def whesl(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the product's command line beside the cluster's commands."""
        environment = {**os.environ, **self.bed.environment, "WHESL_HOME": str(self.home)}
        return commands.whesl(*arguments, env=environment)

    def text(self) -> str:
        """Return the job's output."""
        return self.out.read_text() if self.out.exists() else ""

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        """Return kind and data of the journal's records."""
        return records(self.directory)

    def kinds(self) -> list[str]:
        """Return the kinds of the journal's records."""
        return [kind for kind, _ in self.records()]

    def last(self, kind: str) -> dict[str, Any]:
        """Return the data of the last record of a kind."""
        return [data for found, data in self.records() if found == kind][-1]

    def starts(self, number: int, ranks: int = 2) -> bool:
        """Whether all ranks have said that they are the attempt with that many before it."""
        return self.text().count(f"start {number} on") == ranks

    def wait(self, condition: Callable[[], object], what: str, timeout: float = 60.0) -> None:
        """Wait, and show what there is when it takes too long."""
        try:
            self.bed.wait_for(condition, what, timeout)
        except BaseException:
            logs = [self.directory.log, self.home / "coordinator" / "log"]
            print(self.text(), *(log.read_text() for log in logs if log.exists()), self.kinds(), sep="\n")
            print(self.bed.job(self.job, "%T %r %N"))
            raise

    def ready(self) -> None:
        """Wait for the ranks of the first attempt and for the agents."""
        self.wait(lambda: self.starts(0), "the ranks")
        self.wait(lambda: self.kinds().count("agent") >= self.nodes - 1, "the agents")

    def finish(self) -> None:
        """Have the ranks end."""
        (self.place / "done").touch()

    def close(self) -> None:
        """End the coordinator, if there is one."""
        self.whesl("coordinator", "stop")
