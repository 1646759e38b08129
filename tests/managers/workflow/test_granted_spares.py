"""A scheduler that has no node over: the job keeps all nodes that its user asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.managers.workflow.test_submit import script
from whesl.managers.resource.granted_spares_and_requeue import GRANTED_SPARES
from whesl.managers.resource.port import AllocationInfo
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.submission import jobspec
from whesl.managers.workflow.submission.install import install
from whesl.runtime.isolator.launch.full_path import setup_of
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


@pytest.mark.parametrize(("refuse", "count"), [(True, 0), (False, 1)])
def test_a_submission_tells_its_job_how_many_nodes_are_spares(
    refuse: bool, count: int, tmp_path: Path
) -> None:
    real, front = tmp_path / "real", tmp_path / "front"
    real.mkdir()
    (real / "sbatch").write_text(SBATCH.format(python=sys.executable, refuse=refuse))
    (real / "sbatch").chmod(0o755)
    front = install(front)
    (tmp_path / "run.sh").write_text(script(nodes="2", spares=1))
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    environment = {**os.environ, "PATH": f"{front}:{real}:/usr/bin:/bin", "WHESL_HOME": str(home)}
    environment |= {"WHESL_PYTHON": sys.executable, "WHESL_RJMS": "slurm", GRANTED_SPARES: "5 of another job"}
    done = subprocess.run(
        ["sbatch", "run.sh"], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout == "Submitted batch job 7\n", done.stderr
    assert (tmp_path / "granted").read_text() == f"{count} w/run"
    assert ("has no spare node" in done.stderr) is refuse
    nodes = f"--nodes={2 + count}"
    assert (nodes in (tmp_path / "calls").read_text().splitlines()[-1]) or (refuse and count == 0)


def test_flux_tells_its_jobs_too() -> None:
    wrapped = script_wrapping.read_wrapped(script(spares=1))
    assert wrapped is not None
    plain = {"attributes": {"system": {"environment": {"PATH": "/bin"}}}, "tasks": [], "resources": []}
    new = jobspec.rewrite(plain, wrapped, "token", spares=False).jobspec
    assert new["attributes"]["system"]["environment"][GRANTED_SPARES] == "0 w/run"


@pytest.mark.parametrize(
    ("said", "active"),
    [("0 w/run", 2), ("1 w/run", 1), ("0 w/other", 1), ("", 1), ("x w/run", 1)],
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
