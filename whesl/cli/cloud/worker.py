"""``whesl cloud worker``: an executor of ``whesl cloud run``; jobs and instances start it."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import click

_MARGIN = 0.05  # of an executor's time, to break a task off and say so
_LONGEST_MARGIN = 60.0


@click.command(hidden=True)
@click.option("--store", "address", required=True, metavar="ADDRESS", help="The domain's storage.")
@click.option("--executor", required=True, metavar="NAME", help="Its name in the run.")
@click.option("--seconds", type=float, metavar="S", help="How long it may work.")
@click.option("--ends", type=float, metavar="TIME", help="When its time is over, seconds since the epoch.")
@click.option(
    "--poll", type=click.FloatRange(0.05), default=1.0, metavar="S", help="Seconds between two looks [1]."
)
@click.option("--region", default="us-east-1", metavar="NAME", help="Of S3.")
@click.option("--endpoint", default="", metavar="URL", help="Of S3, where it is not AWS's.")
def worker(
    address: str,
    executor: str,
    seconds: float | None,
    ends: float | None,
    poll: float,
    region: str,
    endpoint: str,
) -> None:
    """Take tasks of a run one at a time, until the time is over."""
    from whesl.cloud.runner.worker import Worker
    from whesl.cloud.transfer.opening import opened

    if ends is None:
        whole = seconds if seconds is not None else 3600.0
        ends = time.time() + whole - min(_LONGEST_MARGIN, _MARGIN * whole)
    place = os.environ.get("WHESL_NODE_STORAGE") or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - mkdtemp
    scratch = Path(tempfile.mkdtemp(prefix="whesl-worker-", dir=place))
    store = opened(address, private=scratch / "private", region=region, endpoint=endpoint)
    Worker(store, executor, ends=ends, poll=poll, scratch=scratch).run()
