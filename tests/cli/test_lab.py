"""The lab's group of commands: quick to start, and clear where its extra is missing."""

from __future__ import annotations

import importlib.abc
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console

from whesl.cli.lab import COMMANDS
from whesl.cli.lab.progress import Lines, duration

HEAVY = {"numpy", "numba", "scipy", "pyarrow", "matplotlib", "xgboost", "dask", "distributed"}


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, whesl.cli.group as g\n"
        "try: g.run(['lab', '--help'])\n"
        f"finally: print(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == "[]\n"
    for name in COMMANDS:
        assert f"  {name} " in done.stdout


class Hidden(importlib.abc.MetaPathFinder):
    """Finds no library of the extra; to be used where none has been loaded."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname.partition(".")[0] in HEAVY:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


@pytest.mark.costly
@pytest.mark.parametrize("name", list(COMMANDS))
def test_a_missing_extra_is_one_clear_error(name: str, tmp_path: Path) -> None:
    """Whether a command's module needs a library, or what it calls does."""
    code = (
        "import sys, pathlib\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from tests.cli.test_lab import Hidden\n"
        "import whesl.cli.group as g\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "g.run(sys.argv[2:])"
    )
    root = Path(__file__).resolve().parents[2]
    words = ["lab", name, *(["--list"] if name == "reproduce" else ["--help"])]
    done = subprocess.run(
        [sys.executable, "-c", code, str(root), *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
    )
    if done.returncode == 0:
        return  # it loads its libraries when it runs
    assert done.returncode == 2
    assert "which is not installed\n  hint: pip install 'whesl[lab]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_commands_have_one_line_each() -> None:
    assert all(len(text) <= 72 for _, text in COMMANDS.values())


@pytest.fixture
def clock() -> Iterator[list[float]]:
    yield [0.0]


def test_piped_progress_is_plain_lines_with_the_time_left(clock: list[float]) -> None:
    text = io.StringIO()
    progress = Lines(Console(file=text, width=200), clock=lambda: clock[0])
    with progress.stage("simulating [easy]", 100) as advance:
        for step in range(4):
            clock[0] = 6.0 * (step + 1)
            advance(10)
    progress.note("done")
    assert text.getvalue() == (
        "simulating [easy]: 20 %, about 48 s left\nsimulating [easy]: 40 %, about 36 s left\ndone\n"
    )


def test_durations() -> None:
    assert [duration(s) for s in (3.2, 120.0, 12600.0)] == ["3 s", "2 min", "3.5 h"]
