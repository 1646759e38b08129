"""The machine: nodes that die or are cut off, jobs, and a scheduler that does not always answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tests.equipment.world import CoordinatorsScheduler
from tests.simulation.scenario import TaskPlan
from tests.simulation.world import Host, InvariantError, World
from whesl.managers.resource.port import JobRecord, NodeRecord
from whesl.model.errors import CouldNotObserveError, RefusedError
from whesl.model.states import JobState

if TYPE_CHECKING:
    from tests.simulation.site import Site

TIME_LIMIT = 900.0
KILL_WAIT = 30.0
ASKED = 10  # times that a coordinator asks at most about a job without a batch host before it acts


class Node:
    """A node: ``cut`` off from all others, or dead; ``said`` once the scheduler calls it down."""

    def __init__(self, name: str, host: Host) -> None:
        self.name = name
        self.host = host
        self.alive = True
        self.cut = False
        self.said = False
        self.job: Job | None = None

    @property
    def reachable(self) -> bool:
        """Whether anything can be done on it."""
        return self.alive and not self.cut


class Job:
    """A scheduler's job. ``run`` counts its starts; what belongs to an earlier one is void."""

    def __init__(self, number: int, plan: TaskPlan, site: Site) -> None:
        self.id = str(number)
        self.plan = plan
        self.site = site
        self.nodes: tuple[str, ...] = ()
        self.state = JobState.PENDING
        self.restarts = 0
        # What it may not now, run again, it may not in a moment either; drawn when it is first asked for.
        self.refusing: bool | None = None
        self.exit_code: int | None = None
        self.batch_host_lost = False
        self.batch_host_forgotten = False  # by a scheduler that was restarted since
        self.asked = 0  # how often it was asked about since then
        self.ending = ""  # requeue or cancel: its processes are being ended

    @property
    def claim(self) -> str:
        """The claim of its present start."""
        return f"{self.id}.{self.restarts}"

    def record(self) -> JobRecord:
        """What the scheduler says of it."""
        nodes = self.nodes[1:] if self.batch_host_forgotten else self.nodes
        return JobRecord(
            id=self.id,
            state=self.state,
            raw_state=self.state.value,
            nodes=nodes,
            batch_host=nodes[0] if nodes else "",
            batch_host_lost=self.batch_host_lost and not self.batch_host_forgotten,
            restarts=self.restarts,
            exit_code=self.exit_code,
        )


