"""What ``whesl exec`` makes of a call, where looking fails."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from whesl.managers.resource.allocation_from_environment import Given
from whesl.runtime.isolator.launch import setup_json
from whesl.runtime.isolator.launch.setup_json import Request


@pytest.mark.parametrize("there", [True, False])
def test_a_coordinator_is_looked_for_again_where_looking_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    """One EIO made a task run without the coordinator that was there."""
    endpoint = tmp_path / "coordinator" / "endpoint.json"
    if there:
        endpoint.parent.mkdir()
        endpoint.touch()
    failing = [True, True]

    def real_or_failing(real: Any) -> Any:
        def call(path: Any, *arguments: Any, **more: Any) -> Any:
            if os.fspath(path) == str(endpoint) and failing and failing.pop():
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return real(path, *arguments, **more)

        return call

    for name in ("stat", "lstat"):
        monkeypatch.setattr(os, name, real_or_failing(getattr(os, name)))
    given = Given(rjms="host", job_id="", nodes=("n1",), batch_host="n1", restart_count=0)
    setup = setup_json.setup(Request(command=("true",)), None, given, str(tmp_path))
    assert setup["coordinator"] is there


@pytest.mark.parametrize("name", ["unlinked", "replaced", os.fsdecode(b"caf\xe9")])
def test_each_attempt_can_read_a_file_on_standard_input_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A second attempt read nothing of an unlinked here-document; a name in Latin-1 ended isolators."""
    monkeypatch.setenv("WHESL_HOME", str(tmp_path / "home"))
    source, saved = tmp_path / name, os.dup(0)
    source.write_text("header\nfirst\n")
    try:
        with source.open() as file:
            os.lseek(file.fileno(), 7, os.SEEK_SET)
            os.dup2(file.fileno(), 0)
        if name != os.fsdecode(b"caf\xe9"):
            source.unlink()
        if name == "replaced":
            source.write_text("another file")
        path, offset = setup_json._stdin()
        path.encode()
        for _ in range(2):
            with Path(path).open() as again:
                again.seek(offset)
                assert again.read() == "first\n"
    finally:
        os.dup2(saved, 0)
        os.close(saved)


@pytest.mark.parametrize("letter", ["a", "\N{KATAKANA LETTER SI}"])
def test_a_name_of_any_length_has_a_directory_of_its_own(tmp_path: Path, letter: str) -> None:
    """A program called by 30 letters of Japanese ran without WHESL, since its quoted name was too long."""
    request = Request(command=("true",))
    made = {setup_json.task_dir(request, f"w/{letter * 300}{end}", str(tmp_path)) for end in "12"}
    for directory in made:
        Path(directory).mkdir(parents=True)
    assert len(made) == 2
