"""Clusters with everything that may come, on a virtual clock, and mistakes that they have to find.

A seed draws a machine with equal nodes or a few bad ones, jobs, administrators, and restarts. The service's
table, its changes of nodes and its exclude lists are the product's own; Slurm is a few dictionaries.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable

import msgspec
import numpy as np
import pytest

from tests.placement.site.test_at_risk import Rates
from tests.placement.site.test_core import World, job
from whesl.lab.predictor_evaluation.evaluation import Questions
from whesl.model.errors import RefusedError
from whesl.model.journal_record import Record
from whesl.placement.policies import exclude_list_choice
from whesl.placement.site.history import usefulness
from whesl.placement.site.history.usefulness import Estimate, Verdict
from whesl.placement.site.publish import plugin_file, risk_table, waiting_job_exclusions
from whesl.placement.site.publish.core import node_changes
from whesl.placement.site.publish.core.node_changes import (
    Drain,
    Leave,
    Observed,
    Settings,
    SetWeight,
    Undrain,
)
from whesl.placement.site.publish.node_change_records import Changing, What
from whesl.placement.site.publish.observed_node import Node
from whesl.placement.site.publish.plugin_file import Lookup
from whesl.placement.site.publish.risk_table import HORIZONS, Table
from whesl.placement.site.publish.waiting_job_exclusions import Job

SEEDS = 24
STEPS = 40
DAY = 86400.0
SHARE = 0.2
LONGEST = 7200.0  # seconds that a job may wait for better nodes
DRAINED_WITHIN = 14400.0
FITTED = 0.01  # the predictor's threshold, for a day
HOW = Settings(active=True, share=SHARE, within=DAY, drain_above=0.9, drain_within=DRAINED_WITHIN)
NODES = tuple(f"n{at:02d}" for at in range(1, 13))
KINDS: tuple[str, ...] = ("look",) * 9
KINDS += ("rates", "away", "restart", "forget", "lose", "down", "up", "drain", "resume")
KINDS += ("submit", "submit", "start", "verdict", "unheard")


class Cluster(World):
    """Twelve nodes, jobs, and the service, as one seed has them."""

    def __init__(self, seed: int) -> None:
        super().__init__(HOW)
        self.draw = random.Random(seed)  # of a test
        self.equal = self.draw.random() < 0.4
        self.nodes = {
            name: Node(
                name=name,
                flags=frozenset({"idle"}),
                partitions=("main", "odd") if at % 2 else ("main",),
                weight=5,
            )
            for at, name in enumerate(NODES)
        }
        self.jobs: dict[str, Job] = {}
        self.ours: dict[str, frozenset[str]] = {}
        self.lookup: Lookup | None = None
        self.mine: dict[str, str] = {}  # what administrators have drained, and why
        self.drains: dict[str, tuple[float, bool]] = {}  # until when, and whether the node has failed since
        self.off: dict[str, float] = {}  # until when a node is not to be drained again
        self.verdict, self.heard = Verdict.POSITIVE, True
        self.made: Table
        self.draw_rates()

    def draw_rates(self) -> None:
        """Draw failures of a day for each node."""
        usual = self.draw.choice((0.0, 0.002, 0.02, 0.3))
        bad = set() if self.equal else set(self.draw.sample(NODES, self.draw.choice((1, 2, 4))))
        rates = [
            self.draw.choice((8.0, 30.0, 30.0)) * (1 + usual) if name in bad else usual for name in NODES
        ]
        self.made = risk_table.make(Rates(rates, FITTED), NODES, self.now, valid_for=600.0, active=True)

    def table(self) -> Table | None:
        try:
            usefulness.require(self.verdict, None, "the model")
        except RefusedError:
            return None  # as the service does: no node is expected to fail
        if self.heard:
            self.made = msgspec.structs.replace(self.made, written=self.now, valid_until=self.now + 600.0)
        return self.made

    # What comes ---------------------------------------------------------------------------------------

    def come(self) -> None:
        """Let something happen."""
        draw, kind, name = self.draw, self.draw.choice(KINDS), self.draw.choice(NODES)
        flags = self.nodes[name].flags
        match kind:
            case "look":
                self.watch(draw.choice((10.0, 700.0, 4000.0, 15000.0)))
            case "away":
                self.look(60.0, performed=False)
            case "rates":
                self.draw_rates()
            case "restart":
                self.restart()
            case "lose":
                self.state, self.journal, self.ours = node_changes.State(), [], {}
                self.drains, self.off = {}, {}
                for one in NODES:  # somebody has put back what a drain does not say of itself
                    self.change(one, weight=5, features=(), active_features=())
                for one, waiting in self.jobs.items():
                    self.jobs[one] = msgspec.structs.replace(waiting, excluded=())
            case "forget":
                for one in NODES:
                    self.change(one, weight=5, features=(), active_features=())
            case "down" | "up":
                self.change(name, flags=flags | {"down"} if kind == "down" else flags - {"down"})
            case "drain":
                self.mine[name] = "disk"
                self.change(name, flags=flags | {"drain"}, reason="disk")
            case "resume" if name in self.mine:
                del self.mine[name]
                self.change(name, flags=flags - {"drain"}, reason="")
            case "submit":
                self.submit()
            case "start" if self.jobs:
                self.jobs.pop(draw.choice(sorted(self.jobs)))
            case "verdict":
                self.verdict = draw.choice((Verdict.POSITIVE, *Verdict))
            case "unheard":
                self.heard = draw.random() < 0.7

    def submit(self) -> None:
        """Submit a job, which the plugin keeps off nodes."""
        name = str(len(self.jobs) + self.draw.randrange(10**6))
        seconds = self.draw.choice((None, *HORIZONS))
        one = job(self.draw.choice((1, 4, 11, 12)), asks={"seconds": seconds})
        known = self.lookup if self.lookup is not None and self.lookup.valid_until > self.now else None
        out = plugin_file.decide(known, one.request).nodes if known else ()
        self.ours[name] = frozenset(out)
        self.jobs[name] = msgspec.structs.replace(one, name=name, excluded=out, submitted=self.now)

    def watch(self, after: float) -> None:
        """Let the service look at the cluster, and judge what it does."""
        self.now += after
        self.waiting = tuple(self.jobs.values())
        before, table = dict(self.nodes), self.table()
        held = {name for name, _ in self.state.held}
        given = self.lists(table)
        commands = self.step(Observed(tuple(self.nodes.values()), table, self.waiting))
        self.judge(before, table, commands, given, held)

    def lists(self, table: Table | None) -> dict[str, frozenset[str]]:
        """Bring waiting jobs' lists up to date; return those that are new."""
        fresh = table is not None and table.valid_until > self.now
        self.lookup = (
            plugin_file.make(table, list(self.nodes.values()), share=SHARE) if fresh and table else None
        )
        given = {}
        for one in waiting_job_exclusions.review(
            self.waiting or (), self.lookup, self.ours, self.now, LONGEST
        ):
            given[one.job] = self.ours[one.job] = frozenset(one.decision.nodes)
            self.jobs[one.job] = msgspec.structs.replace(self.jobs[one.job], excluded=one.decision.nodes)
        return given

    # What must never be -------------------------------------------------------------------------------

    def judge(
        self,
        before: dict[str, Node],
        table: Table | None,
        commands: list[node_changes.Command],
        given: dict[str, frozenset[str]],
        held: set[str],
    ) -> None:
        """Say what is wrong after a look."""
        raised = {one.node for one in commands if isinstance(one, SetWeight) and not one.undo}
        drained = {one.node for one in commands if isinstance(one, Drain)}
        kept_off = set().union(*given.values())
        touched = raised | drained | kept_off
        if self.equal:
            assert not touched, "one of equal nodes is preferred"
        if self.verdict is not Verdict.POSITIVE or table is None:
            assert not touched, "acted without a positive verdict"
        elif table.valid_until <= self.now:
            assert not touched, "acted by what is no longer true"
        elif raised | kept_off:
            self.judge_risk(table, raised, before)
        assert not ({one.node for one in commands} & set(self.mine)) - held, "a node of an administrator"
        for name, why in self.mine.items():
            assert self.nodes[name].drained and self.nodes[name].reason == why, "an administrator's drain"
        ours = {name for name, what in self.state.held if what is What.DRAIN and self.nodes[name].drained}
        for part in ("main", "odd"):
            mine = {node.name for node in self.nodes.values() if part in node.partitions}
            assert not mine & drained or len(mine & ours) <= SHARE * len(mine), "more than the share"
        self.judge_times(commands)
        for one in self.jobs.values():
            self.judge_job(one, ours)

    def judge_risk(self, table: Table, raised: set[str], before: dict[str, Node]) -> None:
        """Say whether who is at risk is worse than the machine's mean within the horizon."""
        at = table.horizon(DAY)
        chances = {row.node: min(row.probability[at], 1 - 1e-9) for row in table.nodes}
        mean = -math.log1p(-float(np.mean(list(chances.values()))))
        for name in raised:
            if before[name].weight == 5 and not self.held_before(name):
                assert -math.log1p(-chances[name]) >= 1.9 * mean, "at risk as others are"

    def held_before(self, name: str) -> bool:
        """Return whether a weight is older than this look."""
        found = self.state.held.get((name, What.WEIGHT))
        return found is not None and found.since < self.now

    def judge_times(self, commands: list[node_changes.Command]) -> None:
        """Say whether a drain ends when it says, and comes again at once."""
        for name, (until, failed) in self.drains.items():
            self.drains[name] = until, failed or self.nodes[name].down
        for one in commands:
            if isinstance(one, Drain):
                assert self.off.get(one.node, 0.0) <= self.now, "drained again at once"
                self.drains[one.node] = self.now + DRAINED_WITHIN, False
            elif isinstance(one, Undrain) and one.node in self.drains:
                until, failed = self.drains.pop(one.node)
                if not failed and self.now >= until:
                    self.off[one.node] = self.now + DRAINED_WITHIN
        for name, (until, failed) in self.drains.items():
            ours = self.nodes[name].reason.startswith(node_changes.OURS)
            assert failed or not ours or self.now < until, "drained for ever"

    def judge_job(self, one: Job, ours: set[str]) -> None:
        """Say whether a job waits because of the service."""
        there = [node for node in self.nodes.values() if node.usable or node.name in ours]
        there = [node for node in there if not node.flags & {"down"}]
        need = one.request.nodes
        if len(there) >= need:
            free = [node for node in there if node.name not in ours]
            assert len(free) >= need, "a job waits for a drain"
        if self.now - one.submitted > LONGEST:
            assert not one.excluded, "a job waits for better nodes for ever"

    def end(self) -> None:
        """End the service, and say what it has left; a drain whose journal is lost ends with its time."""
        self.step(Leave())
        self.watch(10.0)
        self.watch(10.0)
        assert not self.state.held
        for node in self.nodes.values():
            assert (node.weight, node.features) == (5, ()), "a change is left"
        self.state, self.journal, self.verdict = node_changes.State(), [], Verdict.NOT_POSITIVE
        self.watch(2 * DRAINED_WITHIN)
        for name, node in self.nodes.items():
            assert node.drained == (name in self.mine), "a drain is left"


