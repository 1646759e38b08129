"""``whesl cloud worker``: an executor of ``whesl cloud run``; jobs and instances start it."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import click

from whesl.cli.parameters import option, parameters, required

_MARGIN = 0.05  # share of an executor's time that is reserved for ending a task and reporting that
_LONGEST_MARGIN = 60.0


@click.command(hidden=True)
@parameters
def worker(
    *,
    address: str = required("The domain's storage.", "ADDRESS", "--store"),
    executor: str = required("Its name in the run.", "NAME"),
    seconds: float | None = option(None, "How long it may work.", "S"),
    ends: float | None = option(None, "When its time is over, seconds since the epoch.", "TIME"),
    poll: float = option(1.0, "Seconds between two looks [1].", "S", least=0.05),
    region: str = option("us-east-1", "Of S3.", "NAME"),
    endpoint: str = option("", "Of S3, where it is not AWS's.", "URL"),
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
