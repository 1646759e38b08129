"""What an isolator does on its nodes: agents that come and go, fences around attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whesl.language.detections.node import NodeDetection
from whesl.model.evidence import Detected, Evidence
from whesl.model.states import NodeState
from whesl.runtime.isolator.core.events_and_commands import KillAttempt, NodeSeen
from whesl.runtime.isolator.nodes.fence_confirmation import Fence
from whesl.runtime.isolator.nodes.liveness import GRACE, Silence
from whesl.runtime.journal.records import isolator_records as records

if TYPE_CHECKING:
    from tests.simulation.isolator import Isolator

RETRY = 0.25
STEP = "7.0"  # of the ranks, by the resource manager's books


class Agents:
    """The nodes of an isolator's job other than its own; silence and fencing are the real ones.

    Args:
        isolator: whose.
    """

    def __init__(self, isolator: Isolator) -> None:
        self.isolator = isolator
        self.world = isolator.world
        setup = isolator.setup
        self.remote = tuple(node for node in setup.nodes if node != setup.own_node)
        self.host = isolator.host
        self.silence = Silence(self.remote, self.world.scenario.lease)
        self._connected: set[str] = set()
        self._fence: Fence | None = None
        self._told: set[str] = set()
        self._chance = self.world.chance(f"agents {setup.claim} {isolator.number}")
        self._stopped = False
        stops = self.world.chance(f"stops {setup.claim} {isolator.number}")
        if stops.random() < 0.2:
            self.world.after(60.0 * stops.random(), self._stop, self.host.lasts(30.0 * stops.random()))
        for node in self.remote:
            self.world.after(0.05 + 0.5 * self._chance.random(), self._connect, node)
            if isolator.site.cluster.nodes_by_name[node].said:
                self.world.after(1.0, self.said_down, node)

    def _reachable(self, node: str) -> bool:
        return self.isolator.site.cluster.nodes_by_name[node].reachable

    def _connect(self, node: str) -> None:
        if self.isolator.dead or not self._reachable(node):
            return
        self._connected.add(node)
        self.isolator.site.has_contact(node)
        if self.silence.heard(node, self.host.monotonic()):
            self.isolator.feed(NodeSeen(node=node, state=NodeState.UP, reason="", source="agent"))
            fence = self._fence
            if fence is not None and node in fence.waiting:
                self._ask(node, fence)

    def _stop(self, seconds: float) -> None:
        """The isolator does not run for a while, and judges nobody then; responder and agents do."""
        self._stopped = True
        self.world.after(seconds, self._resume, self.host.monotonic())

    def _resume(self, since: float) -> None:
        self._stopped = False
        if not self.isolator.dead:
            now = self.host.monotonic()
            self._refresh()
            self.silence.stopped(now)
            self.isolator.feed(records.TimeStopped(seconds=max(now - since, 0.0)))
            self.check()

    def missing(self) -> bool:
        """Whether an agent of a node that lives has not come up yet."""
        return any(self._reachable(node) and node not in self._connected for node in self.remote)

    # What happens to nodes ---------------------------------------------------------------------------------

    def node_died(self, node: str) -> None:
        """The connection closes."""
        self._refresh()
        self._connected.discard(node)
        self.silence.closed(node, self.host.monotonic())
        self.world.after(self.host.lasts(GRACE) + 0.001, self.check)

    def connected(self, node: str) -> bool:
        """Whether a node's agent is there."""
        return node in self._connected

    def node_cut(self, node: str, *, closes: bool, alone: bool) -> None:
        """Nothing comes any more. Until now it was heard: an agent's lease begins with a beat that was.

        ``alone``: no agent holds a lease there.
        """
        if node in self._connected:
            self.silence.heard(node, self.host.monotonic())
            self._connected.discard(node)
            now = self.host.monotonic()
            if closes:
                self.silence.closed(node, now)
                self.world.after(self.host.lasts(GRACE) + 0.001, self.check)
            if alone:
                self.world.note(node, "lives without an agent")
                self.silence.witnessed(node, False, self.silence.closed_since(node), now)
        self.world.after(self.host.lasts(self.world.scenario.lease) + 0.001, self.check)

    def node_healed(self, node: str) -> None:
        """The agent comes back."""
        self.world.after(0.5 * self._chance.random(), self._connect, node)

    def said_down(self, node: str) -> None:
        """The resource manager's word has come."""
        if not self.isolator.dead:
            self._seen_down(node, "rjms")
            if not self.isolator.dead and self._chance.random() < 0.5:
                # Nobody is to use it any more; that does not mean that it lives.
                self.isolator.feed(
                    NodeSeen(node=node, state=NodeState.DRAINED, reason="drained", source="rjms")
                )
            self.check()

    def _refresh(self) -> None:
        now = self.host.monotonic()
        for node in self._connected:
            if self._reachable(node):
                self.silence.heard(node, now)

    def check(self) -> None:
        """Take silence in, and see whether a fence is complete."""
        if self.isolator.dead or self._stopped:
            return
        self._refresh()
        for lost in self.silence.lost(self.host.monotonic(), step_over=False):
            self._seen_down(lost.node, "agent")
        fence = self._fence
        if fence is None or self.isolator.dead:
            return
        fence.check(self.silence, self.host.monotonic())
        if fence.over and fence.strange:
            fence.asking = True
            self.world.after(0.05 * self._chance.random(), self._learn_whose, fence)
        if not fence.over:
            self.world.after(RETRY, self.check)
            return
        self._fence = None
        if fence.failed:
            event: records.Fenced | records.Unfenced = records.Unfenced(
                attempt=fence.attempt, reason=", ".join(fence.failed)
            )
        else:
            self.isolator.site.system.watch.fenced(self.isolator, fence.attempt)
            event = records.Fenced(
                attempt=fence.attempt,
                seconds=self.host.monotonic() - fence.began,
                killed=fence.killed,
                unreachable=tuple(fence.unreachable),
            )
        self.isolator.feed(event)

    def _seen_down(self, node: str, source: str) -> None:
        found: tuple[Detected, ...] = ()
        if node not in self._told and self.isolator.watching:
            self._told.add(node)
            evidence = Evidence(kind="node", time=self.world.now, node=node, detail="down")
            found = tuple(
                Detected(exception=rule.name, evidence=(evidence,))
                for rule in self.world.spec.exceptions
                if any(isinstance(item, NodeDetection) for item in rule.detections)
            )
        self.isolator.feed(
            NodeSeen(node=node, state=NodeState.DOWN, reason="lost", source=source, found=found)
        )

    # Fencing -----------------------------------------------------------------------------------------------

    def fence(self, command: KillAttempt, token: str) -> None:
        """End an attempt everywhere; Fenced or Unfenced follows."""
        fence = Fence(command.attempt, token, self.remote, self.host.monotonic(), self.world.scenario.lease)
        self._fence = fence
        self.world.after(0.02 + 0.3 * self._chance.random(), self._kill_here, fence)
        for node in self.remote:
            self._ask(node, fence)
        self.world.after(RETRY, self.check)

    def _kill_here(self, fence: Fence) -> None:
        if self.isolator.dead:
            return
        left = []
        if self._chance.random() < self.world.scenario.stuck:
            left = ["app (17)"]
        else:
            run = self.isolator.site.run_of(fence.token)
            if run is not None:
                run.kill_here()
        fence.local(1, left, ())
        if fence is self._fence:
            self.check()

    def _ask(self, node: str, fence: Fence) -> None:
        delay = self._chance.random()
        self.world.after(0.1 * delay, self._kill_there, node, fence)

    def _kill_there(self, node: str, fence: Fence) -> None:
        # The agent acts on what it was told, whether or not its isolator still lives to hear the answer.
        if not self._reachable(node) or node not in self._connected:
            return
        run = self.isolator.site.run_of(fence.token)
        strange: tuple[str, ...] = ()
        if run is not None and node in run.ranks:
            if not fence.steps and self._sheds(node, fence.token):
                strange = (STEP,)
            else:
                run.vanish(node)
        self.world.after(0.05 * self._chance.random(), self._answered, node, fence, strange)

    def _sheds(self, node: str, token: str) -> bool:
        return self.world.chance(f"shedding {token} {node}").random() < self.world.scenario.shedding

    def _learn_whose(self, fence: Fence) -> None:
        """Ask the resource manager which steps the attempt's launchers have started; it may not say."""
        if self.isolator.dead or fence is not self._fence:
            return
        if self._chance.random() < self.world.scenario.busy_manager:
            fence.failed.append(f"nobody says whose {STEP} is")
            fence.explained(())
        elif fence.explained((STEP,)):
            for node in fence.again(self.host.monotonic()):
                self._ask(node, fence)
        self.check()

    def _answered(self, node: str, fence: Fence, strange: tuple[str, ...]) -> None:
        if not self.isolator.dead and self._reachable(node):
            fence.answered(node, 1, 0, fence.number, strange)
            if fence is self._fence:
                self.check()
