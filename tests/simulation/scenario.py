"""What one seed means: tasks, rules, what programs do, and everything that goes wrong, all as plain records.

A scenario says all there is to say, so a smaller one can be made of it by leaving things out (``shrink``).
Times are seconds after the start.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec

from tests.simulation.rulebook import PREDICTED, RULES, draw_rule

# The turns at which a kill is worth most.
ISOLATOR_RECORDS = (
    *("begun", "nodes", "attempt", "launched", "raised", "decided", "requested", "fenced", "granted"),
    *("step-begun", "step-done", "relaunched", "confirmed", "paused", "resumed", "escalated", "finished"),
)
COORDINATOR_RECORDS = (
    *("workflow", "registered", "counted", "requested", "step-begun", "step-done", "granted", "finished"),
    *("recovery-done", "configured", "decided", "requeue-decided", "requeue-begun", "requeue-done", "fenced"),
    "told",  # no record: a configuration is about to be sent to the next of those that it concerns
)

# Before the first attempt, and in the middle of another recovery.
STRUCK_AT = ("begun", "attempt", "decided", "fenced", "step-begun", "relaunched", "paused", "waiting")


class Act(msgspec.Struct, frozen=True):
    """What one run of a program does: after ``after`` s it ``kind``: ok, exit, line, hang, unstartable.

    ``word`` is the exception that a line or a silence means; ``linger``: seconds from there to its exit with
    ``code``, None when it never exits by itself.
    """

    kind: str = "ok"
    after: float = 10.0
    word: str = ""
    linger: float | None = None
    code: int = 1


class TaskPlan(msgspec.Struct, frozen=True):
    """A task: its shape, what its runs do in turn (the last one for ever: ok), whether it obeys SIGTERM."""

    name: str
    parents: tuple[str, ...] = ()
    nodes: int = 1
    spares: int = 0
    acts: tuple[Act, ...] = ()
    obeys: bool = True
    beside: bool = False  # it runs together with its parents: submitted when they have started
    resubmitted: bool = False  # its manager submits it once more under a new job when it has failed


class Crash(msgspec.Struct, frozen=True):
    """A daemon killed at its ``turn``-th turn since the start of the world.

    With ``kind``: at the first turn from then on that writes such a record.
    ``place``: 0 before the records of that turn are on disk, n after the n-1 first commands after them.
    ``back``: seconds until it is started again.
    """

    who: str  # a task's name, or "coordinator"
    turn: int
    place: int
    back: float
    kind: str = ""


def struck(crashes: list[Crash], turn: int, kinds: set[str]) -> Crash | None:
    """Take the crash that comes at a turn out of those still to come.

    Args:
        crashes: of one daemon.
        turn: its number.
        kinds: of the records that this turn writes.
    """
    for crash in crashes:
        if turn >= crash.turn and (not crash.kind or crash.kind in kinds):
            crashes.remove(crash)
            return crash
    return None


class NodeFault(msgspec.Struct, frozen=True):
    """The ``which``-th node of a task's job at time ``at``: dead, or cut off for ``cut`` s.

    ``which`` 0 is the batch host. ``noticed``: seconds until the scheduler says so. ``closes``: being cut off
    closes connections, so that the isolator knows before the agent's lease is over. ``kind``: it comes when
    the task's isolator writes such a record, not before a quarter of ``at``.
    """

    task: str
    which: int
    at: float
    cut: float = 0.0
    noticed: float = 20.0
    closes: bool = False
    kind: str = ""


class Outage(msgspec.Struct, frozen=True):
    """From ``at`` for ``length`` s nothing gets through: ``who`` is a task, ``coordinator`` or ``scheduler``,
    ``disk`` (the coordinator's journal), or ``disk TASK`` (that task's). ``home``: isolators' calls wait.
    """

    who: str
    at: float
    length: float


class PersonsCommand(msgspec.Struct, frozen=True):
    """A person says pause, cancel or resume at a time."""

    task: str
    action: str
    at: float


class ShellSignal(msgspec.Struct, frozen=True):
    """At a time a task's batch shell, and nothing else of its job, is sent TERM (``--signal=B:TERM``)."""

    task: str
    at: float


