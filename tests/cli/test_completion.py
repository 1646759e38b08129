"""Completion: what it offers, and that a real bash takes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from click.shell_completion import ShellComplete

from tests.cli.test_watch import append, begun, finished
from whesl.cli.commands import COMMANDS
from whesl.cli.group import cli
from whesl.cloud.runner.site_file import Provided
from whesl.managers.resource import SCHEDULERS
from whesl.runtime.journal.store import Journal

BIN = Path(sys.executable).parent
SHELLS = {"bash": ["bash", "-n"], "zsh": ["zsh", "-n"], "fish": ["fish", "--no-execute"]}


@pytest.fixture
def past(whesl_home: Path) -> Iterator[None]:
    """Two workflows; of the first, one task is paused and one has ended."""
    whesl_home.mkdir(mode=0o700)
    (whesl_home / "coordinator").mkdir()
    with Journal(whesl_home / "coordinator" / "journal.db") as journal:
        append(journal, begun(3, "study", time.time() - 50))
        append(journal, begun(1, "stone"))
        append(journal, finished("study/solve_CASE.0", "completed", time.time()))
        paused = {
            "task": "study/solve_CASE.1",
            "kind": "paused",
            "time": time.time(),
            "data": {"reason": "x"},
        }
        append(journal, [("report", paused, time.time())])
        now = time.time()
        bad = {"node": "n07", "reason": "x", "task": "t", "time": now, "expires": now + 9.0}
        append(journal, [("bad-node", {"bad_node": bad}, now)])
    yield


def offered(line: str) -> list[str]:
    """Return what is offered for a line that ends in the word to be completed."""
    *words, incomplete = line.split(" ")
    found = ShellComplete(cli, {}, "whesl", "_WHESL_COMPLETE").get_completions(words, incomplete)
    return [item.value for item in found]


def test_commands_are_offered_with_all_their_words() -> None:
    found = ShellComplete(cli, {}, "whesl", "_WHESL_COMPLETE").get_completions([], "")
    assert {item.value: item.help for item in found} == {name: text for name, (_, text) in COMMANDS.items()}
    assert "--version" in offered("--")


def test_what_the_commands_of_the_cloud_offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedulers, clouds, platforms of the prices that the line names, and directories that hold a run."""
    monkeypatch.chdir(tmp_path)
    assert offered("cloud run --scheduler ") == sorted(SCHEDULERS)
    assert offered("cloud run --cloud ") == sorted(name for name in get_args(Provided) if name)
    assert offered("cloud measure --platforms c") == ["c4.4xlarge", "c5a.4xlarge", "c5n.4xlarge"]
    assert offered("cloud measure --platforms c4.4xlarge,c") == [
        "c4.4xlarge,c5a.4xlarge",
        "c4.4xlarge,c5n.4xlarge",
    ]
    prices = 'dated = 2026-01-01\ncurrency = "EUR"\n[[platform]]\nname = "mine"\nprice = 1\n'
    (tmp_path / "prices.toml").write_text(prices)
    assert offered("cloud measure --prices prices.toml --platforms ") == ["mine"]
    assert offered("cloud measure --prices nowhere.toml --platforms ") == []
    assert offered("cloud status ") == [""], "any directory"
    for place in ("flow-cloud", "other"):
        (tmp_path / "deep" / place).mkdir(parents=True)
    (tmp_path / "deep" / "flow-cloud" / "run.json").touch()
    assert offered("cloud status deep/") == offered("cloud stop deep/f") == ["deep/flow-cloud"]
    assert offered("cloud report nowhere/") == ["nowhere/"]


@pytest.mark.usefixtures("past")
def test_what_is_offered() -> None:
    assert offered("re") == ["report", "resume"]
    assert offered("status s") == ["stone", "study"]
    assert offered("report stu") == ["study"]
    assert offered("events --workflow sto") == ["stone"]
    assert offered("resume ") == ["study/solve_CASE.1"]
    assert offered("pause study/") == ["study/solve_CASE.2"]
    assert offered("cancel study/") == ["study/solve_CASE.1", "study/solve_CASE.2"]
    assert offered("cancel solve") == ["solve_CASE.0", "solve_CASE.1", "solve_CASE.2"], "by name alone"
    assert offered("raise --task study/") == ["study/solve_CASE.1", "study/solve_CASE.2"]
    assert offered("raise --job ") == ["0", "1", "2"]
    assert "n02" in offered("raise --node ")
    assert offered("raise ") == [], "their rules declare none"
    assert offered("status --w") == ["--watch"]
    assert offered("nodes clear n") == ["n07"]
    assert offered("coordinator sta") == ["start", "status"]


def test_nothing_is_offered_where_nothing_is_known(
    whesl_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert offered("resume ") == []
    assert "resume" in offered("nonsense ")
    whesl_home.mkdir(exist_ok=True)
    whesl_home.chmod(0o755)  # refused by every command that runs
    assert offered("status ") == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("shell", list(SHELLS))
def test_the_script(shell: str, tmp_path: Path) -> None:
    words = [str(BIN / "whesl"), "completion", shell]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert "_whesl_completion" in done.stdout
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed; its script was printed but not parsed")
    script = tmp_path / "script"
    script.write_text(done.stdout)
    parsed = subprocess.run(
        [*SHELLS[shell], str(script)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (parsed.returncode, parsed.stderr) == (0, "")


@pytest.mark.costly
@pytest.mark.usefixtures("past")
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("whesl resume ", ["study/solve_CASE.1"]),
        ("whesl sta", ["status"]),
        ("whesl status stu", ["study"]),
        ("whesl status --wat", ["--watch"]),
        ("whesl status no", []),
    ],
)
def test_a_real_bash(line: str, expected: list[str]) -> None:
    """bash reads the script, finds the function for the command, and calls it as on a press of TAB."""
    program = (
        'eval "$(whesl completion bash)"\n'
        "compopt() { :; }\n"  # works only while a completion is under way
        'read -ra COMP_WORDS <<< "$1"\n'
        '[[ $1 == *" " ]] && COMP_WORDS+=("")\n'
        "COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))\n"
        'name=$(complete -p whesl | sed -E "s/.*-F ([^ ]+) .*/\\1/")\n'
        '"$name" whesl\n'
        'printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", program, "bash", line],
        env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.stdout.split() == expected
    assert done.stderr == ""
