"""A job whose variables somebody has taken away: Slurm is asked for its nodes."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from tests.equipment.slurmbed import SlurmBed
from whesl.managers import resource
from whesl.managers.resource.slurm import slurm_command_output
from whesl.managers.resource.slurm.missing_job_variables import withheld
from whesl.managers.resource.slurm.scheduler import SlurmScheduler
from whesl.managers.resource.slurm.slurm_command_output import Place
from whesl.model.errors import CouldNotObserveError, RefusedError

# What Snakemake's slurm-jobstep executor leaves of Slurm's variables to a rule with ``mpi``.
_KEPT = "SLURM_JOB_ID|SLURM_JOBID|SLURM_CLUSTER_NAME|SLURM_SUBMIT_DIR|SLURM_SUBMIT_HOST|SLURM_CONF"


@pytest.fixture
def squeue(tmp_path: Path) -> dict[str, str]:
    """An environment whose squeue prints what is in the file ``said``."""
    program = tmp_path / "squeue"
    program.write_text(f'#!/bin/sh\nexec cat "{tmp_path}/said"\n')
    program.chmod(0o755)
    return {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "7"}


def say(directory: Path, *rows: tuple[str, ...]) -> None:
    (directory / "said").write_text("".join("\x1f".join((*row, "\n")) for row in rows))


def test_places_of_jobs() -> None:
    text = "7\x1fn[01-02]\x1fn01\x1f2\x1f\n8\x1f\x1fn/a\x1f0\x1f\n9\x1fn03\x1fn/a\x1f0\x1f\n"
    assert slurm_command_output.places(text) == {
        "7": Place("n[01-02]", "n01", "2"),
        "9": Place("n03", "", "0"),
    }
    for damaged in (
        "7\x1fn[01\x1fn01\x1f2\x1f\n",
        "x\x1fn01\x1fn01\x1f2\x1f\n",
        "7\x1fn01\x1fn01\x1f-\x1f\n",
    ):
        with pytest.raises(CouldNotObserveError):
            slurm_command_output.places(damaged)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n01"},
        {"SLURM_JOB_ID": "7", "SLURM_NODELIST": "n01"},
        {"SLURM_JOB_ID": "of another kind"},
    ],
)
def test_nobody_is_asked_where_nothing_is_missing(environ: dict[str, str]) -> None:
    assert withheld({**environ, "PATH": "/nowhere"}) == {}


def test_managers_of_another_kind_are_left_alone() -> None:
    assert resource.withheld({"SLURM_JOB_ID": "7", "FLUX_URI": "x", "PATH": "/nowhere"}) == {}


def test_what_squeue_tells_is_restored(squeue: dict[str, str], tmp_path: Path) -> None:
    # Asked for an array's first id, squeue tells of the others too.
    say(tmp_path, ("8", "n[05-06]", "n05", "0"), ("7", "n[01-02]", "n01", "1"))
    told = {"SLURM_JOB_NODELIST": "n[01-02]", "SLURMD_NODENAME": "n01", "SLURM_RESTART_COUNT": "1"}
    assert withheld(squeue) == told
    assert withheld({**squeue, "SLURMD_NODENAME": "n02"})["SLURM_JOB_NODELIST"] == "n[01-02]"
    assert "SLURMD_NODENAME" not in withheld({**squeue, "SLURMD_NODENAME": "n02"}), "what is there stays"
    say(tmp_path, ("7", "n01", "n01", "0"))
    assert "SLURM_RESTART_COUNT" not in withheld(squeue), "as in a job that was never requeued"


def test_a_job_that_runs_nowhere(squeue: dict[str, str], tmp_path: Path) -> None:
    say(tmp_path)
    with pytest.raises(CouldNotObserveError, match="names no nodes of job 7") as told:
        withheld(squeue)
    assert "unset SLURM_JOB_ID" in str(told.value.hint)


@pytest.mark.slurm
def test_a_task_without_slurm_s_variables_has_its_nodes(slurm: SlurmBed, tmp_path: Path) -> None:
    """Nodes, spares and launchers are the same as with them, and the isolator is told too."""
    home, out = tmp_path / "home", tmp_path / "out"
    home.mkdir(mode=0o700)
    command = [sys.executable, "-m", "whesl", "exec", "--no-coordinator", "--inner", "slurm", "--nodes", "1"]
    task = 'echo "nodes $SLURM_JOB_NODELIST $SLURM_NNODES"; srun hostname'
    job = slurm.submit(
        f"""#!/bin/bash
        for name in $(compgen -e SLURM); do case $name in {_KEPT}) ;; *) unset $name;; esac; done
        export WHESL_HOME={home}
        {shlex.join([*command, "--", "sh", "-c", task])}
        echo "status $?"
        """,
        "--nodes=2",
        f"--output={out}",
    )
    slurm.wait_job(job, "COMPLETED", "FAILED")
    first = slurm.job(job, "%B")
    slurm.wait_for(lambda: "status" in out.read_text(), "the output")
    assert out.read_text().splitlines() == [f"nodes {first} 1", first, "status 0"]


@pytest.mark.slurm
def test_an_unknown_job(slurm: SlurmBed) -> None:
    with pytest.raises((RefusedError, CouldNotObserveError)):
        withheld({**slurm.environment, "SLURM_JOB_ID": "999999"})


def test_any_number_of_jobs_is_asked_for(squeue: dict[str, str], tmp_path: Path) -> None:
    """The ids of 10,000 elements were one argument, too long for execve(2): no job was seen any more."""
    say(tmp_path)
    settings = tmp_path / "scontrol"
    settings.write_text("#!/bin/sh\necho AccountingStorageType = accounting_storage/none\n")
    settings.chmod(0o755)
    assert SlurmScheduler(squeue).jobs([f"12345678_{element}" for element in range(12_000)]) == {}
