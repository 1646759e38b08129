"""Programs under ``whesl ckpt run`` on this host: whole checkpoints, and every kind of trouble."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import commands
from tests.checkpoints import asking
from tests.waiting import until
from whesl.checkpoints import job_launch, manifest, rendezvous
from whesl.checkpoints.core import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Several programs are started one after the other.
pytestmark = [pytest.mark.costly, pytest.mark.timeout(400)]
RANKS = Path(__file__).with_name("ranks.py")
NODE = socket.gethostname()
ROOT = Path(__file__).resolve().parents[2]


class Program:
    """A program of three ranks and what ``whesl ckpt`` says of it."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.directory = place / "checkpoints"
        self.environment = {
            **os.environ,
            "WHESL_HOME": str(place / "home"),
            "PYTHONPATH": str(ROOT),
            "WHESL_CKPT_PATIENCE": "30",
        }
        self.environment.pop("SLURM_JOB_ID", None)
        self.name = f"test-{os.getpid()}-{place.name[-20:]}"
        self.running: subprocess.Popen[str] | None = None
        self.output = place / "output"

    def start(self, *options: str, trouble: str = "", ranks: int = 3) -> None:
        lines = [f"{sys.executable} {RANKS} {rank} {ranks} 100000 {trouble} &" for rank in range(ranks)]
        script = "\n".join([*lines, "wait"])
        command = ["ckpt", "run", "--name", self.name]
        command += ["--dir", str(self.directory)]
        with self.output.open("w") as output:
            self.running = commands.begin(
                *(*command, *options, "--", "bash", "-c", script),
                cwd=self.place,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        self.wait(lambda: self.status().get("nodes", {}).get(NODE, {}).get("ranks") == ranks)

    def say(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return commands.whesl("ckpt", arguments[0], "--name", self.name, *arguments[1:], env=self.environment)

    def status(self) -> dict[str, Any]:
        return asking.status(self.place / "home", self.name)

    def wait(self, condition: Callable[[], Any]) -> None:
        """Wait until a condition holds; say what the program and its coordinator said where it does not."""
        try:
            until(condition, "what is waited for", 100)
        except AssertionError:
            raise AssertionError(f"{self.said()}\n{self.say('status').stdout}") from None

    def said(self) -> str:
        return self.output.read_text()

    def whole(self) -> list[int]:
        return [found.epoch for found in manifest.whole(self.directory)] if self.directory.is_dir() else []

    def end(self) -> str:
        assert self.running is not None
        (self.place / "end").touch()
        assert self.running.wait(60) == 0, self.said()
        (self.place / "end").unlink()
        return self.said()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    yield made
    if made.running is not None and made.running.poll() is None:
        os.killpg(made.running.pid, signal.SIGKILL)
        made.running.wait()


def test_a_predicted_failure_leads_to_a_whole_checkpoint_that_is_restored(program: Program) -> None:
    program.start()
    answer = program.say("predict", NODE, "--lead", "30", "--evidence", "EDAC")
    assert "predicted to fail in 30 s (EDAC)" in answer.stdout
    program.wait(lambda: program.whole() == [1])
    found = manifest.whole(program.directory)[0]
    assert [part.rank for part in found.parts] == [0, 1, 2]
    states = [json.loads((program.directory / "1" / part.name).read_text()) for part in found.parts]
    # All ranks stopped at one and the same step.
    assert {state["step"] for state in states} == {found.step}
    assert [state["sum"] for state in states] == [
        found.step * (found.step + 1) // 2 * rank for rank in (1, 2, 3)
    ]
    program.end()
    program.start()
    program.wait(lambda: program.said().count(f"restored step {found.step} of checkpoint 1") == 3)
    program.end()


def test_a_damaged_part_is_never_restored(program: Program) -> None:
    program.start()
    for number in (1, 2):
        assert program.say("request").returncode == 0
        program.wait(lambda: max(program.whole(), default=0) == number)  # noqa: B023  called here
    # What they took, and how many nodes there are, is measured.
    told = json.loads(program.say("interval", "--between-failures", "100", "--json").stdout)
    assert (told["measured"]["checkpoints"], told["measured"]["bytes"] > 0) == (2, True)
    cost = told["measured"]["seconds"]
    assert told["young"] == pytest.approx(interval.young(cost, 360_000.0))
    program.end()
    part = program.directory / "2" / "rank-1.part"
    part.write_bytes(part.read_bytes().replace(b"{", b"["))  # of the same size
    program.start()
    program.wait(lambda: program.said().count("of checkpoint 1") == 3)
    assert "checkpoint 2 is damaged; an older one is left" in program.end()


def test_a_rank_that_cannot_write_gives_the_checkpoint_up(program: Program) -> None:
    program.start(trouble="fail")
    program.say("request")
    program.wait(lambda: "checkpoint 1 was given up" in program.said())
    assert program.whole() == []
    assert "rank 2 cannot commit" in program.end()


def test_a_rank_that_never_polls_holds_nobody_for_ever(program: Program) -> None:
    program.start("--arrival", "3", trouble="silent")
    program.say("request")
    program.wait(lambda: "does it poll?" in program.said())
    assert program.whole() == []
    program.end()


def test_the_coordinator_is_killed_and_another_takes_the_checkpoint_up(program: Program) -> None:
    program.start()
    home = Path(program.environment["WHESL_HOME"]) / "ckpt" / program.name / "address"
    first = json.loads(home.read_text())["pid"]
    program.say("predict", NODE, "--lead", "60")
    os.kill(first, signal.SIGKILL)
    program.wait(lambda: json.loads(home.read_text())["pid"] != first)
    program.wait(lambda: bool(program.status()))
    if not program.whole() and not program.status().get("checkpoint"):
        program.say("request")
    program.wait(lambda: len(program.whole()) >= 1)
    program.end()


def test_what_cannot_be_followed_is_refused(program: Program) -> None:
    nobody = program.say("predict", NODE, "--lead", "30")
    assert nobody.returncode == 2
    assert "no coordinator of the checkpoints" in nobody.stderr
    program.start()
    elsewhere = program.say("predict", "elsewhere", "--lead", "30")
    assert (elsewhere.returncode, "no node of this job" in elsewhere.stderr) == (1, True)
    for lead, status in (("-3", 1), ("inf", 2), ("nan", 2)):
        assert program.say("predict", NODE, "--lead", lead).returncode == status
    second = program.say("run", "--dir", str(program.place / "other"), "--", "true")
    assert (second.returncode, f"a program called {program.name} runs already" in second.stderr) == (2, True)
    program.end()


def test_without_an_agent_the_program_runs_on(program: Program) -> None:
    program.place.joinpath("end").touch()
    alone = subprocess.run(
        [sys.executable, str(RANKS), "0", "1", "5"],
        cwd=program.place,
        env=program.environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert alone.returncode == 0
    assert alone.stderr.count("checkpoints are not coordinated") == 1


def agents(job: str, living: int) -> list[str]:
    nodes = ("n1", "n2", "n3")
    return job_launch.agents_command(os.environ, job, nodes[:living], nodes)


JOB_VARIABLES = ("SLURM_JOB_ID", "FLUX_URI", "FLUX_JOB_ID", "FLUX_ENCLOSING_ID", "PBS_JOBID", "WHESL_TASK")


def test_names_in_a_job_of_pbs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Agents were started on the first node alone, for a job called "default"."""
    for name in JOB_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "nodes").write_text("n1\nn1\nn2\nn3\n")
    monkeypatch.setenv("PBS_JOBID", "17[2].server-1.site")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    assert rendezvous.name_of_job(None) == "17_2__server-1_site"
    program = Path(agents("17", 2)[2])
    assert program.name == "tm_program.py" and program.exists()
    assert agents("17", 2)[3:5] == ["0=n1 2=n2", sys.executable]


def test_names_in_flux_inside_a_job_of_slurm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flux hands the script's environment on: Slurm's variables there tell of another node and job."""
    for name in JOB_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.setenv("SLURMD_NODENAME", "batch-host")
    assert (rendezvous.name_of_job(None), rendezvous.name_of_node()) == ("17", "batch-host")
    assert agents("17", 2)[0] == "srun" and "--nodelist=n1,n2" in agents("17", 2)
    monkeypatch.setenv("FLUX_URI", "local:///tmp/flux")
    assert (rendezvous.name_of_job(None), rendezvous.name_of_node()) == ("17", NODE)
    monkeypatch.setenv("FLUX_ENCLOSING_ID", "\N{LATIN SMALL LETTER F WITH HOOK}26st4Ej")
    assert rendezvous.name_of_job(None) == "f26st4Ej"
    assert agents("f26st4Ej", 3)[:3] == ["flux", "exec", "--rank=all"]
    assert agents("f26st4Ej", 2)[:3] == ["flux", "exec", "--rank=0,1"]  # the last one is down
    monkeypatch.setenv("FLUX_JOB_ID", "f1")  # one task of a job has no agents on others' nodes
    monkeypatch.delenv("SLURM_JOB_ID")
    assert agents("f1", 1)[0] == sys.executable
