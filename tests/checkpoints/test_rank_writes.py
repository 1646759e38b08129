"""A rank that was let to write and does not is found, and named; one that does is left alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from whesl.checkpoints.rank_shared_memory import Slot, SlotState
from whesl.checkpoints.rank_writes import Writing, signs


def slot(**changes: Any) -> Slot:
    """A rank that stands at the step and writes."""
    plain = Slot(5, SlotState.WRITING, 1, 5, 3, os.getpid(), 0, 0, 0, 4, 0, False, "")
    return plain._replace(**changes)


def look(writing: Writing, rank: Slot, until: float) -> tuple[float, str]:
    """Look each second; return when there was trouble, and which."""
    now = 0.0
    while now < until:
        now += 1.0
        if why := writing.trouble([rank], now):
            return now, why
    return now, ""


def test_a_rank_that_polls_again_without_commit_is_found_at_once() -> None:
    """All ranks waited for an hour, and only its node was named."""
    now, why = look(Writing(60.0, 3600.0, 0.0), slot(polls=6), 100.0)
    assert (now, why) == (1.0, "rank 3: it polled again without commit, after poll had it write")


def test_a_rank_that_shows_no_sign_of_writing() -> None:
    now, why = look(Writing(60.0, 3600.0, 0.0, lambda _pid: b"wchar: 7"), slot(), 4000.0)
    assert 60.0 < now < 70.0 and why.startswith("rank 3: it was let to write, and has neither written nor")


@pytest.mark.parametrize("trait", ["writes", "syncs", "cannot be seen", "waits for a file system", "comes"])
def test_a_rank_that_writes_has_the_time_to_commit(trait: str) -> None:
    counts = iter(range(10_000))
    sees: dict[str, Any] = {
        "writes": lambda _pid: next(counts),
        "cannot be seen": lambda _pid: None,
        "waits for a file system": lambda _pid: object(),
    }
    changes: dict[str, Any] = {"syncs": {"syncing": 1}, "comes": {"polls": 4, "state": SlotState.RUNNING}}
    writing = Writing(60.0, 3600.0, 0.0, sees.get(trait, lambda _pid: b"wchar: 7"))
    now, why = look(writing, slot(**changes.get(trait, {})), 4000.0)
    assert (now, why) == (3601.0, "rank 3: not written in 3600 s")


def test_who_still_writes_is_told_once() -> None:
    writing = Writing(60.0, 3600.0, 0.0)
    ranks = [slot(), slot(rank=4, state=SlotState.RUNNING, polls=4)]
    assert [writing.slow(ranks, now) for now in (59.0, 61.0, 62.0)] == [(), (3,), ()]


def test_signs_of_this_process() -> None:
    """What it writes is seen, and what cannot be seen is no sign."""
    before = signs(os.getpid())
    with Path(os.devnull).open("wb") as file:
        os.write(file.fileno(), b"x" * 100)
    after = signs(os.getpid())
    assert isinstance(before, bytes) and before.startswith(b"wchar:") and before != after
    assert signs(2**22 + 1) is None
