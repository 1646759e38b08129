"""Calls on WHESL_HOME fail at a rate, with EIO or ESTALE, while tasks run: each ends as it ended itself.

Before, at one call in a hundred, 3 of 14 finished successes ended as 70 though their status file said 0, a
failed call on a claim failed a task for good, and tracebacks were shown.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.alike import alike
from tests.conftest import need_slurm
from tests.equipment.nfsbed import NfsBed
from tests.equipment.slurmbed import SlurmBed
from tests.waiting import until

pytestmark = pytest.mark.slow

Maker = Callable[..., NfsBed]
WHESL = str(Path(sys.executable).with_name("whesl"))
RATES = pytest.mark.parametrize(
    ("error", "rate"),
    [
        pytest.param(errno.EIO, 0.01, id="EIO 1 %", marks=pytest.mark.variant),
        pytest.param(errno.EIO, 0.05, id="EIO 5 %"),
        pytest.param(errno.ESTALE, 0.01, id="ESTALE 1 %", marks=pytest.mark.variant),
        pytest.param(errno.ESTALE, 0.05, id="ESTALE 5 %", marks=pytest.mark.variant),
    ],
)
ERRORS = pytest.mark.parametrize(
    "error",
    [
        pytest.param(errno.EIO, id="EIO", marks=pytest.mark.variant),
        pytest.param(errno.ESTALE, id="ESTALE"),
    ],
)
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [app]
EXCEPTION DETECTION GLITCH LOG "a glitch" stdout
EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE
"""
# The second attempt goes well; the third argument is its status.
PROGRAM = """\
echo "$WHESL_RESTART_COUNT" >> "$1/runs"
if [ "$2$WHESL_RESTART_COUNT" = glitch0 ]; then echo a glitch; sleep 60; fi
sleep 0.3
exit "$3"
"""


def environment(home: Path) -> dict[str, str]:
    found = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "WHESL"))}
    return {**found, "WHESL_HOME": str(home)}


def ended_in(out: Path) -> bool:
    return out.exists() and "status" in out.read_text()


def no_traceback(*places: Path) -> None:
    for place in places:
        for path in place.rglob("*"):
            if path.is_file() and path.stat().st_size < 1 << 20:
                assert b"Traceback" not in path.read_bytes(), path


@RATES
def test_a_task_ends_with_its_own_status(nfs_bed: Maker, tmp_path: Path, error: int, rate: float) -> None:
    bed = nfs_bed("login", attributes=1.0, absences=1.0)
    home = bed.at("login") / "home"
    (tmp_path / "rules.esl").write_text(RULES)

    def run(number: int) -> tuple[int, list[str]]:
        """Return a task's exit status, and its attempts as they told of themselves."""
        place = tmp_path / f"task-{number}"
        place.mkdir()
        kind = "glitch" if number % 3 == 2 else "plain"
        rules = ["-e", str(tmp_path / "rules.esl")] if kind == "glitch" else []
        command = [WHESL, "exec", *rules, "--summary", "--step", "app", "--instance", str(number)]
        with (place / "out").open("w") as out, (place / "err").open("w") as err:
            ended = subprocess.run(
                [
                    *command,
                    "--",
                    "sh",
                    "-c",
                    PROGRAM,
                    "sh",
                    str(place),
                    kind,
                    "3" if number % 3 == 1 else "0",
                ],
                env=environment(home),
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                timeout=300,
                check=False,
            )
        return ended.returncode, (place / "runs").read_text().split()

    bed.change("login", error=error, error_rate=rate)
    with ThreadPoolExecutor(2) as threads:
        ended = list(threads.map(run, range(6)))
    bed.change("login", error_rate=0.0)
    said = [(tmp_path / f"task-{number}" / "err").read_text() for number in range(6)]
    assert ended == [(0, ["0"]), (3, ["0"]), (0, ["0", "1"])] * 2, "\n".join(said)
    no_traceback(tmp_path, home)


@pytest.mark.slurm
@ERRORS
def test_jobs_of_slurm_end_with_their_own_status(
    nfs_bed: Maker, slurm_bed: Callable[..., SlurmBed], tmp_path: Path, error: int
) -> None:
    """Without ``srun``: its shim lies in WHESL_HOME, and a shell that cannot read a program ends with 126."""
    need_slurm()
    nfs = nfs_bed("n01", "n02", attributes=1.0, absences=1.0)
    slurm = slurm_bed(2)
    home = tmp_path / "home"
    home.mkdir()
    (nfs.at("n01") / "home").mkdir(mode=0o700)
    for node in slurm.nodes:
        nfs.place(node, home, slurm.init(node))
        nfs.change(node, error=error, error_rate=0.01)
    (tmp_path / "rules.esl").write_text(RULES)
    jobs = []
    for number, kind in enumerate(("plain", "glitch", "plain", "glitch")):
        place = tmp_path / f"task-{number}"
        place.mkdir()
        status = 4 if number == 2 else 0
        script = (
            f"#!/bin/bash\nexport WHESL_HOME={home}/home\ncd {place}\n"
            f"{WHESL} exec -e {tmp_path}/rules.esl --no-coordinator --step app --instance {number}"
            f" -- sh -c '{PROGRAM}' sh {place} {kind} {status}\necho status $?\n"
        )
        jobs.append(slurm.submit(script, "-N1", f"--output={place}/out", "--no-requeue"))
    for number in range(len(jobs)):
        out = tmp_path / f"task-{number}" / "out"
        slurm.wait_for(partial(ended_in, out), f"the end of {number}", 300)
    for node in slurm.nodes:
        nfs.change(node, error_rate=0.0)
    ended = [(tmp_path / f"task-{number}" / "out").read_text().split()[-1] for number in range(len(jobs))]
    runs = [(tmp_path / f"task-{number}" / "runs").read_text().split() for number in range(len(jobs))]
    assert ended == ["0", "0", "4", "0"]
    assert runs == [["0"], ["0", "1"], ["0"], ["0", "1"]]
    no_traceback(tmp_path, nfs.at("n01"))


