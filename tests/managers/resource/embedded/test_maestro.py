"""Maestro's own Slurm adapter, unmodified, on the local resource manager."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.managers.resource.embedded.conftest import Bed

pytest.importorskip("maestrowf")

STUDY = """\
description:
    name: pair
    description: two steps, the second after the first
batch:
    type: slurm
    host: here
    bank: project
    queue: main
study:
    - name: make
      description: write a file on two nodes
      run:
          cmd: |
              $(LAUNCHER) sh -c 'echo from $SLURMD_NODENAME' > made.txt
              echo made
          nodes: 2
          procs: 2
          walltime: "00:02:00"
    - name: use
      description: read it
      run:
          cmd: |
              sort $(make.workspace)/made.txt > used.txt
              echo used on stderr >&2
          nodes: 1
          depends: [make]
          walltime: "00:02:00"
"""


def run_study(bed: Bed, directory: Path, text: str, code: int | None = 0) -> Path:
    """Run a study in the foreground and return its directory."""
    study = directory / "study.yaml"
    study.write_text(text)
    out = directory / "out"
    result = subprocess.run(
        ["maestro", "run", "-fg", "-y", "-s", "1", "-o", str(out), str(study)],
        env={**bed.environment, "HOME": str(directory)},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert code is None or result.returncode == code, result.stdout + result.stderr
    return out


def test_a_study_of_two_steps(bed: Bed, tmp_path: Path) -> None:
    out = run_study(bed, tmp_path, STUDY)
    assert (out / "use" / "used.txt").read_text() == "from n01\nfrom n02\n"
    assert (out / "make" / "make.out").read_text() == "made\n"
    assert (out / "use" / "use.err").read_text() == "used on stderr\n"
    status = (out / "status.csv").read_text()
    assert status.count("FINISHED") == 2
    jobs = bed.run(
        "sacct", "-X", "-n", "-P", "-o", "jobname,state,account,timelimit", "-u", bed.environment["USER"]
    )
    wanted = ["make|COMPLETED|project|00:02:00", "use|COMPLETED|project|00:02:00"]
    assert [line for line in jobs.splitlines() if line in wanted] == wanted


def test_a_failed_step_is_seen(bed: Bed, tmp_path: Path) -> None:
    out = run_study(bed, tmp_path, STUDY.replace("echo made", "exit 9"), code=None)
    assert "FAILED" in (out / "status.csv").read_text()
    assert not (out / "use" / "used.txt").exists()
