"""``whesl lab grid``: a job log on several clusters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import AUDIT, FILE, JSON, LOG, OUT, QUIET, SEED, STRICT
from whesl.cli.parameters import option, parameters, required
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from whesl.lab.readers.swf import Log
    from whesl.lab.simulators.grid.cluster_eligibility import Requirements
    from whesl.lab.simulators.grid.cluster_files import Cluster
    from whesl.lab.simulators.grid.event_loop import Grid, Jobs, Outages, Outcome

_UNLIMITED = 2**62
_POLICIES = ("fcfs", "fcfs-lb", "easy", "cons", "ls")


@click.command()
@parameters
def grid(
    *,
    log_file: Path = LOG,
    clusters: Path = required("Clusters: TOML, or Alea's .machines table.", "TOML", type=FILE),
    policy: str = option("easy", "Who starts when and where [easy].", choices=_POLICIES),
    requirements: str = option(
        "none",
        "What suits a job: all clusters; those its (user, queue) ran on; by its node specification.",
        choices=("none", "used", "log"),
    ),
    failures: Path | None = option(None, "Failure records of machines.", "FILE", type=FILE),
    epoch: float | None = option(
        None, "The log's time 0 in the records' seconds; default: its UnixStartTime.", "SECONDS"
    ),
    afc: float | None = option(None, "Generate failures: so many a machine and hour.", "RATE", least=0),
    starts: int | None = option(None, "Computed starts that end a local search [20000].", "N", least=1),
    seconds: float | None = option(
        None,
        "Seconds by the clock that end a local search instead; then schedules depend on the machine.",
        "S",
        above=0,
    ),
    seed: int = SEED,
    strict: bool = STRICT,
    audited: bool = AUDIT,
    out: Path | None = OUT,
    in_json: bool = JSON,
    quiet: bool = QUIET,
) -> None:
    """Simulate a job log on several clusters, of which each job suits some.

    With --out DIR: DIR/jobs.parquet and DIR/summary.json. Machines that fail kill the jobs on them, which are
    not run again; a job that no cluster suits is cancelled, and counted.
    """
    from whesl.lab.readers import swf
    from whesl.lab.readers.failures import told
    from whesl.lab.results.jobs_parquet_and_summary_json import as_json, write_summary
    from whesl.lab.results.report_tables import Table, markdown
    from whesl.lab.simulators.grid import simulation
    from whesl.lab.simulators.grid.audit import audit
    from whesl.lab.simulators.grid.cluster_files import grid as machines_of
    from whesl.lab.simulators.grid.cluster_files import read as read_clusters

    if failures is not None and afc is not None:
        raise UsageError("--failures and --afc both say what fails", hint="give one of them")
    for name, value in (("--starts", starts), ("--seconds", seconds)):
        if value is not None and policy != "ls":
            raise UsageError(f"{name} is about local search", hint=f"with --policy ls, not {policy}")
    if starts is not None and seconds is not None:
        raise UsageError("--starts and --seconds both say when a search ends", hint="give one of them")
    progress = shown(quiet=quiet)
    found = read_clusters(clusters)
    log = swf.read(log_file, strict=strict)
    if log.malformed:
        progress.note(f"{log.name}: {told(log.malformed)}")
    rows = simulation.chosen(log)
    wanted = _requirements(requirements, log, log_file, rows, found)
    machines = machines_of(found)
    jobs = simulation.jobs_of(log, rows, wanted)
    outages = _outages(
        failures, afc, found, machines, log, jobs, epoch, seed, strict=strict, note=progress.note
    )
    if unsuited := _unsuited(machines, jobs):
        progress.note(
            f"{log.name}: {len(unsuited)} jobs that no cluster suits are cancelled: "
            f"lines {', '.join(str(log.line[rows[job]]) for job in unsuited[:5])}"
            + (", ..." if len(unsuited) > 5 else "")
        )
    outcome, figures = simulation.simulate(
        machines,
        jobs,
        outages,
        policy,
        seed,
        starts=starts or (simulation.STARTS if seconds is None else _UNLIMITED),
        seconds=float("inf") if seconds is None else seconds,
        record=audited,
    )
    if audited and (wrong := audit(machines, jobs, outages, outcome, policy)):
        raise WheslError(f"the run broke {len(wrong)} rules, a defect of the simulator: {wrong[0]}")
    summary: dict[str, Any] = {
        "policy": policy,
        "log": str(log_file),
        "clusters": {cluster.name: sum(cluster.each()) for cluster in found},
        "requirements": requirements,
        "unknown_properties": list(wanted.unknown),
        "failures": str(failures) if failures else None,
        "outages": len(outages.start),
        "seed": seed,
        "starts": starts,
        "seconds": seconds,
        "malformed": len(log.malformed),
        "without_run_time": len(log) - len(rows),
        "unsuited": len(unsuited),
        "mean_response": figures.response,
        "mean_slowdown": figures.slowdown,
        "mean_wait": figures.wait,
        **{
            name: getattr(figures, name)
            for name in ("jobs", "killed", "cancelled", "utilised", "searches", "kept")
        },
    }
    if out is not None:
        _write(out, log, rows, found, jobs, outcome, policy)
        write_summary(out, summary)
    if in_json:
        click.echo(as_json(summary), nl=False)
        return
    titles = ("policy", "response, s", "slowdown", "wait, s", "killed", "cancelled", "utilised")
    row = (
        policy,
        figures.response,
        figures.slowdown,
        figures.wait,
        figures.killed,
        figures.cancelled,
        figures.utilised,
    )
    click.echo(markdown(Table("grid", "", titles, [row])), nl=False)


def _requirements(
    name: str, log: Log, path: Path, rows: NDArray[Any], clusters: list[Cluster]
) -> Requirements:
    from whesl.files.packed_text import unpacked
    from whesl.lab.simulators.grid import cluster_eligibility

    if name == "none":
        return cluster_eligibility.none(len(rows), len(clusters))
    if name == "used":
        return cluster_eligibility.used(log, rows, clusters)
    return cluster_eligibility.specified(log, unpacked(path).decode(errors="replace"), rows, clusters)


def _outages(
    path: Path | None,
    afc: float | None,
    clusters: list[Cluster],
    machines: Grid,
    log: Log,
    jobs: Jobs,
    epoch: float | None,
    seed: int,
    *,
    strict: bool,
    note: Any,
) -> Outages:
    from whesl.lab.readers.failures import told
    from whesl.lab.simulators.grid import failure_records, generated_failures

    begin, finish = float(jobs.submit[0]), float(jobs.submit[-1])
    if afc is not None:
        return generated_failures.generated(machines, begin, finish, generated_failures.Law(afc), seed)
    if path is None:
        return failure_records.NONE
    if epoch is None:
        start = log.header.get("UnixStartTime", "0").split()[:1]
        epoch = float(start[0]) if start and start[0].lstrip("-").isdecimal() else 0.0
    loaded = failure_records.read(path, clusters, epoch, strict=strict)
    if loaded.malformed:
        note(f"{path}: {told(loaded.malformed)}")
    found = loaded.outages
    finish = max(finish, float((jobs.submit + jobs.time).max()))
    if len(found.start) and not ((found.start < finish) & (found.end > begin)).any():
        raise UsageError(
            f"{path}: no failure within the log's time ({begin:.0f} to {finish:.0f} s): the first is at "
            f"{found.start[0]:.0f}",
            hint="--epoch says what the log's time 0 is in the records' seconds",
        )
    return found


def _unsuited(machines: Grid, jobs: Jobs) -> list[int]:
    import numpy as np

    capacity = np.add.reduceat(machines.cpus, machines.first[:-1])
    most = np.where(jobs.suits, capacity, 0).max(axis=1)
    return [int(job) for job in np.flatnonzero(jobs.cpus > most[jobs.kind])]


def _write(
    out: Path,
    log: Log,
    rows: NDArray[Any],
    clusters: list[Cluster],
    jobs: Jobs,
    outcome: Outcome,
    policy: str,
) -> None:
    import numpy as np

    from whesl.lab.results.jobs_parquet_and_summary_json import Ragged, write_jobs

    offsets = np.concatenate([[0], np.cumsum(outcome.part_count)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], outcome.part_count)
    order = np.repeat(outcome.part_offset, outcome.part_count) + within
    names = np.array([*(cluster.name for cluster in clusters), ""])
    ran = outcome.cluster >= 0
    write_jobs(
        out,
        {
            "job": log.field("job")[rows].astype(np.int64),
            "submit": jobs.submit,
            "start": outcome.start,
            "end": outcome.end,
            "processors": jobs.cpus,
            "nodes": Ragged(offsets, outcome.part_machine[order]),
            "attempts": ran.astype(np.int64),
            "killed": (outcome.state == 1).astype(np.int64),
            "cluster": names[outcome.cluster],
            "cancelled": outcome.state == 2,
        },
        {"policy": policy},
    )
