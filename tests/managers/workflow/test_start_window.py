"""Signals that come to a wrapped script while WHESL loads: they wait for the program they are meant for."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from tests.managers.workflow.wrapped import program_text, wrapped
from tests.waiting import until
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.script_wrapping import TaskCall
from whesl.runtime.isolator.launch.signal_delivery import SIGNALS

BLOCKS = subprocess.run(
    ["/usr/bin/env", "--block-signal=USR1", "/bin/true"], capture_output=True, check=False
)
need_env = pytest.mark.skipif(BLOCKS.returncode != 0, reason="coreutils before 8.31")


def script(place: Path, whesl: str, text: str = "#!/bin/bash\necho never\n") -> Path:
    """Write a wrapped script for which another program stands in WHESL's place."""
    program = place / "whesl"
    program.write_text(whesl)
    call = TaskCall(program=(str(program),), workflow="w", spec="r.esl", step="a")
    job = place / "job.sh"
    job.write_text(wrapped(call, text))
    for path in (program, job):
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return job


@pytest.mark.parametrize(("inner", "outer", "calls"), [("7", "7", 1), ("8", "7", 2)])
def test_a_script_that_calls_itself_is_one_task(tmp_path: Path, inner: str, outer: str, calls: int) -> None:
    """``exec "$0"`` attached to its own task, and waited for itself for ever."""
    whesl = f"#!/bin/bash\necho called >> {tmp_path}/calls\n"
    whesl += 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"\n'
    text = f'#!/bin/bash -e\n[ "$1" ] || SLURM_JOB_ID={inner} exec "$0" again "two words"\n'
    text += 'echo "$# $2"\nexit 3\n'
    job = script(tmp_path, whesl, text)
    done = subprocess.run(
        [job], capture_output=True, text=True, check=False, env={**os.environ, "SLURM_JOB_ID": outer}
    )
    assert (done.returncode, done.stdout) == (3, "2 two words\n"), done.stderr
    assert (tmp_path / "calls").read_text().count("called") == calls


def test_what_waits_is_what_a_keeper_passes_on() -> None:
    assert set(script_wrapping._HELD) == {int(signum) for signum in SIGNALS}


@need_env
def test_a_signal_waits_while_whesl_loads(tmp_path: Path) -> None:
    """On a busy machine an interpreter takes a second to load: USR1 had ended the job."""
    loads = f": > {tmp_path}/loads\nuntil [ -e {tmp_path}/go ]; do sleep 0.01; done\n"
    # Not dash, which unblocks all signals when it has waited for a child.
    job = script(tmp_path, f"#!/bin/bash\n{loads}grep ShdPnd /proc/$$/status > {tmp_path}/pending\n")
    child = subprocess.Popen([job], start_new_session=True)
    until((tmp_path / "loads").exists, "the program", 60.0)
    for signum in (signal.SIGUSR1, signal.SIGTERM, signal.SIGRTMIN):
        os.kill(child.pid, signum)
    (tmp_path / "go").touch()
    assert child.wait(60) == 0
    pending = int((tmp_path / "pending").read_text().split()[1], 16)
    assert pending == sum(1 << (signum - 1) for signum in (signal.SIGUSR1, signal.SIGTERM, signal.SIGRTMIN))


def test_an_env_that_holds_no_signals_starts_the_task_all_the_same(tmp_path: Path) -> None:
    job = script(tmp_path, f'#!/bin/sh\necho "$@" > {tmp_path}/told\n')
    older = tmp_path / "env"
    older.write_text("#!/bin/sh\nexit 125\n")
    older.chmod(0o700)
    text = program_text(job.read_text()).replace("/usr/bin/env", str(older))
    program = tmp_path / "program"
    program.write_text(text)
    subprocess.run(["/bin/bash", str(program), str(job)], check=True)
    assert (tmp_path / "told").read_text().startswith("exec --script-word 1 --workflow w")
