"""The fencing of one attempt on all its nodes, and the nodes' confirmations. Pure.

No new attempt starts before every node has either confirmed that no process is left, or is dead (its agent's
connection closed and the resource manager's daemon ended), or has been silent for longer than its agent's
lease (then the agent has killed the processes). A node that the resource manager calls down may be cut off,
and live. A node that was seen to live after its agent had gone has no lease: another agent has to answer.
"""

from __future__ import annotations

from collections.abc import Iterable

from whesl.runtime.isolator.nodes.liveness import LEASE_MARGIN, Silence

# Seconds to wait for an agent's answer to a request to kill. An agent's own limit for killing is shorter.
ANSWER_LIMIT = 15.0
# Seconds for which agents that were never heard may still be starting; the limit of silence, if longer.
START_PATIENCE = 5.0


class Fence:
    """The fence around one attempt.

    Args:
        attempt: the attempt's number.
        token: the attempt's token.
        nodes: the remote nodes with agents.
        now: monotonic seconds.
        limit: silence after which an agent counts as lost, seconds.

    Agents of ``unreachable`` and ``unasked`` nodes that are heard later have to end the attempt there. No
    process of the attempt runs on ``unreachable`` nodes by then; on ``unasked`` nodes, only the launcher told
    the processes to end. ``forced``: a launcher had to be killed, so the resource manager may never see the
    end of its step. ``strange`` are steps of the job on these nodes with an unknown owner. They become the
    attempt's ``steps`` if the resource manager's books say that its ``launchers`` have started them.
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
        self.asking = False  # whether the resource manager is being asked for the owner of the strange steps
        self._asked_about: set[str] = set()
        self._patience = max(START_PATIENCE, limit)
        # Seconds that an answer may take; silence decides nothing before the lease is over.
        self._answer_limit = max(ANSWER_LIMIT, limit + LEASE_MARGIN)
        self.failed: list[str] = []
        self.here = False
        self.number = 0  # the number of the newest request to kill; answers to earlier ones are ignored
        self.asked = now  # when the newest request was made, monotonic seconds
        self._nodes = tuple(nodes)
        self._waiting = dict.fromkeys(self._nodes)

    @property
    def waiting(self) -> tuple[str, ...]:
        """The nodes that have not answered yet."""
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
        """Note the result on the isolator's own node.

        Args:
            killed: the number of killed processes.
            left: processes that could not be killed, as text.
            open_files: files that the processes had open for writing.
            forced: whether a launcher had to be killed.
            strange: steps of the job with an unknown owner.
        """
        self.here = True
        self.strange |= {*strange} - self._asked_about
        self.forced = self.forced or forced
        self.killed += killed
        self.open_files = open_files
        self.failed += left

    def again(self, now: float) -> tuple[str, ...]:
        """Wait for all nodes again, since a launcher may have started processes after the nodes' answers.

        Returns the nodes to ask; only answers to requests with the new ``number`` count.
        """
        self.number += 1
        self.asked = now
        given_up = {*self.unreachable, *self.unasked}
        self._waiting = {node: None for node in self._nodes if node not in given_up}
        return self.waiting

    def explained(self, steps: Iterable[str]) -> bool:
        """Note the steps that the attempt's launchers have started; return whether any was strange."""
        mine = self.strange.intersection(steps)
        self.asking = False
        self._asked_about |= self.strange
        self.strange.clear()
        self.steps += tuple(sorted(mine))
        return bool(mine)

    def answered(
        self, node: str, count: int, left: int, number: int = 0, strange: Iterable[str] = ()
    ) -> None:
        """Note an agent's answer to a numbered request.

        Args:
            node: the agent's node.
            count: the number of killed processes.
            left: the number of processes that could not be killed.
            number: the request's number.
            strange: steps of the job with an unknown owner.
        """
        if node in self._waiting and number == self.number:
            self.strange |= {*strange} - self._asked_about
            del self._waiting[node]
            self.killed += count
            if left:
                self.failed.append(f"{left} processes on {node}")

    def check(self, silence: Silence, now: float) -> None:
        """Stop waiting for nodes that cannot answer, as the silence of their agents shows.

        Args:
            silence: the silence of the agents.
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
                # The node's agent was never heard: the node's state is unknown, and there is no agent to ask.
                del self._waiting[node]
                self.unasked.append(node)

    @property
    def over(self) -> bool:
        """Whether all nodes have answered or were given up."""
        return self.here and not self._waiting and not self.asking
