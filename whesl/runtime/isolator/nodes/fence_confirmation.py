"""Fencing one attempt on all its nodes: which have confirmed, which cannot be asked, when it is over. Pure.

Nothing new starts before every node has either said that no process is left, or is dead (its agent's
connection closed and the resource manager's daemon ended), or has been silent for longer than its agent's
lease (then the agent has killed them). A node that the resource manager calls down may be cut off, and live.
One that was seen to live after its agent had gone has no lease: another agent has to answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from whesl.runtime.isolator.nodes.liveness import LEASE_MARGIN, Silence

# Seconds until a request is repeated, in case its answer was lost. An agent's own limit for killing is
# shorter.
ANSWER_LIMIT = 15.0
# Agents that were never heard may still be starting: for so many seconds, or as long as any silence may last.
START_PATIENCE = 5.0


class Fence:
    """The fence around one attempt.

    Args:
        attempt: its number.
        token: its token.
        nodes: the remote nodes that it ran on and that have agents.
        now: monotonic seconds.
        limit: silence after which an agent counts as lost, seconds.

    Agents of ``unreachable`` and ``unasked`` nodes that are heard after all have to end the attempt there.
    Nothing of it runs on the former by then; on the latter, only the launcher was told to end it.
    ``forced``: a launcher had to be killed, so its resource manager may never hear of the end of its step.
    ``strange`` are steps of the job on these nodes of which nothing tells whose they are: the attempt's, if
    its ``launchers`` have started them by the resource manager's books, which puts them among its ``steps``.
    """

    def __init__(
        self, attempt: int, token: str, nodes: Iterable[str], now: float, limit: float = 0.0
    ) -> None:
        self.attempt = attempt
        self.token = token
        self.began = now
        self.killed = 0
        self.open_files: tuple[bytes, ...] = ()
        self.forced = False
        self.unreachable: list[str] = []
        self.unasked: list[str] = []
        self.launchers: set[int] = set()
        self.strange: set[str] = set()
        self.steps: tuple[str, ...] = ()
        self.asking = False  # whether the resource manager is being asked whose the strange steps are
        self._asked_about: set[str] = set()
        self._patience = max(START_PATIENCE, limit)
        # Seconds that an answer may take: until the lease is over, silence decides nothing.
        self._answer_limit = max(ANSWER_LIMIT, limit + LEASE_MARGIN)
        self.failed: list[str] = []
        self.here = False
        self.number = 0  # the number of the newest request to kill: answers to earlier ones do not count
        self.asked = now  # when the newest request was made, monotonic seconds
        self._nodes = tuple(nodes)
        self._waiting = dict.fromkeys(self._nodes)

    @property
    def waiting(self) -> tuple[str, ...]:
        """Nodes that have not answered yet."""
        return tuple(self._waiting)

    def local(
        self,
        killed: int,
        left: list[str],
        open_files: tuple[bytes, ...],
        *,
        forced: bool = False,
        strange: Iterable[str] = (),
    ) -> None:
        """Note what was done on the isolator's own node."""
        self.here = True
        self.strange |= {*strange} - self._asked_about
        self.forced = self.forced or forced
        self.killed += killed
        self.open_files = open_files
        self.failed += left

    def again(self, now: float) -> tuple[str, ...]:
        """Ask all nodes once more, since a launcher may have started something after they had answered.

        Returns the nodes; only answers to requests with the new ``number`` count.
        """
        self.number += 1
        self.asked = now
        given_up = {*self.unreachable, *self.unasked}
        self._waiting = {node: None for node in self._nodes if node not in given_up}
        return self.waiting

    def explained(self, steps: Iterable[str]) -> bool:
        """Note which steps the attempt's launchers have started; whether a strange one is among them."""
        mine = self.strange.intersection(steps)
        self.asking = False
        self._asked_about |= self.strange
        self.strange.clear()
        self.steps += tuple(sorted(mine))
        return bool(mine)

    def answered(
        self, node: str, count: int, left: int, number: int = 0, strange: Iterable[str] = ()
    ) -> None:
        """Note an agent's answer to a numbered request."""
        if node in self._waiting and number == self.number:
            self.strange |= {*strange} - self._asked_about
            del self._waiting[node]
            self.killed += count
            if left:
                self.failed.append(f"{left} processes on {node}")

    def check(self, silence: Silence, now: float) -> None:
        """Wait no more for nodes on which surely nothing of the attempt runs.

        Args:
            silence: of the agents.
            now: monotonic seconds.
        """
        for node in self.waiting:
            if silence.is_lost(node):
                if silence.is_dead(node) or silence.lease_over(node, now):
                    del self._waiting[node]
                    self.unreachable.append(node)
                elif silence.unheld(node) and now > self.began + self._answer_limit:
                    del self._waiting[node]
                    self.failed.append(f"{node} lived on without an agent, so what runs there was not ended")
            elif silence.present(node):
                if now > self.began + self._answer_limit:
                    del self._waiting[node]
                    self.failed.append(f"{node} did not answer")
            elif now > self.began + self._patience:
                # The node's agent was never heard: nothing is known of the node, and no process there can be
                # asked.
                del self._waiting[node]
                self.unasked.append(node)

    @property
    def over(self) -> bool:
        """Whether there is nothing left to wait for."""
        return self.here and not self._waiting and not self.asking
