"""The protocol of prioritized checkpoints: every order of events of small jobs, and faults that must be
found."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from msgspec.structs import replace

from tests.alike import alike
from tests.checkpoints.explore import (
    FAR,
    FAR_AND_LATER,
    FAR_THEN_NEARER,
    Agent,
    Budget,
    ViolationError,
    World,
    explore,
    fresh,
    moves,
)
from whesl.checkpoints.core import protocol
from whesl.checkpoints.core.states_and_events import (
    AbortMigration,
    Answered,
    Ask,
    Command,
    CommitFailed,
    Committed,
    EpochPhase,
    Event,
    Grant,
    Joined,
    Known,
    Migrate,
    NodePhase,
    Predicted,
    Release,
    Requested,
    Seal,
    Sealed,
    Settings,
    State,
    Tick,
    Told,
    Withdrawn,
)

WAIT = 1e5  # a time-out that passes by ``explore.LATE``
QUIET = Budget(passes=0, losses=0, failures=0, timeouts=0)


def settings(**changes: Any) -> Settings:
    return Settings(arrival=WAIT, commit=WAIT, **changes)


def budget(**changes: Any) -> Budget:
    return Budget(**{**QUIET.__dict__, **changes})


@pytest.mark.parametrize(
    ("count", "trouble", "chosen", "least"),
    [
        # Two predictions, a death, a step that was passed, and a time-out, in any order; or a full disk.
        pytest.param(
            2, Budget(failures=0), settings(), 20_000, marks=[pytest.mark.costly, pytest.mark.variant]
        ),
        pytest.param(2, Budget(timeouts=0, losses=0), settings(), 4_000, marks=pytest.mark.costly),
        # The coordinator is killed at any moment.
        (2, budget(losses=1, leads=(FAR,), restarts=1), settings(), 2_000),
        pytest.param(
            2,
            budget(failures=1, leads=(FAR,), restarts=2),
            settings(),
            5_000,
            marks=[pytest.mark.costly, pytest.mark.variant],
        ),
        # The first prediction is too near for a migration, the second is not.
        pytest.param(
            2, budget(losses=1, timeouts=1), settings(migration=FAR - 15), 5_000, marks=pytest.mark.costly
        ),
        (3, budget(), settings(writers=1), 1_000),
        # What is known of a node changes: a nearer failure, none at all; the disk is full meanwhile.
        (2, budget(leads=FAR_THEN_NEARER, withdrawals=1), settings(), 1_000),
        (2, budget(leads=FAR_THEN_NEARER, failures=2), settings(), 1_000),
        (2, budget(leads=FAR_THEN_NEARER, withdrawals=1), settings(migration=FAR - 15), 500),
        pytest.param(
            2, budget(requests=1, leads=(FAR,), restarts=1), settings(), 2_000, marks=pytest.mark.costly
        ),
        # Ranks come to their end before they come to the step.
        pytest.param(
            2, budget(leads=(FAR,), requests=1, ends=2), settings(), 2_000, marks=pytest.mark.costly
        ),
        pytest.param(
            2, budget(leads=(FAR,), ends=1, restarts=1), settings(), 2_000, marks=pytest.mark.costly
        ),
        # A rank is let to write, and never commits.
        (2, budget(leads=(), requests=1, mutes=1), settings(), 50),
        pytest.param(
            3,
            budget(losses=1, leads=(FAR,), requests=1),
            settings(),
            10_000,
            marks=[pytest.mark.costly, pytest.mark.variant],
        ),
    ],
)
def test_every_order_of_events(count: int, trouble: Budget, chosen: Settings, least: int) -> None:
    states = explore(count, trouble, chosen)
    print(f"{states} states")
    assert states > least


def _walk(seed: int) -> int:
    """Follow one random way through a larger job; return how many checkpoints became whole."""
    rng = random.Random(seed)
    count = rng.randint(4, 24)
    trouble = Budget(
        leads=tuple(FAR - 10.0 * rng.randint(1, 6) for _ in range(rng.randint(1, 6))),
        requests=rng.randint(0, 2),
        losses=rng.randint(0, 1),
        passes=rng.randint(0, 3),
        failures=rng.randint(0, 1),
        timeouts=0,
        restarts=rng.randint(0, 2),
    )
    chosen = settings(writers=rng.choice([0, 1, 4]), migration=rng.choice([math.inf, FAR - 35.0]))
    world = World(fresh(count, chosen), tuple(Agent() for _ in range(count)), trouble)
    for _ in range(4_000):
        ways = list(moves(world))
        if not ways:
            break
        calm = [way for way in ways if not any(word in way[0] for word in ("dies", "predicted", "restarts"))]
        _, world = rng.choice(calm if calm and rng.random() < 0.9 else ways)
    else:
        raise AssertionError(f"seed {seed}: it never comes to rest")
    stuck = [agent for agent in world.agents if agent.alive and agent.epoch]
    assert not stuck or protocol.due(world.state) < math.inf, f"seed {seed}: {stuck} wait for ever"
    return len(world.complete)


@pytest.mark.costly
def test_large_jobs_by_chance() -> None:
    whole = sum(_walk(seed) for seed in range(10))
    assert whole > 2


def _healthy_first(self: Any) -> list[tuple[str, Any]]:
    return sorted(((n, node) for n, node in self.nodes.items() if node.fails_at < math.inf), reverse=True)


def _no_abandon(self: Any, event: Any) -> None:
    self._set(event.node, phase=NodePhase.LOST, fails_at=math.inf, until=math.inf)
    self._advance()


def _all_at_once(self: Any) -> None:
    if self.epoch is not None and self.epoch.phase is EpochPhase.FIRST:
        self._grant([n for n, node in self.nodes.items() if node.phase is NodePhase.WAITING])


def _forgets(self: Any, why: str, *, complete: bool = False) -> None:
    self.epoch = None
    for name in self._alive():
        self._set(name, phase=NodePhase.NORMAL, answered=-1, until=math.inf)


def _hasty(self: Any) -> None:
    """Take a step as agreed on as soon as one has answered."""
    if not self.changed:
        return
    self.changed = False
    if self.epoch is None or self.epoch.phase is not EpochPhase.AGREEING:
        self._advance()
    elif self.epoch.target:
        for name in self._alive():
            self._set(name, phase=NodePhase.WAITING, until=math.inf)
        self.epoch = replace(self.epoch, phase=EpochPhase.FIRST)
        self._advance()
    else:
        self.epoch = replace(self.epoch, target=self.epoch.top + 4)
        self._ask()


def _waits_for_the_ended(self: Any) -> str:
    return ""


_predicted, _leave = protocol._Transition.predicted, protocol._Transition._leave


def _first_prediction_counts(self: Any, event: Any) -> None:
    known = self.nodes[event.node]
    _predicted(self, event)
    self._set(event.node, fails_at=min(known.fails_at, self.nodes[event.node].fails_at))


def _covered_for_good(self: Any, event: Any) -> None:
    known = self.nodes[event.node]
    if known.covered:
        self._set(event.node, fails_at=self.now + event.lead)
    else:
        _predicted(self, event)


def _never_again(self: Any, why: str, *, complete: bool = False) -> None:
    _leave(self, why, complete=complete)
    self.again = math.inf


_grant = protocol._Transition._grant


def _for_any_time(self: Any, names: Any) -> None:
    chosen = tuple(names)
    _grant(self, chosen)
    for name in chosen:
        self._set(name, until=math.inf)


@pytest.mark.parametrize(
    ("method", "fault", "trouble"),
    [
        ("_ended", _waits_for_the_ended, {"ends": 1}),
        ("_vulnerable", _healthy_first, {}),
        ("lost", _no_abandon, {"losses": 1}),
        ("_advance", _all_at_once, {}),
        ("_leave", _forgets, {}),
        ("settle", _hasty, {"passes": 1}),
        ("predicted", _first_prediction_counts, {"leads": FAR_AND_LATER}),
        ("predicted", _covered_for_good, {"leads": FAR_THEN_NEARER}),
        ("withdrawn", lambda self, event: None, {"withdrawals": 1}),
        ("_leave", _never_again, {"failures": 1}),
        ("_grant", _for_any_time, {"leads": (), "requests": 1, "mutes": 1}),
    ],
)
def test_faults_are_found(
    method: str, fault: Any, trouble: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol._Transition, method, fault)
    with pytest.raises((ViolationError, AssertionError)):
        explore(2, budget(**trouble), settings(), most=200_000)


@pytest.mark.costly
@pytest.mark.parametrize("forgotten", alike(["foretold", "asked"]))
def test_what_was_acknowledged_and_not_written_down_is_found(
    forgotten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prediction that no agent had heard of was lost with the coordinator."""
    known = protocol.known
    monkeypatch.setattr(
        protocol,
        "known",
        lambda state: replace(known(state), **{forgotten: type(getattr(Known(), forgotten))()}),
    )
    with pytest.raises(ViolationError):
        explore(2, budget(requests=1, restarts=1), settings())


