"""A script that cannot be read, or of which a part cannot, is no program that has done its work."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from whesl.isolator.launch import attempt_runner
from whesl.isolator.launch.attempt_runner import interpreter, whole
from whesl.rjms.step_refusal import refusal
from whesl.testing.nfsbed import NfsBed

SHELLS = ("/bin/sh", "/bin/bash", "/usr/bin/env bash", "/bin/bash -e")
BODY = """\
say() { echo "$# $1 of ${0##*/} with $(cat)"; }
cat <<EOT
here
EOT
say "$@" # $(no command)
[ -z "${whesl_text-}${whesl_tries-}" ] && echo tidy
exit 7
"""


def run(script: Path, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = (*whole(interpreter(script.read_text())), str(script), *words)
    return subprocess.run(command, input=given, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_sees_what_it_always_does(tmp_path: Path, shell: str) -> None:
    script = tmp_path / "script"
    script.write_text(f"#!{shell}\n{BODY}")
    done = run(script, "a b", "c", given="input")
    assert done.stdout == "here\n2 a b of script with input\ntidy\n"
    assert (done.returncode, done.stderr) == (7, "")


def test_a_script_of_bash_has_a_name_and_a_descriptor_less(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text('#!/bin/bash\nset -u\necho "${BASH_SOURCE[0]}"\n[ ! -e /proc/self/fd/9 ]\n')
    done = run(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "/dev/fd/9\n", "")


def unread(bed: NfsBed, shell: str, rate: float, times: int) -> list[subprocess.CompletedProcess[str]]:
    place = bed.at("login") / "attempt-1"
    place.mkdir(exist_ok=True)
    script = place / "script"
    text = f"#!{shell}\n" + "# comment\n" * 3000 + "exit 7\n"
    bed.change("login", error_rate=0.0)
    script.write_text(text)
    bed.change("login", error=errno.ESTALE, error_rate=rate, operations=("getattr", "open", "read"))
    command = (*whole(interpreter(text)), str(script))
    return [subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(times)]


@pytest.mark.parametrize("shell", SHELLS[:2])
def test_a_script_that_cannot_be_read_has_not_succeeded(
    nfs_bed: Callable[..., NfsBed], monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    """Shells took an error for the script's end; bash also sourced the part that could be read."""
    bed = nfs_bed("login", attributes=0.0, absences=0.0)
    monkeypatch.setattr(attempt_runner, "_TRIES", 0)
    ended = unread(bed, shell, 0.15, 60)
    assert {done.returncode for done in ended} == {7, 126}
    said = [done.stderr for done in ended if done.returncode == 126]
    assert all(not text or refusal(text.splitlines()) for text in said)  # the last look may have succeeded


@pytest.mark.parametrize("shell", SHELLS[:2])
def test_a_script_is_read_again_while_its_file_system_refuses(
    nfs_bed: Callable[..., NfsBed], shell: str
) -> None:
    """One ESTALE had failed the first attempt of a task, with 126."""
    ended = unread(nfs_bed("login", attributes=0.0, absences=0.0), shell, 0.1, 20)
    assert {(done.returncode, done.stderr) for done in ended} == {(7, "")}