def explored() -> None:
    """Explore all seeds."""
    for seed in range(SEEDS):
        cluster = Cluster(seed)
        for _ in range(STEPS):
            cluster.come()
        cluster.end()


KNOWN = ("equal", "dear", "few", "often", "bad", "old")


class Scores:
    """Alarms on a machine of which a seed says whether they can be of use."""

    def __init__(self, seed: int) -> None:
        draw = np.random.default_rng(seed)
        nodes, days, lost = 40, 60, 96.0
        self.kind = KNOWN[seed % len(KNOWN)]
        start = np.repeat(np.arange(days) * DAY, nodes)
        node = np.tile(np.arange(nodes), days)
        chance = np.full(len(node), 0.03)
        raised = draw.random(len(node)) < 0.03  # on equal nodes, whatever comes
        if self.kind != "equal":
            raised = node < 2
            chance = np.where(raised, 0.6, 0.01)
        if self.kind == "dear":
            lost = 5.0  # what is withheld is worth more than what a failure costs
        if self.kind == "few":
            raised &= (start < 9 * DAY) & (node < 1)
            chance = np.where(raised, 0.9, 0.0)
        if self.kind == "often":
            chance = np.where(raised, 0.7, 0.5)  # each node fails so often that nearly each alarm is right
        failed = draw.random(len(node)) < chance
        questions = Questions(node, start, failed)
        every = np.full(len(node), DAY)
        worth = usefulness.use(raised, questions, horizon=DAY, every=every, lost=lost, seed=seed, block=DAY)
        better = Estimate(0.2, 0.1, 0.3)
        recency = Estimate(0.01, -0.02, 0.04) if self.kind == "old" else better  # a table does as well
        skill = Estimate(0.01, -0.05, 0.07) if self.kind == "equal" else better
        found = usefulness.criteria(
            worth, skill, recency, failures=int(failed.sum()), rate=float(failed.mean())
        )
        self.verdict = usefulness.verdict(found)

    def judge(self) -> None:
        """Say whether the verdict lets alarms act that are of no use."""
        assert (self.verdict is Verdict.POSITIVE) == (self.kind == "bad"), self.kind


