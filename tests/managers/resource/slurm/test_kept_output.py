"""What a job's first run wrote is copied before Slurm truncates it."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from whesl.managers.resource.port import JobRecord
from whesl.managers.resource.slurm import kept_output, slurm_command_output
from whesl.model.errors import CouldNotObserveError
from whesl.model.states import JobState

SHOWN = """\
JobId=7 ArrayJobId=7 ArrayTaskId=2 JobName=a b
   StdErr=/x/7 2
   StdOut=/x/7 2
   Power=

JobId=8 ArrayJobId=7 ArrayTaskId=1 JobName=a b
   StdErr=/x/err
   StdIn=/dev/null
   StdOut=/x/7 1
   Power=

"""


class Commands:
    """Answers as scontrol does for job 8."""

    def __init__(self, *files: Path, script: str = "", append: int = 0, silent: bool = False) -> None:
        named = "".join(f"   {key}={file}\n" for key, file in zip(("StdErr", "StdOut"), files, strict=False))
        self.silent = silent
        self.answers = {
            "config": f"JobFileAppend = {append}\n",
            "batch_script": f"#!/bin/sh\n{script}\n",
            "job": f"JobId=8 JobName=x\n{named}",
        }

    def run(self, *command: str) -> str:
        if self.silent:
            raise CouldNotObserveError("scontrol did not answer")
        return self.answers[command[2]]


def kept(commands: Commands, restarts: int = 0, token: str = "") -> dict[str, str]:
    record = JobRecord(id="8", token=token, state=JobState.RUNNING, restarts=restarts)
    return kept_output.keep(commands, record)  # type: ignore[arg-type]  # what is used of them


@pytest.fixture
def out(tmp_path: Path) -> Path:
    file = tmp_path / "out"
    file.write_text("first")
    return file


def test_the_files_of_one_element_of_an_array() -> None:
    assert (
        slurm_command_output.output_files(SHOWN, "8")
        == slurm_command_output.output_files(SHOWN, "7_1")
        == ("/x/err", "/x/7 1")
    )
    assert slurm_command_output.output_files(SHOWN, "7_2") == ("/x/7 2",)
    assert slurm_command_output.output_files(SHOWN, "9") == slurm_command_output.output_files("", "9") == ()


def test_each_file_is_copied_once(out: Path) -> None:
    out.chmod(0o640)
    for _ in range(2):  # an order that got no answer is given again
        assert kept(Commands(out, out)) == {str(out): f"{out}.0"}
    copy = out.with_name("out.0")
    assert copy.read_text() == out.read_text() == "first"
    assert copy.stat().st_mode == out.stat().st_mode
    assert sorted(file.name for file in out.parent.iterdir() if file.is_file()) == ["out", "out.0"]


def test_nothing_is_replaced(out: Path) -> None:
    older = out.with_name("out.1")
    older.write_text("older")
    assert kept(Commands(out), restarts=1) == {str(out): f"{out}.2"}
    assert older.read_text() == "older"


def test_a_job_that_is_not_run_again_leaves_no_copy(out: Path) -> None:
    kept_output.forget(kept(Commands(out)))
    assert [file.name for file in out.parent.iterdir() if file.is_file()] == ["out"]


def test_without_room_there_is_no_copy_and_the_log_says_so(
    out: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    full = os.statvfs(out)
    room = os.statvfs_result((full[0], full[1], full[2], full[3], 0, *full[5:10]))
    monkeypatch.setattr(os, "fstatvfs", lambda _fd: room)
    assert kept(Commands(out)) == {}
    assert not out.with_name("out.0").exists()
    assert "it cannot be copied: No space left on device" in caplog.text


@pytest.mark.parametrize("mode", ["append", "truncate"])
def test_who_has_chosen_is_left_alone(out: Path, mode: str) -> None:
    assert kept(Commands(out, script=f"#SBATCH -N1 --open-mode={mode}")) == {}
    assert kept(Commands(out, append=1)) == {}
    assert kept(Commands(out), token="w/a#1") == {}
    assert not out.with_name("out.0").exists()


def test_only_regular_files_are_copied(out: Path, tmp_path: Path) -> None:
    link, empty = tmp_path / "link", tmp_path / "empty"
    link.symlink_to(out)
    empty.touch()
    assert kept(Commands(link, Path("/dev/null"))) == kept(Commands(empty, tmp_path)) == {}
    assert not [file for file in tmp_path.iterdir() if file.name.endswith(".0")]


def test_a_scheduler_that_does_not_say_is_told_in_the_log(
    out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert kept(Commands(out, silent=True)) == {}
    assert "job 8: Slurm may truncate its output: scontrol did not answer" in caplog.text
