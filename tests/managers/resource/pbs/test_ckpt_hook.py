"""The hook of checkpoints on a real PBS: a node that is predicted to fail writes first; no job is stopped."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkpoints import asking
from tests.equipment.pbsbed import PbsBed
from tests.waiting import written
from whesl.checkpoints import manifest
from whesl.model.evidence import PredictedFailure
from whesl.placement.site.history import prediction_file

WHESL = (sys.executable, "-m", "whesl")
RANKS = Path(__file__).resolve().parents[3] / "checkpoints" / "ranks.py"

pytestmark = [pytest.mark.pbs, pytest.mark.xdist_group("pbs"), pytest.mark.slow]


@pytest.fixture(scope="module")
def predictions(bed: PbsBed) -> Iterator[Path]:
    """The file of predictions that the installed hook reads; afterwards nothing is left of the hook."""
    file = bed.directory / "predictions"
    file.touch(0o600)
    whesl(bed, "install", "--predictions", str(file), "--yes")
    assert whesl(bed, "install", "--predictions", str(file), "--yes").startswith("nothing to change")
    for setting in ("enabled=False", "freq=2", "enabled=True"):
        assert bed.run("qmgr", "-c", f"set hook whesl_ckpt {setting}").returncode == 0
    yield file
    # The server had ended here, or answered no more, when an administrator had set the frequency before.
    assert bed.run("qmgr", "-c", "set hook whesl_ckpt freq=1").returncode == 0
    assert "qmgr: delete hook whesl_ckpt" in whesl(bed, "remove", "--yes")
    time.sleep(3)
    assert whesl(bed, "remove", "--yes").startswith("nothing to change")


def whesl(bed: PbsBed, *words: str) -> str:
    done = bed.run(*WHESL, "ckpt", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_node_that_is_predicted_to_fail_writes_first(
    bed: PbsBed, predictions: Path, tmp_path: Path
) -> None:
    """Nobody but the site's predictor says so: neither the user nor a program of the job."""
    (tmp_path / "rules.esl").write_text("DECLARE ENTITY JOB\nDECLARE EXCEPTION_TYPE JOB_LEVEL\n")
    rank = f"cd {tmp_path}; exec {sys.executable} {RANKS} $((${{WHESL_NODE#n0}} - 1)) 2 1000000 slow"
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\npbsdsh -- sh -c '{rank}'\n")
    program.chmod(0o755)
    home, kept = tmp_path / "home", tmp_path / "kept"
    command = f"{' '.join(WHESL)} exec -e rules.esl --nodes 2 --checkpoints {kept} -- {program}"
    job = bed.submit(
        f"cd {tmp_path} && {command} > exec.out 2>&1",
        *("-l", "select=2:ncpus=1", "-l", "place=scatter", "-v", f"WHESL_HOME={home}"),
    )

    def ranks() -> list[int]:
        names = [folder.name for folder in home.glob("ckpt/*")]
        nodes = asking.status(home, names[0]).get("nodes", {}) if names else {}
        return [facts["ranks"] for facts in nodes.values()]

    try:
        bed.wait_for(lambda: ranks() == [1, 1], "the ranks run", 120)
        one = PredictedFailure(node="n02.site", time=time.time(), lead=600, evidence="CHAIN memory")
        prediction_file.append(predictions, one)
        bed.wait_for(lambda: bool(manifest.whole(kept)), "a checkpoint is whole", 60)
    finally:
        (tmp_path / "end").touch()
        sys.stderr.write(written(tmp_path / "exec.out"))
    (whole,) = manifest.whole(kept)
    assert whole.reason == "predicted: n02"
    assert "(CHAIN memory)" in (tmp_path / "exec.out").read_text()
    parts = {part.rank: (kept / str(whole.epoch) / part.name).stat().st_mtime_ns for part in whole.parts}
    assert parts[1] <= parts[0]
    bed.wait_for(lambda: bed.job(job).get("job_state") == "F", "the job is over", 60)
    assert bed.job(job)["Exit_status"] == 0


def test_no_job_is_stopped_by_what_the_hook_reads(bed: PbsBed, predictions: Path) -> None:
    """A pipe that nobody writes to, and a state of the node that is noise."""
    predictions.unlink()
    os.mkfifo(predictions)
    states = [bed.directory / node / "mom_priv" / "whesl_ckpt.json" for node in bed.nodes]
    try:
        for state in states:
            state.write_bytes(os.urandom(4096))
        job = bed.submit("sleep 8", "-l", "select=3:ncpus=1", "-l", "place=scatter")
        bed.wait_for(lambda: bed.job(job).get("job_state") == "F", f"job {job} is over", 60)
        assert bed.job(job)["Exit_status"] == 0
        assert bed.states() == ["free"] * 3
        bed.wait_for(lambda: any(b"reading" in state.read_bytes() for state in states), "the hook has looked")
    finally:
        predictions.unlink()
        predictions.touch(0o600)
