"""Managers that know nothing of WHESL, on a real Slurm: their tasks recover inside their jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import need_slurm
from tests.environments import MANAGERS, environment
from tests.equipment.faults import FaultError, tmpfs
from tests.equipment.slurmbed import SlurmBed
from tests.managers.desk import slurm_commands

WHESL = Path(sys.executable).parent / "whesl"
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION GLITCH LOG "a glitch" stdout
EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE
DECLARE EXCEPTION FULL JOB_LEVEL JOB [*] LIMIT 1
EXCEPTION DETECTION FULL MATCH "No space left on device" output
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE %s
"""
# One case's first attempt says that something is wrong and would not end by itself; the other one's output is
# more than fits into the first file system.
PROGRAM = """\
echo "$WHESL_RESTART_COUNT $1" >> attempts
[ "$WHESL_RESTART_COUNT" = 0 ] && [ "$1" = glitch ] && { echo half > "$2"; echo a glitch; sleep 600; }
[ "$1" = full ] && size=2000 || size=10
head -c ${size}k /dev/zero | tr '\\0' x > "$2"
"""
SNAKEFILE = """\
rule all:
    input: "sizes.txt"

rule make:
    output: "{{where}}/{{case}}.txt"
    log: "logs/{{where}}/{{case}}.log"
    shell:
        "{whesl} exec -e rules.esl --step make --instance {{wildcards.case}}"
        " -- sh program.sh {{wildcards.case}} {{output}} > {{log}} 2>&1"

rule use:
    input: "calm/glitch.txt", "small/full.txt"
    output: "sizes.txt"
    shell: "cat {{input}} | wc -c > {{output}}"
"""
PARSL = """\
import sys
import parsl
from parsl import bash_app
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.launchers import SrunLauncher
from parsl.providers import SlurmProvider

whesl, place = sys.argv[1:]


@bash_app
def make(whesl, place, case, outputs=(), stdout=parsl.AUTO_LOGNAME, stderr=parsl.AUTO_LOGNAME):
    words = f"-e rules.esl --step make --instance {case} --nodes 1 -- sh program.sh {case} {outputs[0]}"
    return f"cd {place} && {whesl} exec {words}"


provider = SlurmProvider(
    nodes_per_block=1,
    init_blocks=1,
    max_blocks=1,
    walltime="00:10:00",
    launcher=SrunLauncher(overrides="--no-kill --kill-on-bad-exit=0 --wait=0"),
    scheduler_options="#SBATCH --no-kill\\n#SBATCH --no-requeue",
    worker_init=f"export PATH={sys.prefix}/bin:$PATH",
)
executor = HighThroughputExecutor(
    address="127.0.0.1", loopback_address="127.0.0.1", max_workers_per_node=2, provider=provider
)
with parsl.load(Config(executors=[executor], run_dir=f"{place}/parsl", retries=0)):
    outputs = {"glitch": f"{place}/calm/glitch.txt", "full": f"{place}/small/full.txt"}
    cases = [make(whesl, place, case, outputs=[parsl.File(path)]) for case, path in outputs.items()]
    sys.exit(max(case.result() for case in cases))
"""


@pytest.fixture
def managers() -> Path:
    """Return the ``bin`` of an environment that has the managers and nothing of ours."""
    need_slurm()
    if sys.version_info < (3, 11):
        pytest.skip("Snakemake 9 needs Python 3.11")
    return environment(*MANAGERS)


class Desk:
    """A study's directory, part of which is a small file system of its own, and where its commands run."""

    def __init__(self, place: Path, bed: SlurmBed, managers: Path) -> None:
        self.place = place
        (place / "large").mkdir()
        (place / "calm").mkdir()  # where the other case fills no disk
        paths = json.dumps({"filesystem": str(place / "large"), "defaultpath": str(place / "small")})
        (place / "rules.esl").write_text(RULES % paths)
        (place / "program.sh").write_text(PROGRAM)
        slurm_commands(place / "bin", bed, "srun")
        path = f"{place / 'bin'}:{managers}:{os.environ['PATH']}"
        self.environment = {**bed.environment, "WHESL_HOME": os.environ["WHESL_HOME"], "PATH": path}

    def call(self, *command: str | Path) -> str:
        """Run a command that has to succeed; return all that it printed."""
        log = self.place / f"{Path(command[0]).name}.log"
        with log.open("w") as file:
            done = subprocess.run(
                command,
                cwd=self.place,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                timeout=240,
                check=False,
            )
        said = log.read_text()
        assert done.returncode == 0, said
        return said

    def check(self) -> None:
        """Check that each task recovered in the job in which it began, and that its output is whole."""
        lines = [line.split() for line in (self.place / "attempts").read_text().splitlines()]
        assert sorted(count for count, _ in lines) == ["0", "0", "1", "1"], lines
        report = json.loads(self.call(WHESL, "report", "exec", "--json"))
        assert {row["state"] for row in report["tasks"]} == {"completed"}
        assert sorted(row["exception"] for row in report["exceptions"]) == ["FULL", "GLITCH"]
        assert {row["outcome"] for row in report["exceptions"]} == {"recovered"}
        sizes = {path.name: path.stat().st_size for path in self.place.glob("*/*.txt")}
        assert sizes == {"full.txt": 2000 * 1024, "glitch.txt": 10 * 1024}
        assert (self.place / "small" / "full.txt").resolve().is_relative_to(self.place / "large")


@pytest.fixture
def desk(tmp_path: Path, managers: Path) -> Iterator[Desk]:
    place = tmp_path / "study"
    place.mkdir()
    try:
        with tmpfs(place / "small", 1 << 20), SlurmBed(2) as bed:
            yield Desk(place, bed, managers)
    except FaultError as error:
        pytest.skip(str(error))


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.variant  # ``whesl exec`` inside of jobs is in test_managers.py
def test_snakemakes_own_slurm_executor_sees_successes_only(desk: Desk) -> None:
    (desk.place / "Snakefile").write_text(SNAKEFILE.format(whesl=WHESL))
    quick = ("--slurm-init-seconds-before-status-checks", "1", "--seconds-between-status-checks", "1")
    here = ("--slurm-no-account", "--slurm-status-command", "squeue")
    small = ("--default-resources", "mem_mb=100", "runtime=10")
    said = desk.call("snakemake", "--executor", "slurm", "--jobs", "2", *quick, *here, *small)
    assert said.count("has been submitted with SLURM jobid") == 3
    desk.check()
    assert (desk.place / "sizes.txt").read_text().strip() == str(2010 * 1024)
    assert "Nothing to be done" in desk.call("snakemake", "-n")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.variant
def test_parsls_apps_recover_inside_their_block(desk: Desk, managers: Path) -> None:
    (desk.place / "study.py").write_text(PARSL)
    desk.call(managers / "python", "study.py", WHESL, desk.place)
    desk.check()
