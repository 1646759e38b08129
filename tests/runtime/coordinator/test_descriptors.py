"""Isolators are open files: the coordinator takes as many as it may have, and says when they are too few."""

from __future__ import annotations

import logging
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import until
from whesl.runtime.coordinator.client import start
from whesl.runtime.coordinator.daemon import Daemon
from whesl.runtime.coordinator.effects.scheduler_and_manager_lookup import InstalledPorts
from whesl.runtime.coordinator.file_limit import RESERVED, raise_limit
from whesl.runtime.wire.keys import private_directory

LIMITED = (
    "import resource, sys\n"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))\n"
    "from whesl.runtime.coordinator.file_limit import raise_limit\n"
    "print(raise_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))\n"
)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    home = private_directory(tmp_path / "home")
    private_directory(home / "coordinator")
    made = Daemon(home, InstalledPorts(), bind="127.0.0.1", log=subprocess.DEVNULL)
    yield made
    made._journal.close()
    made._server.close()


@pytest.mark.parametrize("soft", [128, 512])
def test_the_soft_limit_is_raised_to_the_hard_one(soft: int) -> None:
    command = [sys.executable, "-c", LIMITED, str(soft), "512"]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert result.stdout.split() == [str(512 - RESERVED), "512", "512"]


def test_a_limit_that_cannot_be_raised_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_which: int, _limits: tuple[int, int]) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _which: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_limit() == 256 - RESERVED


def test_it_is_said_once_when_no_more_can_connect(
    daemon: Daemon, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = [3]
    monkeypatch.setattr(daemon, "_most_connections", 5)
    monkeypatch.setattr(daemon._server, "connections", lambda: connected[0])

    def said() -> int:
        daemon._count_connections()
        return sum("no more are possible" in record.getMessage() for record in caplog.records)

    with caplog.at_level(logging.ERROR):
        assert said() == 0
        connected[0] = 5
        assert (said(), said()) == (1, 1)
        connected[0] = 4
        assert said() == 1
        connected[0] = 6
        assert said() == 2
    assert "ulimit -Hn: 105" in caplog.text


def test_too_low_a_limit_is_said_at_the_start(tmp_path: Path) -> None:
    home = private_directory(tmp_path / "home")
    program = (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (300, 300))\n"
        "from whesl.runtime.coordinator.__main__ import main\nmain([])\n"
    )
    environment = {**os.environ, "WHESL_HOME": str(home), start.BIND_VARIABLE: "127.0.0.1"}
    log = tmp_path / "log"
    with log.open("wb") as out:
        child = subprocess.Popen(
            [sys.executable, "-c", program], env=environment, stdout=out, stderr=out, cwd=home
        )
    try:
        until(lambda: start.running(home) is not None, "the coordinator", 60.0)
        text = log.read_text()
        assert f"at most {300 - RESERVED} isolators can be connected" in text and "LimitNOFILE" in text
        assert start.stop(home)
    finally:
        child.terminate()
        child.wait(60)
