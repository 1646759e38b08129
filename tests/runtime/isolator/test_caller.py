"""What a command of ``whesl exec`` and its caller see of each other, as without WHESL."""

from __future__ import annotations

import subprocess
import sys

import psutil

from tests.runtime.isolator.bench import PATIENCE, Bench, bench, until
from whesl.runtime.locking import procfs

__all__ = ["bench"]


def test_each_attempt_has_the_descriptors_of_its_caller(bench: Bench) -> None:
    """A shell's ``<(...)`` was no file to the command, and its lock no lock."""
    app = bench.script(
        'cat "$1"; flock -n 9 && echo locked >&8\n'
        '[ "$WHESL_RESTART_COUNT" = 1 ] || { echo An error occurred in MPI_Send; sleep 100; }\n'
    )
    line = f"{sys.executable} -m whesl exec --step app --no-coordinator -e {bench.rules()} -- {' '.join(app)}"
    script = f"exec 8> told; (flock 9; {line} <(echo given)) 9> lock; flock -n lock echo free"
    done = subprocess.run(
        ["bash", "-c", script],
        env=bench.environment,
        cwd=bench.place,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE,
        check=True,
    )
    assert done.stdout == "given\nAn error occurred in MPI_Send\nfree\n"
    assert (bench.place / "told").read_text() == "locked\nlocked\n"


def test_a_script_that_kills_all_pythons_spares_ours(bench: Bench) -> None:
    """``pkill -9 python``, with which scripts begin on nodes where old programs may linger, ended the job."""
    bench.forked = False
    app = bench.script(": > begun; for _ in {1..1200}; do [ ! -e done ] || exit 5; sleep 0.1; done\n")
    child = bench.exec(*app, options=("-e", bench.rules()))
    until((bench.place / "begun").exists, "the program")
    bench.isolator()

    def pythons() -> list[psutil.Process]:
        tree = [psutil.Process(child.pid), *psutil.Process(child.pid).children(recursive=True)]
        return [one for one in tree if b"python" in (procfs.content(f"/proc/{one.pid}/comm") or b"")]

    until(lambda: not pythons(), "names of our own")
    (bench.place / "done").touch()
    assert child.wait(PATIENCE) == 5
