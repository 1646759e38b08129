"""What plans are made of, and what runs them: workflows, prices, profiles, forecasts, schedules, plans.

DPB is the profile, CCM the prices, RAP the forecast, WSB makes the schedule. Times are seconds since the
epoch, durations seconds, sizes bytes, prices in the price list's currency.
"""

from __future__ import annotations

from enum import Enum

import msgspec

HOUR = 3600.0
# The name of the cluster's nodes among the platforms.
CLUSTER = "cluster"
# DPB: what a stage takes on a platform on which it was not measured.
DEFAULT_SECONDS = 300.0


class Domain(str, Enum):
    """Where a task runs and where data lies."""

    HPC = "hpc"
    CLOUD = "cloud"


class Processor(str, Enum):
    """What a stage needs and a platform has."""

    CPU = "cpu"
    GPU = "gpu"


class Purpose(str, Enum):
    """Why a cloud instance was asked for."""

    SCHEDULED = "scheduled"
    BACKUP = "backup"
    BENCHMARK = "benchmark"


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a task reads or writes.

    Attributes:
        name: relative to the run's directory on either side.
        size: in bytes.
        source: where it lies on the host that the run is begun on; '' where it is among the run's data.
        executable: whether it is a program.
    """

    name: str
    size: float = 0.0
    source: str = ""
    executable: bool = False


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task.

    Attributes:
        name: unique in the workflow.
        stage: its stage's name.
        parents: names of the tasks that have to be done before.
        command: program and arguments; empty where only planning is wanted.
        script: run by ``command``, which gets its path as last argument; '' for none. The output is the
            task's directory as a whole then.
        directory: where it runs, relative to the run's directory on either side; '' for the run's own.
        inputs, outputs: its files.
        seconds: a run time that is known beforehand; None for none.
    """

    name: str
    stage: str
    parents: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    script: str = ""
    directory: str = ""
    inputs: tuple[DataFile, ...] = ()
    outputs: tuple[DataFile, ...] = ()
    seconds: float | None = None


class Dependency(msgspec.Struct, frozen=True, kw_only=True):
    """An edge between stages; with ``barrier`` the child starts when all of the parent's tasks are done."""

    parent: str
    barrier: bool = False


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks of one kind.

    Attributes:
        name: unique in the workflow.
        tasks: how many.
        parents: edges from other stages.
        processor: what it needs.
        input_bytes, output_bytes: of one task, in the mean.
        seconds: a task's mean run time where it is known; None for none.
        checkpoints: whether a task that is broken off goes on where it was.
    """

    name: str
    tasks: int
    parents: tuple[Dependency, ...] = ()
    processor: Processor = Processor.CPU
    input_bytes: float = 0.0
    output_bytes: float = 0.0
    seconds: float | None = None
    checkpoints: bool = False


class Workflow(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow; stages in topological order. ``tasks`` is empty where only a table of stages is known."""

    name: str
    stages: tuple[Stage, ...]
    tasks: tuple[Task, ...] = ()

    def stage(self, name: str) -> Stage:
        """Return a stage by its name. Raises KeyError."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)

    def children(self, name: str) -> tuple[str, ...]:
        """Return the names of the stages that depend on one."""
        return tuple(s.name for s in self.stages if any(d.parent == name for d in s.parents))


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of machine.

    Attributes:
        name: an instance type (``c5a.4xlarge``) or a kind of the cluster's nodes.
        domain: whose it is.
        processor: what it has. A GPU platform also takes CPU stages; a CPU platform no GPU stage.
        price: for one hour; 0 on the cluster.
        start: seconds from the request to the first task, 120 for a cloud ([Mao12] in the document).
        limit: most instances at once.
        spot: the price of an hour that the provider may end at any moment; None where there is none.
        revoked: share of the spot instances that are taken away in an hour.
        on_spot: whether ``price`` is the spot price, and instances may be taken away.
        assumed: whether the price is an assumption of this project.
    """

    name: str
    domain: Domain
    processor: Processor = Processor.CPU
    price: float = 0.0
    start: float = 120.0
    limit: int = 1_000_000
    spot: float | None = None
    revoked: float = 0.0
    on_spot: bool = False
    assumed: bool = False

    @property
    def losses(self) -> float:
        """Return the share of the instances that are taken away in an hour."""
        return self.revoked if self.on_spot else 0.0

    def takes(self, processor: Processor) -> bool:
        """Return whether a stage that needs ``processor`` can run on it."""
        return self.processor is Processor.GPU or processor is Processor.CPU


