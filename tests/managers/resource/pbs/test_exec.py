"""``whesl exec`` inside jobs of a real PBS."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.equipment.pbsbed import PbsBed
from whesl.lab.readers import site_log_format_detection
from whesl.lab.readers.site_job_records import State

pytestmark = [pytest.mark.pbs, pytest.mark.xdist_group("pbs"), pytest.mark.slow]

RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[REPLACE]
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
# One rank on each node that PBS's own launcher reaches, and what the script sees of the nodes.
PROGRAM = """\
#!/bin/sh
sort "$PBS_NODEFILE" | tr '\\n' ' ' > {0}/seen.$WHESL_RESTART_COUNT
pbsdsh -- sh -c 'echo $WHESL_NODE >> {0}/ran.$WHESL_RESTART_COUNT; [ $WHESL_RESTART_COUNT != 0 ] || sleep 600'
"""


def test_a_lost_node_is_replaced_in_place(bed: PbsBed, tmp_path: Path) -> None:
    """The job keeps its id and its nodes; what ran on the nodes that live is ended first."""
    rules, program = tmp_path / "rules.esl", tmp_path / "program.sh"
    rules.write_text(RULES)
    program.write_text(PROGRAM.format(tmp_path))
    program.chmod(0o755)
    command = f"{sys.executable} -m whesl exec -e {rules} --nodes 2 -- {program}"
    place = ("-l", "select=3:ncpus=1", "-l", "place=scatter", "-W", "tolerate_node_failures=all", "-r", "n")
    job = bed.submit(
        f"cd {tmp_path} && {command} > {tmp_path}/exec.out 2>&1",
        *place,
        "-v",
        f"WHESL_HOME={tmp_path}/home",
    )

    def ran(attempt: int) -> list[str]:
        file = tmp_path / f"ran.{attempt}"
        return sorted(file.read_text().split()) if file.exists() else []

    def said() -> str:
        file = tmp_path / "exec.out"
        return file.read_text() if file.exists() else ""

    try:
        bed.wait_for(lambda: ran(0) == ["n01", "n02"], "the program runs on two nodes")
        bed.kill_node("n02")
        bed.wait_for(lambda: bed.job(job).get("job_state") == "F", "the job is over", 120)
        told = bed.job(job)
        assert (told["Exit_status"], told["run_count"]) == (0, 1), said()
        assert ran(1) == ["n01", "n03"], said()
        assert (tmp_path / "seen.0").read_text() == "n01 n02 "
        assert (tmp_path / "seen.1").read_text() == "n01 n03 "
    finally:
        sys.stderr.write(said())
        bed.delete(job)
        bed.heal()


LAUNCHES = """\
timeout -k 30 3 pbsdsh -- sleep 40; echo ended $?
pbsdsh -o -- sleep 20; echo not waited for $((SECONDS < 20))
pbsdsh -s -- sh -c 'echo begins; sleep 1; echo ends'
pbsdsh -n 0 -- sh -c 'exit 3'; echo $?
sh -c 'exec pbsdsh -n 0 -- cat /proc/$$/comm'
sh -c 'exec pbs_tmrsh $(hostname) cat /proc/$$/comm'
timeout -k 30 3 pbs_tmrsh $(hostname) sleep 40; echo ended $?
"""


def test_launchers_end_and_tell_as_without_whesl(bed: PbsBed, tmp_path: Path) -> None:
    """SIGTERM ends them, they tell statuses, and their processes have their names."""
    (tmp_path / "script.sh").write_text(LAUNCHES)
    (tmp_path / "rules.esl").write_text("DECLARE ENTITY JOB\nDECLARE EXCEPTION_TYPE JOB_LEVEL\n")
    found = {}
    for name, words in (("plain", ""), ("wrapped", f"{sys.executable} -m whesl exec -e rules.esl -- ")):
        script = f"cd {tmp_path} && {words}bash script.sh 2>{name}.err"
        place = ("-l", "select=1:ncpus=1", "-v", f"WHESL_HOME={tmp_path}/home", "-o", str(tmp_path / name))
        job = bed.submit(script, *place)
        bed.wait_for(lambda job=job: bed.job(job).get("job_state") == "F", "the job is over", 120)  # type: ignore[misc]
        found[name] = (tmp_path / name).read_text()
    assert all(text in found["plain"] for text in ("ended 124", "exit status 3", "pbsdsh\n", "pbs_tmrsh\n"))
    assert found["wrapped"] == found["plain"], (tmp_path / "wrapped.err").read_text()


def test_doctor_and_why_ask_a_real_pbs(bed: PbsBed, tmp_path: Path) -> None:
    """The login node has PBS alone, as at sites without Slurm and Flux."""
    whesl = (sys.executable, "-m", "whesl")
    path, home = bed.alone()["PATH"], str(tmp_path / "home")
    told = bed.run(*whesl, "doctor", PATH=path, WHESL_HOME=home).stdout
    assert "3 nodes: 3 free" in told
    assert "it forgets jobs" not in told
    output = tmp_path / "out"
    job = bed.submit("echo 'Segmentation fault (core dumped)'; kill -SEGV $$", "-o", str(output))
    bed.wait_for(lambda: bed.job(job).get("job_state") == "F", "the job is over")
    why = bed.run(*whesl, "why", job, PATH=path, WHESL_HOME=home)
    assert "Segmentation fault" in why.stdout, why.stderr
    script = "[ $PBS_ARRAY_INDEX = 1 ] || { echo 'Disk quota exceeded'; exit 3; }"
    array = bed.submit(script, "-J", "1-2", "-o", str(tmp_path), "-j", "oe")
    bed.wait_for(lambda: bed.job(array).get("job_state") == "F", "the array is over")
    why = bed.run(*whesl, "why", array, PATH=path, WHESL_HOME=home)
    assert "Disk quota exceeded" in why.stdout, why.stderr
    assert f"{array.replace('[]', '[2]')}.OU" in why.stdout
    # The lab reads the log that PBS has written of these jobs.
    (log,) = (bed.directory / "server" / "server_priv" / "accounting").iterdir()
    found = site_log_format_detection.read_jobs(log)
    assert not found.malformed
    assert [one.state for one in found.jobs if one.job == job] == [State.FAILED]