class Raise(msgspec.Struct, frozen=True):
    """From outside an exception is raised at ``at``, and told once more after ``again`` s (0: not).

    On a task; or, with ``node``, on every task that uses the task's ``node``-th one at that moment.
    """

    task: str
    exception: str
    at: float
    again: float = 0.0
    node: int | None = None


class Prediction(msgspec.Struct, frozen=True):
    """At ``at`` a task's ``which``-th node is predicted to fail in ``lead`` s; if ``fails``, it does.

    ``kind``: that is told when the task's isolator writes such a record, not before a quarter of ``at``.
    """

    task: str
    which: int
    at: float
    lead: float
    fails: bool
    kind: str = ""


class HostClock(msgspec.Struct, frozen=True):
    """A host's clock: ``offset`` s ahead, gaining ``drift`` s a second, set by ``step`` s at ``at``."""

    offset: float = 0.0
    drift: float = 0.0
    step: float = 0.0
    at: float = 0.0


class Network(msgspec.Struct, frozen=True):
    """Chances of a frame to be lost, to come twice; longest delay, s."""

    loss: float = 0.0
    twice: float = 0.0
    delay: float = 0.01


class Scenario(msgspec.Struct, frozen=True):
    """One seed's world. ``unanswered``, ``deaf``: chances that the scheduler does what it is asked and does
    not say so, or does nothing. ``stuck``: how often a kill does not succeed at first. ``shedding``: how
    many ranks have nothing left that a kill finds them by, so that only their manager knows whose they are.
    """

    seed: int
    tasks: tuple[TaskPlan, ...]
    rules: tuple[dict[str, Any], ...] = ()
    network: Network = Network()
    crashes: tuple[Crash, ...] = ()
    nodes: tuple[NodeFault, ...] = ()
    outages: tuple[Outage, ...] = ()
    words: tuple[PersonsCommand, ...] = ()
    signals: tuple[ShellSignal, ...] = ()
    raises: tuple[Raise, ...] = ()
    predictions: tuple[Prediction, ...] = ()
    unanswered: float = 0.0
    deaf: float = 0.0
    refusing: float = 0.0  # how often it refuses to run a job again
    busy_manager: float = 0.0
    failing_steps: float = 0.0
    stuck: float = 0.0
    shedding: float = 0.0
    heartbeat: float = 15.0
    lease: float = 3.0
    coordinator_wait: float = 120.0
    patience: float = 90.0  # of the person who resumes what is paused
    shared: float = 0.0  # how often a job's allocation is another task's, too, which takes nodes of it
    slow: float = 0.0  # seconds after which a program's lines and end are seen at the latest
    restless: float = 0.0  # after so many heartbeats the coordinator is killed, each time; 0: it is not
    clocks: tuple[HostClock, ...] = ()  # of the coordinator's host, then of the nodes in turn


