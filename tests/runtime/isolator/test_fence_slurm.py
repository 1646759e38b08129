"""Ranks that shed environment, session and parent, on real Slurm: none outlives its attempt.

Slurm's process tracking is ``linuxproc`` where a test says nothing else: it loses a daemon as well.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import shedding
from tests.alike import alike
from tests.equipment.slurmbed import SlurmBed
from tests.processes import words
from tests.runtime.isolator.bench import records
from whesl.runtime.isolator.task.taskdir import TaskDir

pytestmark = [pytest.mark.slurm, pytest.mark.slow]

RULES = """\
DECLARE ENTITY WMS, JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE NODE[ADD, REMOVE, REPLACE]
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION NODELOST JOB_LEVEL JOB [app]
EXCEPTION DETECTION NODELOST NODE DOWN
EXCEPTION RECOVERY STEP NODELOST JOB NODE.REPLACE
DECLARE EXCEPTION CALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION CALLED MATCH "^called" stdout
EXCEPTION RECOVERY STEP CALLED JOB JOB.REPLACE
"""
# Attempt 0 sheds; what comes after it is an ordinary program that says where it runs.
SCRIPT = """\
cd {place}
if [ "$WHESL_RESTART_COUNT" = 0 ]; then
  {before}
  srun {options} bash -c '{launch} {python} {shedding} {kind} {place}/alive-$(hostname)'
else
  srun bash -c 'echo "attempt 1 on $(hostname)"; until [ -e done ]; do sleep 0.05; done'
fi
"""


class Shedding:
    """A job of three nodes, one of them spare, whose first attempt sheds what it is known by."""

    def __init__(
        self,
        bed: SlurmBed,
        place: Path,
        kind: str,
        *options: str,
        srun: str = "",
        launch: str = "exec",
        before: str = "",
        beside: str = "",
    ) -> None:
        self.bed = bed
        self.place = place
        self.directory = TaskDir(place / "task")
        self.out = place / "out"
        rules = place / "rules.esl"
        rules.write_text(RULES)
        home = place / "home"
        home.mkdir(mode=0o700)
        command = [sys.executable, "-m", "whesl", "exec", "--workflow", "wf", "--step", "app"]
        command += ["--no-coordinator", "--task-dir", str(self.directory.path), "-e", str(rules)]
        command += ["--nodes", "2", "--inner", "slurm", *options, "--script", "-"]
        script = SCRIPT.format(
            place=place,
            python=sys.executable,
            shedding=shedding.__file__,
            kind=kind,
            options=srun,
            launch=launch,
            before=before,
        )
        self.job = bed.submit(
            f"#!/bin/bash\nexport WHESL_HOME={home}\n{beside}\n{shlex.join(command)} <<'EOT'\n#!/bin/bash\n"
            f"{script}\nEOT\necho status $?\n",
            *("-N", "3", "--no-kill", "--no-requeue", f"--output={self.out}"),
        )

    def beats(self, node: str) -> int:
        file = self.place / f"alive-{node}"
        return file.stat().st_size if file.exists() else 0

    def text(self) -> str:
        return self.out.read_text() if self.out.exists() else ""

    def kinds(self) -> list[str]:
        return [kind for kind, _ in records(self.directory)]

    def record(self, kind: str) -> dict[str, Any]:
        return next(data for name, data in records(self.directory) if name == kind)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        try:
            self.bed.wait_for(condition, what)
        except BaseException:
            log = self.directory.log
            print(self.text(), log.read_text() if log.exists() else "", self.kinds())
            agents = self.directory.path / "agents.log"
            print(agents.read_text() if agents.exists() else "no agents' log")
            raise

    def begun(self) -> None:
        """Wait until both ranks have shed, and both agents are there."""
        self.wait(lambda: all(self.beats(node) > 2 for node in ("n01", "n02")), "both ranks")
        self.wait(lambda: self.kinds().count("agent") == 2, "the agents")

    def call(self) -> None:
        """Have the attempt ended, with all nodes alive."""
        with self.out.open("a") as out:
            out.write("called\n")

    def recovered(self) -> dict[str, int]:
        """Wait for the next attempt's ranks; return how often each old one had beaten by then."""
        self.wait(lambda: self.text().count("attempt 1 on") == 2, "the ranks of the next attempt")
        return {node: self.beats(node) for node in self.bed.nodes}

    def end(self) -> None:
        (self.place / "done").touch()
        self.wait(lambda: "\nstatus " in f"\n{self.text()}", "the end")
        assert "status 0" in self.text()

    def nothing_lives(self, living: dict[str, int]) -> None:
        """Hold that no rank of the first attempt beat once the second one had begun.

        An old rank that lives beats twenty times a second; an ordinary round trip through a step is longer.
        """
        subprocess.run(["sleep", "1"], check=True)
        assert {node: self.beats(node) for node in living} == living, "a rank of the old attempt lives on"


