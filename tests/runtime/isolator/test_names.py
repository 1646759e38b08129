"""Two tasks under one name: the second is refused, and never taken for the first."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.runtime.isolator.bench import PATIENCE, Bench, bench
from whesl.managers.resource.port import AllocationInfo
from whesl.runtime.isolator.launch.setup_json import Request, setup

__all__ = ["bench"]

WAITS = "until [ -e go ]; do sleep 0.01; done; echo ran $1 >> ran"


def refused(bench: Bench, *command: str, options: tuple[str, ...] = ()) -> str:
    code, _, err = bench.run(*command, options=options)
    assert code == 2, err
    assert "--instance" in err and "Traceback" not in err
    return err


def test_beside_the_first(bench: Bench) -> None:
    first = bench.exec("sh", "-c", WAITS, "sh", "1", options=("--step", "app"))
    bench.isolator()
    assert "exec/app runs here" in refused(bench, "sh", "-c", WAITS, "sh", "2", options=("--step", "app"))
    (bench.place / "go").touch()
    assert first.wait(PATIENCE) == 0
    assert (bench.place / "ran").read_text() == "ran 1\n"


def test_from_another_directory(bench: Bench) -> None:
    first = bench.exec("sh", "-c", WAITS, options=("--step", "app"))
    bench.isolator()
    other = Bench(bench.place / "other")
    other.place.mkdir()
    other.directory = bench.directory
    refused(other, "sh", "-c", WAITS, options=("--step", "app"))
    (bench.place / "go").touch()
    assert first.wait(PATIENCE) == 0


@pytest.mark.parametrize("changed", [False, True])
def test_after_the_first_in_the_same_job(bench: Bench, changed: bool) -> None:
    """In a workflow, a call that is repeated in the same job is told how the task ended."""
    options = ("--workflow", "w", "--step", "app", "--script", "app.sh")
    script = bench.place / "app.sh"
    script.write_text("#!/bin/sh\necho ran >> ran; exit 3\n")
    assert bench.run(options=options)[0] == 3
    if changed:
        script.write_text("#!/bin/sh\necho another >> ran\n")
        assert "w/app has ended" in refused(bench, options=options)
    else:
        assert bench.run(options=options)[0] == 3
    assert (bench.place / "ran").read_text() == "ran\n"


def test_two_that_begin_at_once_on_two_hosts_are_two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Elements of a job array: one program, one directory, one second, and one process number on each host.

    With one name, the second took the first for itself, and ended with 0 without having run.
    """
    monkeypatch.setattr(os, "getpid", lambda: 4711)
    monkeypatch.setattr(time, "strftime", lambda form: "20261122-090611")
    request = Request(command=("app",), no_coordinator=True)
    given = AllocationInfo(job_id="", rjms="host", nodes=("n01",), batch_host="n01")
    ids = {setup(request, None, given, str(tmp_path))["task"]["id"] for _ in range(2)}
    assert len(ids) == 2
    assert all(name.startswith("exec/app-20261122-090611-") for name in ids)
