"""``whesl run`` on a real Flux: scripts with directives, bad nodes, and what the instance above says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import need_flux
from tests.equipment.fluxbed import FluxBed

BIN = Path(sys.executable).parent
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE NODE[REPLACE]
DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION GLITCH LOG "a glitch" stdout
EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [*]
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
FIRST = """\
#!/bin/bash
# flux: -N 2 --exclusive
# flux: --job-name=first
# flux: --output=first.out
echo "attempt $WHESL_RESTART_COUNT on $WHESL_NODELIST"
flux run -N 2 -n 2 hostname
if [ "$WHESL_RESTART_COUNT" = 0 ]; then echo a glitch; sleep 600; fi
echo one > first.txt
"""
SECOND = """\
#!/bin/bash
# flux: -N 1
# flux: --job-name=second
# flux: --output=second.out
cat first.txt
"""

pytestmark = [pytest.mark.flux, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def bed() -> Iterator[FluxBed]:
    need_flux()
    with FluxBed(8, cores=2) as made:
        yield made


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "first.sh").write_text(FIRST)
    (tmp_path / "second.sh").write_text(SECOND)
    Path(os.environ["WHESL_HOME"]).mkdir(mode=0o700, exist_ok=True)
    return tmp_path


def environment(bed: FluxBed) -> dict[str, str]:
    """A login node's environment, with a home of WHESL's own."""
    found = {**bed.outside, "WHESL_HOME": os.environ["WHESL_HOME"]}
    return {**found, "PATH": f"{BIN}:{found['PATH']}"}


def begin(bed: FluxBed, place: Path, *sources: str) -> subprocess.Popen[str]:
    """Start a run without naming a resource manager: the instance is found by FLUX_URI."""
    return subprocess.Popen(
        [str(BIN / "whesl"), "run", *sources, "-e", "rules.esl", "--poll", "0.5", "--json"],
        env=environment(bed), cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def whesl_run(bed: FluxBed, place: Path, *sources: str) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    process = begin(bed, place, *sources)
    try:
        out, err = process.communicate(timeout=150)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"no end:\n{out}\n{err}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def jobs(bed: FluxBed) -> list[dict[str, Any]]:
    """All jobs of the instance."""
    found = json.loads(bed.run("flux", "jobs", "-a", "--json").stdout)
    return list(found["jobs"])


def results(bed: FluxBed) -> dict[str, str]:
    return {job["name"]: job["result"] for job in jobs(bed)}


def test_a_chain_of_scripts_with_directives(bed: FluxBed, place: Path) -> None:
    done = whesl_run(bed, place, "first.sh", "second.sh:after=first")
    assert done.returncode == 0, done.stdout + done.stderr
    output = (place / "first.out").read_text()
    assert output.count("attempt 0") == output.count("attempt 1") == 1, output
    assert (place / "second.out").read_text() == "one\n"
    assert results(bed) == {"first": "COMPLETED", "second": "COMPLETED"}
    assert {job["name"]: job["nnodes"] for job in jobs(bed)} == {"first": 3, "second": 2}
    assert "attempt 0 on n01,n02\n" in output, "the spare node is not hidden from the script"


def test_a_failed_script_takes_those_after_it_along(bed: FluxBed, place: Path) -> None:
    (place / "first.sh").write_text(FIRST.replace("echo one", "exit 3; echo one"))
    done = whesl_run(bed, place, "first.sh", "second.sh:after=first")
    assert done.returncode == 1, done.stdout + done.stderr
    assert results(bed)["first"] == "FAILED"
    assert results(bed)["second"] != "COMPLETED"
    assert not (place / "second.out").exists()


def test_kept_off_bad_nodes_and_without_spares_where_none_fit(bed: FluxBed, place: Path) -> None:
    home = Path(os.environ["WHESL_HOME"])
    for words in (("coordinator", "start"), ("nodes", "add", "n01", "--reason", "broken")):
        told = subprocess.run([str(BIN / "whesl"), *words], env=environment(bed), timeout=60, check=False)
        assert told.returncode == 0
    done = whesl_run(bed, place, "first.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "attempt 0 on n02,n03\n" in (place / "first.out").read_text()

    (place / "first.sh").write_text(FIRST.replace("-N 2 -", "-N 8 -"))
    done = whesl_run(bed, place, "first.sh")
    assert done.returncode == 0, done.stdout + done.stderr
    log = "".join(path.read_text() for path in home.glob("workflows/*/manager.log"))
    assert "first has no spare node: unsatisfiable request" in log
    assert "first is not kept off n01: unsatisfiable request" in log


WAITS = """\
#!/bin/bash
# flux: -N 2 --exclusive
# flux: --job-name=waits
# flux: --output=waits.out
echo "attempt $WHESL_RESTART_COUNT on $WHESL_NODELIST" | tee -a attempts
while [ ! -e "$WHESL_RESTART_COUNT.go" ]; do sleep 0.05; done
"""
TOLD = """\
DECLARE EXCEPTION FAILING JOB_LEVEL JOB [waits] LIMIT 2
EXCEPTION DETECTION FAILING JOB EXCEPTION "node-health" SEVERITY 4
EXCEPTION RECOVERY STEP FAILING JOB JOB.REPLACE
"""


def test_an_exception_of_the_instance_above_is_recovered_once(bed: FluxBed, place: Path) -> None:
    """What only the enclosing instance knows reaches the task that runs in the nested one."""
    (place / "waits.sh").write_text(WAITS)
    (place / "rules.esl").write_text(RULES + TOLD)
    process = begin(bed, place, "waits.sh")
    try:
        bed.wait_for(lambda: (place / "attempts").exists(), "the first attempt")
        job = str(jobs(bed)[0]["id"])
        said = bed.run(
            "flux", "job", "raise", "--severity=4", "--type=node-health", job, "a fan of n02 is failing"
        )
        assert said.returncode == 0, said.stderr
        bed.wait_for(lambda: "attempt 1" in (place / "attempts").read_text(), "the second attempt")
        (place / "1.go").touch()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, out + err
    (raised,) = json.loads(out)["exceptions"]
    assert (raised["exception"], raised["outcome"]) == ("FAILING", "recovered")
    assert (place / "attempts").read_text().count("attempt") == 2
    assert results(bed) == {"waits": "COMPLETED"}


LOST_ABOVE = """\
EXCEPTION DETECTION NODELOST JOB EXCEPTION "node-failure"
"""


def test_a_node_that_the_instance_above_loses_is_replaced_once(bed: FluxBed, place: Path) -> None:
    """Only the enclosing instance's broker dies on the node; the nested one lives there still."""
    (place / "waits.sh").write_text(WAITS)
    (place / "rules.esl").write_text(RULES + LOST_ABOVE)
    process = begin(bed, place, "waits.sh")
    try:
        bed.wait_for(lambda: (place / "attempts").exists(), "the first attempt")
        bed.kill_broker("n02")
        bed.wait_for(lambda: "attempt 1" in (place / "attempts").read_text(), "the second attempt")
        (place / "1.go").touch()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 0, out + err
    (raised,) = json.loads(out)["exceptions"]
    assert (raised["exception"], raised["outcome"], raised["node"]) == ("NODELOST", "recovered", "n02")
    assert (place / "attempts").read_text() == "attempt 0 on n01,n02\nattempt 1 on n01,n03\n"
    assert results(bed) == {"waits": "COMPLETED"}


def test_a_job_cancelled_above_is_told_to_the_workflow_once(bed: FluxBed, place: Path) -> None:
    (place / "waits.sh").write_text(WAITS)
    process = begin(bed, place, "waits.sh", "second.sh:after=waits")
    try:
        bed.wait_for(lambda: (place / "attempts").exists(), "the first attempt")
        assert bed.run("flux", "pkill", "name:waits").returncode == 0
        out, err = process.communicate(timeout=100)
    finally:
        process.kill()
    assert process.returncode == 1, out + err
    report = json.loads(out)
    states = {row["task"].split("/")[-1]: row["state"] for row in report["tasks"]}
    assert states["waits"] == "cancelled", report
    assert (place / "attempts").read_text().count("attempt") == 1, "a cancelled task was run again"
    assert not (place / "second.out").exists()
