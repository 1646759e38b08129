"""scancel: end or signal jobs and steps."""

from __future__ import annotations

import os
import sys

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import formats, options
from whesl.managers.resource.embedded.commands.job_spec import signal_number
from whesl.managers.resource.embedded.scheduler.actions import Message
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job
from whesl.managers.resource.launcher_shims.launcher_options import Table
from whesl.model.errors import RefusedError, UsageError
from whesl.model.states import JobState

OPTIONS = Table("""
account/A= batch/b clusters/M= ctld full/f help hurry/H interactive/i jobname/n= me name/n= nodelist/w=
partition/p= qos/q= quiet/Q reservation/R= sibling= signal/s= state/t= usage user/u= verbose/v
version/V wckey=
""")
_FILTERS = ("account", "name", "jobname", "me", "nodelist", "partition", "state", "user")


def run(arguments: list[str]) -> int:
    """Cancel or signal the named jobs and steps, or all jobs that match the filters."""
    found, references = options.parse(OPTIONS, arguments)
    last = dict(found)
    filters = {name: value for name, value in last.items() if name in _FILTERS}
    if not references and not filters:
        raise UsageError("No job identification provided")
    cluster = Cluster.of(os.environ)
    number = signal_number(last["signal"]) if "signal" in last else None
    failed = 0
    for reference in references or _matching(cluster, filters):
        job, _, step = reference.partition(".")
        if not options.is_number(job.replace("_", "", 1)) or (
            step not in ("", "batch") and not options.is_number(step)
        ):
            sys.stderr.write(f"scancel: error: Invalid job id {reference}\n")
            failed = 1
            continue
        try:
            cluster.call(_message(job, step, number, last))
        except RefusedError as error:
            what = f"job step id {reference}" if step else f"job id {reference}"
            if "quiet" not in last:
                sys.stderr.write(f"scancel: error: Kill job error on {what}: {error.message}\n")
                failed = 1
    return failed


def _message(job: str, step: str, number: int | None, last: dict[str, str]) -> Message:
    batch, full = "batch" in last or step == "batch", "full" in last
    number_of_step = int(step) if options.is_number(step) else None
    if number is None and not batch:
        return protocol.Cancel(job=job, step=number_of_step)
    return protocol.SendSignal(
        job=job, number=number or 9, batch=batch or full, steps=not batch or full, step=number_of_step
    )


def _matching(cluster: Cluster, filters: dict[str, str]) -> list[str]:
    answer = cluster.ask(protocol.ListJobs(), protocol.Jobs)

    def fits(job: Job) -> bool:
        wanted = {
            "account": {job.spec.account},
            "name": {job.spec.name},
            "jobname": {job.spec.name},
            "partition": {job.partition},
            "state": {job.state.value, formats.COMPACT[job.state]},
            "user": {job.spec.user, str(job.spec.uid)},
        }
        for option, value in filters.items():
            if option == "me":
                if job.spec.uid != os.getuid():
                    return False
            elif option == "nodelist":
                if not set(options.node_names(value)) & set(job.nodes):
                    return False
            elif not set(value.split(",")) & wanted[option]:
                return False
        return job.state in (JobState.PENDING, JobState.RUNNING)

    return [str(job.id) if job.array_task is None else job.label for job in answer.jobs if fits(job)]
