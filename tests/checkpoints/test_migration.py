"""Migrations by a site's own command, and the time that the next one may take."""

from __future__ import annotations

from tests.waiting import until
from whesl.checkpoints.core.states_and_events import Migrated
from whesl.checkpoints.migration import RESERVE, SLACK, Migration


def _ends(migration: Migration) -> Migrated:
    found: list[Migrated] = []

    def ended() -> bool:
        found.extend(migration.ended())
        return bool(found)

    until(ended, "the command has ended", 30)
    return found[0]


def test_a_quick_migration_leaves_the_next_one_time_on_a_busy_host() -> None:
    # A command of 3 ms left 4.5 ms to the next one, which was aborted wherever the processors were busy.
    migration = Migration(["true"], 20.0)
    assert migration.begin("n1") == ""
    assert _ends(migration) == Migrated(node="n1", why="")
    assert SLACK <= migration.theta < 20.0


def test_a_migration_that_fails_measures_nothing() -> None:
    migration = Migration(["false"], 20.0)
    assert migration.begin("n1") == ""
    assert _ends(migration) == Migrated(node="n1", why="false ended with 1")
    assert migration.theta == 20.0


def test_the_longest_one_counts() -> None:
    migration = Migration(["sh", "-c", 'test "$0" != long || sleep 0.3'], 20.0)
    for node in ("long", "short"):
        assert migration.begin(node) == ""
        assert _ends(migration).why == ""
    # It began before its start was noted.
    assert RESERVE * 0.1 + SLACK < migration.theta < 20.0
