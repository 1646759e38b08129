"""squeue: show the queue."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import formats, options
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job
from whesl.managers.resource.launcher_shims.launcher_options import Table
from whesl.model.errors import RefusedError, UsageError
from whesl.model.hostlist import compress
from whesl.model.states import JobState

OPTIONS = Table("""
account/A= all/a array/r array-unique clusters/M= federation format/o= help hide iterate/i= job/j=
jobs/j= licenses/L= local long/l me name/n= names= noconvert nodelist/w= nodes= noheader/h
only-job-state partition/p= partitions= priority/P qos/q= reservation/R= sibling sort/S= start state/t=
states= step/s? steps usage user/u= users= verbose/v version/V
""")
ALIASES = {"job": "jobs", "state": "states", "partitions": "partition", "users": "user", "nodes": "nodelist"}
DEFAULT = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
LONG = "%.18i %.9P %.8j %.8u %.8T %.10M %.9l %.6D %R"
STEPS = "%.15i %.8j %.9P %.8u %.9M %N"
START = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %R"
_WITH_REASON = (JobState.PENDING, JobState.FAILED, JobState.TIMEOUT, JobState.NODE_FAIL)
_LIVE = (JobState.PENDING, JobState.RUNNING, JobState.COMPLETING)


class Row:
    """One line of output: a job, or the pending tasks of one array together."""

    def __init__(self, jobs: list[Job], now: float, shadow: float) -> None:
        self.job, self.now, self.shadow = jobs[0], now, shadow
        self.tasks = jobs

    def label(self) -> str:
        """Return the job's id as squeue prints it."""
        job = self.job
        return f"{job.array_job}_[{self.indexes()}]" if len(self.tasks) > 1 else job.label

    def indexes(self) -> str:
        """Return the tasks' array indexes in a form like ``1-3,7%2``."""
        job = self.job
        if job.array_task is None:
            return "N/A"
        listed = compress(f"t{task.array_task}" for task in self.tasks)[1:].strip("[]")
        return listed + (f"%{job.spec.array_limit}" if job.spec.array_limit and len(self.tasks) > 1 else "")


FIELDS: formats.Fields = {
    "A": ("JOBID", lambda r: str(r.job.id)),
    "a": ("ACCOUNT", lambda r: r.job.spec.account or "(null)"),
    "B": ("EXEC_HOST", lambda r: r.job.batch_host or "n/a"),
    "C": ("CPUS", lambda r: str(formats.cpu_count(r.job))),
    "D": ("NODES", lambda r: str(formats.node_count(r.job))),
    "E": ("DEPENDENCY", lambda r: formats.dependency(r.job) or "(null)"),
    "e": ("END_TIME", lambda r: formats.stamp(formats.end_time(r.job))),
    "F": ("ARRAY_JOB_ID", lambda r: str(r.job.array_job or r.job.id)),
    "G": ("GROUP", lambda r: str(r.job.spec.gid)),
    "i": ("JOBID", lambda r: r.label()),
    "j": ("NAME", lambda r: r.job.spec.name),
    "K": ("ARRAY_TASK_ID", lambda r: r.indexes()),
    "k": ("COMMENT", lambda r: r.job.comment or "(null)"),
    "L": ("TIME_LEFT", lambda r: _left(r)),
    "l": ("TIME_LIMIT", lambda r: formats.limit(r.job)),
    "M": ("TIME", lambda r: formats.duration(formats.elapsed(r.job, r.now))),
    "N": ("NODELIST", lambda r: formats.node_list(r.job)),
    "o": ("COMMAND", lambda r: r.job.spec.command or "(null)"),
    "P": ("PARTITION", lambda r: r.job.partition),
    "Q": ("PRIORITY", lambda r: str(_priority(r.job))),
    "R": ("NODELIST(REASON)", lambda r: _where(r)),
    "r": ("REASON", lambda r: r.job.reason),
    "S": ("START_TIME", lambda r: formats.stamp(r.job.started or r.shadow)),
    "T": ("STATE", lambda r: r.job.state.value),
    "t": ("ST", lambda r: formats.COMPACT[r.job.state]),
    "U": ("UID", lambda r: str(r.job.spec.uid)),
    "u": ("USER", lambda r: r.job.spec.user),
    "V": ("SUBMIT_TIME", lambda r: formats.stamp(r.job.submitted)),
    "Z": ("WORK_DIR", lambda r: r.job.spec.workdir),
}


