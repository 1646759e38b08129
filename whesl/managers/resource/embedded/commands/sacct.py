"""sacct: show jobs and steps, also those that ended long ago."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.embedded.commands import formats, options
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Step
from whesl.managers.resource.launcher_shims.launcher_options import Table
from whesl.model.errors import UsageError
from whesl.model.hostlist import compress
from whesl.model.states import JobState

OPTIONS = Table("""
accounts/A= allocations/X allclusters/L allusers/a array brief/b clusters/M= completion/c
delimiter= duplicates/D endtime/E= federation file/f= format/o= gid= group/g= help help-fields/e jobs/j=
local long/l
name=
ncpus/I= nnodes/i= noconvert nodelist/N= noheader/n parsable/p parsable2/P partition/r= qos/q= starttime/S=
state/s= timeformat= timelimit-max/K= timelimit-min/k= truncate/T uid/u= units= usage user= verbose/v
version/V whole-hetjob? wckeys/W= x=
""")
DEFAULT = "jobid,jobname,partition,account,alloccpus,state,exitcode"
_BRIEF = "jobid,state,exitcode"


class Line:
    """One line of output: a job, its script, or one of its steps."""

    def __init__(self, job: Job, kind: str, step: Step | None, now: float) -> None:
        self.job, self.kind, self.step, self.now = job, kind, step, now

    @property
    def started(self) -> float:
        """The time at which the step or the job began."""
        return self.step.started if self.step else self.job.started

    @property
    def ended(self) -> float:
        """The time at which the step or the job ended; 0 while it runs."""
        if self.step:
            return self.step.ended
        return self.job.ended if self.job.state.ended else 0.0

    def id(self) -> str:
        """Return the id: ``5``, ``5.batch``, ``5.0``."""
        suffix = {"job": "", "batch": ".batch"}.get(self.kind, f".{self.step.id}" if self.step else "")
        return self.job.label + suffix

    def name(self) -> str:
        """Return the job's or the step's name."""
        if self.step is not None:
            return self.step.name
        return "batch" if self.kind == "batch" else self.job.spec.name

    def state(self) -> str:
        """Return the state as sacct prints it."""
        job, step = self.job, self.step
        if step is not None:
            if not step.ended:
                return "RUNNING"
            if step.cancelled:
                return "CANCELLED"
            if step.lost:
                return "NODE_FAIL"
            return "FAILED" if step.code else "COMPLETED"
        if job.state is JobState.CANCELLED and self.kind == "job":
            return f"CANCELLED by {job.spec.uid}"
        if self.kind == "batch" and job.state is JobState.TIMEOUT:
            return "CANCELLED"
        return job.state.value

    def exit(self) -> str:
        """Return ``CODE:SIGNAL``."""
        if self.step is not None:
            code = self.step.code
            return f"0:{code - 128}" if code > 128 else f"{code}:0"
        return f"{self.job.exit_code}:{self.job.exit_signal}"

    def nodes(self) -> tuple[str, ...]:
        """Return the names of the line's nodes, lost ones included."""
        if self.step is not None:
            return tuple(share.node for share in self.step.shares)
        return (self.job.batch_host,) if self.kind == "batch" else (*self.job.nodes, *self.job.lost)

    def elapsed(self) -> float:
        """Return the run time so far, in seconds."""
        return (self.ended or self.now) - self.started if self.started else 0.0