# What single events lead to -------------------------------------------------------------------------------


def follow(state: State, *events: tuple[Event, float]) -> tuple[State, list[Command]]:
    commands: list[Command] = []
    for event, now in events:
        state, commands = protocol.step(state, event, now)
    return state, commands


def job(count: int = 3, **changes: Any) -> State:
    return fresh(count, Settings(**changes))


def test_a_lead_time_that_covers_a_migration_moves_the_node() -> None:
    state, commands = follow(job(migration=20.0), (Predicted(node="n1", lead=30.0), 0.0))
    assert [command for command in commands if not isinstance(command, Told)] == [Migrate(node="n1")]
    # A nearer failure of another node aborts it; both write a checkpoint, the nearer one first.
    state, commands = protocol.step(state, Predicted(node="n2", lead=8.0), 5.0)
    kinds = [type(command) for command in commands if not isinstance(command, Told)]
    assert kinds == [AbortMigration, Ask]
    assert state.epoch is not None
    assert state.epoch.reason == "predicted: n2, n1"


def test_a_prediction_of_the_migrating_node_itself_that_is_too_near() -> None:
    state, _ = follow(job(migration=20.0), (Predicted(node="n1", lead=30.0), 0.0))
    state, commands = protocol.step(state, Predicted(node="n1", lead=10.0), 4.0)
    assert any(isinstance(command, AbortMigration) for command in commands)
    assert state.nodes["n1"].phase is NodePhase.REQUESTED