@pytest.mark.parametrize("kind", alike(shedding.KINDS))
def test_what_sheds_its_environment_is_fenced(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path, kind: str
) -> None:
    made = Shedding(slurm_bed(nodes=4), tmp_path, kind)
    made.begun()
    made.call()
    made.nothing_lives(made.recovered())
    made.end()


@pytest.mark.parametrize("kind", alike(["cleared", "daemon"]))
def test_with_a_node_lost_what_sheds_is_fenced_on_the_others(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path, kind: str
) -> None:
    made = Shedding(slurm_bed(nodes=4), tmp_path, kind)
    made.begun()
    made.bed.kill_node("n02")
    made.nothing_lives(made.recovered())
    made.end()


@pytest.mark.processor
@pytest.mark.parametrize("kind", alike(["daemon", "cleared"]))
def test_a_lease_fences_what_sheds_its_environment(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path, kind: str
) -> None:
    made = Shedding(slurm_bed(4, "net"), tmp_path, kind, "--heartbeat", "0.3", "--heartbeat-limit", "4")
    made.begun()
    made.bed.cut("n02")
    made.nothing_lives(made.recovered())
    made.end()


@pytest.mark.variant  # the test below has a site that asks for the same
def test_a_script_that_asks_srun_to_pass_no_limits_on(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    made = Shedding(slurm_bed(nodes=4), tmp_path, "daemon", srun="--propagate=NONE")
    made.begun()
    made.call()
    made.nothing_lives(made.recovered())
    made.end()


WITHOUT_LIMITS = {"PropagateResourceLimits": "NONE"}


@pytest.mark.parametrize("kind", alike(["title", "cleared", "undumpable"]))
def test_where_the_site_passes_no_limits_on_slurm_says_whose_a_step_is(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path, kind: str
) -> None:
    """Neither mark nor token reaches the ranks; their launcher is known, and Slurm knows what it started."""
    made = Shedding(slurm_bed(nodes=4, settings=WITHOUT_LIMITS), tmp_path, kind)
    made.begun()
    made.call()
    made.nothing_lives(made.recovered())
    made.end()


def test_a_lost_node_where_the_site_passes_no_limits_on(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    made = Shedding(slurm_bed(nodes=4, settings=WITHOUT_LIMITS), tmp_path, "cleared")
    made.begun()
    made.bed.kill_node("n02")
    made.nothing_lives(made.recovered())
    made.end()


def test_steps_beside_the_task_are_left_alone(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    """A step that the batch script has started itself is nobody's but its own, whatever it sheds."""
    beats = f"while :; do echo x >> {tmp_path}/beside; sleep 0.05; done"
    beside = f"srun --overlap -N2 -n2 env -i PATH=$PATH sh -c '{beats}' &"
    made = Shedding(slurm_bed(nodes=4, settings=WITHOUT_LIMITS), tmp_path, "cleared", beside=beside)
    made.begun()
    made.call()
    made.nothing_lives(made.recovered())
    before = (tmp_path / "beside").stat().st_size
    made.wait(lambda: (tmp_path / "beside").stat().st_size > before + 20, "that the other step goes on")
    made.end()
    made.bed.run("scancel", made.job)


@pytest.mark.processor
def test_one_rank_that_kept_its_token_gives_its_whole_step_away(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """Also by a lease, which can ask nobody: a step belongs to one attempt as a whole."""
    bed = slurm_bed(4, "net", settings=WITHOUT_LIMITS)
    made = Shedding(
        bed,
        tmp_path,
        "cleared",
        *("--heartbeat", "0.3", "--heartbeat-limit", "4"),
        srun="--ntasks=4 --ntasks-per-node=2 --overcommit",
        launch="if [ $((SLURM_LOCALID % 2)) = 1 ]; then exec sleep 300; fi; exec",
    )
    made.begun()
    bed.cut("n02")
    made.nothing_lives(made.recovered())
    made.end()


def test_a_daemon_is_known_by_its_step_s_cgroup(slurm_bed: Callable[..., SlurmBed], tmp_path: Path) -> None:
    settings = {**WITHOUT_LIMITS, "ProctrackType": "proctrack/cgroup"}
    made = Shedding(slurm_bed(nodes=4, settings=settings), tmp_path, "daemon")
    made.begun()
    made.call()
    made.nothing_lives(made.recovered())
    made.end()


def test_a_daemon_where_slurm_tracks_process_groups(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    made = Shedding(slurm_bed(nodes=4, settings={"ProctrackType": "proctrack/pgid"}), tmp_path, "daemon")
    made.begun()
    made.call()
    made.nothing_lives(made.recovered())
    made.end()


def test_a_job_that_the_attempt_has_submitted_is_another_job(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """It inherits the environment and the limits of who submitted it, and may run on the same node."""
    beats = "while :; do echo x >> {file}; sleep 0.05; done"
    names = ("kept", "cleared")
    loops = [beats.format(file=tmp_path / name) for name in names]
    (tmp_path / "next.sh").write_text(
        f"#!/bin/bash\nsh -c '{loops[0]}' & env -i PATH=$PATH sh -c '{loops[1]}' & wait\n"
    )
    submit = f"sbatch -N1 -n1 -w n01 -o /dev/null {tmp_path}/next.sh"
    made = Shedding(slurm_bed(nodes=4), tmp_path, "cleared", before=submit)
    made.begun()
    made.wait(lambda: all((tmp_path / name).exists() for name in names), "the other job")
    made.call()
    made.nothing_lives(made.recovered())
    before = [(tmp_path / name).stat().st_size for name in names]

    def go_on() -> bool:
        now = [(tmp_path / name).stat().st_size for name in names]
        return all(size > old + 20 for size, old in zip(now, before, strict=True))

    made.wait(go_on, "that the other job goes on")
    made.end()


def test_a_rank_that_its_agent_killed_unseen_is_the_loss_of_its_node(
    slurm_bed: Callable[..., SlurmBed], tmp_path: Path
) -> None:
    """The isolator did not run while the node was cut off, and both are back: only the agent can tell."""
    bed = slurm_bed(4, "net")
    made = Shedding(bed, tmp_path, "cleared", "--heartbeat", "0.3", "--heartbeat-limit", "4")
    made.begun()
    owner = made.directory.owner()
    assert owner is not None
    (isolator,) = (p for p in bed.processes("n01") if "whesl.runtime.isolator" in words(p))
    isolator.suspend()
    bed.cut("n02")
    before = -1

    def silent() -> bool:
        nonlocal before
        before, last = made.beats("n02"), before
        subprocess.run(["sleep", "0.5"], check=True)
        return before == last

    made.wait(silent, "that the agent ends the rank")
    bed.heal("n02")
    isolator.resume()
    made.nothing_lives(made.recovered())
    assert "lease-ended" in made.kinds()
    made.end()
