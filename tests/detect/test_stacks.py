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
from whesl.detect import hung_process_stacks


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
    if shutil.which("gdb"):
        assert "gdb of process" in text
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