# Field name: (title, sacct's width (negative: left-justified), value).
FIELDS: dict[str, tuple[str, int, Callable[[Line], str]]] = {
    "account": ("Account", 10, lambda i: i.job.spec.account),
    "alloccpus": ("AllocCPUS", 10, lambda i: str(sum(s.cpus for s in i.job.shares if s.node in i.nodes()))),
    "allocnodes": ("AllocNodes", 10, lambda i: str(len(i.nodes()))),
    "cluster": ("Cluster", 10, lambda i: i.job.spec.submit_host),
    "comment": ("Comment", 14, lambda i: i.job.comment if i.kind == "job" else ""),
    "derivedexitcode": ("DerivedExitCode", 15, lambda i: i.exit()),
    "elapsed": ("Elapsed", 10, lambda i: formats.long_duration(i.elapsed())),
    "elapsedraw": ("ElapsedRaw", 10, lambda i: str(int(i.elapsed()))),
    "eligible": ("Eligible", 19, lambda i: formats.stamp(i.job.eligible, "Unknown")),
    "end": ("End", 19, lambda i: formats.stamp(i.ended, "Unknown")),
    "exitcode": ("ExitCode", 8, lambda i: i.exit()),
    "group": ("Group", 9, lambda i: str(i.job.spec.gid)),
    "jobid": ("JobID", -12, lambda i: i.id()),
    "jobidraw": ("JobIDRaw", -12, lambda i: str(i.job.id) + i.id()[len(i.job.label) :]),
    "jobname": ("JobName", 10, lambda i: i.name()),
    "ncpus": ("NCPUS", 10, lambda i: str(sum(s.cpus for s in i.job.shares if s.node in i.nodes()))),
    "nnodes": ("NNodes", 8, lambda i: str(len(i.nodes()) or formats.node_count(i.job))),
    "nodelist": ("NodeList", 15, lambda i: compress(i.nodes()) or "None assigned"),
    "ntasks": ("NTasks", 8, lambda i: str(sum(len(s.tasks) for s in i.step.shares)) if i.step else ""),
    "partition": ("Partition", 10, lambda i: i.job.partition if i.kind == "job" else ""),
    "reason": ("Reason", 22, lambda i: i.job.reason),
    "restarts": ("Restarts", 8, lambda i: str(i.job.restarts)),
    "start": ("Start", 19, lambda i: formats.stamp(i.started, "Unknown")),
    "state": ("State", 10, lambda i: i.state()),
    "submitline": ("SubmitLine", 20, lambda i: f"sbatch {i.job.spec.command}".rstrip()),
    "submit": ("Submit", 19, lambda i: formats.stamp(i.job.submitted, "Unknown")),
    "timelimit": ("Timelimit", 10, lambda i: formats.limit(i.job, formats.long_duration)),
    "timelimitraw": ("TimelimitRaw", 10, lambda i: str(int((i.job.time_limit or 0) // 60))),
    "user": ("User", 9, lambda i: i.job.spec.user if i.kind == "job" else ""),
    "uid": ("UID", 6, lambda i: str(i.job.spec.uid)),
    "workdir": ("WorkDir", 20, lambda i: i.job.spec.workdir),
}


def run(arguments: list[str]) -> int:
    """Print the accounting of the named jobs, or else of the caller's jobs since midnight."""
    # ``-u`` arrives here as ``uid`` and ``--user`` as ``user``; ``_matches`` treats both alike.
    last = dict(options.only(OPTIONS, arguments))
    names = [name.strip() for name in last.get("format", _BRIEF if "brief" in last else DEFAULT).split(",")]
    columns = [_column(name) for name in names if name]
    references = tuple(part.split(".")[0] for part in last.get("jobs", "").split(",") if part)
    answer = Cluster.of(os.environ).ask(protocol.ListJobs(jobs=references, steps=True), protocol.Jobs)
    now = time.time()
    lines = []
    for job in answer.jobs:
        if not _matches(job, last, now):
            continue
        lines.append(Line(job, "job", None, now))
        if "allocations" in last or not job.started:
            continue
        if not job.spec.interactive:
            lines.append(Line(job, "batch", None, now))
        lines += [Line(job, "step", step, now) for step in answer.steps if step.job == job.id]
    _write(columns, lines, last)
    return 0


def _column(name: str) -> tuple[str, int, Callable[[Line], str]]:
    short, _, width = name.partition("%")
    if short.lower() not in FIELDS:
        raise UsageError(f'Invalid field requested: "{short}"')
    title, default, value = FIELDS[short.lower()]
    wide = int(width) if options.is_number(width.removeprefix("-")) else 0
    return title, min(wide, 1000) or default, value


def _matches(job: Job, last: dict[str, str], now: float) -> bool:
    users = last.get("uid") or last.get("user")
    if users and not set(users.split(",")) & {job.spec.user, str(job.spec.uid)}:
        return False
    if "jobs" not in last and "allusers" not in last and not users and job.spec.uid != os.getuid():
        return False
    for option, value in (
        ("partition", job.partition),
        ("name", job.spec.name),
        ("accounts", job.spec.account),
    ):
        if option in last and value not in last[option].split(","):
            return False
    if "state" in last:
        states = {word.upper() for word in last["state"].split(",")}
        if not states & {job.state.value, formats.COMPACT[job.state]}:
            return False
    if "jobs" in last and "starttime" not in last:
        return True
    today = time.localtime(now)
    midnight = now - today.tm_hour * 3600 - today.tm_min * 60 - today.tm_sec
    since = _instant(last["starttime"], now) if "starttime" in last else midnight
    until = _instant(last["endtime"], now) if "endtime" in last else now
    return (not job.state.ended or job.ended >= since) and job.submitted <= until


def _instant(text: str, now: float) -> float:
    if text.startswith("now-"):
        return 2 * now - options.begin_time("now+" + text[4:], now)
    return options.begin_time(text, now)


def _write(
    columns: list[tuple[str, int, Callable[[Line], str]]], lines: list[Line], last: dict[str, str]
) -> None:
    rows = [[value(line) for _, _, value in columns] for line in lines]
    titles = [title for title, _, _ in columns]
    parsable = "parsable" in last or "parsable2" in last
    if parsable:
        mark = last.get("delimiter", "|")
        end = "" if "parsable2" in last else mark
        for row in ([] if "noheader" in last else [titles]) + rows:
            sys.stdout.write(mark.join(row) + end + "\n")
        return
    widths = [width for _, width, _ in columns]
    if "noheader" not in last:
        sys.stdout.write(_fixed(titles, widths) + "\n")
        sys.stdout.write(_fixed(["-" * abs(width) for width in widths], widths) + "\n")
    for row in rows:
        sys.stdout.write(_fixed(row, widths) + "\n")


def _fixed(row: list[str], widths: list[int]) -> str:
    cells = []
    for text, width in zip(row, widths, strict=True):
        size = abs(width)
        cut = text if len(text) <= size else text[: size - 1] + "+"
        cells.append(cut.ljust(size) if width < 0 else cut.rjust(size))
    return "".join(cell + " " for cell in cells)
