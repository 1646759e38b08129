"""Jobs of any program, wrapped while they are submitted: what the real sbatch is told and reads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import waiting
from tests.managers.workflow.test_granted_spares import front as in_front
from whesl.managers.resource.granted_spares_and_requeue import ASKED_TASKS, GRANTED_SPARES
from whesl.managers.resource.wrapped_script import KEEPS
from whesl.managers.workflow.submission import any_script
from whesl.managers.workflow.submission.any_script import Front
from whesl.managers.workflow.submission.file_in_place import ScriptInPlace
from whesl.managers.workflow.submission.sbatch_options import parse_call

WHESL = Path(sys.executable).parent / "whesl"
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE EXCEPTION LOST JOB_LEVEL JOB [sim*] LIMIT 1
EXCEPTION DETECTION LOST NODE DOWN
EXCEPTION RECOVERY STEP LOST JOB NODE.REPLACE
"""
# Writes down its words, and the script that it reads: a file, or what comes on a descriptor.
SBATCH = """\
#!/bin/sh
{
  echo "$*"
  for word; do
    case $word in
    /dev/fd/* | *.sh) cat "$word" 2> errors && read=1 || { cat errors >&2; exit 255; } ;;
    --help) echo helped; exit ;;
    esac
  done
  [ -n "$read" ] || cat
} > told
echo "Submitted batch job 7 on cluster c"
exit "${ENDS:-0}"
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "rules.esl").write_text(RULES)
    (tmp_path / "sim.sh").write_text("#!/bin/bash -e\n#SBATCH -N 2\necho $0\n")
    return tmp_path


def test_a_script_on_standard_input_may_have_any_bytes(place: Path) -> None:
    """A comment in Latin-1 was a traceback."""
    text = os.fsdecode(b"#!/bin/bash\n# caf\xe9\ntrue\n")
    how = Front(rules=str(place / "rules.esl"), spares=0)
    copy = ScriptInPlace(script="", copy="")
    before = os.dup(0)
    try:
        *_, write = any_script.wrapped(parse_call([]), text, how, {"WHESL_HOME": str(place / "home")}, copy)
        write({})
        assert b"\n# caf\xe9\ntrue\n" in Path("/dev/stdin").read_bytes()
    finally:
        os.dup2(before, 0)
        os.close(before)


def submitted(place: Path, call: str, *options: str) -> tuple[str, list[str], str]:
    """Return the words and the script of a submission, and the text of the script's interpreter."""
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
    words, *script = (place / "told").read_text().splitlines()
    return words, script, Path(script[0].removeprefix("#!").removesuffix(" -e")).read_text()


def test_a_file_is_read_in_its_own_place(place: Path) -> None:
    words, script, program = submitted(place, "sbatch --export=NONE sim.sh a")
    assert words == "--export=NONE --no-kill --nodes=3 sim.sh a"
    assert f"export WHESL_HOME={place}/home '{GRANTED_SPARES}=1/3 /*' {KEEPS}=1 " in program
    assert script[1:] == ["#SBATCH -N 2", "echo $0"]
    assert ' --step "$SLURM_JOB_NAME" --instance "$SLURM_JOB_ID" -- /bin/bash "$@"' in program
    assert (place / "sim.sh").read_text().startswith("#!/bin/bash -e\n")


def test_a_command_becomes_a_script_as_sbatch_makes_one(place: Path) -> None:
    words, script, program = submitted(
        place, 'sbatch -J simple --wrap "echo it\'s" -n 2 -N 1', "--no-own-node"
    )
    assert words == "-J simple -n 2 -N 1 --no-kill --nodes=3 --ntasks=6"
    assert f"'{GRANTED_SPARES}=2/3 /*' {KEEPS}=1 {ASKED_TASKS}=2/6\n" in program
    assert script[-1] == "echo it's"


def test_a_script_on_standard_input_is_read(place: Path) -> None:
    words, script, program = submitted(place, "sbatch -J other < sim.sh")
    assert words == "-J other"
    assert f"'{GRANTED_SPARES}=0 /*' {KEEPS}= " in program
    assert script[1:] == ["#SBATCH -N 2", "echo $0"]


def test_an_option_that_no_release_has_may_take_a_word(place: Path) -> None:
    """Its value was taken for the script."""
    assert submitted(place, "sbatch --later 7 sim.sh")[0] == "--later 7 --no-kill --nodes=3 sim.sh"


