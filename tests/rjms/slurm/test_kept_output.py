"""What a job's first run wrote is put aside before Slurm truncates it."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from whesl.model.errors import CouldNotObserveError
from whesl.model.states import JobState
from whesl.rjms.port import JobRecord
from whesl.rjms.slurm import kept_output, records

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
    assert records.output_files(SHOWN, "8") == records.output_files(SHOWN, "7_1") == ("/x/err", "/x/7 1")
    assert records.output_files(SHOWN, "7_2") == ("/x/7 2",)
    assert records.output_files(SHOWN, "9") == records.output_files("", "9") == ()


def test_what_still_writes_goes_on_in_the_renamed_file(out: Path) -> None:
    with out.open("a") as writer:
        assert kept(Commands(out, out)) == {str(out): f"{out}.0"}
        writer.write(" and last")
    assert not out.exists()
    assert out.with_name("out.0").read_text() == "first and last"


def test_nothing_is_replaced(out: Path) -> None:
    older = out.with_name("out.1")
    older.write_text("older")
    assert kept(Commands(out), restarts=1) == {str(out): f"{out}.2"}
    assert older.read_text() == "older"


def test_what_was_begun_is_finished(out: Path) -> None:
    out.with_name("out.0").hardlink_to(out)
    assert kept(Commands(out)) == {str(out): f"{out}.0"}
    assert not out.exists()
    assert kept(Commands(out)) == {}, "it is put aside already"


def test_a_job_that_is_not_run_again_has_its_file_back(out: Path) -> None:
    kept_output.put_back(kept(Commands(out)))
    assert [file.name for file in out.parent.iterdir()] == ["out"]
    assert out.read_text() == "first"


@pytest.mark.parametrize("mode", ["append", "truncate"])
def test_who_has_chosen_is_left_alone(out: Path, mode: str) -> None:
    assert kept(Commands(out, script=f"#SBATCH -N1 --open-mode={mode}")) == {}
    assert kept(Commands(out, append=1)) == {}
    assert kept(Commands(out), token="w/a#1") == {}
    assert out.exists()


def test_only_regular_files_are_renamed(out: Path, tmp_path: Path) -> None:
    link, empty = tmp_path / "link", tmp_path / "empty"
    link.symlink_to(out)
    empty.touch()
    assert kept(Commands(link, Path("/dev/null"))) == kept(Commands(empty, tmp_path)) == {}
    assert link.is_symlink()


def test_a_scheduler_that_does_not_say_is_told_in_the_log(
    out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert kept(Commands(out, silent=True)) == {}
    assert "job 8: Slurm may truncate its output: scontrol did not answer" in caplog.text
