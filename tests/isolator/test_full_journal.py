"""The journal's own disk is full for a while: what waited is written with the times at which it happened."""

from __future__ import annotations

from typing import Any

from tests.isolator.conftest import World, exception, found, make_setup
from whesl.isolator import core
from whesl.isolator.daemon import Daemon
from whesl.isolator.events import Detections, Journal
from whesl.journal import JournalError


class FullDisk:
    """A journal that takes nothing while ``full``."""

    def __init__(self) -> None:
        self.full = False
        self.records: list[tuple[str, dict[str, Any], float]] = []

    def append_many(self, records: list[tuple[str, dict[str, Any]]], time: float) -> None:
        if self.full:
            raise JournalError("no space left", reason="full")
        self.records += [(kind, data, time) for kind, data in records]


def test_a_back_off_is_the_same_after_the_disk_was_full() -> None:
    journal = FullDisk()
    daemon = Daemon.__new__(Daemon)
    daemon._journal, daemon._unwritten, daemon._alarm = journal, [], None  # type: ignore[assignment]
    setup = make_setup(exception(backoff=60.0, limit=2))
    world = World(setup).start()
    for record in world.records:
        daemon._write([Journal(kind=record[0], data=record[1])], record[2])
    before = len(world.records)
    journal.full = True
    world.feed(Detections(attempt=1, found=(found("CRASH"),)))
    world.now += 7.0
    for kind, data, time in world.records[before:]:
        daemon._write([Journal(kind=kind, data=data)], time)
    assert daemon._alarm is not None  # it is tried again soon
    journal.full = False
    daemon._write([], world.now)
    assert journal.records == world.records
    again = core.rebuild(setup, journal.records)
    assert again.pending[0].not_before == world.state.pending[0].not_before
