"""Makes a case from a site's logs: a machine, its jobs with their undisturbed run times, and its failures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whesl.lab.readers.failures import Loaded, Malformed, told
from whesl.lab.readers.machine_file import Resources
from whesl.lab.readers.outage_records import in_order
from whesl.lab.readers.site_job_records import JobLog, JobRecord, State
from whesl.lab.simulators.cluster.simulation_records import Workload
from whesl.model.errors import UsageError
from whesl.model.hostlist import expand
from whesl.prediction.failures.failure_history import History, merged

_DAY = 86400.0
_SHOWN = 5


class Recorded(NamedTuple):
    """Measured outcomes of the replayed jobs according to the logs, each array of shape (jobs,).

    Attributes:
        wait: time from submission to the first start, in seconds.
        kills: number of attempts that a node's failure ended.
        lost: node-seconds of the attempts that failures ended.
    """

    wait: NDArray[np.float64]
    kills: NDArray[np.int64]
    lost: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Case:
    """A site's machine, jobs and failures, ready for replay.

    Attributes:
        title: the machine's name.
        names: names of the nodes, in order.
        work: the jobs, in order of submission.
        jobs: the site's identifiers of the jobs.
        history: the machine's failures, on the clock of ``work``.
        recorded: measured outcomes of the jobs.
        notes: messages about jobs left out, estimated run times and oddities.
    """

    title: str
    names: tuple[str, ...]
    work: Workload
    jobs: tuple[str, ...]
    history: History
    recorded: Recorded
    notes: tuple[str, ...]


class _Job(NamedTuple):
    record: JobRecord
    submit: float
    first: float
    run: float
    kills: int
    lost: float


def prepare(
    log: JobLog, failures: Loaded, *, resources: Resources | None = None, nodes: int | None = None
) -> Case:
    """Make a case from a job log and a failure log.

    A requeued job counts once, with the run time of its last attempt. The run time of a job that a node's
    failure ended for good is unknown; the estimate is the median of the completed jobs that ran longer.

    Args:
        log: the site's job log.
        failures: the site's failure log.
        resources: the machine; None to take the nodes that the logs name.
        nodes: number of nodes of the machine, where neither resources nor logs name the nodes.

    Raises:
        UsageError: the failure log belongs to another machine or time, or a job is larger than the machine.
    """
    log = _readable(log)
    notes = [text for text in (told(log.malformed, log.unit), told(failures.malformed)) if text]
    jobs, left_out = _jobs(log)
    notes += [f"{count} not replayed: {reason}" for reason, count in left_out.items()]
    notes += [f"failure log: {count} not taken: {what}" for what, count in failures.elsewhere.items()]
    if not jobs:
        raise UsageError(f"{log.name}: no job that ran to an end", hint="; ".join(notes[:_SHOWN]))
    names = _machine(log, failures, resources, nodes)
    for job in jobs:
        if job.record.nodes > len(names):
            raise UsageError(
                f"{log.name}: {log.unit} {job.record.line}: job {job.record.job} asks for "
                f"{job.record.nodes} nodes, the machine has {len(names)}",
                hint="is this the log of another machine? --resources FILE.toml or --nodes N say what it has",
            )
    jobs.sort(key=lambda job: job.submit)
    first, last = jobs[0].submit, max(job.first + job.run for job in jobs)
    history = _history(failures, names, first, last)
    work, estimated = _workload(jobs, 0.0 if resources is None else resources.checkpoint)
    if estimated:
        notes.append(f"{estimated} jobs that a node's failure ended for good: their run time is estimated")
    load = float((work.size * work.run).sum()) / (len(names) * (last - first)) if last > first else 0.0
    if load > 1.0:
        notes.append(
            f"jobs ask for {load:.2f} times the machine's node-time: they share nodes here, and the replay "
            "gives each job whole nodes, so that waiting is exaggerated"
        )
    recorded = Recorded(
        np.array([job.first - job.submit for job in jobs]),
        np.array([job.kills for job in jobs]),
        np.array([job.lost for job in jobs]),
    )
    title = resources.name if resources is not None else log.name
    return Case(title, names, work, tuple(job.record.job for job in jobs), history, recorded, tuple(notes))


def _jobs(log: JobLog) -> tuple[list[_Job], dict[str, int]]:
    """Return the jobs that can be replayed, and the number of the other jobs by reason."""
    attempts: dict[str, list[JobRecord]] = {}
    for record in log.jobs:
        attempts.setdefault(record.job, []).append(record)
    found: list[_Job] = []
    left_out: dict[str, int] = {}
    for records in attempts.values():
        records.sort(key=lambda record: (math.inf if math.isnan(record.start) else record.start, record.line))
        last = records[-1]
        reason = _unfit(last)
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        ended = [
            record
            for record in records
            if record.state is State.NODE_FAIL or (record is not last and _began(record))
        ]
        spent = sum((record.end - record.start) * record.nodes for record in ended if _began(record))
        first = min(record.start for record in records if not math.isnan(record.start))
        submit = min(record.submit for record in records)
        found.append(_Job(last, submit, first, last.end - last.start, len(ended), spent))
    return found, left_out


def _began(record: JobRecord) -> bool:
    return not math.isnan(record.start) and not math.isnan(record.end)


def _unfit(record: JobRecord) -> str:
    if record.state is State.RUNNING:
        return "still running at the log's end"
    if record.state is State.PENDING or math.isnan(record.start):
        return "never started"
    if math.isnan(record.end) or record.end <= record.start:
        return "no run time"
    return "" if record.nodes > 0 else "no nodes"


def _machine(
    log: JobLog, failures: Loaded, resources: Resources | None, nodes: int | None
) -> tuple[str, ...]:
    """Return the names of the machine's nodes.

    Raises:
        UsageError: nothing names or counts the nodes, or the failure log names other nodes.
    """
    seen = _hosts(log)
    failing = failures.history.names
    if resources is not None:
        names = resources.names()
        _known(log.name, sorted(set(seen).difference(names)), names)
        _known("the failure log", [name for name in failing if name not in set(names)], names)
        return names
    if seen and failing:
        if not set(seen) & set(failing):
            raise UsageError(
                f"the failures are of other nodes: of {failing[0]}, ..., while jobs ran on {seen[0]}, ...",
                hint="both logs have to be of one machine",
            )
        return tuple(in_order({*seen, *failing}))
    count = nodes or len(seen) or failures.history.nodes
    if failures.history.nodes > count:
        raise UsageError(
            f"the failures are of {failures.history.nodes} nodes, the machine has {count}",
            hint="both logs have to be of one machine; --nodes N says how many nodes it has",
        )
    if seen:
        return tuple(seen)
    return (failing or tuple(map(str, range(failures.history.nodes)))) + tuple(
        f"unnamed-{number}" for number in range(count - failures.history.nodes)
    )


def _readable(log: JobLog) -> JobLog:
    """Return the log without jobs whose host list cannot be read, which count as malformed."""
    wrong: dict[str, str] = {}
    for hosts in {record.hosts for record in log.jobs if record.hosts}:
        try:
            expand(hosts)
        except ValueError as error:
            wrong[hosts] = str(error)
    left = [Malformed(one.line, wrong[one.hosts]) for one in log.jobs if one.hosts in wrong]
    jobs = [one for one in log.jobs if one.hosts not in wrong]
    return replace(log, jobs=jobs, malformed=[*log.malformed, *left])


def _hosts(log: JobLog) -> list[str]:
    return in_order({name for one in {job.hosts for job in log.jobs if job.hosts} for name in expand(one)})


def _known(what: str, unknown: Sequence[str], names: Iterable[str]) -> None:
    if unknown:
        more = f" and {len(unknown) - _SHOWN} more" if len(unknown) > _SHOWN else ""
        raise UsageError(
            f"{what} names nodes that the machine does not have: {', '.join(unknown[:_SHOWN])}{more}",
            hint=f"the resources have {', '.join(list(names)[:_SHOWN])}, ...",
        )


def _history(failures: Loaded, names: tuple[str, ...], first: float, last: float) -> History:
    """Return the failures with the machine's order of nodes.

    Raises:
        UsageError: the failure log covers another time than the jobs.
    """
    given = failures.history
    if len(given) and (given.begin > last or max(given.finish, float(given.start[-1])) < first):
        raise UsageError(
            f"the failures are from {_date(given.begin)} to {_date(given.finish)}, the jobs "
            f"from {_date(first)} to {_date(last)}",
            hint="both logs have to be of the same weeks; --zone says in which zone Slurm printed its times",
        )
    own = given.names or names[: given.nodes]
    index = {name: number for number, name in enumerate(names)}
    rows = [
        (index[own[node]], start, end)
        for node, start, end in zip(
            given.node.tolist(), given.start.tolist(), given.end.tolist(), strict=True
        )
    ]
    causes = [given.causes[code] if code >= 0 else "unknown" for code in given.cause.tolist()]
    found = merged(len(names), min(given.begin, first), max(given.finish, last), rows, causes)
    return replace(found, names=names)


def _date(time: float) -> str:
    return str(np.datetime64(int(time), "s"))


def _workload(jobs: Sequence[_Job], checkpoint: float) -> tuple[Workload, int]:
    """Return the jobs as a workload of the simulator, and the number of estimated run times."""
    run = np.array([job.run for job in jobs])
    limit = np.array([job.record.limit for job in jobs])
    cut = np.array([job.record.state is State.NODE_FAIL for job in jobs])
    complete = np.sort(run[np.array([job.record.state is State.COMPLETED for job in jobs], dtype=bool)])
    for place in np.flatnonzero(cut):
        longer = complete[np.searchsorted(complete, run[place], side="right") :]
        if len(longer):
            run[place] = max(run[place], min(float(np.median(longer)), limit[place]))
    work = Workload(
        np.arange(len(jobs), dtype=np.int64),
        np.array([job.submit for job in jobs]),
        np.array([job.record.nodes for job in jobs], dtype=np.int64),
        run,
        np.maximum(np.where(np.isfinite(limit), limit, run), run),
        np.full(len(jobs), checkpoint if checkpoint > 0 else np.inf),
    )
    return work, int(cut.sum())
