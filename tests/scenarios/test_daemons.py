"""Scenarios 7, 8, 10 and 12: daemons killed, two workflows at once, a submission whose reply is lost."""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.processes import send
from tests.scenarios.bed import Bed
from tests.scenarios.studies import rules, step, write

GLITCH = (
    "DECLARE EXCEPTION GLITCH {level} JOB [*]\n"
    'EXCEPTION DETECTION GLITCH LOG "glitch" stdout\n'
    "EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE {{}}\n"
)
# Waits for a file before it goes wrong, and for another before it ends.
PATIENT = """\
import os, pathlib, sys, time
place, name = pathlib.Path(sys.argv[1]), sys.argv[2]
count = int(os.environ.get("WHESL_RESTART_COUNT", "0"))
(place / f"{name}.ran").open("a").write(f"{count}\\n")
print("attempt", count, flush=True)
if count == 0:
    while not (place / "go").exists():
        time.sleep(0.02)
    print("glitch", flush=True)
    time.sleep(60)
print("fine", flush=True)
"""


def patient(path: Path, *names: str) -> Path:
    program = path.parent / "patient.py"
    program.write_text(PATIENT)
    command = f"{sys.executable} {program} {path.parent} {path.stem}-"
    return write(path, path.parent, [step(name, command + name) for name in names])


