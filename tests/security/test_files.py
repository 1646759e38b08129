"""What another user of the machine gets of a user's files and processes: nothing, whatever the umask."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import waiting
from tests.runtime.isolator.bench import CRASH, HEAD
from tests.security.stranger import (
    STRANGER,
    everything,
    needs_root,
    open_place,
    reached_of,
    run_as,
)
from whesl.doctor import host_and_home
from whesl.doctor.probe_runner import State
from whesl.runtime.wire.endpoint import read_endpoint
from whesl.runtime.wire.keys import user_keys
from whesl.runtime.wire.private_directory import HomeError
from whesl.testing.processes import running

# One run is looked at while it goes on, and then after its end.
pytestmark = pytest.mark.random_order(disabled=True)

PATIENCE = 60.0
WHESL = [sys.executable, "-m", "whesl"]
SCRIPT = """\
#!/bin/bash
#SBATCH --ntasks=1
#SBATCH --time=5
if [ "$WHESL_RESTART_COUNT" = 0 ]; then echo "An error occurred in MPI_Send"; sleep 60; fi
echo again; touch "$PLACE/running"
while [ ! -e "$PLACE/go" ]; do sleep 0.05; done
"""


def until(condition: Callable[[], Any], what: str) -> Any:
    return waiting.until(condition, what, PATIENCE)


class Run:
    """A batch script under ``whesl run``, all started with umask 0, held in its second attempt."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.home = place / "above" / "home"
        self.cluster = place / "cluster"
        (place / "rules.esl").write_text(HEAD + CRASH.replace("[app]", "[*]"))
        script = place / "job.sh"
        script.write_text(SCRIPT)
        script.chmod(0o755)
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "WHESL", "FLUX"))},
            "WHESL_HOME": str(self.home),
            "WHESL_LOCAL": str(self.cluster),
            "PATH": f"{self.cluster}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PLACE": str(place),
        }
        self._begin("local", "start", "--nodes", "2", "--cpus", "2").wait(PATIENCE)
        self.process = self._begin(
            *("run", str(script), "-e", str(place / "rules.esl"), "--rjms", "local", "-y"), log="run.log"
        )

    def _begin(self, *arguments: str, log: str = "log") -> subprocess.Popen[bytes]:
        with (self.place / log).open("wb") as output:
            return subprocess.Popen(
                [*WHESL, *arguments],
                env=self.environment,
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                umask=0,
            )

    def finish(self) -> int:
        (self.place / "go").touch()
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(PATIENCE)
        for arguments in (("coordinator", "stop"), ("local", "stop")):
            self._begin(*arguments, log="stop.log").wait(PATIENCE)


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with open_place() as place:
        made = Run(place)
        try:
            log = place / "run.log"
            until(
                lambda: (place / "running").exists() or made.process.poll() is not None, "the second attempt"
            )
            assert made.process.poll() is None, log.read_text()
            yield made
        finally:
            made.close()


def test_a_stranger_reaches_nothing_of_a_running_workflow(run: Run) -> None:
    """Keys, link files, journals, task files, the cluster's sockets: all were made under umask 0."""
    paths = everything(run.home) + everything(run.cluster)
    kinds = {path.name for path in paths}
    assert {"pair.json", "endpoint.json", "journal.db", "job.json", "log", "status", "sockets"} <= kinds
    assert any(stat.S_ISSOCK(path.lstat().st_mode) for path in paths)
    names = [str(path) for path in (run.home.parent, *paths)]
    assert run_as(STRANGER, lambda: reached_of(names)) == []


def test_no_file_is_open_to_others_by_itself(run: Run) -> None:
    """Also when a directory above is opened later: each secret is closed on its own."""
    secrets = ("pair.json", "link.json", "journal.db", "job.json", "endpoint.json", "reconfigure.json")
    for path in everything(run.home):
        mode = stat.S_IMODE(path.lstat().st_mode)
        if path.is_dir() or path.name.startswith(secrets):
            assert path.is_symlink() or mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0, path
        if path.name.startswith(secrets):
            assert mode & 0o077 == 0, f"{path} has mode {mode:04o}"


def test_no_process_shows_a_secret(run: Run) -> None:
    """Command lines can be read by everybody; environments are handed to the task's programs."""
    keys = user_keys(run.home)
    secrets = {keys.coordinator.secret, keys.client.secret}
    tokens = set()
    for process in running():
        try:
            environment = process.environ()
        except psutil.Error:
            continue
        if environment.get("WHESL_HOME") == str(run.home):
            tokens |= {environment.get("WHESL_ATTEMPT_TOKEN", "")} - {""}
            assert not [name for name, value in environment.items() if any(s in value for s in secrets)]
    assert tokens
    for process in running():
        try:
            words = " ".join(process.cmdline())
        except psutil.Error:
            continue
        assert not any(secret in words for secret in secrets | tokens), words
    for log in run.home.rglob("*log*"):
        if log.is_file():
            assert not any(secret in log.read_text(errors="replace") for secret in secrets), log


def test_a_stranger_cannot_signal_or_trace(run: Run) -> None:
    endpoint = read_endpoint(run.home)
    assert endpoint is not None
    pid = endpoint.pid

    def attempt() -> list[str]:
        got = []
        for name in ("environ", "mem", "fd", "maps"):
            try:
                place = Path(f"/proc/{pid}/{name}")
                list(place.iterdir()) if name == "fd" else place.read_bytes()
            except OSError:
                continue
            got.append(name)
        try:
            os.kill(pid, signal.SIGTERM)
            got.append("signal")
        except PermissionError:
            pass
        return got

    assert run_as(STRANGER, attempt) == []