@pytest.mark.parametrize(
    ("migration", "move", "choice"),
    [
        (math.inf, None, ": there is no migration here"),
        (math.inf, 0.0, ", and moves to a spare by it"),
        (math.inf, 9.0, ", and moves to a spare by it, which took 9.0 s, and 30.0 s are left"),
        (40.0, None, ": a migration takes 40.0 s, and 30.0 s are left"),
        (40.0, 9.0, ": a migration takes 40.0 s, and 30.0 s are left"),
    ],
)
def test_why_a_checkpoint_is_taken(migration: float, move: float | None, choice: str) -> None:
    """A node that was to move to a spare by its checkpoint was told of as one that cannot be moved."""
    _, commands = follow(job(migration=migration), (Predicted(node="n1", lead=30.0, move=move), 0.0))
    said = [command.text for command in commands if isinstance(command, Told)]
    assert said[1] == f"n1 writes its checkpoint first{choice}"


@pytest.mark.parametrize("lead", [-1.0, 0.0, math.inf, math.nan])
def test_a_lead_time_that_is_none(lead: float) -> None:
    state, commands = follow(job(), (Predicted(node="n1", lead=lead), 0.0))
    assert state == job()
    assert isinstance(commands[0], Told)
    assert commands[0].refused


def test_a_node_that_is_not_of_the_job() -> None:
    _, commands = follow(job(), (Predicted(node="elsewhere", lead=5.0), 0.0))
    (told,) = commands
    assert isinstance(told, Told) and told.refused
    assert told.text.startswith("elsewhere is no node of this job; its nodes: n")


def test_a_false_prediction_is_over_when_its_time_has_passed() -> None:
    state, _ = follow(job(migration=1.0), (Predicted(node="n1", lead=30.0), 0.0))
    assert protocol.due(state) == 1.0
    state, _ = follow(state, (Tick(), 31.0))
    assert all(node.fails_at == math.inf for node in state.nodes.values())