def scored() -> None:
    """Judge all scores."""
    for seed in range(2 * len(KNOWN)):
        Scores(seed).judge()


def test_whatever_comes() -> None:
    explored()


def test_alarms_of_no_use_get_no_positive_verdict() -> None:
    scored()


def _one_threshold(mean: np.ndarray, fitted: float, usual: float) -> np.ndarray:
    return np.full(len(mean), fitted)


def _barely(mean: np.ndarray, fitted: float, usual: float) -> np.ndarray:
    found: np.ndarray = np.maximum(mean, 1e-6)
    return found


def _kept(order: list[str], *_: object) -> set[str]:
    return set(order)


def _large(part: str, machine: Iterable[Node], out: set[str], share: float) -> int:
    return 99


def _whoever(left: object, found: object) -> bool:
    return False


def _none(*_: object, **__: object) -> None:
    return None


def _all(table: Table, now: float) -> bool:
    return True


def _for_ever(one: Job, lookup: Lookup | None, *_: object) -> plugin_file.Decision:
    return plugin_file.decide(lookup, one.request) if lookup else plugin_file.NOTHING


def _forgotten(state: node_changes.State, record: Record, time: float) -> node_changes.State:
    return state if isinstance(record, Changing) else _apply(state, record, time)


_apply = node_changes.apply
FAULTS: list[tuple[object, str, Callable[..., object]]] = [
    (exclude_list_choice, "thresholds", _one_threshold),  # fitted for a day, applied to each horizon
    (exclude_list_choice, "thresholds", _barely),  # at risk is who is as bad as the mean
    (node_changes, "give_way", _kept),  # waiting jobs wait for drains
    (node_changes, "_budget", _large),  # the share is not looked at
    (node_changes, "_administrators", _whoever),  # an administrator's node gets weight and feature
    (node_changes, "_left", _none),  # a drain whose journal is lost stays for ever
    (node_changes, "_pause", _none),  # a node is drained again right after its drain
    (node_changes, "fresh", _all),  # acted on what was true long ago
    (node_changes, "apply", _forgotten),  # what was changed is not written down
    (waiting_job_exclusions, "_decision_of", _for_ever),  # a job waits for better nodes for ever
    (usefulness, "require", _none),  # acted without a positive verdict
]


@pytest.mark.parametrize(("owner", "name", "wrong"), FAULTS)
def test_a_mistake_is_found(owner: object, name: str, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, name, wrong)
    with pytest.raises(AssertionError):
        explored()


_verdict = usefulness.verdict
MISJUDGED: list[tuple[object, str, object]] = [
    (Estimate, "above", lambda self, bound: self.value > bound),  # chance is taken for skill
    (usefulness, "ENOUGH", 0),  # a handful of failures is enough
    (usefulness, "verdict", lambda found: _verdict(found[:-1])),  # what is withheld does not count
    (usefulness, "verdict", lambda found: _verdict([*found[:2], *found[3:]])),  # a table may do as well
    (
        usefulness,
        "verdict",
        lambda found: _verdict([*found[:3], *found[4:]]),
    ),  # nor how often alarms are right
]


@pytest.mark.parametrize(("owner", "name", "wrong"), MISJUDGED)
def test_a_mistaken_verdict_is_found(
    owner: object, name: str, wrong: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    with pytest.raises(AssertionError):
        scored()
