"""Two users with tasks on the same nodes: what one's recovery does touches nothing of the other's."""

from __future__ import annotations

import os
import pwd
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.equipment.slurmbed import SlurmBed
from tests.runtime.isolator.bench import records
from tests.security.stranger import STRANGER, VICTIM, needs_root, result_of, run_as, start_as
from tests.waiting import until
from whesl.model import attempt_rlimit_mark
from whesl.runtime.isolator.task.taskdir import TaskDir
from whesl.runtime.node_agent.fencing import attempt_processes

TOKEN = "0123456789abcdef0123456789abcdef.1"
RULES = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
DECLARE EXCEPTION CALLED JOB_LEVEL JOB [app]
EXCEPTION DETECTION CALLED MATCH "^called" stdout
EXCEPTION RECOVERY STEP CALLED JOB JOB.REPLACE
"""
RANKS = """\
cd {place}
srun bash -c 'echo "attempt $WHESL_RESTART_COUNT on $(hostname)"
echo x > /dev/shm/whesl-test-{name}-$WHESL_RESTART_COUNT-$(hostname)
for i in $(seq 3000); do
  [ -e done ] && exit 0; echo x >> alive-$WHESL_RESTART_COUNT-$(hostname); sleep 0.05
  [ "$(hostname)" = n01 ] && [ -e call ] && [ "$WHESL_RESTART_COUNT" = 0 ] && {{ echo called; rm call; }}
done; exit 1'
"""


def _marked_until(place: Path) -> int:
    """Carry the mark of another user's attempt, which stands in /proc for everybody to read."""
    resource.setrlimit(resource.RLIMIT_RSS, (attempt_rlimit_mark.of_token(TOKEN), resource.RLIM_INFINITY))
    (place / "ready").touch()
    until((place / "over").exists, "the end of the test", 60)
    return os.getpid()


