"""A task's place: its files on the shared file system, its keeper, its programs, its agents' leases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from tests.equipment.world import MemoryJournal
from tests.simulation.allocation import Account
from tests.simulation.cluster import Cluster, Job
from tests.simulation.isolator import Isolator
from tests.simulation.network import Network
from tests.simulation.programs import Run
from tests.simulation.scenario import TaskPlan
from tests.simulation.world import InvariantError, World
from whesl.model.workflow import Task
from whesl.runtime.isolator.core.state import Phase
from whesl.runtime.isolator.core.task_setup import Setup, split
from whesl.runtime.isolator.launch.stale_lock import HANDOVER
from whesl.runtime.node_agent.lease import lead
from whesl.runtime.wire.messages import AnyMessage

if TYPE_CHECKING:
    from tests.simulation.system import System

WORKFLOW = "w"


class Files:
    """What of a task outlives its daemons. ``records``: kind, JSON, time."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.records = MemoryJournal()
        self.setup: Setup | None = None
        self.salt = f"salt{number}"
        self.result: tuple[str, int] | None = None
        self.unwritten = False  # the last words could not be written: the disk was full

    def read(self) -> list[tuple[str, dict[str, Any], float]]:
        """Return the journal as a restarted daemon reads it."""
        return [*self.records]