def test_a_rank_that_never_polls_holds_nobody_for_ever() -> None:
    state, _ = follow(job(arrival=10.0), (Predicted(node="n1", lead=30.0), 0.0))
    assert protocol.due(state) == 10.0
    state, commands = follow(state, (Tick(), 10.0))
    assert isinstance(commands[0], Release)
    assert commands[0].why == "no answer from n0, n1, n2"
    assert state.epoch is None


def test_the_first_step_that_is_proposed_is_the_next_one() -> None:
    """A step may take seconds of the lead time; where it has been passed, the next is twice as far ahead."""
    state, commands = follow(
        job(1), (Predicted(node="n0", lead=30.0), 0.0), (Answered(node="n0", epoch=1, round=1, top=7), 0.1)
    )
    targets = []
    for number in (2, 3, 4):
        (asked,) = (command for command in commands if isinstance(command, Ask))
        targets.append(asked.target)
        passed = Answered(node="n0", epoch=1, round=number, top=asked.target + 1, passed=True)
        state, commands = protocol.step(state, passed, 0.2)
    assert targets == [8, 9 + 2, 12 + 4]


def test_no_step_is_agreed_on_before_all_ranks_have_registered() -> None:
    state = protocol.start(Settings())
    state, _ = follow(state, (Joined(node="n0", ranks=1, of=3), 0.0), (Requested(), 1.0))
    assert state.epoch is not None
    assert state.epoch.phase is EpochPhase.AGREEING
    state, commands = follow(state, (Tick(), 100.0))
    assert isinstance(commands[-1], Release)


def ended(number: int = 1, **changes: Any) -> Joined:
    """Ranks of one of three nodes with two ranks each have ended."""
    return Joined(node="n0", ranks=2 - number, of=6 if number < 2 else 0, ended=number, **changes)


def said(commands: list[Command]) -> list[str]:
    return [command.text for command in commands if isinstance(command, Told) and command.refused]


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_a_rank_that_has_ended_holds_nobody(answers: int) -> None:
    """The others stood still for a minute, all of the time to arrive, where one was at its end first."""
    state, _ = follow(job(), (Requested(), 0.0))
    for number in range(1, answers + 1):
        for node in ("n0", "n1", "n2"):
            state, _ = protocol.step(state, Answered(node=node, epoch=1, round=number, top=7), 0.1)
    assert state.epoch is not None
    assert (state.epoch.phase is EpochPhase.AGREEING) is (answers < 2)
    state, commands = protocol.step(state, ended(epoch=1, target=state.epoch.target), 0.2)
    why = "1 of 6 ranks have ended"
    assert commands == [Release(nodes=("n0", "n1", "n2"), epoch=1, complete=False, why=why)]
    assert (state.epoch, protocol.due(state)) == (None, math.inf)


def test_no_checkpoint_begins_where_ranks_have_ended() -> None:
    state, _ = follow(job(), (ended(2), 0.0))
    state, commands = follow(state, (Requested(), 1.0))
    assert said(commands) == ["no checkpoint: 2 of 6 ranks have ended"]
    state, commands = follow(state, (Predicted(node="n1", lead=30.0), 2.0))
    assert said(commands) == ["no checkpoint: 2 of 6 ranks have ended"]
    # Another program of the same job begins: what was predicted is seen to.
    state, commands = follow(state, (Joined(node="n0", ranks=2, of=6), 3.0))
    assert isinstance(commands[-1], Ask)


def test_nobody_is_left_when_all_have_ended() -> None:
    state, _ = follow(job(1), (Requested(), 0.0))
    state, commands = follow(state, (ended(2, epoch=1), 1.0))
    assert isinstance(commands[-1], Release)
    assert commands[-1].why == "all ranks have ended"
    assert said(follow(state, (Requested(), 2.0))[1]) == ["no checkpoint: all ranks have ended"]


def test_ranks_of_an_earlier_and_larger_program_have_ended_for_good() -> None:
    _, commands = follow(
        protocol.start(Settings()), (Joined(node="n0", ranks=1, of=1, ended=3), 0.0), (Requested(), 1.0)
    )
    assert isinstance(commands[-1], Ask)


