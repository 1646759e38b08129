"""Stacks of real processes, and of processes that are not there any more."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from whesl.runtime.detect import hung_process_stacks


@pytest.fixture
def hung() -> Iterator[subprocess.Popen[bytes]]:
    """A Python program with two threads that sleep in functions of telling names."""
    program = (
        "import threading, time\n"
        "def waits_for_rank_three(): time.sleep(600)\n"
        "def main_is_stuck(): print('up', flush=True); time.sleep(600)\n"
        "threading.Thread(target=waits_for_rank_three, daemon=True).start()\n"
        "main_is_stuck()\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    yield process
    process.kill()
    process.communicate()


def test_a_hung_process_tells_where_it_sleeps(hung: subprocess.Popen[bytes]) -> None:
    text = hung_process_stacks.collect([hung.pid])
    assert f"process {hung.pid}" in text
    assert "State:\t" in text
    assert "-- thread" in text
    assert "gdb of process" not in text, "it knows no frames of Python"
    if shutil.which("py-spy"):
        assert "main_is_stuck" in text
    assert hung.poll() is None


def test_py_spy_is_used_when_it_is_there(
    hung: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Path(sys.executable).parent
    if not (beside / "py-spy").exists():
        pytest.skip("py-spy is not installed beside this interpreter")
    monkeypatch.setenv("PATH", f"{beside}:{os.environ['PATH']}")
    text = hung_process_stacks.collect([hung.pid])
    if "Permission denied" in text or "Operation not permitted" in text:
        pytest.skip("this user may not trace processes")
    assert "main_is_stuck" in text
    assert "waits_for_rank_three" in text


def test_a_program_is_asked_for_its_stacks_where_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without py-spy: it has registered a signal with faulthandler. It is sent no other one."""
    monkeypatch.setattr(hung_process_stacks, "_found", lambda name: None)
    program = (
        "import faulthandler, signal, time\n"
        "faulthandler.register(signal.SIGUSR2)\n"
        "def waits_for_its_ranks(): print('up', flush=True); time.sleep(600)\n"
        "waits_for_its_ranks()\n"
    )
    errors = tmp_path / "errors"
    for name, told in (("USR2", True), ("SIGUSR1", False), ("NONE", False)):
        with errors.open("w") as file:
            environment = {**os.environ, "WHESL_STACKS_SIGNAL": name}
            command = [sys.executable, "-c", program]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=file, env=environment)
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        text = hung_process_stacks.collect([process.pid])
        assert ("was asked by SIGUSR2" in text) == told
        if told:
            until(lambda: "waits_for_its_ranks" in errors.read_text(), "its stacks", 30.0)
        assert process.poll() is None
        process.kill()
        process.communicate()


def test_no_debugger_is_started_for_shells_and_none_again_that_finds_no_frame(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A gdb for each sh, srun and Python delayed a recovery by 4 to 6 s, and found no frames."""
    calls = tmp_path / "calls"
    debugger = tmp_path / "gdb"
    debugger.write_text(f"#!/bin/sh\necho called >> {calls}\n")
    debugger.chmod(0o755)
    monkeypatch.setattr(hung_process_stacks, "_found", lambda name: str(debugger))
    monkeypatch.setattr(hung_process_stacks, "_executable", lambda pid: "solver" if pid % 2 else "bash")
    hung_process_stacks.collect([2, 4])
    assert not calls.exists()
    hung_process_stacks.collect([1, 2, 3, 5])
    assert calls.read_text() == "called\n"


def test_a_stopped_process_is_left_as_it_was(hung: subprocess.Popen[bytes]) -> None:
    os.kill(hung.pid, signal.SIGSTOP)
    text = hung_process_stacks.collect([hung.pid])
    assert "State:" in text
    os.kill(hung.pid, signal.SIGCONT)
    assert hung.poll() is None


def test_gone_and_zombie_processes_are_no_error() -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    zombie = subprocess.Popen(["true"])
    until(lambda: "Z" in Path(f"/proc/{zombie.pid}/stat").read_text().split()[2], "a zombie", 30.0)
    text = hung_process_stacks.collect([gone.pid, zombie.pid, 2**22 + 5])
    assert f"process {gone.pid}: gone" in text
    assert "zombie" in text
    zombie.wait()


def test_a_debugger_that_hangs_costs_its_limit_only(
    hung: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "gdb"
    fake.write_text("#!/bin/sh\necho attached\n/bin/sleep 600\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(hung_process_stacks, "_executable", lambda pid: "solver")
    monkeypatch.setattr(hung_process_stacks, "DEBUGGER_LIMIT", 0.3)
    text = hung_process_stacks.collect([hung.pid, hung.pid], timeout=0.5)
    assert "killed after" in text
    assert "attached" in text
    text = hung_process_stacks.collect([hung.pid], timeout=0)
    assert "no time left" in text


def test_size_is_bounded(hung: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(hung_process_stacks, "SIZE_LIMIT", 100)
    assert len(hung_process_stacks.collect([hung.pid])) < 120
    monkeypatch.setattr(hung_process_stacks, "PROCESS_LIMIT", 1)
    monkeypatch.setattr(hung_process_stacks, "SIZE_LIMIT", 10_000)
    assert "1 more processes" in hung_process_stacks.collect([hung.pid, 1])