class Site:
    """One task on the cluster.

    Args:
        system: the whole.
        plan: the task.
    """

    def __init__(self, system: System, plan: TaskPlan) -> None:
        self.system = system
        self.world: World = system.world
        self.cluster: Cluster = system.cluster
        self.network: Network = system.network
        self.plan = plan
        self.name = plan.name
        self.id = f"{WORKFLOW}/{plan.name}"
        self.files = Files(0)
        self.aside: list[Files] = []
        self.runs: list[Run] = []
        self.job: Job | None = None
        self.isolator: Isolator | None = None
        self.starts = 0
        self.began = 0.0  # when the present start of its job's script was
        self.ended = 0.0  # when its isolator last ended by its own decision
        self.skipped = 0
        self.forgetful = False  # a node died with records that its full disk had not taken
        self.turns = 0
        self.crashes = [crash for crash in system.world.scenario.crashes if crash.who == plan.name]
        self.contact_lost: dict[str, float] = {}
        self.unheard: list[AnyMessage] = []  # what isolators that have ended could not say
        self.steps_run: dict[tuple[str, int, int], int] = {}
        self.account: Account | None = None
        self.patient = ""  # the run that was told to end, and to take its time
        self.lost_under: set[tuple[str, str]] = set()  # tokens of attempts, and nodes called lost under them
        self.chance = system.world.chance(f"site {plan.name}")

    # The job's script --------------------------------------------------------------------------------------

    def begin(self, job: Job) -> None:
        """The job's script starts: ``whesl exec`` looks at what an earlier call left."""
        self.job = job
        claim = job.claim
        if self.files.result is not None and self.files.result[0] != claim:
            self.aside.append(self.files)
            self.files = Files(len(self.aside))
        self.contact_lost = {}
        self.began = self.world.now
        self.system.manager.job_started()
        self.files.setup = Setup(
            task=Task(id=self.id, step=self.name, nodes=self.plan.nodes, workspace=f"/scratch/{self.name}"),
            workflow=WORKFLOW,
            spec=self.world.spec,
            claim=claim,
            rjms="sim",
            job_id=job.id,
            nodes=job.nodes,
            active=self.plan.nodes,
            own_node=job.nodes[0],
            salt=self.files.salt,
            kept=self.world.chance(f"kept {self.name}").random() < 0.5,
            coordinator_wait=self.world.scenario.coordinator_wait,
        )
        self._share(job)
        # A file server may keep a dead host's lock: the scheduler is asked for its owner, a minute long.
        kept = self.world.chance(f"lock {self.name} {claim}")
        held = self.starts and kept.random() < 0.3
        self.world.after(HANDOVER * kept.random() if held else 0.0, self._start, claim)

    def _share(self, job: Job) -> None:
        """Now and then another task runs in the allocation, and takes nodes of it that nobody uses."""
        chance = self.world.chance(f"shared {self.name} {job.claim}")
        setup, self.account = self.files.setup, None
        if setup is None or chance.random() >= self.world.scenario.shared:
            return
        account = Account(job.nodes, split(setup).active, chance)
        self.account = account
        self.files.setup = msgspec.structs.replace(setup, account="shared")

        def take() -> None:
            if self.account is account and (node := account.another_takes()):
                self.world.note(node, f"another task of {self.name}'s allocation uses it")

        for _ in range(chance.choice((1, 2))):
            self.world.after(60.0 * chance.random(), take)

    def _start(self, claim: str) -> None:
        job = self.job
        if job is None or job.claim != claim or self.isolator is not None or not self._host_lives():
            return
        if self.files.result is not None and self.files.result[0] == claim:
            self.cluster.ended(job, claim, self.files.result[1])
            return
        self.starts += 1
        self.isolator = Isolator(self, self.starts)
        self.isolator.start()

    def _host_lives(self) -> bool:
        return self.job is not None and self.cluster.nodes_by_name[self.job.nodes[0]].alive

    def died(self, back: float) -> None:
        """The isolator was killed; its keeper starts another."""
        self._contact_ends()
        self.isolator = None
        if self.job is not None:
            self.world.after(back, self._start, self.job.claim)

    def over(self, isolator: Isolator, code: int) -> None:
        """The isolator has ended by its own decision."""
        self.ended = self.world.now
        self._contact_ends()
        self.isolator = None
        job = self.job
        if job is not None and job.claim == isolator.setup.claim:
            self.cluster.ended(job, job.claim, code)

    def signalled(self, signum: int) -> None:
        """The scheduler sends a signal to all of the job."""
        self.patient = ""
        if self.isolator is not None:
            self.isolator.signalled(signum)

    def shell_signalled(self) -> None:
        """The batch shell alone is sent TERM: the program may take all the time that its job has."""
        if self.isolator is not None and self.job is not None and not self.job.ending:
            run = self.run_of(self.isolator.state.token)
            running = self.isolator.state.phase in (Phase.RUNNING, Phase.LAUNCHING)
            self.patient = run.token if run is not None and running else ""
            self.isolator.signalled(15, alone=True)

    def purge(self, job: Job) -> None:
        """The scheduler ends whatever is left of a job, where it can."""
        if self.isolator is not None and self.isolator.setup.job_id == job.id:
            self.isolator.kill("ended with its job")
            self._contact_ends()
            self.isolator = None
        for node in self.cluster.nodes_by_name.values():
            if node.reachable:
                self.end_on(node.name)

    def end_on(self, node: str) -> None:
        """The scheduler ends all processes on a node."""
        for run in self.runs:
            run.runner = run.runner and run.host != node
            run.ranks.pop(node, None)

    def job_ended(self, job: Job) -> None:
        """Its manager will see it."""
        self.system.manager.ended(job)

    # Programs ----------------------------------------------------------------------------------------------

    def lives(self) -> bool:
        """Whether any process of any run is there, or an isolator that could start one."""
        return any(run.lives for run in self.runs) or self.isolator is not None

    def run_of(self, token: str) -> Run | None:
        """Return the run that bears a token."""
        return next((run for run in reversed(self.runs) if run.token == token), None)

    def start_run(self, attempt: int, token: str, nodes: tuple[str, ...]) -> Run:
        """Start the program, and hold it to the first of all invariants."""
        assert self.job is not None
        for run in self.runs:
            if run.lives:
                where = ", ".join((f"runner on {run.host}",) * run.runner + tuple(run.ranks))
                raise InvariantError(
                    "never two runs at once", f"{self.id} attempt {attempt} beside {run.attempt} ({where})"
                )
        if self.run_of(token) is not None and not self.forgetful:
            raise InvariantError("never two runs at once", f"{self.id} attempt {attempt} was started twice")
        if self.account is not None and (taken := set(nodes) - self.account.own):
            who = f"{self.id} attempt {attempt}: {', '.join(sorted(taken))} is not claimed"
            raise InvariantError("no node of another task's", who)
        self.world.note(self.name, f"program {attempt} starts on {','.join(nodes)}")
        act = self.plan.acts[min(len(self.runs) + self.skipped, len(self.plan.acts) - 1)]
        # A first start that is refused is the user's own; its program is not looked at here.
        refused = attempt > 1 and self.world.out("scheduler")
        run = Run(self, attempt, token, self.job.nodes[0], nodes, act, refused=refused)
        self.skipped -= refused
        self.runs.append(run)
        return run

    def unstartable(self) -> None:
        """A start of the program has failed: the next act is for the next one."""
        self.skipped += 1

    def next_act(self) -> str:
        """Return what the next run will do."""
        return self.plan.acts[min(len(self.runs) + self.skipped, len(self.plan.acts) - 1)].kind

    def look(self) -> None:
        """Something was printed, or a program has ended."""
        if self.isolator is not None:
            self.world.after(0.01, self.isolator.look)

    # Nodes -------------------------------------------------------------------------------------------------

    def node_died(self, name: str) -> None:
        """One of the job's nodes is gone."""
        assert self.job is not None
        for run in self.runs:
            run.vanish(name)
        if name == self.job.nodes[0]:
            if self.isolator is not None:
                self.isolator.kill("its node is gone")
                self.isolator = None
            self._contact_ends()
        elif self.isolator is not None:
            self.isolator.agents.node_died(name)

    def node_cut(self, name: str, *, closes: bool) -> None:
        """One of the job's nodes is cut off; the batch host is cut off from the coordinator only."""
        assert self.job is not None
        if name == self.job.nodes[0]:
            return
        # Both halves of its agent may have been killed just before, and the node was seen to live on.
        agents = self.isolator.agents if self.isolator is not None else None
        alone = closes and agents is not None and agents.connected(name)
        alone = alone and self.world.chance(f"no agent {name} {self.world.now}").random() < 0.3
        if not alone:
            self.lost_contact(name)
        for run in self.runs:
            if run.runner and name in run.ranks:
                run.unwell()
        if self.isolator is not None:
            self.isolator.agents.node_cut(name, closes=closes, alone=alone)

    def node_healed(self, name: str) -> None:
        """A node that was cut off is back."""
        if self.isolator is not None:
            self.isolator.agents.node_healed(name)

    def node_said_down(self, name: str) -> None:
        """The scheduler calls a node down."""
        if self.isolator is not None:
            self.isolator.agents.said_down(name)

    # Leases ------------------------------------------------------------------------------------------------

    def lost_contact(self, node: str) -> None:
        """A node's agent does not hear the isolator from now on."""
        if node not in self.contact_lost:
            self.contact_lost[node] = self.world.now
            limit = self.world.scenario.lease
            # The agent may get no processor just then.
            late = self.world.chance(f"starved {self.name} {node} {self.world.now}").random() * lead(limit)
            lease = self.cluster.nodes_by_name[node].host.lasts(limit - lead(limit) + late)
            self.world.after(lease, self._lease_over, node, self.world.now)

    def has_contact(self, node: str) -> None:
        """A node's agent hears the isolator."""
        self.contact_lost.pop(node, None)

    def _contact_ends(self) -> None:
        if self.isolator is not None:
            for node in self.isolator.agents.remote:
                self.lost_contact(node)

    def _lease_over(self, node: str, since: float) -> None:
        if self.contact_lost.get(node) != since:
            return
        for run in self.runs:
            if node in run.ranks:
                self.world.note(node, f"agent's lease is over: {self.name}'s processes are killed")
                run.vanish(node)
