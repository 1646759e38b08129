"""``whesl run`` on a real PBS: scripts with ``#PBS`` lines, dependencies, arrays, and what ends them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.equipment.pbsbed import PbsBed

BIN = Path(sys.executable).parent
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE NODE[REPLACE]
DECLARE EXCEPTION GLITCH JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION GLITCH LOG "a glitch" output
EXCEPTION RECOVERY STEP GLITCH JOB JOB.REPLACE
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [*] LIMIT 2
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
"""
# A node is lost in attempt 0, and what the script sees of its nodes is what it asked for.
FIRST = """\
#!/bin/sh
#PBS -N first
#PBS -l select=2:ncpus=2:mpiprocs=2
#PBS -l place=scatter
#PBS -r n
cd "$PBS_O_WORKDIR"
tr '\\n' ' ' < "$PBS_NODEFILE" > nodes.$WHESL_RESTART_COUNT
cat > rank.sh << 'END'
echo $WHESL_NODE >> $PBS_O_WORKDIR/ran.$WHESL_RESTART_COUNT
[ $WHESL_RESTART_COUNT != 0 ] || sleep 600
END
pbsdsh -- sh "$PBS_O_WORKDIR/rank.sh"
echo one > first.txt
"""
SECOND = '#!/bin/sh\n#PBS -o second.out -j oe\ncd "$PBS_O_WORKDIR"; cat first.txt\n'
ARRAY = """\
#!/bin/sh
#PBS -J 1-2
cd "$PBS_O_WORKDIR"
echo "$PBS_ARRAY_INDEX ${WHESL_TASK##*/} $WHESL_RESTART_COUNT" >> element.$PBS_ARRAY_INDEX
[ $PBS_ARRAY_INDEX$WHESL_RESTART_COUNT != 10 ] || { echo a glitch; sleep 600; }
"""

HANG_AND_DISK = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE RESOURCE FILESYSTEM[REPLACE]
DECLARE EXCEPTION HANG JOB_LEVEL JOB [hang] LIMIT 2
EXCEPTION DETECTION HANG LOG "cycle = " output TIMEOUT 4 WARMUP 120
EXCEPTION RECOVERY STEP HANG JOB JOB.REPLACE
DECLARE EXCEPTION FULL JOB_LEVEL JOB [disk] LIMIT 1
EXCEPTION DETECTION FULL LOG "No space left on device" output
EXCEPTION RECOVERY STEP FULL JOB FILESYSTEM.REPLACE {{"filesystem": "{large}", "defaultpath": "{small}"}}
"""
HANG = """\
#!/bin/sh
echo "cycle = 1"
[ $WHESL_RESTART_COUNT != 0 ] || sleep 600
echo "cycle = 2"
"""
DISK = """\
#!/bin/sh
head -c 3000000 /dev/zero > {small}/data && echo done > {small}/done
"""

pytestmark = [pytest.mark.pbs, pytest.mark.xdist_group("pbs"), pytest.mark.slow]


class Login:
    """A directory on a login node of the bed, which has PBS alone: workflows are run from there."""

    def __init__(self, bed: PbsBed, place: Path) -> None:
        self.bed, self.place = bed, place
        self.environment = {**bed.alone(), "WHESL_HOME": str(place / "home")}

    def begin(self, *sources: str, rules: str = RULES) -> subprocess.Popen[str]:
        """Start a run."""
        (self.place / "rules.esl").write_text(rules)
        words = [str(BIN / "whesl"), "run", *sources, "-e", "rules.esl", "--poll", "0.5"]
        return subprocess.Popen(
            [*words, "--json"],
            env=self.environment,
            cwd=self.place,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, run: subprocess.Popen[str]) -> dict[str, Any]:
        """Wait for a run's end, and return its report with its status."""
        try:
            out, err = run.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            run.kill()
            out, err = run.communicate()
            raise AssertionError(f"no end:\n{out}\n{err}") from None
        found: dict[str, Any] = {"status": run.returncode, "errors": err}
        return found | (json.loads(out) if out.strip() else {})

    def read(self, name: str) -> str:
        """Return a file's content, "" for none."""
        file = self.place / name
        return file.read_text() if file.exists() else ""