def pid_of(bed: Bed, word: str) -> int:
    found = bed.wait(lambda: bed.processes(word), f"process {word}")
    return int(found[0].pid)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_7_coordinator_killed_in_a_workflow_level_recovery(bed: Bed, tmp_path: Path) -> None:
    """A custom handler of the scheduler's step tells when the coordinator is in the middle; then kill -9."""
    handler = tmp_path / "handler.py"
    handler.write_text(
        f"#!{sys.executable}\n"
        "import json, pathlib, sys, time\n"
        "request = json.load(sys.stdin)\n"
        f"place = pathlib.Path({str(tmp_path)!r})\n"
        '(place / "handled").open("a").write(str(request["step"]) + "\\n")\n'
        '(place / "in-handler").touch()\n'
        'while not (place / "killed").exists():\n'
        "    time.sleep(0.02)\n"
        'print(json.dumps({"outcome": "continue"}))\n'
    )
    handler.chmod(0o755)
    step_of_coordinator = 'EXCEPTION RECOVERY STEP GLITCH SCHEDULER NODE.REMOVE {"node": "${node}"}\n'
    text = GLITCH.format(level="WORKFLOW_LEVEL") + step_of_coordinator
    specification = rules(tmp_path / "rules.esl", text)
    source = specification.read_text().replace(
        "NODE[ADD, REMOVE, REPLACE]", f'NODE[REMOVE HANDLER "{handler}"]'
    )
    specification.write_text(source)
    study = patient(tmp_path / "study.yaml", "one")
    process = bed.begin(study, specification)
    bed.wait(lambda: (tmp_path / "study-one.ran").exists(), "the first attempt")
    (tmp_path / "go").touch()
    bed.wait(lambda: (tmp_path / "in-handler").exists(), "the coordinator's own step")
    for coordinator in bed.processes("whesl.runtime.coordinator"):
        send(coordinator, signal.SIGKILL)
    (tmp_path / "killed").touch()
    assert bed.whesl("coordinator", "start").returncode == 0
    run = bed.end(process, study, timeout=150)
    assert run.status == 0, run.output + bed.evidence()
    assert (tmp_path / "study-one.ran").read_text() == "0\n1\n", "not exactly one restart"
    done = Counter(
        (event["data"].get("task"), event["data"].get("ordinal"), event["data"].get("step"))
        for event in run.events
        if event["kind"] == "step-done"
    )
    assert done
    assert max(done.values()) == 1, done
    bed.check_each_job_once(1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_8_isolator_killed_and_the_exception_printed_in_the_gap(bed: Bed, tmp_path: Path) -> None:
    study = patient(tmp_path / "study.yaml", "one")
    process = bed.begin(study, rules(tmp_path / "rules.esl", GLITCH.format(level="JOB_LEVEL")))
    bed.wait(lambda: (tmp_path / "study-one.ran").exists(), "the first attempt")
    isolators = bed.processes("whesl.runtime.isolator")
    assert isolators
    # Stopped first, so that the line is surely printed while nobody watches.
    for isolator in isolators:
        send(isolator, signal.SIGSTOP)
    (tmp_path / "go").touch()
    output = bed.root(study) / "one"
    bed.wait(lambda: any("glitch" in path.read_text() for path in output.glob("*.out")), "the line")
    for isolator in isolators:
        send(isolator, signal.SIGKILL)
    run = bed.end(process, study)
    assert run.status == 0, run.output + bed.evidence()
    assert len(run.exceptions("GLITCH")) == 1
    assert (tmp_path / "study-one.ran").read_text() == "0\n1\n"
    bed.check_each_job_once(1)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_10_two_workflows_under_one_coordinator(bed: Bed, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    specification = rules(tmp_path / "rules.esl", GLITCH.format(level="WORKFLOW_LEVEL"))
    studies = [patient(tmp_path / f"{name}.yaml", "one", "two") for name in ("left", "right")]
    processes = [bed.begin(study, specification) for study in studies]
    runs = [bed.end(process, study) for process, study in zip(processes, studies, strict=True)]
    for run, study in zip(runs, studies, strict=True):
        assert run.status == 0, run.output + bed.evidence()
        assert len(run.exceptions("GLITCH")) == 2
        assert {row["task"].split("/")[0] for row in run.exceptions()} == {run.workflow}
        for name in ("one", "two"):
            assert (tmp_path / f"{study.stem}-{name}.ran").read_text() == "0\n1\n"
    assert runs[0].workflow != runs[1].workflow
    assert len(bed.processes("whesl.runtime.coordinator")) == 1
    jobs = bed.jobs()
    assert len(jobs) == 4
    assert {job["JobState"] for job in jobs} == {"COMPLETED"}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_12_a_submission_whose_reply_is_lost(bed: Bed, tmp_path: Path) -> None:
    """The real scheduler takes the job, but its first answer never arrives: still one job."""
    (tmp_path / "go").touch()
    front = tmp_path / "front"
    front.mkdir()
    # What submits in the end, whatever stands before it.
    command, submission = ("flux", "job submit") if bed.rjms == "flux" else ("sbatch", "")
    real = bed.call("sh", "-c", f"command -v {command}").stdout.strip()
    (front / command).write_text(
        "#!/bin/sh\n"
        f'case "$*" in "{submission}"*) ;; *) exec "{real}" "$@" ;; esac\n'
        f'"{real}" "$@" > "{tmp_path}/reply" 2>&1; code=$?\n'
        f'if [ ! -e "{tmp_path}/lost" ]; then\n'
        f'  : > "{tmp_path}/lost"\n'
        f'  echo "{command}: error: Batch job submission failed: Socket timed out on send/recv" >&2\n'
        "  exit 1\n"
        "fi\n"
        f'cat "{tmp_path}/reply"; exit $code\n'
    )
    (front / command).chmod(0o755)
    bed.environment["PATH"] = f"{front}:{bed.environment['PATH']}"
    study = patient(tmp_path / "study.yaml", "one")
    run = bed.run(study, rules(tmp_path / "rules.esl", GLITCH.format(level="JOB_LEVEL")))
    assert (tmp_path / "lost").exists()
    assert run.status == 0, run.output + bed.evidence()
    assert (tmp_path / "study-one.ran").read_text() == "0\n1\n", "the task ran in two jobs"
    bed.check_each_job_once(1)
    assert json.loads(bed.whesl("status", "--json").stdout)["workflows"]
