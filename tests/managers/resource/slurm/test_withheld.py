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


def block(job: str, nodes: str, batch_host: str, restarts: str) -> str:
    """What ``scontrol show job`` prints of a job, as Slurm 22.05 does, without lines that nobody reads."""
    return (
        f"JobId={job} JobName=x NodeList=n99\n   UserId=u(1) GroupId=u(1) MCS_label=N/A\n"
        f"   Requeue=1 Restarts={restarts} BatchFlag=1 Reboot=0 ExitCode=0:0\n"
        f"   ReqNodeList=(null) ExcNodeList=(null)\n   NodeList={nodes}\n"
        f"{f'   BatchHost={batch_host}' + chr(10) if batch_host else ''}   Comment=NodeList=n98\n\n"
    )


@pytest.fixture
def commands(tmp_path: Path) -> dict[str, str]:
    """An environment whose squeue and scontrol print what is in the file ``said``."""
    for name in ("squeue", "scontrol"):
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\nexec cat "{tmp_path}/said"\n')
        program.chmod(0o755)
    return {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "7"}


def test_places_of_jobs() -> None:
    text = block("7", "n[01-02]", "n01", "2") + block("8", "(null)", "", "0") + block("9", "n03", "", "0")
    assert slurm_command_output.place(text, "7") == Place("n[01-02]", "n01", "2")
    assert slurm_command_output.place(text, "9") == Place("n03", "", "0")
    assert slurm_command_output.place(text, "8") is slurm_command_output.place(text, "6") is None
    for damaged in (block("7", "n[01", "n01", "2"), "JobId=7 JobName=x\n   NodeList=n01\n"):
        with pytest.raises(CouldNotObserveError):
            slurm_command_output.place(damaged, "7")


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


def test_what_scontrol_tells_is_restored(commands: dict[str, str], tmp_path: Path) -> None:
    said = tmp_path / "said"
    # Asked for an array's first id, scontrol tells of the others too.
    said.write_text(block("8", "n[05-06]", "n05", "0") + block("7", "n[01-02]", "n01", "1"))
    told = {"SLURM_JOB_NODELIST": "n[01-02]", "SLURMD_NODENAME": "n01", "SLURM_RESTART_COUNT": "1"}
    assert withheld(commands) == told
    assert withheld({**commands, "SLURMD_NODENAME": "n02"})["SLURM_JOB_NODELIST"] == "n[01-02]"
    assert "SLURMD_NODENAME" not in withheld({**commands, "SLURMD_NODENAME": "n02"}), "what is there stays"
    said.write_text(block("7", "n01", "n01", "0"))
    assert "SLURM_RESTART_COUNT" not in withheld(commands), "as in a job that was never requeued"


def test_a_job_that_runs_nowhere(commands: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "said").write_text(block("7", "(null)", "", "0"))
    with pytest.raises(CouldNotObserveError, match="names no nodes of job 7") as told:
        withheld(commands)
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


def test_any_number_of_jobs_is_asked_for(commands: dict[str, str], tmp_path: Path) -> None:
    """The ids of 10,000 elements were one argument, too long for execve(2): no job was seen any more."""
    (tmp_path / "said").touch()
    settings = tmp_path / "scontrol"
    settings.write_text("#!/bin/sh\necho AccountingStorageType = accounting_storage/none\n")
    settings.chmod(0o755)
    assert SlurmScheduler(commands).jobs([f"12345678_{element}" for element in range(12_000)]) == {}
