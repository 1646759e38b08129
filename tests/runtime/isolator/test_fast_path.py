"""The quick way of ``whesl exec`` comes to the same as the long one, which whatever is unusual goes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from whesl.cli.launch import fast_exec as options
from whesl.files import standard_streams
from whesl.language.rules_file import load_rules
from whesl.managers import resource
from whesl.managers.resource.granted_spares_and_requeue import GRANTED_SPARES, REQUEUE_SAID
from whesl.model.configuration_changes import Configuration
from whesl.runtime.isolator.launch import (
    fast_start,
    full_start,
    isolator_start,
    runner_start,
    signal_delivery,
)
from whesl.runtime.isolator.launch.setup_json import Request
from whesl.runtime.isolator.task.taskdir import Job
from whesl.runtime.locking import takeover_lock

RULES = """\
DECLARE ENTITY JOB
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE EXCEPTION CRASH JOB_LEVEL JOB [app] LIMIT 3
EXCEPTION DETECTION CRASH EXIT ANY
EXCEPTION DETECTION CRASH LOG "bad" file "own.log"
EXCEPTION RECOVERY STEP CRASH JOB JOB.REPLACE
"""
SLURM = {
    "SLURM_JOB_ID": "7",
    "SLURM_JOB_NODELIST": "n[1-3]",
    "SLURMD_NODENAME": "n2",
    "SLURM_TASKS_PER_NODE": "4(x3)",
    "SLURM_JOB_CPUS_PER_NODE": "4(x3)",
    "SLURM_NTASKS": "12",
    "SLURM_RESTART_COUNT": "1",
}


class Place:
    """A directory with rules and a script, and a WHESL home; nothing is really started."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.tasks = path / "home" / "tasks"
        self.started: list[dict[str, Any]] = []
        self.monkeypatch = monkeypatch
        for name in [name for name in os.environ if name.startswith(("SLURM", "WHESL", "FLUX"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("WHESL_HOME", str(path / "home"))
        monkeypatch.chdir(path)
        monkeypatch.setattr(os, "urandom", lambda count: b"s" * count)
        monkeypatch.setattr(time, "strftime", lambda form: "now")
        monkeypatch.setattr(time, "time", lambda: 7.0)
        monkeypatch.setattr(isolator_start, "start_isolator", lambda *arguments: os.getpid())
        monkeypatch.setattr(signal_delivery, "hold_signals", lambda: None)
        monkeypatch.setattr(standard_streams, "append_only", lambda descriptor: None)
        monkeypatch.setattr(runner_start, "start", self._start)
        (path / "rules.esl").write_text(RULES)
        (path / "own.log").write_text("before\n")
        (path / "script").write_text("#!/bin/sh -e\necho script\n")
        self.tasks.parent.mkdir(mode=0o700)
        load_rules(["rules.esl"], self.tasks.parent / "cache", any_job=False)

    def _start(self, command: tuple[str, ...], **how: Any) -> subprocess.Popen[bytes]:
        assert how.pop("spawn", subprocess.Popen) is subprocess.Popen
        self.started.append({"command": tuple(command), **how})
        child = subprocess.Popen(["true"])
        child.wait()
        return child

    def files(self, task_dir: str) -> dict[str, object]:
        """Return all files of a task, those that hold records as records."""
        kinds: dict[str, type[msgspec.Struct]] = {"job.json": Job, "reconfigure.json": Configuration}
        found: dict[str, object] = {}
        for file in Path(task_dir).rglob("*"):
            name = str(file.relative_to(task_dir))
            if file.is_dir():
                found[name] = oct(file.stat().st_mode)
            elif name in ("lock", "lock.1"):
                found[name] = msgspec.json.decode(file.read_bytes())
            elif name in kinds:
                found[name] = msgspec.json.decode(file.read_bytes(), type=kinds[name])
            else:
                found[name] = file.read_bytes(), oct(file.stat().st_mode)
        return found

    def both(self, arguments: list[str]) -> tuple[dict[str, Any], ...]:
        """Return what came of a command in both ways."""
        read = options.read(arguments)
        assert read is not None
        results = []
        for prepare in (fast_start.prepare, lambda given: full_start.prepare(Request(**given))):
            told = prepare(read)
            assert isinstance(told, dict), "it is not the usual case"
            told.pop("runner")
            gate = told.pop("gate")
            if gate:
                os.close(gate)
            told["waits"] = bool(gate)
            results.append({"told": told, "files": self.files(told["task_dir"]), "started": self.started})
            shutil.rmtree(told["task_dir"])
            self.started = []
        return tuple(results)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    return Place(tmp_path, monkeypatch)


@pytest.mark.parametrize(
    ("environment", "arguments", "starts"),
    [
        ({}, ["--", "./app", "a b"], True),
        ({}, ["-e", "rules.esl", "--name", "app", "--", "./app"], True),
        ({}, ["-e", "./rules.esl", "--", "app"], True),
        ({}, ["--workflow", "w", "--step", "app", "--no-coordinator", "--script", "script", "x"], True),
        (
            {},
            ["--workflow", "w %v", "--step", "a%/p", "--instance", "I=1,2", "-e", "rules.esl", "app"],
            False,
        ),
        ({}, ["--task-dir", "of//mine/./here", "--json-summary", "s.json", "--observe", "app"], True),
        (SLURM, ["--workflow", "w", "--step", "app", "-e", "rules.esl", "--", "app"], False),
        (
            SLURM,
            ["--no-coordinator", "--workflow", "w", "--step", "s", "--inner", "slurm", "--", "app"],
            True,
        ),
        (SLURM, ["--inner", "slurm", "--spares", "1", "--no-own-node", "--name", "app", "--", "app"], True),
        (SLURM, ["--inner", "slurm", "--nodes", "2", "--", "app"], True),
        (
            {**SLURM, GRANTED_SPARES: "1/3 w/app", REQUEUE_SAID: "nothing w/app"},
            ["--workflow", "w", "--step", "app", "--spares", "1", "--", "app"],
            False,
        ),
    ],
)
def test_both_ways_come_to_the_same(
    place: Place, environment: Mapping[str, str], arguments: list[str], starts: bool
) -> None:
    for name, value in environment.items():
        place.monkeypatch.setenv(name, value)
    short, long = place.both(arguments)
    assert short["told"] == long["told"]
    assert short["files"] == long["files"]
    assert short["started"] == long["started"]
    assert len(short["started"]) == starts
    job = short["files"]["job.json"]
    if "-e" in arguments and starts:
        assert job.first is not None and job.first.began == 7.0
        assert job.first.sizes[str(place.path / "own.log")] == len("before\n")


def _earlier(place: Place, name: str) -> None:
    task = place.tasks / "w" / "app"
    task.mkdir(parents=True, mode=0o700)
    (task / name).write_text("{}")


def _locked(place: Place) -> None:
    _earlier(place, "lock")

    def held(path: str, _owner: takeover_lock.Owner) -> int:
        raise takeover_lock.HeldError(f"{path} is held", takeover_lock.Owner())

    place.monkeypatch.setattr(takeover_lock, "take", held)


def _environment(name: str, value: str) -> Callable[[Place], None]:
    return lambda place: place.monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    "unusual",
    [
        lambda place: _earlier(place, "job.json"),
        lambda place: _earlier(place, "journal.db"),
        lambda place: _earlier(place, "attempt-1"),
        _locked,
        lambda place: (place.path / "rules.esl").write_text(RULES + "# changed\n"),
        lambda place: (place.path / "rules.esl").unlink(),
        lambda place: (place.path / "home").chmod(0o755),
        lambda place: place.monkeypatch.setattr(resource, "offered", lambda: True),
        _environment("FLUX_URI", "local:///run/flux"),
        _environment("SLURM_JOB_ID", "x"),
        _environment("SLURM_JOB_ID", "7"),  # and no list of nodes
        _environment("WHESL_HOME", "~nobody-of-this-name/x"),
    ],
)
def test_whatever_is_unusual_goes_the_long_way(place: Place, unusual: Callable[[Place], None]) -> None:
    unusual(place)
    read = options.read(["--workflow", "w", "--step", "app", "-e", "rules.esl", "--script", "-"])
    assert read is not None
    # Neither is standard input read, which the long way needs, nor is anything written down.
    place.monkeypatch.setattr(sys, "stdin", None)
    before = place.files(str(place.tasks)) if place.tasks.exists() else {}
    assert fast_start.prepare(read) is None
    after = place.files(str(place.tasks)) if place.tasks.exists() else {}
    assert {name for name in after if name.endswith(".json")} == {n for n in before if n.endswith(".json")}
    assert place.started == []


def test_the_configuration_that_nobody_has_changed() -> None:
    assert msgspec.json.encode(Configuration()) == fast_start.UNCHANGED


def test_it_loads_nothing_that_takes_long() -> None:
    program = (
        "import sys, whesl.cli.launch.fast_exec, whesl.runtime.isolator.launch.fast_start;print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    heavy = {"msgspec", "click", "typing", "pathlib", "hashlib", "inspect", "logging", "zmq", "antlr4"}
    assert not heavy & set(done.stdout.split())


def test_an_interrupt_while_it_loads_ends_it_as_it_ends_a_plain_command() -> None:
    """A traceback was printed, or "whesl: interrupted" with the status 130."""
    program = (
        "import os\nfrom whesl import cli\nfrom whesl.cli.launch import fast_exec\n"
        "fast_exec.told = lambda words: os.kill(os.getpid(), 2)\ncli.main(['exec', 'true'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (-2, b"", b"")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 has no -P")
def test_what_lies_beside_the_task_is_no_module_of_ours(tmp_path: Path) -> None:
    for name in ("random", "logging", "socket"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the task\\'s own')\n")
    environment = {**os.environ, "WHESL_HOME": str(tmp_path / "home")}
    command = [str(Path(sys.executable).with_name("whesl")), "exec", "--", "true"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    (log,) = (tmp_path / "home" / "tasks").rglob("log")
    assert done.returncode == 0, done.stderr
    assert "own" not in log.read_text()
