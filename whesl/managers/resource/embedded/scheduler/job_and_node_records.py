"""The local resource manager's records: settings, jobs, steps, nodes. Frozen and JSON-ready."""

from __future__ import annotations

from typing import Annotated

import msgspec

from whesl.model.states import JobState

# Bounds that are checked when a message is read, so that no number can make a server or a node fail.
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
SignalNumber = Annotated[int, msgspec.Meta(ge=1, le=64)]
Seconds = Annotated[float, msgspec.Meta(ge=0.001, le=1e10)]


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all records."""


class Partition(Record, frozen=True, kw_only=True):
    """A named part of the nodes. ``max_time`` in seconds, None for no limit."""

    name: str
    nodes: tuple[str, ...]
    max_time: float | None = None


class Settings(Record, frozen=True, kw_only=True):
    """How a cluster was started. All times in seconds.

    ``node_timeout``: silence after which a node is down. ``kill_wait``: from TERM to KILL.
    ``requeue_delay``: how long a requeued job is held (Slurm: two minutes). ``whole_nodes``: jobs always
    get all CPUs of their nodes. ``storage_limit``: largest file (bytes) that a
    process on a node may write, 0 for any. ``placement``: a file of predictions, absolute; "" for none.
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
    """``kind``: after, afterany, afterok, afternotok. ``job`` may be an array's id."""

    kind: str
    job: int


class JobSpec(Record, frozen=True, kw_only=True):
    """What was asked for. Times in seconds; ``nodes`` None lets ``tasks`` decide.

    ``warning`` is (signal, seconds before the limit, only the batch shell). ``interactive`` jobs have no
    script: they belong to the srun that asked and end with it.
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
    """What a job has of one node."""

    node: str
    cpus: int
    tasks: int


class Job(Record, frozen=True, kw_only=True):
    """A job as it is now. Times are seconds since the epoch, 0 when it has not happened.

    ``shares`` is the allocation without lost nodes. ``open_nodes`` are those where something may still run
    while it completes. ``outcome`` is the state that follows COMPLETING; with ``again`` it is PENDING
    once more. ``exit_code`` and ``exit_signal`` are the script's. ``array`` is how many tasks its array has,
    the lowest and the highest index: the indices themselves, in each of a thousand tasks, would be a million.
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
        """Names of the allocated nodes, lost ones left out."""
        return tuple(share.node for share in self.shares)

    @property
    def held_shares(self) -> tuple[Share, ...]:
        """What other jobs cannot use now: while the job completes, only the nodes that are not clear."""
        if self.state is JobState.COMPLETING:
            return tuple(share for share in self.shares if share.node in self.open_nodes)
        return self.shares

    @property
    def label(self) -> str:
        """The id as users see it: array tasks as ``5_2``."""
        return f"{self.array_job}_{self.array_task}" if self.array_task is not None else str(self.id)


class StepShare(Record, frozen=True, kw_only=True):
    """A step's tasks on one node: their numbers."""

    node: str
    tasks: tuple[int, ...]


class Step(Record, frozen=True, kw_only=True):
    """A step of a job. ``open_nodes`` have not reported their end; ``code`` is the highest so far.

    ``launcher`` is the process number of its srun.
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
    """What srun asks for. ``nodes`` None: as many as ``nodelist`` has, else all of the job."""

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
    """A virtual node. ``boot`` names its present incarnation; empty before it first registered."""

    name: str
    cpus: int
    up: bool = False
    boot: str = ""
    booted: float = 0.0
    drain: bool = False
    reason: str = ""
    reason_time: float = 0.0
    reason_user: str = ""