@needs_root
def test_a_stranger_that_carries_the_mark_is_nobody_s_process(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The fence waited for it for ever: it may not be killed, so it was never gone."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        place = Path(name)
        place.chmod(0o777)
        begun = start_as(STRANGER, lambda: _marked_until(place))
        until((place / "ready").exists, "the stranger", 60)
        seen = run_as(VICTIM, lambda: [each.pid for each in attempt_processes.of_attempt(TOKEN)])
        own = run_as(STRANGER, lambda: [each.pid for each in attempt_processes.of_attempt(TOKEN)])
        (place / "over").touch()
        pid = result_of(begun)
    assert pid not in seen
    assert pid in own, "the mark is none"


# Attempt 0 becomes a set-uid program that knows nothing of its attempt, and another user's to the eye.
SET_UID = """\
cd {place}
if [ "$WHESL_RESTART_COUNT" = 0 ]; then
  (while [ ! -e seen ]; do sleep 0.1; done; echo called) &
  srun env -i ./set-uid 300
else
  srun bash -c 'echo "attempt 1 on $(hostname)"; pgrep -x set-uid | sed "s/^/old one: /"; exit 0'
fi
"""


class User:
    """An ordinary user with a home and an interpreter of Python that everybody may execute."""

    def __init__(self, bed: SlurmBed, name: str, python: str) -> None:
        self.bed, self.name, self.python = bed, name, python
        self.uid = pwd.getpwnam(name).pw_uid  # Slurm runs jobs of users that it can look up
        self.place = bed.directory / name
        self.place.mkdir(mode=0o755)
        self.home = self.place / "whesl"
        (self.place / "rules.esl").write_text(RULES)
        os.chown(self.place, self.uid, self.uid)
        self.out = self.place / "out"
        self.directory = TaskDir(self.home / "tasks" / "exec" / "app")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        become = ["setpriv", f"--reuid={self.uid}", f"--regid={self.uid}", "--clear-groups"]
        environ = {**self.bed.environment, "HOME": str(self.place), "WHESL_HOME": str(self.home)}
        environ = {**environ, "USER": self.name, "LOGNAME": self.name}
        return subprocess.run(
            [*become, *command],
            env=environ,
            cwd=self.place,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def whesl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run(self.python, "-m", "whesl", *words)

    def submit(self, ranks: str = RANKS) -> None:
        command = [self.python, "-m", "whesl", "exec", "--step", "app", "-e", str(self.place / "rules.esl")]
        command += ["--inner", "slurm", "--script", "-"]
        script = self.bed.script(
            f"#!/bin/bash\n{shlex.join(command)} <<'EOT'\n#!/bin/bash\n"
            f"{ranks.format(place=self.place, name=self.name)}\nEOT\necho status $?\n"
        )
        script.chmod(0o755)
        options = ["-N2", "-n2", "--ntasks-per-node=1", f"--output={self.out}", "--no-kill", "--no-requeue"]
        done = self.run("sbatch", *options, str(script))
        assert done.returncode == 0, done.stderr

    def text(self) -> str:
        return self.out.read_text() if self.out.exists() else ""

    def records(self) -> list[tuple[str, dict[str, Any]]]:
        return records(self.directory)

    def ranks(self) -> bool:
        return self.text().count("attempt 0 on") == 2

    def watched(self) -> bool:
        return any(kind == "agent" for kind, _ in self.records())

    def ended(self) -> bool:
        return "status" in self.text()

    def alive(self, attempt: int) -> dict[str, int]:
        return {path.name: path.stat().st_size for path in self.place.glob(f"alive-{attempt}-*")}


@pytest.fixture
def python(tmp_path: Path) -> Iterator[str]:
    """An interpreter of the same version that others may execute, with the packages of this one."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    with tempfile.TemporaryDirectory(prefix="whesl-python-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        made = subprocess.run(
            ["/usr/bin/python3", "-m", "venv", "--without-pip", f"{name}/venv"],
            capture_output=True,
            check=False,
        )
        packages = Path(name, "venv", "lib", f"python{version}", "site-packages")
        if made.returncode != 0 or not packages.is_dir():
            pytest.skip(f"the system has no Python {version} that other users may execute")
        here = [path for path in sys.path if path.endswith("site-packages")]
        root = str(Path(__file__).parents[2])
        (packages / "shared.pth").write_text("\n".join([*here, root]) + "\n")
        found = f"{name}/venv/bin/python"
        if run_as(VICTIM, lambda: subprocess.call([found, "-c", "import whesl, zmq, msgspec"])) != 0:
            pytest.skip("other users may not read the packages of this interpreter")
        yield found


@pytest.mark.slurm
@pytest.mark.slow
@needs_root
def test_a_recovery_touches_only_its_user_s_processes_and_files(
    slurm_bed: Callable[..., SlurmBed], python: str
) -> None:
    bed = slurm_bed(nodes=2)
    one, other = User(bed, "games", python), User(bed, "nobody", python)
    try:
        for user in (one, other):
            assert user.whesl("coordinator", "start").returncode == 0
            user.submit()
        for user in (one, other):
            bed.wait_for(user.ranks, f"the ranks of {user.name}")
            bed.wait_for(user.watched, "its agent")
        assert one.run("ls", str(other.home)).returncode != 0
        memory = sorted(path.name for path in Path("/dev/shm").glob("whesl-test-nobody-*"))
        one.run("touch", str(one.place / "call"))
        bed.wait_for(lambda: one.text().count("attempt 1 on") == 2, "the restart")
        before, old = other.alive(0), one.alive(0)
        assert len(before) == len(old) == 2
        bed.wait_for(
            lambda: all(other.alive(0)[name] > size for name, size in before.items()),
            "the other's ranks go on",
        )
        assert one.alive(0) == old, "a rank of the old attempt lived on"
        assert sorted(path.name for path in Path("/dev/shm").glob("whesl-test-nobody-*")) == memory
        for user in (one, other):
            user.run("touch", str(user.place / "done"))
        for user in (one, other):
            bed.wait_for(user.ended, f"the end of {user.name}")
            assert "status 0" in user.text()
        assert "attempt 1" not in other.text()
        assert not [kind for kind, _ in other.records() if kind in ("raised", "node")]
        for user, stranger in ((one, other), (other, one)):
            told = user.whesl("status").stdout
            assert "exec/app\tcompleted" in told and user.whesl("status").returncode == 0
            assert stranger.name not in told
    finally:
        for user in (one, other):
            print(
                user.name, user.text(), user.directory.log.read_text() if user.directory.log.exists() else ""
            )
            user.whesl("coordinator", "stop")
        for path in Path("/dev/shm").glob("whesl-test-*"):
            path.unlink()


@pytest.mark.slurm
@pytest.mark.slow
@needs_root
def test_a_set_uid_program_does_not_outlive_its_attempt(
    slurm_bed: Callable[..., SlurmBed], python: str
) -> None:
    """Its environment cannot be read by who runs it (proc(5))."""
    bed = slurm_bed(nodes=2)
    user = User(bed, "games", python)

    def set_uids() -> list[tuple[int, int]]:
        found = []
        for node in bed.nodes:
            for process in bed.processes(node):
                with suppress(psutil.NoSuchProcess):  # others come and go meanwhile
                    if process.name() == "set-uid":
                        found.append(process.uids()[:2])
        return found

    shutil.copy("/bin/sleep", user.place / "set-uid")
    (user.place / "set-uid").chmod(0o4755)
    try:
        assert user.whesl("coordinator", "start").returncode == 0
        user.submit(SET_UID)
        bed.wait_for(lambda: set_uids() == [(user.uid, 0)] * 2, "both ranks")
        (user.place / "seen").touch()
        bed.wait_for(user.ended, "the end")
        assert "status 0" in user.text()
        assert user.text().count("attempt 1 on") == 2
        assert "old one" not in user.text()
    finally:
        log = user.directory.log
        print(user.text(), log.read_text() if log.exists() else "")
        user.whesl("coordinator", "stop")