class PriceList(msgspec.Struct, frozen=True, kw_only=True):
    """The cloud cost model (CCM), valid on one day.

    Attributes:
        dated: ISO date.
        source: where the prices come from.
        currency: of all prices.
        platforms: of the cloud.
        read, write: one GB (1e9 bytes) from or to the cloud's file system.
        stored: one GB there for an hour.
        leaving: one GB from the cloud to the cluster; into the cloud is free.
        least: seconds that an instance is billed for at least.
        assumptions: what of it is printed nowhere.
    """

    dated: str
    source: str
    currency: str
    platforms: tuple[Platform, ...]
    read: float = 0.0
    write: float = 0.0
    stored: float = 0.0
    leaving: float = 0.0
    least: float = 60.0
    assumptions: tuple[str, ...] = ()

    def platform(self, name: str) -> Platform:
        """Return a platform by its name. Raises KeyError."""
        for platform in self.platforms:
            if platform.name == name:
                return platform
        raise KeyError(name)


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the profile: a stage on a platform.

    Attributes:
        stage, platform: names.
        seconds: mean run time of a task.
        deviation: its standard deviation.
        count: tasks that were measured; 0 for an estimate.
        input_bytes, output_bytes: of one task, in the mean.
        estimated: why there is an estimate instead; '' for a measurement.
    """

    stage: str
    platform: str
    seconds: float
    deviation: float = 0.0
    count: int = 0
    input_bytes: float = 0.0
    output_bytes: float = 0.0
    estimated: str = ""


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The dynamic performance benchmark (DPB).

    Attributes:
        workflow: its name.
        measurements: at most one for each stage and platform.
        sampled: tasks that were run for it.
        seconds, cost: what it took; both count against deadline and budget.
        measured: when it was taken, seconds since the epoch; 0 where nothing was measured.
        copied: bytes a second of one file's copy between the sides; 0 where none was measured.
    """

    workflow: str
    measurements: tuple[Measurement, ...] = ()
    sampled: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    measured: float = 0.0
    copied: float = 0.0

    def of(self, stage: str, platform: str) -> Measurement | None:
        """Return an entry, None where there is none."""
        for entry in self.measurements:
            if entry.stage == stage and entry.platform == platform:
                return entry
        return None


class FreeForecast(msgspec.Struct, frozen=True, kw_only=True):
    """The resource availability predictor's answer (RAP): quantiles of the least free nodes in each hour.

    Attributes:
        made: when, seconds since the epoch.
        start: where hour 1 begins.
        capacity: nodes of the cluster.
        levels: of the quantiles, rising: (0.1, 0.5, 0.9).
        nodes: for each hour its quantiles, each row rising.
        source: which predictor.
    """

    made: float
    start: float
    capacity: int
    levels: tuple[float, ...]
    nodes: tuple[tuple[float, ...], ...]
    source: str = ""


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """A slot of a stage's pipeline (Figures 3.3, 3.4); times in seconds after the schedule's start."""

    stage: str
    number: int
    start: float
    end: float
    target: float


class Assignment(msgspec.Struct, frozen=True, kw_only=True):
    """What one stage gets of one platform in one hour.

    Attributes:
        hour: from 0.
        stage: its name.
        domain: whose nodes.
        platform: an instance type, or the cluster's.
        nodes: executors that are to work.
        target: tasks that they are to do in this hour.
        stays: of the nodes, those whose request goes on from an hour before.
        hours: of the requests for the others.
    """

    hour: int
    stage: str
    domain: Domain
    platform: str
    nodes: int
    target: float
    stays: int = 0
    hours: int = 1


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The times at which a stage's tasks start and end, in seconds after the schedule's start."""

    stage: str
    start: float
    end: float


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """What to ask for, hour by hour.

    Attributes:
        start: seconds since the epoch.
        deadline: likewise.
        assignments: by hour, then stage.
        windows: of the stages.
        slots: where they were asked for; empty in long schedules.
        quantile: of the forecast that it counts on.
    """

    start: float
    deadline: float
    assignments: tuple[Assignment, ...]
    windows: tuple[Window, ...]
    slots: tuple[Slot, ...] = ()
    quantile: float = 0.5


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A cost estimate by its parts; the backup is expected, and is not part of the document's estimate."""

    instances: float = 0.0
    files: float = 0.0
    storage: float = 0.0
    transfer: float = 0.0
    benchmark: float = 0.0
    backup: float = 0.0

    @property
    def total(self) -> float:
        """Return all but the backup, as the document estimates it."""
        return self.instances + self.files + self.storage + self.transfer + self.benchmark


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan is carried out.

    Attributes:
        long, short: intervals of the adaptive resource scaler (ARS), in seconds.
        preload: whether inputs are copied as soon as a task has its domain.
        rebalance: whether an hour makes up for what the hours before have not done.
        backup: share of the cluster's nodes that the cloud backs up, from 0 to 1.
    """

    long: float = HOUR
    short: float = 300.0
    preload: bool = True
    rebalance: bool = True
    backup: float = 1.0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the menu.

    Attributes:
        schedule: what to ask for.
        cost: what the cloud will cost.
        expected_cost: the mean over the simulated courses, backup included.
        probability: of all tasks done at the deadline; None where it was not estimated.
        cluster_hours, cloud_hours: node-hours.
        settings: how it is carried out.
        spot: whether it counts on spot instances, and their prices.
        notes: assumptions and estimates that it rests on.
    """

    schedule: Schedule
    cost: Cost
    expected_cost: float
    probability: float | None
    cluster_hours: float
    cloud_hours: float
    settings: Settings = Settings()
    spot: bool = False
    notes: tuple[str, ...] = ()
