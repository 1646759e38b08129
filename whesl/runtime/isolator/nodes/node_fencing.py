"""Actions on the task's nodes, including the isolator's own: fencing, stacks, signals, and lost nodes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
import zmq

from whesl.managers.resource.port import Allocation, JobHolder, NodeEvent, StepHolder
from whesl.model.errors import WheslError
from whesl.model.states import NodeState
from whesl.runtime.isolator.core.events_and_commands import (
    CollectEvidence,
    Event,
    KillAttempt,
    LeaseEnded,
    NodeSeen,
    SignalAttempt,
)
from whesl.runtime.isolator.core.task_setup import token_prefix
from whesl.runtime.isolator.nodes import isolator_host_fencing
from whesl.runtime.isolator.nodes.fence_confirmation import Fence
from whesl.runtime.isolator.nodes.job_step_nodes import StepPlaces
from whesl.runtime.isolator.nodes.job_suspension import Suspension
from whesl.runtime.isolator.nodes.liveness import NodeLost, NodeUp, Silence
from whesl.runtime.isolator.nodes.manager_node_states import NodeStates
from whesl.runtime.isolator.nodes.program_start_detection import Probe
from whesl.runtime.isolator.nodes.stacks import Stacks
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.node_agent import messages
from whesl.runtime.node_agent.fencing.attempt_processes import Killing
from whesl.runtime.node_agent.fencing.attempt_signals import HeldSignal
from whesl.runtime.node_agent.late_start import LateStart
from whesl.runtime.wire.blocking_call_worker import Worker

if TYPE_CHECKING:
    from whesl.runtime.isolator.nodes.agent_supervisor import Agents

LOG = logging.getLogger(__name__)
RETRY = 0.25
REPEAT = 0.1  # seconds between two requests to kill, while a launcher may end by itself
# Seconds for a launcher to end after its ranks were killed; some 30 ms are usual.
LAUNCHER_PATIENCE = 0.5
# Seconds after a launcher's end within which the loss of a node that has caused the end is reported.
HEARING = 0.15
# Seconds from the isolator's start within which a node without an agent may be one that has died.
MISSED_LIMIT = 60.0


class Nodes:
    """The task's nodes.

    Args:
        directory: the task's directory.
        job: the task.
        allocation: the resource manager inside the job.
        worker: the thread that kills processes on this node.
        asker: the thread that asks the resource manager; an answer may take half a minute when the manager is
            busy, as when nodes die, and no recovery may wait for it.
        feed: takes events.
        half_ended: the attempt that an earlier isolator had begun to end, with an unknown result.
        listen: takes the agents' sockets.
    """

    def __init__(
        self,
        directory: TaskDir,
        job: Job,
        allocation: Allocation,
        worker: Worker,
        asker: Worker,
        feed: Callable[[Event], None],
        half_ended: int = 0,
        listen: Callable[[Iterable[zmq.Socket[bytes] | int]], None] = lambda _: None,
    ) -> None:
        self._directory = directory
        self._job = job
        self._allocation = allocation
        self._worker = worker
        self._asker = asker
        self._feed = feed
        self._half_ended = half_ended
        setup = job.setup
        self._remote = tuple(node for node in setup.nodes if node != setup.own_node)
        self._fence: Fence | None = None
        self._fenced: tuple[str, ...] = ()  # the nodes that the fenced attempt ran on
        # An attempt and the process numbers of its launchers, which cannot be found again once killed.
        self._launchers: tuple[int, set[int]] = (0, set())
        # By node: the tokens of attempts that the node's agent could not be asked to end.
        self._owed: dict[str, list[str]] = {}
        self._stacks: Stacks | None = None
        self._probe = Probe(job, worker, self._find_program, feed)
        self._held_signal = HeldSignal()
        self._deferred: tuple[KillAttempt, str, int | None] | None = None
        self._states = NodeStates(allocation, asker, setup.nodes, self._changed, self._check_fence)
        self.places = StepPlaces(allocation, job, str(directory.path), feed)
        self._check_at: float | None = None
        self._ending = 0  # the last attempt that the isolator has decided to end
        self._heard_by = 0.0
        self._missed_by = time.monotonic() + MISSED_LIMIT if setup.watches_nodes() else 0.0
        self._cut_off = False  # whether neither agents nor the resource manager are heard
        self.suspension = Suspension(allocation)
        self._silence = Silence((), job.heartbeat_limit)
        self._listen = listen
        self._late = LateStart(allocation, asker, self._start_agents, wanted=bool(self._remote))
        # An earlier isolator's agents have the link.
        if setup.kept or setup.watches_nodes() or setup.changes_nodes() or directory.link.exists():
            self._late.begin()
        elif setup.exceptions():
            self._late.after_first_step()

    def _start_agents(self) -> Agents:
        # Imported here since most tasks have one node, and the link's server is a slow import.
        from whesl.runtime.isolator.nodes.agent_supervisor import SUCCESSORS, Agents

        job = self._job
        agents = Agents(
            self._directory.link,
            self._allocation,
            self._remote,
            job.setup.own_node,
            job.setup.claim,
            token_prefix(job.setup),
            self.suspension,
            successors=self._remote[:SUCCESSORS] if job.setup.kept else (),
            heartbeat=job.heartbeat,
            limit=job.heartbeat_limit,
            now=time.monotonic(),
        )
        self._silence = agents.silence
        self._listen(agents.sockets)
        return agents

    @property
    def sockets(self) -> tuple[zmq.Socket[bytes] | int, ...]:
        """The sockets and descriptors to poll for reading, without the agents'."""
        return (*self.suspension.sockets, *self.places.sockets)

    @property
    def lost(self) -> tuple[str, ...]:
        """The nodes that are lost now, by the silence of their agents or a report of the resource manager."""
        return tuple(node for node in self._remote if self._states.down(node) or self._silence.is_lost(node))

    def next_deadline(self, now: float) -> float | None:
        """Return when ``poll`` has to be called at the latest, monotonic seconds."""
        times = [self._states.due] if self._remote else []
        times += [time for time in (self._check_at, self.suspension.next_deadline()) if time is not None]
        times += [time for time in (self._heard_by, self._missed_by) if now < time]
        times += [time for time in (self._probe.due, self._held_signal.due) if time is not None]
        times += [self.places.next_deadline(), self._late.due]
        if self._stacks is not None:
            times.append(self._stacks.deadline)
        if self._late.present is not None and (next_ := self._late.present.next_deadline()) is not None:
            times.append(next_)
        return min(times, default=None)

    def poll(self, now: float) -> None:
        """Take news of agents and the resource manager, and feed the resulting events."""
        self.suspension.poll(now)
        # Where nobody is heard, this node may be the one that is cut off, and another one take the task over.
        unheard = self._states.answered + self._job.heartbeat_limit / 2 <= now
        self._cut_off = self._job.setup.moves and unheard and self._silence.all_silent(now)
        for fact in self._late.present.poll(now, cut_off=self._cut_off) if self._late.present else ():
            if isinstance(fact, NodeLost):
                self._states.due = now
                down = NodeState.RELEASED if self._states.released(fact.node) else NodeState.DOWN
                self.places.tell(NodeSeen(node=fact.node, state=down, reason=fact.reason, source="agent"))
            elif isinstance(fact, NodeUp):
                self.places.tell(NodeSeen(node=fact.node, state=NodeState.UP, reason="", source="agent"))
                self._came_back(fact.node)
            else:
                self._hear_agent(fact.peer, fact.message)
        self.places.poll(now, unattended=self._late.failed or bool(self._silence.never_heard()))
        self._late.poll(now)
        self._probe.poll(now)
        self._held_signal.poll(now)
        if self._stacks is not None and now >= self._stacks.deadline:
            self._stacks_done()
        if self._remote:
            lost = any(self._silence.is_lost(node) for node in self._remote)
            self._states.poll(now, hurry=self._cut_off or (lost and self._fence is not None))
        self._check_fence(now)

    def _hear_agent(self, node: str, said: messages.FromAgent | messages.ToAgent) -> None:
        if isinstance(said, messages.LeaseEnded):
            reason = f"the agent on {node} killed {said.count} processes of the task: nobody on "
            reason += f"{self._job.setup.own_node} had answered it for {said.seconds:.1f} s"
            self._feed(LeaseEnded(node=node, reason=reason, attempts=said.attempts))
        elif isinstance(said, messages.Killed):
            if self._fence is not None and said.token == self._fence.token:
                self._fence.answered(node, said.count, said.left, said.number, said.strange)
        elif isinstance(said, messages.ProgramFound):
            self._probe.seen(said.token, node)
        elif isinstance(said, messages.Stacks):
            self._took_stacks(node, said)

    def stopped(self, now: float) -> None:
        """Note that this process did not run until now."""
        self._silence.stopped(now)

    def _came_back(self, node: str) -> None:
        """Ask the agent of a returned node to end all earlier attempts, even if its lease has ended them."""
        if self._late.present is None:
            return
        if self._fence is not None and node in self._fence.waiting:
            self._late.present.kill(node, self._fence.token, self._fence.number, self._fence.steps)
        for token in self._owed.pop(node, ()):
            self._late.present.kill(node, token)

    def may_tell_more(self, attempt: int, used: Sequence[str], now: float) -> bool:
        """Whether an attempt's failure has to wait, for a limited time, for reports on the nodes.

        A launcher ends at the moment when a node dies or is called down, before the isolator hears of that;
        or it cannot start on a dead node, which the resource manager calls down much later.

        Args:
            attempt: the attempt's number.
            used: the nodes that the attempt ran on.
            now: monotonic seconds.
        """
        if not self._remote:
            return False
        ours = self._ending == attempt
        if self._states.at_end(attempt, now, ours=ours):
            self._heard_by = now + HEARING
        also = self._silence.undecided() or self.places.holds or now < self._heard_by
        if self._cut_off or self._states.waits(now, also=also):
            return True
        up = [node for node in used if not self._states.down(node)]
        return now < self._missed_by and not ours and self._silence.missed(up, now)

    def may_be_lost(self, attempt: int, used: Sequence[str], now: float) -> bool:
        """Whether an attempt's success has to wait, for a limited time, for a report on its nodes.

        A node with a living agent is not lost. But an attempt may end before its agents have started, and a
        launcher may end with 0 at the moment when the node of some of its ranks is called down.

        Args:
            attempt: the attempt's number.
            used: the nodes that the attempt ran on.
            now: monotonic seconds.
        """
        there = (node not in self._remote or self._silence.present(node) for node in used)
        if all(there) and not self._silence.undecided():
            return False
        self._states.at_end(attempt, now, ours=self._ending == attempt)
        return self._states.waits(now, also=self.places.holds)

    def probe(self, attempt: int, token: str, runner: int | None) -> None:
        """Look for an attempt's program until it is seen; ProgramSeen follows.

        Args:
            attempt: the attempt's number.
            token, runner: as for ``fence``.
        """
        self._probe.begin(attempt, token, runner)

    def _find_program(self, token: str) -> None:
        if self._late.present is not None:
            self._late.present.find_program(token)

    def hear(self, event: NodeEvent) -> None:
        """Take a node event that the resource manager has sent by itself."""
        self._states.hear(event)

    def _changed(self, node: str, state: NodeState, reason: str) -> None:
        if state is NodeState.UP and self._silence.is_lost(node):
            # The resource manager's reports are late: a silent node is up only when its agent is heard.
            return
        self.places.tell(NodeSeen(node=node, state=state, reason=reason, source=records.RESOURCE_MANAGER))

    # Fencing -----------------------------------------------------------------------------------------

    def fence(self, command: KillAttempt, token: str, runner: int | None) -> None:
        """End an attempt on all nodes; Fenced or Unfenced follows.

        Args:
            command: the attempt to end, and the directories of open files to note first.
            token: the attempt's token.
            runner: the process number of the attempt's runner, None when not known.
        """
        self._ending = command.attempt
        self.places.forget()
        self._probe.end()
        if self._stacks is not None:
            self._deferred = (command, token, runner)
            return
        holder = self._allocation
        if isinstance(holder, JobHolder):
            # The attempt's waiting jobs would start on the freed nodes, unseen by the search for processes.
            self._worker.submit(holder.end_jobs, lambda _: self._fence_attempt(command, token, runner))
        else:
            self._fence_attempt(command, token, runner)

    def _fence_attempt(self, command: KillAttempt, token: str, runner: int | None) -> None:
        if not command.job_ends:
            self._late.begin()
        now = time.monotonic()
        remote = self._remote if self._late.present else ()
        fence = Fence(command.attempt, token, remote, now, self._job.heartbeat_limit)
        fence.forced = command.attempt == self._half_ended
        if self._launchers[0] != command.attempt:
            self._launchers = (command.attempt, set())
        fence.launchers = self._launchers[1]
        self._fence = fence
        self._fenced = command.nodes
        self._check_at = now
        if self._late.present is not None:
            for node in self._remote:
                self._late.present.kill(node, token)

        def then(result: Killing) -> None:
            self._note(fence, result)
            now = time.monotonic()
            if result.spared:
                self._fence_again(fence, now)
            self._check_fence(now)

        def ask_again() -> None:
            if self._fence is fence:
                self._fence_again(fence, time.monotonic())

        # Without agents, only the launcher can end its ranks on the other nodes, so it is asked to end.
        gentle = bool(self._remote) and self._late.present is None
        # A launcher would wait for the ranks of a lost node in use, so it is given no time.
        patience = 0.0 if set(self.lost) & set(command.nodes) else LAUNCHER_PATIENCE

        def kill() -> Killing:
            killed = isolator_host_fencing.kill(
                token,
                runner,
                open_below=command.open_below,
                gentle=gentle,
                patience=patience,
                launchers_ended=lambda: self._worker.tell(ask_again),
            )
            # The script is dead now: jobs that it has just submitted are ended, and processes killed again.
            if isinstance(self._allocation, JobHolder) and self._allocation.end_jobs():
                more = isolator_host_fencing.kill(token, runner)
                killed = msgspec.structs.replace(
                    killed, count=killed.count + more.count, left=more.left, spared=True
                )
            return killed

        self._worker.submit(kill, then)

    def _fence_again(self, fence: Fence, now: float) -> None:
        if self._late.present is not None:
            for node in fence.again(now):
                self._late.present.kill(node, fence.token, fence.number, fence.steps)

    def _note(self, fence: Fence, result: Killing) -> None:
        fence.launchers.update(result.launchers)
        left = [f"{process.name} ({process.pid})" for process in result.left]
        fence.local(result.count, left, result.open_files, forced=result.forced, strange=result.strange)

    def _ask_whose(self, fence: Fence) -> bool:
        """Ask the resource manager for the owner of strange steps; return False where it need not be asked.

        Strange steps are those without any process that has a token or mark.
        """
        manager = self._allocation
        if not fence.strange or not fence.launchers or not isinstance(manager, StepHolder):
            return False
        fence.asking = True

        def ask() -> frozenset[str] | str:
            try:
                return manager.end_steps_of(fence.launchers)
            except WheslError as error:
                return error.message

        def then(steps: frozenset[str] | str) -> None:
            if isinstance(steps, str):
                fence.failed.append(f"nobody says whose {', '.join(sorted(fence.strange))} are: {steps}")
                fence.explained(())
            elif fence.explained(steps):
                fence.here = False
                self._fence_again(fence, time.monotonic())
                self._worker.submit(lambda: isolator_host_fencing.kill(fence.token, steps=fence.steps), here)
            self._check_fence(time.monotonic())

        def here(result: Killing) -> None:
            self._note(fence, result)
            self._check_fence(time.monotonic())

        self._asker.submit(ask, then)
        return True

    def _check_fence(self, now: float | None = None) -> None:
        now = time.monotonic() if now is None else now
        fence = self._fence
        if fence is None:
            self._check_at = None
            return
        fence.check(self._silence, now)
        if not fence.over or self._ask_whose(fence):
            if not fence.here and now >= fence.asked + REPEAT:
                # Ranks that the launcher was about to start have to die, too, or the launcher would not end.
                self._fence_again(fence, now)
            self._check_at = now + (RETRY if fence.here else REPEAT)
            return
        self._fence = None
        self._check_at = None
        for node in (*fence.unreachable, *fence.unasked):
            self._owed.setdefault(node, []).append(fence.token)
        if fence.failed:
            self._feed(records.Unfenced(attempt=fence.attempt, reason=", ".join(fence.failed)))
            return
        self._feed(
            records.Fenced(
                attempt=fence.attempt,
                seconds=now - fence.began,
                killed=fence.killed,
                open_files=fence.open_files,
                # Only nodes of the attempt count: spares, and nodes lost before, had no processes of it.
                unreachable=tuple(node for node in fence.unreachable if node in self._fenced),
                unasked=tuple(node for node in fence.unasked if node in self._fenced),
                lingering=self._fenced if fence.forced else (),
            )
        )

    # Stacks and signals --------------------------------------------------------------------------------

    def collect(self, command: CollectEvidence, token: str, runner: int | None) -> None:
        """Read stacks on all nodes within a time limit; a kill that comes meanwhile waits for the end.

        Args:
            command: the attempt, and what waits for a stopped rank.
            token, runner: as for ``fence``.
        """
        now = time.monotonic()
        stacks = Stacks(command, token, set(), now + isolator_host_fencing.STACKS_LIMIT)
        self._stacks = stacks
        of_ranks = bool(command.silent)
        request = messages.ReadStacks(token=token, of_ranks=of_ranks)
        if self._late.present is not None:
            stacks.waiting = {node for node in self._remote if self._late.present.read_stacks(node, request)}

        own = self._job.setup.own_node

        def then(result: tuple[str, str]) -> None:
            text, stuck = result
            stacks.here = True
            stacks.texts.insert(0, text)
            if stuck and own:
                stacks.stuck[own] = stuck
            if self._stacks is stacks and not stacks.waiting:
                self._stacks_done()

        self._worker.submit(lambda: isolator_host_fencing.stacks(own, token, runner, of_ranks=of_ranks), then)

    def _took_stacks(self, node: str, said: messages.Stacks) -> None:
        stacks = self._stacks
        if stacks is None or said.token != stacks.token or node not in stacks.waiting:
            return
        stacks.waiting.discard(node)
        stacks.texts.append(f"on {node}:\n{said.text}" if said.text else "")
        if said.stuck:
            stacks.stuck[node] = said.stuck
        if stacks.here and not stacks.waiting:
            self._stacks_done()

    def _stacks_done(self) -> None:
        stacks = self._stacks
        assert stacks is not None
        self._stacks = None
        if (event := stacks.event(self._directory.attempt(stacks.command.attempt) / "stacks")) is not None:
            self._feed(event)
        if self._deferred is not None:
            deferred, self._deferred = self._deferred, None
            self.fence(*deferred)

    def signal(self, command: SignalAttempt, token: str, here: Callable[[], int | None]) -> None:
        """Send a signal to those processes of the attempt that handle it.

        Args:
            command: the signal, and the configuration's version that it announces.
            token: the attempt's token.
            here: sends the signal on this node, and returns the number of processes; None after the end.
        """
        if command.version:
            self._late.begin()
            self._held_signal.hold(here, time.monotonic())
        else:
            here()
        if self._late.present is not None:
            self._late.present.signal(token, command.signum, command.version)

    def close(self) -> None:
        """Stop asking the resource manager, and dismiss the agents."""
        self.suspension.close()
        self.places.close()
        if self._late.present is not None:
            self._late.present.close()