def draw(seed: int) -> Scenario:
    """Return the scenario of a seed."""
    rng = random.Random(seed)
    some = rng.random
    names = [f"t{number}" for number in range(rng.choice((1, 2, 2, 3, 3, 4)))]
    rules = _rules(rng)
    words = [rule["name"] for rule in rules if rule["seen"] == "log"]
    hangs = [rule["name"] for rule in rules if rule["seen"] == "hang"]
    tasks = []
    for index, name in enumerate(names):
        parents = tuple(other for other in names[:index] if some() < 0.55)
        tasks.append(_task(rng, name, parents, words, hangs))
    calm = some() < 0.25
    late = 120.0
    crashes = tuple(_crash(rng, names) for _ in range(rng.choice((0, 0, 1, 1, 2, 3, 5))))
    nodes = tuple(
        NodeFault(
            task=rng.choice(names),
            which=rng.choice((0, 1, 1, 1, 2)),
            at=late * some(),
            cut=rng.choice((0.0, 0.0, 2.0, 15.0, 60.0)),
            noticed=rng.choice((1.0, 10.0, 30.0)),
            closes=some() < 0.5,
            kind=rng.choice(("", "", *STRUCK_AT)),
        )
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3)))
    )
    outages = tuple(
        Outage(
            who=rng.choice([*names, "coordinator", "coordinator", "scheduler", "disk", f"disk {names[0]}"]),
            at=late * some(),
            length=rng.choice((1.0, 10.0, 40.0, 150.0)),
        )
        for _ in range(rng.choice((0, 0, 0, 1, 1, 2)))
    )
    said = tuple(
        PersonsCommand(
            task=rng.choice(names),
            action=rng.choice(("pause", "cancel", "pause", "resume")),
            at=late * some(),
        )
        for _ in range(rng.choice((0, 0, 0, 0, 1, 2)))
    )
    dying, predictions = _predictions(random.Random(f"{seed}/predictions"), names, late)
    return Scenario(
        seed=seed,
        tasks=tuple(tasks),
        rules=(*rules, *dying),
        predictions=predictions,
        network=Network(delay=rng.choice((0.01, 0.2)))
        if calm
        else Network(
            loss=rng.choice((0.0, 0.05, 0.2)),
            twice=rng.choice((0.0, 0.1)),
            delay=rng.choice((0.01, 0.5, 3.0)),
        ),
        crashes=crashes,
        nodes=nodes,
        outages=(*outages, *_stalls(random.Random(f"{seed}/home"), late)),
        words=said,
        signals=_signals(random.Random(f"{seed}/signals"), names, late),
        raises=_raises(random.Random(f"{seed}/raises"), names, [rule["name"] for rule in rules], late),
        unanswered=rng.choice((0.0, 0.0, 0.3)),
        refusing=rng.choice((0.0, 0.0, 0.5)),
        deaf=rng.choice((0.0, 0.0, 0.3)),
        busy_manager=rng.choice((0.0, 0.4)),
        failing_steps=rng.choice((0.0, 0.0, 0.15)),
        stuck=rng.choice((0.0, 0.0, 0.2)),
        shedding=random.Random(f"{seed}/shedding").choice((0.0, 0.0, 0.3)),
        heartbeat=rng.choice((10.0, 15.0, 30.0)),
        lease=rng.choice((1.0, 3.0)),
        coordinator_wait=rng.choice((60.0, 120.0)),
        patience=rng.choice((20.0, 90.0)),
        shared=random.Random(f"{seed}/shared").choice((0.0, 0.0, 0.7)),
        slow=random.Random(f"{seed}/slow").choice((0.0, 0.0, 0.0, 3.0, 15.0)),
        restless=_restless(random.Random(f"{seed}/restless")),
        clocks=_clocks(random.Random(f"{seed}/clocks"), late),
    )


def _signals(rng: random.Random, tasks: list[str], late: float) -> tuple[ShellSignal, ...]:
    """A fifth of the worlds have somebody who tells a script to end, and gives it the time that it takes."""
    count = rng.choice((0, 0, 0, 0, 0, 0, 0, 0, 1, 2))
    return tuple(ShellSignal(task=rng.choice(tasks), at=late * rng.random()) for _ in range(count))


def _raises(rng: random.Random, tasks: list[str], exceptions: list[str], late: float) -> tuple[Raise, ...]:
    """A third of the worlds have somebody who raises what the rules have, and now and then what they lack."""
    return tuple(
        Raise(
            task=rng.choice(tasks),
            exception=rng.choice([*exceptions, *exceptions, "UNKNOWN"]),
            at=late * rng.random(),
            again=rng.choice((0.0, 0.0, 3.0, 40.0)),
            node=rng.choice((None, None, 0, 1)),
        )
        for _ in range(rng.choice((0, 0, 0, 0, 1, 2)))
    )


