"""``whesl fmt`` as it is called: what is written, what is left alone, and the exit status."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from whesl.cli import main
from whesl.cli.rules import fmt
from whesl.model.errors import UsageError, WheslError

UGLY = "DECLARE   ENTITY JOB\n"
NEAT = "DECLARE ENTITY JOB\n"
BROKEN = "DECLARE ENTITTY JOB\n"


def call(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as exited:
        main(["fmt", *(str(argument) for argument in arguments)])
    assert isinstance(exited.value.code, int)
    return exited.value.code


@pytest.fixture
def ugly(tmp_path: Path) -> Path:
    path = tmp_path / "ugly.esl"
    path.write_text(UGLY)
    path.chmod(0o640)
    return path


def test_in_place_and_the_mode_stays(ugly: Path) -> None:
    before = ugly.stat().st_ino
    assert call(ugly) == 0
    assert ugly.read_text() == NEAT
    assert stat.S_IMODE(ugly.stat().st_mode) == 0o640
    after = ugly.stat()
    assert after.st_ino != before  # another file took its place at once
    assert [path.name for path in ugly.parent.iterdir()] == ["ugly.esl"]
    assert call(ugly) == 0
    assert ugly.stat().st_ino == after.st_ino  # nothing to do, nothing done


def test_check(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--check", ugly) == 1
    assert "ugly.esl would change" in capsys.readouterr().err
    assert ugly.read_text() == UGLY
    ugly.write_text(NEAT)
    assert call("--check", ugly) == 0


def test_diff(ugly: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--diff", ugly) == 0
    out = capsys.readouterr().out
    assert f"-{UGLY}+{NEAT}" in out
    assert ugly.read_text() == UGLY
    assert call("--diff", "--check", ugly) == 1
    ugly.write_text(UGLY.rstrip("\n"))
    capsys.readouterr()
    assert call("--diff", ugly) == 0
    assert "No newline at end of file" in capsys.readouterr().out


def test_standard_input() -> None:
    command = [sys.executable, "-m", "whesl", "fmt", "-"]
    ran = subprocess.run(command, input=UGLY.encode(), capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stdout) == (0, NEAT.encode())
    ran = subprocess.run(
        [*command, "--check"], input=UGLY.encode(), capture_output=True, timeout=60, check=False
    )
    assert (ran.returncode, ran.stdout) == (1, b"")


def test_a_broken_file_is_not_touched_and_the_others_are(
    ugly: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken.esl"
    broken.write_text(BROKEN)
    assert call(broken, ugly) == 1
    assert (broken.read_text(), ugly.read_text()) == (BROKEN, NEAT)
    error = capsys.readouterr().err
    assert f"{broken}:1:9: error[ESL010]" in error
    assert "1 of 2 not touched" in error


def test_a_file_that_is_not_there_stops_everything_first(ugly: Path, tmp_path: Path) -> None:
    assert call(ugly, tmp_path / "none.esl") == 2
    assert ugly.read_text() == UGLY


def test_a_link_is_followed_to_a_file_of_ones_own(ugly: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.esl"
    link.symlink_to("ugly.esl")
    assert call(link) == 0
    assert link.is_symlink()
    assert ugly.read_text() == NEAT


def test_a_link_to_the_file_of_another_is_refused(
    ugly: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link.esl"
    link.symlink_to("ugly.esl")
    monkeypatch.setattr(os, "geteuid", lambda: ugly.stat().st_uid + 1)
    with pytest.raises(UsageError, match="belongs to another user"):
        fmt.replace(link, b"x")
    assert ugly.read_text() == UGLY


def test_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="not a regular file"):
        fmt.replace(tmp_path / "pipe", b"x")
    with pytest.raises(WheslError, match="No such file"):
        fmt.replace(tmp_path / "none", b"x")


def test_a_full_disk_changes_nothing(ugly: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(WheslError, match="No space left on device"):
        fmt.replace(ugly, NEAT.encode())
    assert ugly.read_text() == UGLY
    assert [path.name for path in ugly.parent.iterdir()] == ["ugly.esl"]


def test_standard_input_that_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BROKEN.encode())))
    assert call("-") == 1
    assert "<stdin>:1:9: error[ESL010]" in capsys.readouterr().err
