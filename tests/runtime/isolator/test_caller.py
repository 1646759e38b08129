"""What a command of ``whesl exec`` and its caller see of each other, as without WHESL."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

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


def test_python_s_variables_are_the_program_s_alone(bench: Bench) -> None:
    """The job's stderr had a warning on WHESL's process; with PYTHONINSPECT, the keeper asked for input."""
    given = {f"PYTHON{name}": "1" for name in ("CASEOK", "DEBUG", "DEVMODE", "INSPECT", "OPTIMIZE")}
    given |= {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONWARNINGS": "error"}
    bench.forked = False
    bench.environment.update(given)
    lines = "".join(f"{name}={value}\n" for name, value in sorted(given.items()))
    names = "|".join(given)
    shown = bench.script(f"env | grep -E '^({names})=' | LC_ALL=C sort; env | grep -c ASIDE; echo own >&2\n")
    assert bench.run(*shown) == (0, f"{lines}0\n", "own\n")


@pytest.mark.parametrize("given", ["/nowhere", None], ids=["another", "none"])
def test_the_shell_s_name_of_the_directory_is_as_it_was(bench: Bench, given: str | None) -> None:
    """A program that is no shell saw a PWD that its caller had not set."""
    bench.environment.pop("PWD", None)
    if given is not None:
        bench.environment["PWD"] = given
    shown = (sys.executable, "-c", "import os; print(os.environ.get('PWD'))")
    assert bench.run(*shown)[:2] == (0, f"{given}\n")