def test_the_run_ends_well_and_leaves_nothing_open(run: Run) -> None:
    assert run.finish() == 0, (run.place / "run.log").read_text()
    names = [str(path) for path in (run.home.parent, *everything(run.home), *everything(run.cluster))]
    assert run_as(STRANGER, lambda: reached_of(names)) == []


@pytest.mark.costly
def test_every_file_has_the_mode_that_is_promised(run: Run) -> None:
    """After real runs of all that writes: 0700, and 0600 for what is no program; also where umask is 0."""
    assert run.finish() == 0
    page, summary = str(run.place / "report.html"), str(run.place / "summary.json")
    rules = str(run.place / "rules.esl")
    for words in (
        ("exec", "--", "echo", "here"),
        ("exec", "-e", rules, "--json-summary", summary, "--script", str(run.place / "job.sh")),
        ("report", "--html", page),
        ("status",),
        ("events",),
        ("nodes",),
    ):
        assert run._begin(*words).wait(PATIENCE) == 0, words
    wrong = {}
    for path in everything(run.home) + everything(run.cluster):
        found = path.lstat().st_mode
        allowed = (0o700,) if stat.S_ISDIR(found) else (0o600, 0o700)
        if not stat.S_ISLNK(found) and stat.S_IMODE(found) not in allowed:
            wrong[str(path)] = f"{stat.S_IMODE(found):04o}"
    assert wrong == {}


# Homes and keys that somebody could have prepared ---------------------------------------------------


@needs_root
def test_a_planted_home_is_refused() -> None:
    """In a directory open to all, a link or a directory of another user stands where the home would be."""
    with open_place(0o1777) as place:
        own = place / "own"
        own.mkdir(mode=0o700)
        run_as(STRANGER, lambda: (place / "link").symlink_to(own))
        run_as(STRANGER, lambda: (place / "directory").mkdir(0o777))
        for home in (place / "link", place / "directory" / "home", place / "link" / "home"):
            with pytest.raises(HomeError, match="put there"):
                user_keys(home)
        assert list(own.iterdir()) == []
        user_keys(place / "mine")


def test_what_is_made_above_a_home_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        user_keys(tmp_path / "a" / "b" / "home")
    finally:
        os.umask(before)
    for place in (tmp_path / "a", tmp_path / "a" / "b"):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


@needs_root
@pytest.mark.parametrize("name", ["", "keys", "keys/client", "keys/client/pair.json"])
def test_keys_of_somebody_else_are_refused(tmp_path: Path, name: str) -> None:
    home = tmp_path / "h"
    user_keys(home)
    os.chown(home / name, STRANGER, STRANGER)
    with pytest.raises(HomeError, match=f"uid {STRANGER}"):
        user_keys(home)


@pytest.mark.parametrize("name", ["", "keys", "keys/client", "keys/client/pair.json"])
@pytest.mark.parametrize("bit", [0o040, 0o020, 0o004, 0o002])
def test_keys_of_a_wrong_mode_are_refused(tmp_path: Path, name: str, bit: int) -> None:
    home = tmp_path / "h"
    user_keys(home)
    path = home / name
    path.chmod(stat.S_IMODE(path.stat().st_mode) | bit)
    with pytest.raises(HomeError, match="open to others") as caught:
        user_keys(home)
    assert str(path) in caught.value.hint


def test_a_key_file_that_is_a_link_or_a_pipe_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "h"
    user_keys(home)
    file = home / "keys" / "client" / "pair.json"
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    with pytest.raises(HomeError):
        user_keys(home)
    file.unlink()
    os.mkfifo(file, 0o600)
    with pytest.raises(HomeError, match="not a file of yours"):
        user_keys(home)


@pytest.mark.parametrize(
    "command", [("exec", "--", "true"), ("status",), ("clean", "--dry-run"), ("coordinator", "start")]
)
def test_every_command_refuses_an_open_home(tmp_path: Path, command: tuple[str, ...]) -> None:
    home = tmp_path / "h"
    user_keys(home)
    home.chmod(0o755)
    environment = {**os.environ, "WHESL_HOME": str(home)}
    done = subprocess.run(
        [*WHESL, *command], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode != 0
    assert f"chmod 700 {home}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_task_directory_open_to_others_is_refused(tmp_path: Path) -> None:
    """Given by ``--task-dir``: the keys of the agents' link would be in it."""
    place = tmp_path / "task"
    place.mkdir()
    (place / "something").touch()
    place.chmod(0o755)
    command = [*WHESL, "exec", "--task-dir", str(place), "--no-coordinator", "--", "true"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert f"chmod 700 {place}" in done.stderr
    (place / "something").unlink()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o1777])
def test_the_doctor_says_who_could_exchange_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """A directory above it that everybody may write into, unless its sticky bit keeps them from renaming."""
    above = tmp_path / "above"
    user_keys(above / "home")
    above.chmod(mode)
    monkeypatch.setenv("WHESL_HOME", str(above / "home"))
    monkeypatch.setenv("WHESL_LOCAL", str(tmp_path / "cluster"))
    (finding,) = host_and_home.home()
    said = "everybody can write into" in finding.detail
    assert (finding.state is State.WARN, said) == (mode == 0o777, mode == 0o777)
