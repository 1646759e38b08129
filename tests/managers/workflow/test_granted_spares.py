"""A scheduler that has no node over: the job keeps all nodes that its user asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.managers.workflow.test_submit import script
from whesl.managers.resource.granted_spares_and_requeue import ASKED_TASKS, GRANTED_SPARES
from whesl.managers.resource.port import AllocationInfo
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import for_nodes
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import jobspec
from whesl.managers.workflow.submission.exactly_once_submission import Submission
from whesl.managers.workflow.submission.install import install
from whesl.model import home as places
from whesl.runtime.isolator.launch.full_start import setup_of
from whesl.runtime.isolator.launch.setup_json import Request

SBATCH = """\
#!{python}
import os, pathlib, sys
pathlib.Path("calls").open("a").write(" ".join(sys.argv[1:]) + "\\n")
if "--test-only" in sys.argv and {refuse}:
    sys.exit("allocation failure: Requested node configuration is not available")
if "--test-only" not in sys.argv:
    pathlib.Path("granted").write_text(os.environ.get("WHESL_GRANTED_SPARES", "nothing"))
    print("Submitted batch job 7")
"""


def front(place: Path, refuse: bool) -> dict[str, str]:
    """Return an environment with WHESL's sbatch before one that writes its calls down."""
    real, home = place / "real", place / "home"
    real.mkdir()
    home.mkdir(mode=0o700)
    (real / "sbatch").write_text(SBATCH.format(python=sys.executable, refuse=refuse))
    (real / "sbatch").chmod(0o755)
    path = f"{install(place / 'front')}:{real}:/usr/bin:/bin"
    own = {"PATH": path, "WHESL_HOME": str(home), "WHESL_PYTHON": sys.executable, "WHESL_RJMS": "slurm"}
    return {**os.environ, **own}


def test_a_script_that_asks_for_a_test_alone_goes_to_sbatch_as_it_is(tmp_path: Path) -> None:
    """Its reply has no job's id, for which WHESL's sbatch looked half a minute."""
    text = script(nodes="2", spares=1).replace("\n", "\n#SBATCH --test-only\n", 1)
    (tmp_path / "run.sh").write_text(text)
    call = ["sbatch", "run.sh"]
    subprocess.run(call, env=front(tmp_path, False), cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "calls").read_text() == "run.sh\n"


@pytest.mark.parametrize(("refuse", "count"), [(True, 0), (False, 1)])
def test_a_submission_tells_its_job_how_many_nodes_are_spares(
    refuse: bool, count: int, tmp_path: Path
) -> None:
    environment = front(tmp_path, refuse) | {GRANTED_SPARES: "5 of another job"}
    (tmp_path / "run.sh").write_text(script(nodes="2", spares=1))
    done = subprocess.run(
        ["sbatch", "run.sh"], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "Submitted batch job 7\n", done.stderr
    assert (tmp_path / "granted").read_text() == ("1/3 w/run" if count else "0 w/run")
    assert ("has no spare node" in done.stderr) is refuse
    (record,) = places.submissions(tmp_path / "home", "w").glob("*.json")
    known = msgspec.json.decode(record.read_bytes(), type=Submission)
    assert known.sizes == ((2, 3) if count else (0, 0)), "for a run that is not heard of"
    nodes = f"--nodes={2 + count}"
    assert (nodes in (tmp_path / "calls").read_text().splitlines()[-1]) or (refuse and count == 0)


@pytest.mark.parametrize(
    ("words", "asked", "granted"),
    [
        (("plain.sh",), ("--no-kill --nodes=2 plain.sh",), "1/2 w/*"),
        (
            ("-N2", "-n4", "plain.sh", "-x"),
            ("-N2 -n4 --no-kill --nodes=3 --ntasks=6 plain.sh -x",),
            "1/3 w/*",
        ),
        (("--parsable", "--wrap", "true"), ("--parsable --wrap true --no-kill --nodes=2",), "1/2 w/*"),
        (("-N2-3", "plain.sh"), ("-N2-3 --no-kill --nodes=3-4 plain.sh",), "1 w/*"),
        (("-n4", "plain.sh"), ("-n4 --no-kill plain.sh",), "0 w/*"),
        (("--test-only", "plain.sh"), (), "nothing"),
    ],
)
def test_jobs_of_managers_that_write_their_own_scripts_get_spares(
    words: tuple[str, ...],
    asked: tuple[str, ...],
    granted: str,
    tmp_path: Path,
) -> None:
    environment = front(tmp_path, refuse=False) | {"WHESL_JOBS_WANT": "1 1 w", GRANTED_SPARES: "nothing"}
    (tmp_path / "plain.sh").write_text("#!/bin/sh\ntrue\n")
    done = subprocess.run(
        ["sbatch", *words], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert tuple(call for call in calls if not call.startswith("--test-only")) == asked
    assert not asked or (tmp_path / "granted").read_text() == granted
    assert ("no spare node is added" in done.stderr) is granted.startswith("0")


def test_a_task_sees_the_number_of_tasks_that_its_user_asked_for() -> None:
    job = {"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_NTASKS": "6", ASKED_TASKS: "4/6"}
    seen = for_nodes(("n1", "n2"), job)
    assert (seen["SLURM_NTASKS"], seen["SLURM_TASKS_PER_NODE"], seen[ASKED_TASKS]) == ("4", "2(x2)", "")
    assert for_nodes(("n1", "n2"), {**job, "SLURM_NTASKS": "5"})["SLURM_NTASKS"] == "4"  # it runs again
    assert for_nodes(("n1",), {**job, "SLURM_NTASKS": "2"})["SLURM_NTASKS"] == "2"  # a job of the job's own


def test_flux_tells_its_jobs_too() -> None:
    wrapped = script_wrapping.read_wrapped(script(spares=1))
    assert wrapped is not None
    plain = {"attributes": {"system": {"environment": {"PATH": "/bin"}}}, "tasks": [], "resources": []}
    new = jobspec.rewrite(plain, wrapped, "token", spares=False).jobspec
    assert new["attributes"]["system"]["environment"][GRANTED_SPARES] == "0 w/run"


@pytest.mark.parametrize(
    ("said", "active"),
    [
        *(("0 w/run", 2), ("0 w/*", 2), ("1 w/run", 1), ("0 w/other", 1), ("", 1), ("x w/run", 1)),
        *(("1/2 w/run", 1), ("1/3 w/run", 2), ("3/4 w/*", 1), ("1/x w/run", 1), ("1/2/3 w/run", 1)),
    ],
)
def test_no_node_of_the_users_is_taken_for_a_spare(
    said: str, active: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch scripts say in their header alone how many nodes they use."""
    monkeypatch.setenv(GRANTED_SPARES, said)
    info = AllocationInfo(rjms="slurm", job_id="7", nodes=("n01", "n02"), batch_host="n01")
    setup = setup_of(Request(workflow="w", step="run", spares=1), None, info, Path("/home"))
    assert (setup.active or len(info.nodes)) == active
    assert setup.task.spares == len(info.nodes) - active
