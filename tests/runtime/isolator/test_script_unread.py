"""A script that cannot be read, or of which a part cannot, is no program that has done its work."""

from __future__ import annotations

import errno
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.equipment.nfsbed import NfsBed
from tests.runtime.isolator.bench import Bench, bench
from whesl.files import file_retry

__all__ = ["bench"]

_READ = """\
import sys
from whesl.cli.launch import fast_exec
from whesl.files import file_retry
file_retry.LIMIT = float(sys.argv[1])
file_retry.retried.__defaults__ = (file_retry.LIMIT,)
print(len(fast_exec.told(["--script-word", "1", "--", "/bin/bash", sys.argv[2]])))
"""


def unread(bed: NfsBed, rate: float, times: int, limit: float) -> list[subprocess.CompletedProcess[str]]:
    place = bed.at("login") / "attempt-1"
    place.mkdir(exist_ok=True)
    script = place / "script"
    bed.change("login", error_rate=0.0)
    script.write_text("#!/bin/bash\n" + "# comment\n" * 3000 + "exit 7\n")
    bed.change("login", error=errno.ESTALE, error_rate=rate, operations=("getattr", "open", "read"))
    command = [sys.executable, "-c", _READ, str(limit), str(script)]
    return [subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(times)]


@pytest.mark.costly
def test_a_script_that_cannot_be_read_is_not_begun(nfs_bed: Callable[..., NfsBed]) -> None:
    """Shells took an error for the script's end; bash also ran the part that could be read."""
    ended = unread(nfs_bed("login", attributes=0.0, absences=0.0), 0.1, 40, 0.0)
    assert {done.returncode for done in ended} == {0, 126}
    assert all("cannot be read: Stale file handle" in done.stderr for done in ended if done.returncode)


def test_a_script_is_read_again_while_its_file_system_refuses(nfs_bed: Callable[..., NfsBed]) -> None:
    """One ESTALE had failed the first attempt of a task, with 126."""
    ended = unread(nfs_bed("login", attributes=0.0, absences=0.0), 0.2, 10, file_retry.LIMIT)
    assert {(done.returncode, done.stdout) for done in ended} == {(0, "5\n")}


def test_a_script_has_its_own_name_and_lines(bench: Bench) -> None:
    script = bench.place / "a script"
    script.write_bytes(
        b'#!/bin/bash\n# caf\xe9\necho "$0 $BASH_SOURCE $LINENO $1"\nno-such-program\nexit 5\n'
    )
    code, out, err = bench.run("b c", options=("--script", str(script)))
    assert code == 5
    assert out == f"{script} {script} 3 b c\n"
    assert f"{script}: line 4: no-such-program" in err
