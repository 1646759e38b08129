"""The runner tells how a command ended, and is no part of what the command sees."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from whesl.runtime.isolator.launch import program_runner


def ran(place: Path, *command: str | bytes, **given: str) -> tuple[int, tuple[int | None, bool], str]:
    """Run a command; return the runner's status, what it left, and what was printed."""
    status = place / "status"
    status.write_bytes(program_runner.STATUS_PENDING)
    runner = subprocess.run(
        [sys.executable, "-I", "-S", program_runner.__file__, "4096", str(status), *command],
        cwd=place,
        env={"PATH": "/usr/bin:/bin", **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return runner.returncode, program_runner.read(status.read_bytes()), runner.stdout


@pytest.mark.parametrize("signum", ["TERM", "INT", "KILL", "SEGV", "PIPE", "XFSZ"])
def test_a_death_by_a_signal_is_told_from_its_exit_status(tmp_path: Path, signum: str) -> None:
    """No shell tells ``exit 143`` from a death by SIGTERM, so a wrapped job's ExitCode was never 0:15."""
    code = 128 + signal.Signals[f"SIG{signum}"]
    dies = ran(tmp_path, "sh", "-c", f"ulimit -c 0; kill -{signum} $$")
    assert dies == (code, (code, True), "")
    returns = ran(tmp_path, "sh", "-c", f"exit {code}")
    assert returns == (code, (code, False), "")


def test_a_command_s_group_limits_and_variables(tmp_path: Path) -> None:
    script = "awk '{print $1 == $5, $1 == $6}' /proc/$$/stat; ulimit -S -m; exec env"
    code, left, said = ran(tmp_path, "bash", "-c", script, **{"BASH_FUNC_f%%": "() { :; }", "a.b": "c"})
    group, limit, *variables = said.splitlines()
    assert (code, left, group, limit) == (0, (0, False), "1 0", "4")
    assert "LC_CTYPE" not in said
    assert {"a.b=c", "BASH_FUNC_f%%=() {  :", "}"} <= set(variables)


def test_commands_are_found_as_execvp_finds_them(tmp_path: Path) -> None:
    script = tmp_path / "without"
    script.write_text("echo $0 $1; exit 4\n")
    script.chmod(0o755)
    assert ran(tmp_path, "./without", "x") == (4, (4, False), "./without x\n")
    assert ran(tmp_path, "without", PATH=f"/nowhere:{tmp_path}") == (4, (4, False), f"{script}\n")
    assert ran(tmp_path, "without", PATH=":/usr/bin")[0] == 4, "an empty directory is the current one"
    script.chmod(0o644)
    refused = (126, (126, False), "whesl: ./without cannot be run: Permission denied\n")
    assert os.getuid() != 0 or ran(tmp_path, "./without") == refused
    missing = (127, (127, False), "whesl: absent cannot be run: No such file or directory\n")
    assert ran(tmp_path, "absent") == missing


def test_a_signal_to_the_runner_does_not_end_it(tmp_path: Path) -> None:
    script = "kill -TERM $PPID; kill -INT $PPID; exit 6"
    assert ran(tmp_path, "sh", "-c", script) == (6, (6, False), "")


@pytest.mark.parametrize("content", [b"", b"run".ljust(15) + b"\n", program_runner.STATUS_PENDING, b"3\n"])
def test_no_status_is_read_where_there_is_none(content: bytes) -> None:
    assert program_runner.read(content) == (None, False)
