"""A node is lost on real Slurm and no rule acts on it: the task is told as Slurm tells the plain job."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need_slurm
from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.bench import records
from tests.runtime.isolator.slurmjob import HEAD
from whesl.runtime.isolator.task.taskdir import TaskDir

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

# Rules for something else.
RULES = f"""\
{HEAD}DECLARE EXCEPTION OTHER JOB_LEVEL JOB [app]
EXCEPTION DETECTION OTHER MATCH "^never printed" stdout
EXCEPTION RECOVERY STEP OTHER JOB JOB.REPLACE
"""
NODE_DOWN = f"""\
{HEAD}DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app]
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
# One rank has done its part when the other one's node dies: srun ends with 0 once Slurm calls that node down.
RANKS = "touch at.$(hostname); while [ ! -e killed ]; do sleep 0.1; done; echo rank on $(hostname)"
WAITING = "touch at.$(hostname); sleep 600"


class Job:
    """A job of two nodes whose command runs under ``whesl exec``, or plain."""

    def __init__(
        self,
        bed: SlurmBed,
        place: Path,
        nodes: tuple[str, str],
        *,
        options: tuple[str, ...] | None = (),
        rules: str = "",
        sbatch: tuple[str, ...] = (),
        environment: str = "",
        ranks: str = RANKS,
    ) -> None:
        place.mkdir()
        self.bed, self.place, self.nodes = bed, place, nodes
        self.directory = TaskDir(place / "task")
        (place / "home").mkdir(mode=0o700)
        (place / "rules.esl").write_text(rules)
        words = [
            sys.executable,
            "-m",
            "whesl",
            "exec",
            "--step",
            "app",
            "--no-coordinator",
            "--inner",
            "slurm",
        ]
        words += [
            "--task-dir",
            str(self.directory.path),
            *(("-e", str(place / "rules.esl")) if rules else ()),
        ]
        words = [] if options is None else [*words, *options, "--"]
        command = [*words, "srun", "sh", "-c", ranks]
        self.id = bed.submit(
            f"#!/bin/bash\nexport WHESL_HOME={place}/home {environment}\ncd {place}\n{shlex.join(command)}\n"
            "code=$?; echo $code > status; exit $code\n",
            *("-N2", f"--nodelist={','.join(nodes)}", "--no-requeue", f"--output={place}/out", *sbatch),
        )
        after = (f"--dependency=afterok:{self.id}", "--kill-on-invalid-dep=yes")
        self.dependent = bed.submit("#!/bin/sh\ntrue\n", *after)

    def runs(self) -> bool:
        return all((self.place / f"at.{node}").exists() for node in self.nodes)

    def state(self) -> str:
        """Return the state of the job and of its dependent once both are over."""
        return f"{self.bed.job(self.id)} {self.bed.job(self.dependent)}"

    def over(self) -> bool:
        return not {"RUNNING", "COMPLETING", "PENDING", ""} & set(self.state().split(" "))

    def finished(self) -> dict[str, Any]:
        return next(data for kind, data in records(self.directory) if kind == "finished")

    def status(self) -> int:
        return int((self.place / "status").read_text())


def test_a_lost_node_is_told_as_slurm_tells_it(tmp_path: Path) -> None:
    """All at once, since Slurm needs half a minute to call a node down."""
    need_slurm()
    with SlurmBed(12, slurmd_timeout=5) as bed:

        def job(name: str, first: int, **options: Any) -> Job:
            return Job(bed, tmp_path / name, (f"n{first:02}", f"n{first + 1:02}"), **options)

        own, kept = ("--no-kill",), {"environment": "WHESL_KEEPS_NODES=1", "sbatch": ("--no-kill",)}
        jobs = {
            "plain": job("plain", 1, options=None),
            "wrapped": job("wrapped", 3, rules=RULES),
            "plain no-kill": job("plain-own", 11, sbatch=own, options=None),
            "own no-kill": job("own", 5, sbatch=own),
            "observed": job("observed", 7, sbatch=own, rules=NODE_DOWN, options=("--observe",)),
            "kept": job("kept", 9, rules=RULES, ranks=WAITING, **kept),
        }
        bed.wait_for(lambda: all(each.runs() for each in jobs.values()), "the ranks")
        for each in jobs.values():
            bed.kill_node(each.nodes[1])
            (each.place / "killed").touch()
        bed.wait_for(lambda: all(each.over() for each in jobs.values()), "the ends", 120.0)
        states = {name: each.state() for name, each in jobs.items()}
        told = {
            name: each.finished()
            for name, each in jobs.items()
            if name in ("own no-kill", "observed", "kept")
        }
        print(json.dumps([states, told], indent=1))
    assert states["wrapped"] == states["plain"] == "NODE_FAIL CANCELLED"
    # What its user has outlive the loss of a node ends as its own command does, in later releases with the
    # status of an srun that tells of the loss; and with 0 it is no success.
    status = jobs["plain no-kill"].status()
    assert states["own no-kill"] == states["observed"] == states["plain no-kill"]
    assert states["plain no-kill"] == ("FAILED CANCELLED" if status else "COMPLETED COMPLETED")
    for name in ("own no-kill", "observed"):
        assert (told[name]["state"], told[name]["code"]) == ("failed", status), name
        lost = jobs[name].nodes[1]
        reason = f"{lost} was lost while it ran, and its command ended with status 0"
        assert status or told[name]["reason"] == reason
    # Slurm ends it as it ends a job whose time is over: that is no cancellation.
    ended = [data for kind, data in records(jobs["wrapped"].directory) if kind == "finished"]
    assert [data["state"] for data in ended] in ([], ["failed"])
    # What outlives it only for the sake of rules, of which none acts, ends as the plain job does.
    assert states["kept"] == "FAILED CANCELLED"
    assert (told["kept"]["state"], told["kept"]["code"]) == ("failed", 1)
    assert jobs["kept"].status() == 1