@pytest.fixture
def login(bed: PbsBed, tmp_path: Path) -> Iterator[Login]:
    (tmp_path / "home").mkdir(mode=0o700)
    for name, text in (("first", FIRST), ("second", SECOND), ("array", ARRAY)):
        (tmp_path / f"{name}.sh").write_text(text)
    yield Login(bed, tmp_path)
    for job in bed.run("qselect").stdout.split():
        bed.run("qdel", "-W", "force", job)
    bed.heal()


def test_a_chain_survives_a_lost_node(login: Login) -> None:
    """The first job goes on in place with its spare; the second one, that waits for it, sees what it made.

    Alone, the first one's submission would wait for the job's end.
    """
    bed = login.bed
    (login.place / "first.sh").write_text(FIRST.replace("#PBS -r n", "#PBS -r n -W block=true"))
    run = login.begin("first.sh", "second.sh:after=first")
    bed.wait_for(lambda: sorted(login.read("ran.0").split()) == ["n01", "n02"], "both nodes run", 120)
    bed.kill_node("n02")
    found = login.end(run)
    assert found["status"] == 0, found
    assert login.read("nodes.0") == "n01 n01 n02 n02 "
    assert login.read("nodes.1") == "n01 n01 n03 n03 "
    assert login.read("second.out") == "one\n"
    first = bed.job(bed.run("qselect", "-x", "-N", "first").stdout.split()[-1])
    assert (first["run_count"], first["Exit_status"]) == (1, 0)


def test_elements_of_an_array_recover_each_for_itself(login: Login) -> None:
    found = login.end(login.begin("array.sh"))
    assert found["status"] == 0, found
    assert login.read("element.1") == "1 array_1 0\n1 array_1 1\n"
    assert login.read("element.2") == "2 array_2 0\n"


def test_what_waits_for_a_failed_job_is_cancelled(login: Login) -> None:
    """PBS itself deletes it; the run ends, and says of each what it was."""
    (login.place / "first.sh").write_text("#!/bin/sh\n#PBS -N first\nexit 3\n")
    found = login.end(login.begin("first.sh", "second.sh:after=first"))
    assert found["status"] == 1, found
    states = {task["step"]: task["state"] for task in found["tasks"]}
    assert states == {"first": "failed", "second": "cancelled"}
    assert not login.read("second.out")


def test_a_run_that_is_ended_cancels_its_jobs(login: Login) -> None:
    run = login.begin("first.sh", "second.sh:after=first")
    login.bed.wait_for(lambda: len(login.read("ran.0").split()) == 2, "both nodes run", 120)
    jobs = login.bed.run("qselect").stdout.split()
    run.send_signal(signal.SIGINT)
    assert login.end(run)["status"] == 1
    assert len(jobs) == 2
    assert {login.bed.job(job)["job_state"] for job in jobs} == {"F"}


def test_a_hang_and_a_full_disk(login: Login, small: Path) -> None:
    """Both recover within the job that they began in."""
    large = login.place / "large"
    large.mkdir()
    (login.place / "hang.sh").write_text(HANG)
    (login.place / "disk.sh").write_text(DISK.format(small=small))
    rules = HANG_AND_DISK.format(large=large, small=small)
    found = login.end(login.begin("hang.sh", "disk.sh", rules=rules))
    assert found["status"] == 0, found
    raised = {row["exception"]: row["outcome"] for row in found["exceptions"]}
    assert raised == {"HANG": "recovered", "FULL": "recovered"}
    assert (large / "done").read_text() == "done\n"
    assert (large / "data").stat().st_size == 3_000_000
    assert [len(task["jobs"]) for task in found["tasks"]] == [1, 1]


def test_a_job_that_lost_its_first_node_runs_again(login: Login) -> None:
    """Nobody has said ``-r``: the job keeps its id, and PBS runs it on the nodes that there are."""
    (login.place / "first.sh").write_text(FIRST.replace("#PBS -r n\n", ""))
    run = login.begin("first.sh")
    login.bed.wait_for(lambda: len(login.read("ran.0").split()) == 2, "both nodes run", 120)
    login.bed.kill_node("n01")
    login.bed.wait_for(lambda: login.bed.run("qselect", "-s", "Q").stdout.strip(), "it waits again", 120)
    login.bed.heal()
    found = login.end(run)
    assert found["status"] == 0, found
    (job,) = found["tasks"][0]["jobs"]
    assert login.bed.job(job)["run_count"] == 2
    assert login.read("first.txt") == "one\n"