def run(arguments: list[str]) -> int:
    """Print jobs, or with ``-s`` the steps of jobs."""
    last = {ALIASES.get(name, name): value for name, value in options.only(OPTIONS, arguments)}
    cluster = Cluster.of(os.environ)
    now = time.time()
    wanted = _references(last["jobs"]) if last.get("jobs") else ()
    steps = "step" in last or "steps" in last
    answer = cluster.ask(protocol.ListJobs(jobs=wanted, steps=steps), protocol.Jobs)
    jobs = [job for job in answer.jobs if formats.recent(job, now)]
    if len(wanted) == 1 and not jobs:
        sys.stderr.write("slurm_load_jobs error: Invalid job id specified\n")
        return 1
    chosen = [job for job in jobs if _matches(job, last)]
    if steps:
        _print_steps(answer, chosen, last, now)
        return 0
    text = last.get("format") or (LONG if "long" in last else START if "start" in last else DEFAULT)
    formats.keys(text, FIELDS, "job")
    if "long" in last and "noheader" not in last:
        sys.stdout.write(time.strftime("%a %b %d %H:%M:%S %Y\n"))
    if "noheader" not in last:
        formats.write(text, FIELDS)
    for row in _rows(chosen, now, answer.shadows, apart="array" in last):
        formats.write(text, FIELDS, row)
    return 0


def _references(text: str) -> tuple[str, ...]:
    references = tuple(part.strip().split(".")[0] for part in text.split(",") if part.strip())
    for reference in references:
        if not options.is_number(reference.replace("_", "", 1)):
            raise RefusedError(f"Invalid job id: {reference}")
    return references


def _matches(job: Job, last: dict[str, str]) -> bool:
    states = last.get("states")
    if states is None:
        if job.state not in _LIVE:
            return False
    elif states.lower() != "all" and not _state_in(job, states):
        return False
    user = os.environ.get("USER", "") if "me" in last else None
    if user is not None and job.spec.uid != os.getuid():
        return False
    for option, value in (
        ("user", (job.spec.user, str(job.spec.uid))),
        ("partition", (job.partition,)),
        ("name", (job.spec.name,)),
        ("account", (job.spec.account,)),
    ):
        if option in last and not set(last[option].split(",")) & set(value):
            return False
    return "nodelist" not in last or bool(set(options.node_names(last["nodelist"])) & set(job.nodes))


def _state_in(job: Job, states: str) -> bool:
    names = {state.strip().upper() for state in states.split(",")}
    known = {word for state, short in formats.COMPACT.items() for word in (state.value, short)}
    for name in (
        names - known - {"SUSPENDED", "S", "CONFIGURING", "CF", "PREEMPTED", "PR", "OUT_OF_MEMORY", "OOM"}
    ):
        raise UsageError(f"Invalid job state specified: {name}")
    return bool(names & {job.state.value, formats.COMPACT[job.state]})


def _rows(jobs: Iterable[Job], now: float, shadows: dict[int, float], *, apart: bool) -> list[Row]:
    grouped: dict[object, list[Job]] = {}
    for job in jobs:
        together = job.array_task is not None and job.state is JobState.PENDING and not apart
        grouped.setdefault((job.array_job, job.reason) if together else job.id, []).append(job)
    rows = [Row(group, now, shadows.get(group[0].id, 0.0)) for group in grouped.values()]
    return sorted(rows, key=lambda r: (r.job.partition, formats.COMPACT[r.job.state], r.job.id))


def _print_steps(answer: protocol.Jobs, jobs: list[Job], last: dict[str, str], now: float) -> None:
    known = {job.id: job for job in jobs}
    fields: formats.Fields = {
        "i": ("STEPID", lambda s: s[0]),
        "j": ("NAME", lambda s: s[1]),
        "P": ("PARTITION", lambda s: s[2].partition),
        "u": ("USER", lambda s: s[2].spec.user),
        "M": ("TIME", lambda s: formats.duration(now - s[3])),
        "N": ("NODELIST", lambda s: compress(s[4])),
    }
    text = last.get("format", STEPS)
    formats.keys(text, fields, "step")
    if "noheader" not in last:
        formats.write(text, fields)
    rows: list[tuple[str, str, Job, float, tuple[str, ...]]] = []
    for job in jobs:
        if job.state is JobState.RUNNING and not job.spec.interactive:
            rows.append((f"{job.label}.batch", "batch", job, job.started, (job.batch_host,)))
    for step in answer.steps:
        if step.job in known and not step.ended:
            job = known[step.job]
            rows.append((f"{job.label}.{step.id}", step.name, job, step.started, step.open_nodes))
    for row in rows:
        formats.write(text, fields, row)


def _priority(job: Job) -> int:
    return 0 if job.held else 2**32 - 65536 - job.id


def _left(row: Row) -> str:
    job = row.job
    if job.time_limit is None:
        return "UNLIMITED"
    return formats.duration(job.time_limit - formats.elapsed(job, row.now))


def _where(row: Row) -> str:
    job = row.job
    if job.state in _WITH_REASON or (not job.nodes and not job.lost):
        return f"({job.reason})"
    return formats.node_list(job)
