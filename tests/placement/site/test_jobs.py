"""For how long a waiting job keeps its exclude list."""

from __future__ import annotations

import math

from tests.placement.site.test_lookup import NOW, cluster, looked
from whesl.placement.site.publish.plugin_file import Request
from whesl.placement.site.publish.waiting_job_exclusions import MOST, Job, review


def test_a_list_is_removed_when_the_job_has_waited_for_long_enough() -> None:
    lookup = looked(cluster(), {"n03": 0.9})
    job = Job(
        name="7",
        waiting=True,
        request=Request(partitions=("main",), seconds=3000.0),
        excluded=("n03",),
        submitted=NOW - 100.0,
    )
    ours = {"7": frozenset({"n03"})}

    def kept(longest: float, waited: float = 0.0) -> bool:
        return not review([job], lookup, ours, NOW + waited, longest)

    assert kept(math.inf) and kept(150.0)
    assert not kept(99.0)
    assert not kept(math.inf, waited=3000.0)  # the job's own limit
    (change,) = review([job], lookup, ours, NOW, 99.0)
    assert change.decision.nodes == ()


def test_a_service_that_leaves_takes_all_lists_back() -> None:
    """It took 200 of them, and the others stayed."""
    many = [
        Job(
            name=str(at),
            waiting=True,
            request=Request(partitions=("main",)),
            excluded=("n03",),
            submitted=NOW,
        )
        for at in range(3 * MOST)
    ]
    ours = {job.name: frozenset(job.excluded) for job in many}
    assert len(review(many, looked(cluster(), {}), ours, NOW)) == MOST
    assert len(review(many, None, ours, NOW)) == 3 * MOST