def _predictions(
    rng: random.Random, tasks: list[str], late: float
) -> tuple[tuple[dict[str, Any], ...], tuple[Prediction, ...]]:
    """A fifth of the worlds have a predictor, right or wrong, in any phase of a recovery."""
    if rng.random() < 0.8:
        return (), ()
    rules = tuple(draw_rule(rng, name, ()) for name in PREDICTED if rng.random() < 0.9)
    return rules, tuple(
        Prediction(
            task=rng.choice(tasks),
            which=rng.choice((0, 1, 1, 1, 2)),
            at=late * rng.random(),
            lead=rng.choice((0.5, 5.0, 15.0, 40.0)),
            fails=rng.random() < 0.6,
            kind=rng.choice(("", "", *STRUCK_AT, "launched", "checkpoint-asked", "checkpoint-ended")),
        )
        for _ in range(rng.choice((1, 1, 2, 3)))
    )


def _stalls(rng: random.Random, late: float) -> tuple[Outage, ...]:
    """A fifth of the worlds have a home that stalls, for a moment or for minutes."""
    if rng.random() < 0.8:
        return ()
    return (Outage(who="home", at=late * rng.random(), length=rng.choice((2.0, 10.0, 60.0, 200.0))),)


def _restless(rng: random.Random) -> float:
    """Before its limit of silence, but not before it can miss a heartbeat (``Settings.doubt``)."""
    return 0.0 if rng.random() < 0.9 else rng.choice((1.8, 2.5))


def _clocks(rng: random.Random, late: float) -> tuple[HostClock, ...]:
    """Half of the worlds have hosts that disagree: by seconds, by hours; NTP steps them or slews them."""
    if rng.random() < 0.5:
        return ()
    return tuple(
        HostClock(
            offset=rng.choice((0.0, 0.0, 5.0, -5.0, 3600.0, -3600.0)),
            drift=rng.choice((0.0, 5e-4, -5e-4)),  # the most that NTP slews a clock by
            step=rng.choice((0.0, 0.0, 1.5, -1.5, 600.0, -600.0)),
            at=late * rng.random(),
        )
        for _ in range(rng.choice((2, 3, 5)))
    )


def _crash(rng: random.Random, names: list[str]) -> Crash:
    who = rng.choice([*names, "coordinator"])
    kind = rng.choice(COORDINATOR_RECORDS if who == "coordinator" else ISOLATOR_RECORDS)
    kind = kind if rng.random() < 0.6 else ""
    return Crash(
        who=who,
        turn=int(1 + (20 if kind else 60) * rng.random() ** 1.5),
        place=rng.choice((0, 1, 1, 2, 2, 3, 4, 5)),
        back=rng.choice((0.1, 0.5, 2.0, 2.0, 8.0)),
        kind=kind,
    )


def _rules(rng: random.Random) -> tuple[dict[str, Any], ...]:
    chosen = [name for name in RULES if rng.random() < 0.6] or ["CRASH"]
    return tuple(draw_rule(rng, name, chosen) for name in chosen)


def _task(
    rng: random.Random, name: str, parents: tuple[str, ...], words: list[str], hangs: list[str]
) -> TaskPlan:
    acts = []
    for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
        after = 1.0 + 20.0 * rng.random()
        chance = rng.random()
        if chance < 0.8 and words:
            acts.append(
                Act(
                    "line",
                    after,
                    rng.choice(words),
                    rng.choice((None, 0.0, 0.3, 0.3, 5.0)),
                    rng.choice((1, 1, 0)),
                )
            )
        elif chance < 0.9 and hangs:
            acts.append(Act("hang", after, rng.choice(hangs)))
        elif chance < 0.97:
            acts.append(Act("exit", after, code=rng.choice((1, 3, 139))))
        else:
            acts.append(Act("unstartable"))
    return TaskPlan(
        name=name,
        parents=parents,
        nodes=rng.choice((1, 2, 2, 3)),
        spares=rng.choice((0, 1, 1, 2)),
        acts=(*acts, Act("ok", 2.0 + 25.0 * rng.random())),
        obeys=rng.random() < 0.7,
        beside=rng.random() < 0.2,
        resubmitted=rng.random() < 0.15,
    )
