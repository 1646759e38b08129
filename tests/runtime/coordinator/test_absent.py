"""What a coordinator that is away would have answered: from its files alone, which stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.journals import of_daemon
from tests.runtime.coordinator.world import FULL, World
from whesl.model import home as places
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import TransientError
from whesl.model.outcomes import RecoveryOutcome
from whesl.model.pathmap import PathMap, PathRule
from whesl.model.states import TaskState
from whesl.runtime.coordinator.client import offline_welcome
from whesl.runtime.isolator.offline_configuration import read_configuration
from whesl.runtime.journal.store import Journal
from whesl.runtime.wire.client import CoordinatorClient
from whesl.runtime.wire.messages import AnyMessage, Finished, RecoveryDone, Register

MOVED = Configuration(path_map=PathMap((PathRule("/old", "/new"),)))
DONE = RecoveryDone(
    task="w/a",
    ordinal=1,
    raised=5.0,
    exception=FULL,
    outcome=RecoveryOutcome.RELAUNCHED,
    dependents_map=MOVED,
    claim="a.0",
)
FINISHED = Finished(task="w/a", state=TaskState.COMPLETED, exit_code=0, attempts=2, claim="a.0")
STARTS = Register(task="w/b", workflow="w", step="b", claim="b.0", job_id="b")


def test_it_answers_what_the_journal_says(world: World) -> None:
    world.tell(world.register("a"), DONE)
    welcome = offline_welcome.answer(world.state, (), STARTS, world.now)
    assert welcome.admitted and welcome.configuration == world.task("b").configuration


def test_what_was_left_counts_and_gets_no_version(world: World) -> None:
    """The coordinator itself will give that version, perhaps to something else that it hears first."""
    before = world.state
    begun = Register(task="w/a", workflow="w", step="a", claim="a.0")
    left: list[tuple[str, AnyMessage]] = [("w/a#1", begun), ("w/a#1", DONE), ("w/a#1", FINISHED)]
    welcome = offline_welcome.answer(world.state, left, STARTS, world.now)
    assert welcome.configuration == MOVED and MOVED.version == 0
    assert world.state is before


def test_a_task_of_no_known_workflow_starts_as_it_is() -> None:
    register = Register(task="v/x", workflow="v", step="x", claim="x.0")
    assert offline_welcome.answer(World().state, (), register, 0.0).configuration == Configuration()


class TestFiles:
    """As an isolator asks: another process, a real journal."""

    @pytest.fixture
    def home(self, whesl_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        whesl_home.mkdir(mode=0o700)
        (whesl_home / "coordinator").mkdir(mode=0o700)
        monkeypatch.setenv("WHESL_HOME", str(whesl_home))
        return whesl_home

    def test_journal_and_spool_are_read_and_left_as_they_are(self, home: Path, world: World) -> None:
        with Journal(places.coordinator_journal(home)) as journal:
            for kind, data, time in world.journal:
                journal.append(kind, of_daemon(kind, data), time)
        client = CoordinatorClient(home, "w/a")
        client.send(Register(task="w/a", workflow="w", step="a", claim="a.0"))
        client.send(DONE)
        client.leave()
        client.close()
        read = read_configuration(STARTS)
        assert read.welcome is not None, read.reason
        assert read.welcome.configuration == MOVED
        assert len(list(places.spool(home).iterdir())) == 1
        with Journal(places.coordinator_journal(home), read_only=True) as journal:
            assert len(list(journal.read())) == len(world.journal)

    def test_without_a_journal_it_says_so(self, home: Path) -> None:
        assert read_configuration(STARTS).reason == "the coordinator has no journal"

    def test_a_damaged_journal_is_no_answer(self, home: Path, world: World) -> None:
        places.coordinator_journal(home).write_bytes(b"no journal" * 1000)
        with pytest.raises(TransientError, match="journal"):
            offline_welcome.read(home, STARTS, world.now)
        assert "journal" in read_configuration(STARTS).reason