def test_a_rank_that_ends_while_the_manifest_is_written_leaves_the_checkpoint_whole() -> None:
    state, commands = follow(
        job(1),
        (Requested(), 0.0),
        (Answered(node="n0", epoch=1, round=1, top=3), 0.1),
        (Answered(node="n0", epoch=1, round=2, top=3), 0.2),
        (Committed(node="n0", epoch=1), 1.0),
    )
    assert commands == [Seal(epoch=1, nodes=("n0",), of=2, reason="requested")]
    late = Joined(node="n0", ranks=1, of=2, ended=1, epoch=1, target=4, committed=True)
    state, commands = follow(state, (late, 1.1), (Sealed(epoch=1), 1.2))
    assert commands == [Release(nodes=("n0",), epoch=1, complete=True, why="")]


def test_a_covered_node_is_not_checkpointed_again_for_the_same_failure() -> None:
    state = job(1)
    state, _ = follow(
        state,
        (Predicted(node="n0", lead=30.0), 0.0),
        (Answered(node="n0", epoch=1, round=1, top=3), 0.1),
        (Answered(node="n0", epoch=1, round=2, top=3), 0.2),
    )
    assert state.nodes["n0"].phase is NodePhase.COMMITTING
    state, commands = follow(state, (Committed(node="n0", epoch=1), 1.0), (Sealed(epoch=1), 1.1))
    assert commands == [Release(nodes=("n0",), epoch=1, complete=True, why="")]
    state, commands = follow(
        state, (Predicted(node="n0", lead=24.5), 5.0), (Predicted(node="n0", lead=30), 6)
    )
    assert not any(isinstance(command, (Ask, Grant)) for command in commands)
    assert state.nodes["n0"].fails_at == 36.0


def test_a_nearer_failure_than_was_predicted_before_leads_to_another_checkpoint() -> None:
    """300 s, and ten seconds later 15 s: there was no checkpoint, and no word."""
    state, _ = follow(
        job(1),
        (Predicted(node="n0", lead=300.0), 0.0),
        (Answered(node="n0", epoch=1, round=1, top=3), 0.1),
        (Answered(node="n0", epoch=1, round=2, top=3), 0.2),
        (Committed(node="n0", epoch=1), 1.0),
        (Sealed(epoch=1), 1.1),
    )
    state, commands = follow(state, (Predicted(node="n0", lead=15.0), 10.0))
    assert isinstance(commands[-1], Ask) and commands[-1].epoch == 2
    assert state.nodes["n0"].fails_at == 25.0


def test_a_failure_that_is_not_expected_any_longer() -> None:
    state, _ = follow(job(migration=20.0), (Predicted(node="n1", lead=30.0), 0.0))
    state, commands = follow(state, (Withdrawn(node="n1"), 1.0))
    assert AbortMigration(node="n1", why="its failure is not expected any longer") in commands
    assert state == job(migration=20.0)
    _, commands = follow(state, (Withdrawn(node="n1"), 2.0))
    assert said(commands) == ["no failure of n1 is predicted"]


def test_what_was_given_up_is_tried_again_ever_later_while_there_is_time_left() -> None:
    """50 s of lead were left, and nothing was done with them."""
    state, _ = follow(job(1), (Predicted(node="n0", lead=50.0), 0.0))
    tried = []
    now = 0.0
    while state.epoch is not None:
        state, commands = follow(
            state, (CommitFailed(node="n0", epoch=state.last, why="No space left on device"), now)
        )
        assert isinstance(commands[0], Release)
        now = protocol.due(state)
        state, _ = follow(state, (Tick(), now))
        tried.append(now)
    assert tried == [1.0, 3.0, 7.0, 15.0, 31.0, 50.0]
    assert (state.epoch, state.nodes["n0"].fails_at) == (None, math.inf)


def test_ranks_that_write_one_file_write_it_together() -> None:
    """Who opens a file of all ranks waits for all of them: one node alone would never write."""
    state = protocol.start(Settings(writers=1))
    for node in ("n0", "n1"):
        state, _ = follow(state, (Joined(node=node, ranks=1, of=2, together=True), 0.0))
    state, _ = follow(state, (Predicted(node="n1", lead=50.0), 0.0))
    answers = [(Answered(node=n, epoch=1, round=r, top=1), 0.1) for r in (1, 2) for n in ("n0", "n1")]
    state, commands = follow(state, *answers)
    (grant,) = commands
    assert isinstance(grant, Grant) and grant.nodes == ("n0", "n1")
