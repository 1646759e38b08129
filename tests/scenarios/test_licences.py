"""A resource of users' own: the seats of examples/licences, with real servers, on real clusters."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scenarios.bed import Bed
from tests.scenarios.studies import step, write
from tests.waiting import until
from whesl import language

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "licences"
PATIENCE = 60.0
BEDS = pytest.mark.parametrize(
    "bed", ["local", pytest.param("slurm", marks=pytest.mark.slurm)], indirect=True
)


class Server:
    """One licence server, and its log of requests."""

    def __init__(self, place: Path, name: str, seats: int, most: int) -> None:
        self.file, self.log = place / name, place / f"{name}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(EXAMPLE / "server.py"), str(self.file), str(seats), str(most)],
                stdin=subprocess.DEVNULL,
                stdout=log,
            )
        until(lambda: self.file.exists() and self.file.read_text(), "the server's address", PATIENCE)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.file.read_text().rpartition(':')[2]}"

    def asked(self, path: str) -> int:
        return self.log.read_text().count(f"POST {path} ")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[list[Server]]:
    """One without a free seat, and its substitute."""
    both = [Server(tmp_path, "first", 0, 1), Server(tmp_path, "second", 4, 4)]
    yield both
    for server in both:
        server.kill()


def rules(place: Path) -> Path:
    """A copy of the example whose programs run with this Python."""
    copy = place / "licences"
    shutil.copytree(EXAMPLE, copy)
    handler = copy / "handler"
    handler.write_text(handler.read_text().replace("#!/usr/bin/env python3", f"#!{sys.executable}", 1))
    return copy / "rules.esl"


def study(place: Path, end: Path) -> Path:
    command = f"{sys.executable} {EXAMPLE / 'program.py'} 5 {end}"
    return write(place / "study.yaml", place, [step("solve", command)])


@BEDS
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_seat_is_added_and_a_server_replaced(bed: Bed, tmp_path: Path, servers: list[Server]) -> None:
    first, second = servers
    bed.environment["LICENCE_SERVER"] = first.address
    bed.environment["LICENCE_SERVERS"] = f"{first.address},{second.address}"
    end = tmp_path / "end"
    script = study(tmp_path, end)
    process = bed.begin(script, rules(tmp_path))
    bed.wait(lambda: first.asked("/seats") == 1 and first.asked("/take") > 3, "a seat that was added")
    first.kill()
    bed.wait(lambda: second.asked("/take") > 3, "the other server")
    end.touch()
    run = bed.end(process, script)
    assert run.status == 0, run.output + bed.evidence()
    assert [row["exception"] for row in run.exceptions()] == ["NO-SEAT", "SERVER-LOST"]
    # The second attempt ended before it had gone clearly past the first one.
    assert [row["outcome"] for row in run.exceptions()] == ["restarted", "recovered"]
    assert "LICENSE.ADD" in json.dumps(run.report) and "LICENSE.REPLACE" in json.dumps(run.report)
    assert f"{second.address} for {first.address}" in json.dumps(run.events)


@BEDS
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_handler_that_cannot_help_ends_in_else(bed: Bed, tmp_path: Path) -> None:
    """The server gives no more seats: the exception's ELSE is PAUSE, and a person lets it go on."""
    stingy = Server(tmp_path, "stingy", 0, 0)
    try:
        bed.environment["LICENCE_SERVER"] = bed.environment["LICENCE_SERVERS"] = stingy.address
        end = tmp_path / "end"
        end.touch()
        script = study(tmp_path, end)
        process = bed.begin(script, rules(tmp_path))
        bed.wait(lambda: "\tpaused" in bed.whesl("status").stdout, "the pause")
        assert "gives no more seats" in "".join(
            log.read_text() for log in Path(bed.environment["WHESL_HOME"]).rglob("log") if log.is_file()
        )
        assert bed.whesl("cancel", "solve", "--wait").returncode == 0
        assert bed.end(process, script).status != 0
    finally:
        stingy.kill()


def test_the_example_is_right() -> None:
    result = language.parse((EXAMPLE / "rules.esl").read_bytes(), str(EXAMPLE / "rules.esl"))
    assert result.diagnostics == () and result.spec is not None
