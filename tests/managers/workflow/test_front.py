"""Jobs of any program, wrapped while they are submitted: what the real sbatch is told and reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.managers.workflow.test_granted_spares import front as in_front

WHESL = Path(sys.executable).parent / "whesl"
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE EXCEPTION LOST JOB_LEVEL JOB [sim*] LIMIT 1
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
"""
# Writes down its words, the variable of the spares, and the script that it reads.
SBATCH = """\
#!/bin/sh
{ echo "$*"; echo "$WHESL_GRANTED_SPARES"; for word; do [ ! -f "$word" ] || cat "$word"; done; } > told
echo "Submitted batch job 7 on cluster c"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "sim.sh").write_text("#!/bin/bash -e\n#SBATCH -N 2\necho $0\n")
    return tmp_path


def submitted(place: Path, call: str, *options: str) -> tuple[str, str, list[str]]:
    """Return the words, the granted spares and the script of a submission."""
    environment = in_front(place, refuse=False)
    (place / "real" / "sbatch").write_text(SBATCH)
    # Only WHESL's command is to put its sbatch in front.
    path = environment["PATH"].partition(":")[2]
    done = subprocess.run(
        [WHESL, "front", "-e", "rules.esl", *options, "--", "sh", "-c", call],
        env={**environment, "PATH": path},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "Submitted batch job 7 on cluster c\n"), done.stderr
    words, spares, *script = (place / "told").read_text().splitlines()
    return words, spares, script


def test_a_file_is_read_in_its_own_place(place: Path) -> None:
    words, spares, script = submitted(place, "sbatch sim.sh a")
    assert words == f"--no-kill --nodes=3 {place}/sim.sh a"
    assert spares == "1 /*"
    assert script[1:] == ["#SBATCH -N 2", "echo $0"]
    program = Path(script[0].removeprefix("#!").removesuffix(" -e"))
    assert ' --step "$SLURM_JOB_NAME" --instance "$SLURM_JOB_ID" -- /bin/bash "$@"' in program.read_text()
    assert (place / "sim.sh").read_text().startswith("#!/bin/bash -e\n")


def test_a_command_becomes_a_script_as_sbatch_makes_one(place: Path) -> None:
    words, spares, script = submitted(
        place, 'sbatch -J simple --wrap "echo it\'s" -n 2 -N 1', "--no-own-node"
    )
    assert words.rsplit("/", 1) == [words.rsplit("/", 1)[0], "wrap"]
    assert words.startswith("-J simple -n 2 -N 1 --no-kill --nodes=3 --ntasks=6 ")
    assert spares == "2 /*"
    assert script[-1] == "echo it's"


def test_a_script_on_standard_input_is_read(place: Path) -> None:
    words, spares, script = submitted(place, "sbatch -J other < sim.sh")
    assert words.startswith("-J other /")
    assert words.endswith("/sbatch")
    assert spares == "0 /*"
    assert script[1:] == ["#SBATCH -N 2", "echo $0"]


def test_what_is_only_observed_gets_nothing_more(place: Path) -> None:
    words, spares, script = submitted(place, "sbatch sim.sh", "--observe")
    assert (words, spares) == (f"{place}/sim.sh", "0 /*")
    assert "--observe" in Path(script[0].removeprefix("#!").removesuffix(" -e")).read_text()
