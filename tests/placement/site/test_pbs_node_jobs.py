"""Jobs of a PBS node that are told of the node's failure: whom, once, and by which account."""

from __future__ import annotations

import fcntl
import os
import pwd
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from whesl.model.evidence import PredictedFailure
from whesl.placement.site.history import prediction_file
from whesl.placement.site.node_counters import Reading
from whesl.placement.site.pbs import node_jobs
from whesl.placement.site.pbs.node_jobs import Asked, Due, Job, Kept, due, look

JOBS = [Job("1.server", "ada"), Job("2.server", "bob", "/home/bob/w")]
NOW = 1000.0


def reading(errors: int, at: float = NOW) -> Reading:
    return Reading(node="n01", time=at, counters={"memory uncorrected mc0": errors})


def said(node: str, at: float, lead: float, why: str = "chain") -> PredictedFailure:
    return PredictedFailure(node=node, time=at, lead=lead, evidence=why)


def test_a_counter_that_rises_is_told_to_each_job_once() -> None:
    _, kept = due(Kept(), reading(7, NOW - 30), [], JOBS)
    new, kept = due(kept, reading(8), [], JOBS)
    assert [(one.job.id, one.prediction.evidence) for one in new] == [
        ("1.server", "memory uncorrected mc0: 1 more"),
        ("2.server", "memory uncorrected mc0: 1 more"),
    ]
    assert len({one.id for one in new}) == 1
    assert due(kept, reading(8, NOW + 30), [], JOBS)[0] == []


def test_a_reading_from_before_the_jobs_says_nothing_of_them() -> None:
    for before in (NOW - 3600, NOW + 3600):
        assert due(Kept(reading=reading(7, before)), reading(8), [], JOBS)[0] == []


def test_of_a_file_the_last_prediction_of_the_node_counts_until_its_time() -> None:
    file = [said("n01.site", NOW - 20, 600, "new"), said("n01", NOW - 50, 600), said("n02", NOW - 5, 60)]
    file.append(said("n01", NOW + 1e9, 60, "of a clock that is wrong"))
    new, kept = due(Kept(), reading(0), file, JOBS[:1])
    assert [(one.job, one.prediction.node, one.prediction.evidence) for one in new] == [
        (JOBS[0], "n01", "new")
    ]
    # A job that starts later is told, too; the first one is not told again.
    assert [one.job for one in due(kept, reading(0, NOW + 30), file, JOBS)[0]] == [JOBS[1]]
    new, kept = due(kept, reading(0, NOW + 581), file, JOBS)
    assert (new, kept.told) == ([], {})


@pytest.mark.parametrize("what", ["missing", "noise", "pipe", "directory", "foreign"])
def test_a_hostile_file_of_predictions_is_none(tmp_path: Path, what: str) -> None:
    file, state = tmp_path / "predictions", tmp_path / "state"
    if what == "noise":
        file.write_bytes(os.urandom(4096) + b"\n")
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "directory":
        file.mkdir()
    elif what == "foreign":
        file.write_text('{"node": "n01", "time": 1e300, "lead": "soon"}\n{"x": ' + "[" * 100_000 + "\n")
    state.write_bytes(b"\xff{")
    for _ in range(2):
        look(state, file, Asked("n01", JOBS))
    assert state.read_bytes().startswith(b'{"reading":')


def test_a_look_ends_at_once_while_another_one_is_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Due] = []
    monkeypatch.setattr(node_jobs, "tell", told.append)
    file, state = tmp_path / "predictions", tmp_path / "state"
    prediction_file.append(file, said("n01", time.time(), 600))
    with state.open("a+b") as busy:
        fcntl.flock(busy, fcntl.LOCK_EX)
        look(state, file, Asked("n01", JOBS))
        assert told == []
    look(state, file, Asked("n01", JOBS))
    look(state, file, Asked("n01", JOBS))
    assert [one.job for one in told] == JOBS


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A directory that other accounts may pass through; those of pytest are its own account's."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o711)
        yield Path(place)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_job_is_told_by_its_owner_who_has_a_home_of_whesl(
    open_to_all: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is started for an owner who has none, and no rights of root are left to what is started."""
    nobody = pwd.getpwnam("nobody")
    with_home, python = open_to_all / "home", open_to_all / "python"
    python.write_text(f'#!/bin/sh\n{{ id -u; id -G; env; printf "%s\\n" "$@"; }} > {with_home}/told\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    one = said("n01", time.time(), 600, "--withdraw $(id)")
    job = Job("1.server", "nobody", str(with_home))
    node_jobs.tell(Due(job, "x", one))
    with_home.mkdir()
    os.chown(with_home, nobody.pw_uid, nobody.pw_gid)
    node_jobs.tell(Due(job, "x", one))
    told = (with_home / "told").read_text().splitlines()
    assert told[:2] == [str(nobody.pw_uid), str(nobody.pw_gid)]
    assert {"PBS_JOBID=1.server", f"HOME={nobody.pw_dir}", "--evidence=--withdraw $(id)", "--id=x"} <= set(
        told
    )
    assert told[-2:] == ["--", "n01"]