class Cluster(CoordinatorsScheduler):
    """Nodes and jobs; the methods without an underscore that the port has are the scheduler's outside face.

    Args:
        world: its time and chance.
        size: number of nodes.
    """

    name = "sim"

    def __init__(self, world: World, size: int) -> None:
        self.world = world
        self.nodes_by_name = {
            f"n{number}": Node(f"n{number}", world.host(number + 1)) for number in range(size)
        }
        self.called_down: set[str] = set()  # at any time
        self.all_jobs: dict[str, Job] = {}
        self._waiting: list[Job] = []
        self._chance = world.chance("scheduler")
        self._restarts = world.chance("restarted scheduler")

    # Jobs ------------------------------------------------------------------------------------------------

    def submit_task(self, plan: TaskPlan, site: Site) -> Job:
        """Put a job in line."""
        job = Job(len(self.all_jobs) + 1, plan, site)
        self.all_jobs[job.id] = job
        self.world.note("scheduler", f"job {job.id} submitted for {plan.name}")
        self._line_up(job)
        return job

    def _line_up(self, job: Job) -> None:
        self._waiting.append(job)
        self.world.after(0.2 + 2.0 * self._chance.random(), self._start_some)

    def _start_some(self) -> None:
        for job in list(self._waiting):
            wanted = job.plan.nodes + job.plan.spares
            free = [node for node in self.nodes_by_name.values() if node.job is None and node.reachable]
            if len(free) < wanted:
                continue
            if job.site.lives():
                # What is left of its last start has to be gone first, as with Slurm's COMPLETING.
                self.world.after(1.0, self._start_some)
                continue
            self._waiting.remove(job)
            job.nodes = tuple(node.name for node in free[:wanted])
            for node in free[:wanted]:
                node.job = job
            job.state, job.ending = JobState.RUNNING, ""
            job.batch_host_lost = job.batch_host_forgotten = False
            job.asked = 0
            self.world.note("scheduler", f"job {job.claim} starts on {','.join(job.nodes)}")
            self.world.after(TIME_LIMIT, self._time_is_up, job, job.restarts)
            job.site.begin(job)

    def ended(self, job: Job, claim: str, code: int) -> None:
        """A job's script has ended by itself."""
        if job.claim != claim or job.state is not JobState.RUNNING:
            return
        job.state = JobState.COMPLETED if code == 0 else JobState.FAILED
        job.exit_code = code
        self.world.note("scheduler", f"job {claim} ended with {code}")
        self._over(job)

    def _over(self, job: Job) -> None:
        job.site.purge(job)
        self._free(job)
        job.site.job_ended(job)

    def _free(self, job: Job) -> None:
        for name in job.nodes:
            node = self.nodes_by_name[name]
            if node.job is job:
                node.job = None
        self.world.after(0.1, self._start_some)

    def _time_is_up(self, job: Job, start: int) -> None:
        if job.restarts == start and job.state is JobState.RUNNING and not job.ending:
            self.world.note("scheduler", f"job {job.claim} has reached its time limit")
            if job.batch_host_lost and job.asked > ASKED:
                raise InvariantError(
                    "no task lost", f"job {job.claim} ran on without its script until its end"
                )
            self._end(job, "limit")

    def _end(self, job: Job, why: str) -> None:
        """SIGTERM to everything, SIGKILL after a while."""
        job.ending = why
        job.site.signalled(15)
        self.world.after(KILL_WAIT, self._kill, job, job.restarts, why)

    def _kill(self, job: Job, start: int, why: str) -> None:
        if job.restarts == start and job.ending == why and job.state is JobState.RUNNING:
            self.world.note("scheduler", f"job {job.claim} is killed ({why})")
            job.state = JobState.CANCELLED if why == "cancel" else JobState.TIMEOUT
            job.exit_code = None
            self._over(job)

    # Nodes -----------------------------------------------------------------------------------------------

    def lose(self, name: str, noticed: float) -> None:
        """A node dies."""
        node = self.nodes_by_name[name]
        if not node.alive:
            return
        node.alive = False
        self.world.note(name, "dies")
        if node.job is not None:
            node.job.site.node_died(name)
        self.world.after(noticed, self._say_down, node)

    def cut(self, name: str, length: float, *, closes: bool) -> None:
        """A node is cut off from all others for a while."""
        node = self.nodes_by_name[name]
        if not node.reachable:
            return
        node.cut = True
        self.world.note(name, f"is cut off for {length:g} s")
        if node.job is not None:
            node.job.site.node_cut(name, closes=closes)
        noticed = self.world.chance(f"cut {name} {self.world.now}")
        if noticed.random() < 0.3:
            self.world.after(length * noticed.random(), self._miss, node)
        self.world.after(length, self._heal, node)

    def _miss(self, node: Node) -> None:
        """Call a node down that cannot be reached: it lives, and so does what runs there."""
        job = node.job
        if node.cut and node.alive and job is not None and job.nodes[0] != node.name:
            self.world.note("scheduler", f"{node.name} is down, as far as can be seen")
            self.called_down.add(node.name)
            job.site.node_said_down(node.name)

    def _heal(self, node: Node) -> None:
        node.cut = False
        if node.alive:
            self.world.note(node.name, "is back")
            if node.job is not None:
                node.job.site.node_healed(node.name)
            else:
                # What its job left there when that ended is ended now, as slurmd does when it reports again.
                for job in self.all_jobs.values():
                    job.site.end_on(node.name)
            self._start_some()

    def _say_down(self, node: Node) -> None:
        node.said = True
        self.called_down.add(node.name)
        self.world.note("scheduler", f"{node.name} is down")
        job = node.job
        if job is None or job.state is not JobState.RUNNING:
            return
        if job.nodes[0] == node.name:
            job.batch_host_lost = True
            # One of several nodes has its place where the scheduler is restarted before anybody asked it.
            job.batch_host_forgotten = len(job.nodes) > 1 and self._restarts.random() < 0.3
        else:
            job.site.node_said_down(node.name)

    # The outside face ------------------------------------------------------------------------------------

    def _hear(self) -> None:
        if self.world.out("scheduler") or self._chance.random() < self.world.scenario.deaf:
            raise CouldNotObserveError("the scheduler did not answer")

    def _answer(self) -> None:
        if self._chance.random() < self.world.scenario.unanswered:
            raise CouldNotObserveError("the scheduler took it and did not say so")

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """See the port."""
        self._hear()
        known = [self.all_jobs[job] for job in ids if job in self.all_jobs]
        for job in known:
            job.asked += job.batch_host_lost
        return {job.id: job.record() for job in known}

    def requeue(self, job_id: str) -> None:
        """See the port."""
        self._hear()
        job = self.all_jobs[job_id]
        if job.state is JobState.PENDING:
            raise RefusedError("the job is pending")
        if job.state in (JobState.CANCELLED, JobState.COMPLETED) or job.ending:
            raise RefusedError("the job was cancelled or is completing")
        if job.refusing is None:
            job.refusing = self._chance.random() < self.world.scenario.refusing
        if job.refusing:
            raise RefusedError("this job may not be requeued")
        self.world.note("scheduler", f"job {job.claim} is requeued")
        job.site.signalled(15)
        job.state, job.exit_code = JobState.PENDING, None
        job.restarts += 1
        job.refusing = None
        self.world.after(5.0 * self._chance.random(), self._requeued, job)
        self._answer()

    def _requeued(self, job: Job) -> None:
        job.site.purge(job)
        self._free(job)
        self._line_up(job)

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        """See the port."""
        self._hear()
        job = self.all_jobs[job_id]
        if job.state is JobState.PENDING and job in self._waiting:
            self._waiting.remove(job)
            job.state = JobState.CANCELLED
            self._over(job)
        elif job.state is JobState.RUNNING and not job.ending:
            self._end(job, "cancel")
        self._answer()

    def allow_requeue(self, job_id: str) -> None:
        """See the coordinator's ports."""
        self._hear()

    def lift_hold(self, record: JobRecord) -> None:
        """See the coordinator's ports."""

    def mark_node(self, node: str, reason: str) -> bool:
        """See the port."""
        self._hear()
        return False

    def nodes(self) -> list[NodeRecord]:
        """See the port."""
        return []