@ERRORS
@pytest.mark.parametrize("below", alike(["coordinator", "tasks"]))
def test_a_workflow_on_the_embedded_cluster_is_done(
    nfs_bed: Maker, tmp_path: Path, below: str, error: int
) -> None:
    """The embedded cluster's own files stay out of it: its commands lie there, as any program may."""
    bed = nfs_bed("login", attributes=1.0, absences=1.0)
    home = bed.at("login") / "home"
    for name in ("first", "second"):
        (tmp_path / f"{name}.sh").write_text(
            f"#!/bin/bash\n#SBATCH --nodes=1 --output={name}.out\necho run >> {name}.runs\nsleep 0.3\n"
        )
    (tmp_path / "rules.esl").write_text(RULES.replace("[app]", "[*]"))
    command = [WHESL, "run", "-e", "rules.esl", "--rjms", "local", "first.sh", "second.sh:after=first"]
    try:
        bed.change("login", error=error, error_rate=0.02, path=f"/{below}")
        ended = subprocess.run(
            command,
            env=environment(home),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert "Traceback" not in ended.stderr + ended.stdout
        assert ended.returncode == 0, ended.stdout + ended.stderr
        for words in (["status"], ["report"], ["events"], ["nodes"]):
            said = subprocess.run(
                [WHESL, *words],
                env=environment(home),
                capture_output=True,
                text=True,
                timeout=100,
                check=False,
            )
            assert said.returncode == 0 and "Traceback" not in said.stderr, said.stderr
    finally:
        bed.change("login", error_rate=0.0)
        stop = [WHESL, "coordinator", "stop"]
        subprocess.run(stop, env=environment(home), capture_output=True, timeout=60, check=False)
    for name in ("first", "second"):
        assert (tmp_path / f"{name}.runs").read_text() == "run\n"
    no_traceback(home)


@pytest.mark.parametrize(
    "first",
    [
        "#!/bin/bash",
        pytest.param("#!/usr/bin/env bash", marks=pytest.mark.variant),
        pytest.param("#!/bin/bash -e", marks=pytest.mark.variant),
    ],
)
def test_a_script_that_cannot_be_read_is_no_success(nfs_bed: Maker, tmp_path: Path, first: str) -> None:
    """bash took an error for the end of its script: a task was completed that never ran."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    home = bed.at("login") / "home"
    script = tmp_path / "script.sh"
    script.write_text(f'{first}\necho "$1 $(basename "$0" .sh)" >> {tmp_path}/ran\nexit 7\n')
    bed.change("login", error=errno.EIO, error_rate=0.3, path="attempt-1/script")

    def run(number: int) -> int:
        command = [
            WHESL,
            "exec",
            "--step",
            "app",
            "--instance",
            str(number),
            "--script",
            str(script),
            "--",
            "x",
        ]
        return subprocess.run(
            command, env=environment(home), cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=100, check=False
        ).returncode

    with ThreadPoolExecutor(6) as pool:  # most of the time each waits for its file system
        ended = list(pool.map(run, range(12)))
    assert 0 not in ended, ended
    assert ended.count(7) == (tmp_path / "ran").read_text().count("x script\n") > 0


@pytest.mark.parametrize("path", alike(["slurm_script", "settings.json", "environment.json"]))
def test_the_embedded_cluster_outlives_calls_that_fail(nfs_bed: Maker, tmp_path: Path, path: str) -> None:
    """One failed call on a submission once ended the server, and all jobs with it."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    home = bed.at("login") / "home"
    home.mkdir(mode=0o700)
    commands = home / "local" / "default" / "bin"
    out = tmp_path / "out"
    (tmp_path / "job.sh").write_text("#!/bin/sh\necho ran\n")

    def run(*words: str) -> None:
        ended = subprocess.run(
            words,
            env=environment(home),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr

    run(WHESL, "local", "start", "--nodes", "1")
    try:
        bed.change("login", error_rate=1.0, error_count=3, operations=("open", "create", "fsync"), path=path)
        run(str(commands / "sbatch"), "-o", str(out), "job.sh")
        until(lambda: out.exists() and out.read_text() == "ran\n", "the job's output", 60)
    finally:
        bed.change("login")
        run(WHESL, "local", "stop")


CRASH = """\
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app]
EXCEPTION DETECTION CRASH LOG "crash" stdout
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""


@pytest.mark.parametrize("error", alike([errno.EIO, errno.ESTALE]), ids=["EIO", "ESTALE"])
def test_a_task_s_rules_and_script_are_read_again(
    error: int, nfs_bed: Callable[..., NfsBed], tmp_path: Path
) -> None:
    """A keeper that was called again ended with 2 for it, and with it the job of a task that was well."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    place = bed.at("login")
    (place / "part.esl").write_text("DECLARE ENTITY WMS, JOB\nDECLARE EXCEPTION_TYPE JOB_LEVEL\n")
    (place / "rules.esl").write_text('INCLUDE "./part.esl"\n' + CRASH)
    (place / "app.sh").write_text("true\n")
    bed.change("login", error=error, error_rate=1.0, error_count=5, operations=("open", "read"))
    command = [sys.executable, "-m", "whesl", "exec", "--no-coordinator", f"--task-dir={tmp_path}/task"]
    done = subprocess.run(
        [*command, "-e", str(place / "rules.esl"), "--script", str(place / "app.sh")],
        env=os.environ | {"WHESL_HOME": str(tmp_path / "home")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
