"""A program under ``whesl ckpt run``: what it would do without, it does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.waiting import until
from whesl.checkpoints import job_launch, rendezvous


class Running:
    """``whesl ckpt run`` of a shell script."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.environment = {**os.environ, "WHESL_HOME": str(place / "home")}
        self.environment.pop("SLURM_JOB_ID", None)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        name = f"job-{os.getpid()}-{re.sub(r'[^a-z]', '_', self.place.name)[-20:]}"
        whesl = [sys.executable, "-m", "whesl", "ckpt", "run", "--name", name]
        with (self.place / "said").open("wb") as said:
            self.process = subprocess.Popen(
                [*whesl, "--dir", str(self.place / "kept"), "--", *command],
                cwd=self.place,
                env=self.environment,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return self.process

    def said(self) -> str:
        return (self.place / "said").read_text()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path)
    yield made
    if made.process is not None and made.process.poll() is None:
        os.killpg(made.process.pid, signal.SIGKILL)
        made.process.wait()


def test_signals_come_to_the_program(running: Running) -> None:
    """A code that writes when it gets SIGUSR1 lost what started it, and ran on unwatched."""
    signals = ("USR1", "USR2", "HUP", "TERM")
    traps = "".join(f"trap 'echo got {each}' {each}; " for each in signals)
    process = running.start("sh", "-c", f"{traps}echo ready; until [ -e end ]; do sleep 0.05; done; exit 7")
    until(lambda: "ready" in running.said() or process.poll() is not None, "the program", 60)
    for each in signals:
        process.send_signal(getattr(signal, f"SIG{each}"))
        until(lambda: f"got {each}" in running.said(), f"SIG{each}", 30)  # noqa: B023  called here
    (running.place / "end").touch()
    assert process.wait(30) == 7


def test_who_is_ended_while_it_starts_leaves_nothing(running: Running) -> None:
    process = running.start("sh", "-c", "echo ready")
    found = psutil.Process(process.pid)
    started: list[psutil.Process] = until(found.children, "what it starts", 30)
    process.terminate()
    process.wait(30)
    until(lambda: not any(each.is_running() for each in started), "the end of what was started", 30)


def test_a_signal_in_the_very_start_of_the_coordinator_ends_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It ended the start before the process had a name, which then ran on."""
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    made = job_launch.Job((), "very-start", tmp_path)
    made._serve = ["sleep", "60"]
    start, started = subprocess.Popen, []

    def told_at_once(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(start(*arguments, **options))
        made._signalled(signal.SIGTERM, None)
        return started[0]

    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(subprocess, "Popen", told_at_once)
    with pytest.raises(SystemExit) as ended:
        made.run(["true"])
    assert ended.value.code == 128 + signal.SIGTERM
    assert [process.poll() for process in started] == [-signal.SIGTERM]


def test_a_script_without_a_first_line_of_its_own(running: Running) -> None:
    script = running.place / "script"
    script.write_text("echo the argument is $1\nexit 3\n")
    script.chmod(0o755)
    assert running.start("./script", "one").wait(60) == 3
    assert "the argument is one" in running.said()


def test_a_coordinator_that_cannot_be_started_is_tried_ever_later(tmp_path: Path) -> None:
    """It was begun anew five times a second, for as long as the program ran."""
    kept = job_launch.Kept(lambda: ["sh", "-c", f"echo >> {tmp_path / 'starts'}; exit 1"])
    with subprocess.Popen(["sleep", "3"]) as program:
        while program.poll() is None:
            kept.look()
            time.sleep(0.05)
    assert 2 <= len((tmp_path / "starts").read_text()) <= 5


def test_tasks_of_one_job_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one was refused, as a program that runs already."""
    monkeypatch.setenv("SLURM_JOB_ID", "17")
    monkeypatch.delenv("FLUX_ENCLOSING_ID", raising=False)
    tasks = [
        "wf/app",
        "wf/app.1",
        "wf/app 1",
        "wf/\N{GREEK SMALL LETTER ALPHA}",
        "wf/\N{GREEK SMALL LETTER BETA}",
    ]
    tasks += [f"wf/{'long' * 30}{number}" for number in range(2)]
    names = []
    for task in tasks:
        monkeypatch.setenv("WHESL_TASK", task)
        names.append(rendezvous.name_of_job(None))
    assert names[0] == "17+wf_app" and len(set(names)) == len(tasks)
    assert all(len(name) <= 100 for name in names)
