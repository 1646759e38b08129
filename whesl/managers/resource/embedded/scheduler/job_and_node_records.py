"""The local resource manager's records: settings, jobs, steps, nodes. Frozen and JSON-ready."""

from __future__ import annotations

from typing import Annotated

import msgspec

from whesl.model.states import JobState

# Bounds that the decoder checks, so that no number in a message can make a server or a node fail.
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
SignalNumber = Annotated[int, msgspec.Meta(ge=1, le=64)]
Seconds = Annotated[float, msgspec.Meta(ge=0.001, le=1e10)]


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all records."""


class Partition(Record, frozen=True, kw_only=True):
    """A named set of nodes. ``max_time``: the longest time limit in seconds, None for unlimited."""

    name: str
    nodes: tuple[str, ...]
    max_time: float | None = None


class Settings(Record, frozen=True, kw_only=True):
    """The settings of a cluster. All times are in seconds.

    ``cpus``: CPUs of each node. ``policy``: easy (backfilling) or fcfs. ``queue_wait``: a form of
    ``artificial_wait``. ``node_timeout``: silence after which a node counts as down. ``kill_wait``: time from
    SIGTERM to SIGKILL. ``requeue_delay``: wait of a requeued job (in Slurm: two minutes). ``whole_nodes``:
    jobs always get all CPUs of their nodes. ``storage_limit``: largest file in bytes that a process on a node
    may write, 0 for unlimited. ``placement``: absolute path of a file of predictions, "" for none.
    """

    name: str = "local"
    nodes: tuple[str, ...] = ()
    cpus: int = 2
    partitions: tuple[Partition, ...] = ()
    policy: str = "easy"
    queue_wait: str = "0"
    seed: int = 0
    node_timeout: float = 10.0
    kill_wait: float = 2.0
    requeue_delay: float = 120.0
    whole_nodes: bool = False
    storage_limit: int = 0
    placement: str = ""

    def partition(self, name: str) -> Partition | None:
        """Return a partition; the empty name means the first, which is the default."""
        if not name:
            return self.partitions[0]
        return next((partition for partition in self.partitions if partition.name == name), None)


class Dependency(Record, frozen=True, kw_only=True):
    """A dependency on another job.

    ``kind``: after, afterany, afterok or afternotok. ``job``: id of a job or an array.
    """

    kind: str
    job: int


class JobSpec(Record, frozen=True, kw_only=True):
    """A request for a job. Times are in seconds; ``nodes`` None takes as many nodes as ``tasks`` need.

    ``warning``: signal, seconds before the time limit, whether only the batch shell gets it. ``interactive``:
    the job has no script; it belongs to its srun and ends with it.
    """

    name: str = "sbatch"
    user: str = ""
    uid: int = 0
    gid: int = 0
    account: str = ""
    partition: str = ""
    workdir: str = "/"
    command: str = ""
    arguments: tuple[str, ...] = ()
    nodes: Count | None = 1
    tasks: Count | None = None
    cpus_per_task: Count = 1
    tasks_per_node: Count | None = None
    exclusive: bool = False
    time_limit: Seconds | None = None
    output: str = ""
    error: str = ""
    input: str = ""
    append: bool = False
    requeue: bool = True
    no_kill: bool = False
    exclude: tuple[str, ...] = ()
    nodelist: tuple[str, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    any_dependency: bool = False
    kill_invalid_dependency: bool = False
    begin: float = 0.0
    hold: bool = False
    comment: str = ""
    token: str = ""
    warning: tuple[SignalNumber, float, bool] | None = None
    interactive: bool = False
    array: tuple[int, ...] = ()
    array_limit: int = 0
    submit_host: str = ""


class Share(Record, frozen=True, kw_only=True):
    """A job's CPUs and tasks on one node."""

    node: str
    cpus: int
    tasks: int


class Job(Record, frozen=True, kw_only=True):
    """The present record of a job. Times are seconds since the epoch, 0 for events that have not happened.

    ``shares``: the allocation without lost nodes. ``open_nodes``: nodes on which a completing job may still
    have processes. ``outcome``: the state that follows COMPLETING; PENDING with ``again``. ``exit_code`` and
    ``exit_signal``: of the script. ``array``: the array's number of tasks, lowest and highest index; a list
    of all indexes in each of a thousand tasks would have a million entries.
    """

    id: int
    spec: JobSpec
    array_job: int = 0
    array_task: int | None = None
    array: tuple[int, int, int] = (0, 0, 0)
    state: JobState = JobState.PENDING
    reason: str = "None"
    submitted: float = 0.0
    eligible: float = 0.0
    begin: float = 0.0
    held: bool = False
    started: float = 0.0
    ended: float = 0.0
    restarts: int = 0
    shares: tuple[Share, ...] = ()
    lost: tuple[str, ...] = ()
    open_nodes: tuple[str, ...] = ()
    batch_host: str = ""
    batch_started: bool = False
    batch_ended: bool = False
    warned: bool = False
    outcome: JobState | None = None
    again: bool = False
    exit_code: int = 0
    exit_signal: int = 0
    partition: str = ""
    comment: str = ""
    requeue: bool = True
    time_limit: float | None = None

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the allocated nodes, without lost ones."""
        return tuple(share.node for share in self.shares)

    @property
    def held_shares(self) -> tuple[Share, ...]:
        """Shares that other jobs cannot use now; a completing job's only on nodes that are not cleared."""
        if self.state is JobState.COMPLETING:
            return tuple(share for share in self.shares if share.node in self.open_nodes)
        return self.shares

    @property
    def label(self) -> str:
        """The job's id as users see it; ``5_2`` for an array task."""
        return f"{self.array_job}_{self.array_task}" if self.array_task is not None else str(self.id)


class StepShare(Record, frozen=True, kw_only=True):
    """The numbers of a step's tasks on one node."""

    node: str
    tasks: tuple[int, ...]


class Step(Record, frozen=True, kw_only=True):
    """A step of a job. ``open_nodes``: nodes that have not reported the step's end.

    ``code``: the highest exit status so far. ``launcher``: process id of the step's srun.
    """

    job: int
    restart: int
    id: int
    name: str = ""
    token: str = ""
    launcher: int = 0
    shares: tuple[StepShare, ...] = ()
    cpus_per_task: int = 1
    overlap: bool = False
    open_nodes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    code: int = 0
    cancelled: bool = False
    started: float = 0.0
    ended: float = 0.0


class StepWish(Record, frozen=True, kw_only=True):
    """A request of srun for a step. ``nodes`` None means as many as in ``nodelist``, or else the job's."""

    job: int
    name: str = ""
    token: str = ""
    launcher: int = 0
    nodes: Count | None = None
    tasks: Count | None = None
    cpus_per_task: Count = 1
    tasks_per_node: Count | None = None
    nodelist: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    overlap: bool = False
    overcommit: bool = False


class Node(Record, frozen=True, kw_only=True):
    """A virtual node. ``boot`` identifies its daemon's life; empty before the first registration."""

    name: str
    cpus: int
    up: bool = False
    boot: str = ""
    booted: float = 0.0
    drain: bool = False
    reason: str = ""
    reason_time: float = 0.0
    reason_user: str = ""
