"""Records of planning: workflows, prices, profiles, forecasts, schedules, plans.

In the document's terms, the profile is DPB, the prices are CCM, the forecast is RAP, and WSB builds the
schedule. Times are seconds since the epoch, durations seconds, sizes bytes, prices in the price list's
currency.
"""

from __future__ import annotations

from enum import Enum

import msgspec

HOUR = 3600.0
# Platform name of the cluster's nodes.
CLUSTER = "cluster"
# DPB's run time, in seconds, of a stage on a platform on which it was not measured.
DEFAULT_SECONDS = 300.0


class Domain(str, Enum):
    """A side of the run where tasks run and data lie."""

    HPC = "hpc"
    CLOUD = "cloud"


class Processor(str, Enum):
    """The kind of processor that a stage needs or a platform has."""

    CPU = "cpu"
    GPU = "gpu"


class Purpose(str, Enum):
    """The reason for which a cloud instance is requested."""

    SCHEDULED = "scheduled"
    BACKUP = "backup"
    BENCHMARK = "benchmark"


class DataFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a task reads or writes.

    Attributes:
        name: path relative to the run's directory on either side.
        size: bytes.
        source: path on the host that begins the run; '' where the file lies among the run's data.
        executable: whether the file is a program.
    """

    name: str
    size: float = 0.0
    source: str = ""
    executable: bool = False


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One task of a workflow.

    Attributes:
        name: unique in the workflow.
        stage: name of the task's stage.
        parents: names of the tasks that have to end before this one starts.
        command: program and arguments; empty where the workflow is only planned.
        script: text of a script that ``command`` runs, with the script's path as last argument; '' for none.
            A task with a script has its whole directory as output.
        directory: working directory relative to the run's directory on either side; '' for the run's own.
        inputs, outputs: the files that the task reads and writes.
        seconds: run time that the workflow states; None where it states none.
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
        tasks: number of tasks.
        parents: edges from other stages.
        processor: the kind of processor that the tasks need.
        input_bytes, output_bytes: mean bytes of one task.
        seconds: mean run time of a task; None where it is not known.
        checkpoints: whether an interrupted task continues from its checkpoint.
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
        """Return the stage with a name. Raises KeyError where the workflow has no such stage."""
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise KeyError(name)

    def children(self, name: str) -> tuple[str, ...]:
        """Return the names of the stages that depend on a stage."""
        return tuple(s.name for s in self.stages if any(d.parent == name for d in s.parents))


class Platform(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of machine.

    Attributes:
        name: an instance type (``c5a.4xlarge``) or a kind of the cluster's nodes.
        domain: the side that the machines belong to.
        processor: the machines' kind of processor. GPU machines also run CPU stages, but not vice versa.
        price: price of one hour; 0 on the cluster.
        start: seconds from the request to the first task, 120 for a cloud ([Mao12] in the document).
        limit: largest number of instances at once.
        spot: price of an hour of a spot instance; None where the provider offers none.
        revoked: share of the spot instances that the provider revokes in an hour.
        on_spot: whether ``price`` is the spot price, so that instances may be revoked.
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
        """Return the share of the instances that the provider revokes in an hour."""
        return self.revoked if self.on_spot else 0.0

    def takes(self, processor: Processor) -> bool:
        """Return whether a stage that needs ``processor`` can run on this platform."""
        return self.processor is Processor.GPU or processor is Processor.CPU


class PriceList(msgspec.Struct, frozen=True, kw_only=True):
    """The cloud cost model (CCM), valid on one day.

    Attributes:
        dated: ISO date of the prices.
        source: origin of the prices.
        currency: currency of all prices.
        platforms: the cloud's platforms.
        read, write: price of reading or writing one GB (1e9 bytes) in the cloud's file system.
        stored: price of storing one GB in the cloud's file system for an hour.
        leaving: price of copying one GB from the cloud to the cluster; the other direction is free.
        least: smallest number of seconds that an instance is billed for.
        assumptions: the prices that the source does not state, as text.
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
        """Return the platform with a name. Raises KeyError where the list has no such platform."""
        for platform in self.platforms:
            if platform.name == name:
                return platform
        raise KeyError(name)


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the profile: the run time of one stage on one platform.

    Attributes:
        stage, platform: names of the stage and the platform.
        seconds: mean run time of a task.
        deviation: standard deviation of the tasks' run times, in seconds.
        count: number of measured tasks; 0 for an estimate.
        input_bytes, output_bytes: mean bytes of one task.
        estimated: how an estimate was made; '' for a measurement.
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
        workflow: the workflow's name.
        measurements: at most one entry for each stage and platform.
        sampled: number of tasks that were run for the profile.
        seconds, cost: duration and cost of the measurement; both count against deadline and budget.
        measured: time of the measurement, seconds since the epoch; 0 where no task was measured.
        copied: bytes a second of one file's copy between the sides; 0 where no copy was measured.
    """

    workflow: str
    measurements: tuple[Measurement, ...] = ()
    sampled: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    measured: float = 0.0
    copied: float = 0.0

    def of(self, stage: str, platform: str) -> Measurement | None:
        """Return the entry of a stage on a platform; None where the profile has none.

        Args:
            stage: the stage's name.
            platform: the platform's name.
        """
        for entry in self.measurements:
            if entry.stage == stage and entry.platform == platform:
                return entry
        return None


class FreeForecast(msgspec.Struct, frozen=True, kw_only=True):
    """The resource availability predictor's answer (RAP): quantiles of the least free nodes in each hour.

    Attributes:
        made: time of the forecast, seconds since the epoch.
        start: begin of the first hour, seconds since the epoch.
        capacity: number of the cluster's nodes.
        levels: the quantiles' probabilities, rising: (0.1, 0.5, 0.9).
        nodes: a row of quantiles for each hour, each row rising.
        source: name of the predictor.
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
    """The nodes of one platform that one stage gets in one hour.

    Attributes:
        hour: number of the hour, from 0.
        stage: name of the stage.
        domain: the side that the nodes belong to.
        platform: an instance type, or the cluster's platform.
        nodes: number of working executors.
        target: number of tasks that these executors do in this hour.
        stays: number of these nodes whose request began in an earlier hour.
        hours: length, in hours, of the requests that begin in this hour.
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
    """The nodes and instances to request in each hour.

    Attributes:
        start, deadline: seconds since the epoch.
        assignments: sorted by hour, then stage.
        windows: the stages' windows.
        slots: the stages' slots; empty where they were not requested or the schedule is long.
        quantile: the quantile of the forecast that the schedule assumes.
    """

    start: float
    deadline: float
    assignments: tuple[Assignment, ...]
    windows: tuple[Window, ...]
    slots: tuple[Slot, ...] = ()
    quantile: float = 0.5


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """A cost estimate by its parts; ``backup`` is an expected value outside the document's estimate."""

    instances: float = 0.0
    files: float = 0.0
    storage: float = 0.0
    transfer: float = 0.0
    benchmark: float = 0.0
    backup: float = 0.0

    @property
    def total(self) -> float:
        """Return the cost without the backup, which is the document's estimate."""
        return self.instances + self.files + self.storage + self.transfer + self.benchmark


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a plan is carried out.

    Attributes:
        long, short: intervals of the adaptive resource scaler (ARS), in seconds.
        preload: whether inputs are copied as soon as a task is mapped to a domain.
        rebalance: whether the tasks that an hour has missed are done in the hours after it.
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
        schedule: the nodes and instances to request.
        cost: the estimated cost of the cloud.
        expected_cost: mean cost over the simulated courses, backup included.
        probability: probability that all tasks are done at the deadline; None where it was not estimated.
        cluster_hours, cloud_hours: node-hours.
        settings: how the plan is carried out.
        spot: whether the plan uses spot instances at spot prices.
        notes: assumptions and estimates behind the plan, as text.
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
