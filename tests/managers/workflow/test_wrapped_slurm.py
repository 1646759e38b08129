"""Jobs on a real Slurm that are wrapped, and do what the plain ones do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.managers.workflow.test_run_coupled import HEAD as COUPLED
from tests.managers.workflow.test_run_coupled import RESTARTED, commands
from tests.processes import mentioning, send, words
from tests.waiting import HOLD_LIFTED, until

pytestmark = pytest.mark.slurm
WHESL = str(Path(sys.executable).with_name("whesl"))
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE EXCEPTION LOST JOB_LEVEL JOB [*] LIMIT 3 ELSE FAIL
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
"""
WAITING = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASHED JOB_LEVEL JOB [*] LIMIT 3 BACKOFF 300
EXCEPTION DETECTION CRASHED LOG "crashed" stdout
EXCEPTION RECOVERY STEP CRASHED JOB JOB.REPLACE
"""
# Each stands for public scripts that ended early, failed, or found nothing beside them.
SIGNAL = """\
#!/bin/bash
# caf\xe9
#SBATCH --nodes=1 --output=signal.out
here=$(dirname "$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Command=\\([^ ]*\\).*/\\1/p')")
cat "$here/beside"
trap 'echo "told in line $LINENO of ${0##*/}"; kill $!; exit 0' USR1
sleep 300 &
echo ready; wait
exit 9
"""
REQUEUE = """\
#!/bin/bash
#SBATCH --nodes=1 --requeue --open-mode=append --output=requeue.out
echo "run ${SLURM_RESTART_COUNT:-0}"
[ "${SLURM_RESTART_COUNT:-0}" = 0 ] || exit 0
until [ -e go ]; do sleep 0.1; done
scontrol requeue "$SLURM_JOB_ID"
sleep 60
"""


class Desk:
    """A user's directory, and runs that were started there."""

    def __init__(self, bed: SlurmBed, place: Path) -> None:
        self.place = place
        home = place / "home"
        home.mkdir(mode=0o700)
        self.environment = {**os.environ, **bed.environment, "WHESL_HOME": str(home)}
        (place / "rules.esl").write_text(RULES)
        self.runs: list[subprocess.Popen[str]] = []

    def run(self, name: str, text: str, *beside: str) -> subprocess.Popen[str]:
        (self.place / name).write_bytes(text.encode("latin-1"))
        words = [
            WHESL,
            "run",
            name,
            *beside,
            "-e",
            "rules.esl",
            "--rjms",
            "slurm",
            "--spares",
            "0",
            "--poll",
            "0.5",
        ]
        started = subprocess.Popen(
            words,
            cwd=self.place,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.runs.append(started)
        return started

    def call(self, *words: str) -> str:
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, check=False)
        return done.stdout

    def said(self, name: str) -> str:
        path = self.place / name
        return path.read_text(errors="replace") if path.exists() else ""


@pytest.fixture
def desk(slurm: SlurmBed, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(slurm, tmp_path)
    yield made
    for run in made.runs:
        if run.poll() is None:
            run.kill()
            run.wait()
    made.call(WHESL, "coordinator", "stop")


def job_of(desk: Desk, name: str) -> str:
    found: str = until(lambda: desk.call("squeue", "-h", "-o", "%i", "-n", name).strip(), "the job", 60.0)
    return found


def test_a_signal_to_the_batch_shell_is_the_script_s(desk: Desk) -> None:
    (desk.place / "beside").write_text("found\n")
    run = desk.run("signal.sh", SIGNAL)
    until(lambda: "ready" in desk.said("signal.out"), "the script", 60.0)
    desk.call("scancel", "--batch", "--signal=USR1", job_of(desk, "signal.sh"))
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 0, output
    assert desk.said("signal.out") == "found\nready\ntold in line 1 of slurm_script\n"
    assert "no node is avoided" in desk.call(WHESL, "nodes")


def ours(process: psutil.Process) -> bool:
    """Whether a process is the keeper or the isolator of a task."""
    return any(
        word.endswith(("runtime/isolator/launch/isolator_keeper.py", "whesl.runtime.isolator"))
        for word in words(process)
    )


def test_a_script_s_own_requeue_is_honoured(desk: Desk) -> None:
    run = desk.run("requeue.sh", REQUEUE)
    until(lambda: "run 0" in desk.said("requeue.out"), "the first run", 60.0)
    job = job_of(desk, "requeue.sh")
    (desk.place / "go").touch()
    until(lambda: "BeginTime" in desk.call("squeue", "-h", "-o", "%r", "-j", job), "the requeue", 60.0)
    desk.call("scontrol", "update", f"JobId={job}", HOLD_LIFTED)
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 0, output
    assert "run 1" in desk.said("requeue.out")  # the first run may have ended before it could say more


def test_a_coupled_task_in_a_job_of_its_own_is_restarted_with_the_other(desk: Desk) -> None:
    """As on the embedded cluster (``test_run_coupled.py``)."""
    (desk.place / "rules.esl").write_text(COUPLED + RESTARTED)
    header = "#!/bin/bash\n#SBATCH --nodes=1 --output={0}.out\n"
    sim, analysis = commands(desk.place)
    (desk.place / "analysis.sh").write_text(header.format("analysis") + analysis)
    run = desk.run("sim.sh", header.format("sim") + sim, "analysis.sh:with=sim")
    output, _ = run.communicate(timeout=120)
    assert run.returncode == 0, output
    assert (desk.place / "seen").read_text() == "second 1\n"
    assert "analysis: is restarted, since a task that it is coupled with was" in output


def test_no_task_recovers_in_a_job_that_has_ended(desk: Desk) -> None:
    """Its batch shell and its isolator were killed at once, while the task waited for its next attempt."""
    (desk.place / "rules.esl").write_text(WAITING)
    run = desk.run("waits.sh", "#!/bin/bash\n#SBATCH --nodes=1 --output=waits.out\necho crashed; exit 1\n")
    until(lambda: "decided" in desk.call(WHESL, "events", "--json"), "the recovery", 60.0)
    both = [each for each in mentioning(str(desk.place)) if ours(each)]
    assert len(both) == 2, both
    for signum in (
        signal.SIGSTOP,
        signal.SIGKILL,
    ):  # stopped first: none acts on another's end
        for each in both:
            send(each, signum)
    output, _ = run.communicate(timeout=120)
    assert run.returncode != 0, output
    report = json.loads(desk.call(WHESL, "report", "--json"))
    assert [task["state"] for task in report["tasks"]] == ["failed"], output
    assert "recovering" not in output