def test_a_script_on_another_descriptor_is_read(place: Path) -> None:
    words, script, _ = submitted(place, "bash -c 'sbatch -J other <(cat sim.sh) a'")
    assert words == "-J other /dev/fd/63 a"
    assert script[1:] == ["#SBATCH -N 2", "echo $0"]


@pytest.mark.parametrize(
    "call", ["sbatch --help", "sbatch gone.sh", "sbatch < /dev/null", "sbatch --wrap x sim.sh"]
)
def test_what_submits_nothing_is_the_real_sbatchs_matter(place: Path, call: str) -> None:
    """Its words, its errors and its status were WHESL's own."""
    environment = in_front(place, refuse=False)
    (place / "real" / "sbatch").write_text(SBATCH)
    plain = environment | {"PATH": environment["PATH"].partition(":")[2]}
    front = {**environment, **Front(rules=str(place / "rules.esl"), spares=0).told()}
    runs = [
        subprocess.run(["sh", "-c", call], env=env, cwd=place, capture_output=True, text=True, check=False)
        for env in (plain, front)
    ]
    told = [(run.returncode, run.stdout, run.stderr) for run in runs]
    assert told[0] == told[1]


def test_who_waits_for_the_jobs_end_gets_its_status(place: Path) -> None:
    """Status 7 was taken for a refusal, with status 1."""
    environment = in_front(place, refuse=False) | {"ENDS": "7"}
    (place / "real" / "sbatch").write_text(SBATCH)
    front = {**environment, **Front(rules=str(place / "rules.esl"), spares=0).told()}
    done = subprocess.run(
        ("sbatch", "--wait", "sim.sh"), env=front, cwd=place, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "Submitted batch job 7 on cluster c\n", "")


def test_who_waits_ends_with_its_caller(place: Path) -> None:
    """``kill`` of a waiting sbatch left the real one behind, which waited on."""
    environment = in_front(place, refuse=False)
    (place / "real" / "sbatch").write_text("#!/bin/sh\necho $$ > pid\nexec sleep 60\n")
    front = {**environment, **Front(rules=str(place / "rules.esl"), spares=0).told()}
    with subprocess.Popen(("sbatch", "--wait", "sim.sh"), env=front, cwd=place) as waiter:
        waiting.until(lambda: (place / "pid").exists() and (place / "pid").read_text(), "the real one", 60.0)
        waiter.terminate()
    pid = int((place / "pid").read_text())
    waiting.until(lambda: not Path(f"/proc/{pid}").exists(), "its end", 60.0)


@pytest.mark.parametrize(
    ("call", "found"),
    [("sbatch sim.sh", "sim.sh"), ("sbatch -D d sim.sh", "d/sim.sh"), ("sbatch own.sh", "b/own.sh")],
)
def test_a_script_is_looked_for_where_sbatch_does(place: Path, call: str, found: str) -> None:
    """One that was on PATH alone ran without protection."""
    for name in ("d/sim.sh", "b/own.sh"):
        (place / name).parent.mkdir()
        (place / name).write_text(f"#!/bin/sh\necho {name}\n")
    words, _, _ = submitted(place, f"PATH=$PWD/b:$PATH; {call}")
    assert words.split()[-1].removeprefix(f"{place}/") == found


def test_what_is_only_observed_gets_nothing_more(place: Path) -> None:
    words, _, program = submitted(place, "sbatch sim.sh", "--observe")
    assert words == "sim.sh"
    assert f"'{GRANTED_SPARES}=0 /*' {KEEPS}= " in program
    assert "--observe" in program


def test_a_damaged_wish_is_an_error(place: Path) -> None:
    environment = in_front(place, refuse=False) | {"WHESL_FRONT": '{"rules": 1}'}
    done = subprocess.run(
        ("sbatch", "sim.sh"), env=environment, cwd=place, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("sbatch: error: WHESL_FRONT='{\"rules\": 1}' does not tell ")


def test_a_job_that_restores_its_submitters_path_starts_steps_by_the_shim(place: Path) -> None:
    environment = in_front(place, refuse=False)
    real = place / "real" / "srun"
    real.write_text('#!/bin/sh\necho "$@"\n')
    real.chmod(0o755)
    job = {"SLURM_JOB_ID": "7", "WHESL_JOB": "7", "SLURM_NNODES": "1", "WHESL_NODELIST": "n02"}
    said = [
        subprocess.run(("srun", "./app"), env=environment | told, capture_output=True, text=True, check=True)
        for told in ({}, job)
    ]
    assert [done.stdout for done in said] == ["./app\n", "--nodes=1 --nodelist=n02 ./app\n"]
