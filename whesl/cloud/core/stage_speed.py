"""The speed of a stage on the cluster and on its cheapest cloud platform."""

from __future__ import annotations

import math

import msgspec

from whesl.cloud.core.plan_records import (
    CLUSTER,
    HOUR,
    Domain,
    Platform,
    PriceList,
    Processor,
    Profile,
    Stage,
    Workflow,
)
from whesl.model.errors import UsageError

# Lower limit of a task's run time in seconds, whatever was measured.
SHORTEST = 0.1
# A task that cannot be interrupted starts on a node only if this many times its usual run time is left.
SLACK = 1.1
# Default of the longest request for a node, in hours.
LONGEST = 24


class Pace(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's speed.

    Attributes:
        stage: the stage.
        hpc: seconds of a task on the cluster; None where its nodes cannot run it.
        cloud: seconds of a task on ``platform``; None where no instance type can run it.
        platform: the instance type on which a task costs least.
        number: the stage's place in the workflow.
        longest: hours of the longest request for a node.
    """

    stage: Stage
    hpc: float | None
    cloud: float | None
    platform: Platform | None
    number: int
    longest: int = LONGEST

    @property
    def slot(self) -> float:
        """Return the length of a slot: the longer of both sides' run times."""
        return max(self.hpc or 0.0, self.cloud or 0.0)

    @property
    def best(self) -> float:
        """Return the shorter of both sides' run times."""
        return min(time for time in (self.hpc, self.cloud) if time is not None)

    @property
    def task_price(self) -> float:
        """Return the cost of one task in the cloud, 0 where it cannot run there."""
        return 0.0 if self.platform is None or self.cloud is None else self.platform.price * self.cloud / 3600


def paces(
    workflow: Workflow, profile: Profile, prices: PriceList, cluster: Platform | None
) -> tuple[Pace, ...]:
    """Return each stage's speed.

    Args:
        workflow: the workflow.
        profile: complete, as by ``whesl.cloud.core.profile_estimation.complete``.
        prices: the cloud's prices.
        cluster: the platform of the cluster's nodes; None for a plan in the cloud alone.

    Raises:
        UsageError: no platform can run some stage; the message names all of them.
    """
    found, without = [], []
    for number, stage in enumerate(workflow.stages):
        hpc = None
        if cluster is not None and cluster.takes(stage.processor):
            entry = profile.of(stage.name, cluster.name)
            hpc = max(SHORTEST, entry.seconds) if entry else None
        cheapest: tuple[float, float, Platform] | None = None
        for platform in prices.platforms:
            entry = profile.of(stage.name, platform.name)
            if entry is None or not platform.limit or not platform.takes(stage.processor):
                continue
            seconds = max(SHORTEST, entry.seconds)
            offer = (platform.price * seconds, seconds, platform)
            if cheapest is None or offer[:2] < cheapest[:2]:
                cheapest = offer
        if hpc is None and cheapest is None:
            without.append(f"{stage.name} ({stage.processor.value})")
        found.append(
            Pace(
                stage=stage,
                hpc=hpc,
                cloud=cheapest[1] if cheapest else None,
                platform=cheapest[2] if cheapest else None,
                number=number,
            )
        )
    if without:
        raise UsageError(
            f"no platform for {', '.join(without)}",
            hint="a GPU stage needs a GPU platform in the prices, or a cluster whose nodes have GPUs",
        )
    return tuple(found)


def executor_tasks(life: float, seconds: float, expected: float, room: float) -> int:
    """Return the number of uninterruptible tasks that one node does, one after the other.

    Args:
        life: seconds from the first task's begin to the end of the request.
        seconds: real run time of a task.
        expected: expected run time of a task in seconds; a task starts if ``SLACK`` times this is left.
        room: seconds within which the tasks have to end.
    """
    begun = math.ceil((life - SLACK * expected) / seconds - 1e-9)
    return max(0, min(begun, math.floor(room / seconds + 1e-6)))


def request_hours(seconds: float, hour: float = HOUR) -> int:
    """Return the hours of the shortest request in which an uninterruptible task ends.

    Args:
        seconds: run time of a task.
        hour: seconds of an hour of the schedule.
    """
    return math.floor(SLACK * seconds / hour + 1e-9) + 1


def whole(found: tuple[Pace, ...], longest: int = LONGEST) -> tuple[Pace, ...]:
    """Return the speeds; stages whose tasks outlast every request for a node lose their speed on the cluster.

    Args:
        found: the stages' speeds.
        longest: hours of the longest request.

    Raises:
        UsageError: some stage is left without a side that can run it; the message names all of them.
    """
    long = {
        pace.number
        for pace in found
        if pace.hpc and not pace.stage.checkpoints and request_hours(pace.hpc) > longest
    }
    stuck = [found[at].stage.name for at in sorted(long) if found[at].cloud is None]
    if stuck:
        raise UsageError(
            f"a task of {', '.join(stuck)} does not end within the longest request for a node, {longest} h,"
            " and no cloud takes it",
            hint="longest_request in [cluster] of the site's file; or checkpoints = true in its [[stage]]:"
            " a task that is broken off goes on where it was",
        )
    return tuple(
        msgspec.structs.replace(pace, hpc=None if pace.number in long else pace.hpc, longest=longest)
        for pace in found
    )


def critical_path(found: tuple[Pace, ...]) -> tuple[float, tuple[str, ...]]:
    """Return the seconds of the longest chain of single tasks at their fastest, and its stages in order."""
    reach: dict[str, tuple[float, tuple[str, ...]]] = {}
    for pace in found:
        before = max((reach[edge.parent] for edge in pace.stage.parents), default=(0.0, ()))
        reach[pace.stage.name] = (before[0] + pace.best, (*before[1], pace.stage.name))
    return max(reach.values(), default=(0.0, ()))


def cluster_nodes(*, gpu: bool = False) -> Platform:
    """Return the cluster's nodes as a platform without a price."""
    return Platform(
        name=CLUSTER, domain=Domain.HPC, processor=Processor.GPU if gpu else Processor.CPU, start=0.0
    )
