"""Runs experiments, sequentially or in worker processes, and stores their reports."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from whesl import __version__
from whesl.files.whole_file import write_text
from whesl.lab.execution import worker_processes
from whesl.lab.execution.progress_interface import Progress, Silent
from whesl.lab.reproductions import registry
from whesl.lab.reproductions.registry import Finding, Report
from whesl.lab.results.jobs_parquet_and_summary_json import as_json, plain
from whesl.lab.results.report_figures import Figure
from whesl.lab.results.report_folder import write_results
from whesl.lab.results.report_tables import Table
from whesl.model.errors import WheslError


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run of experiments.

    Attributes:
        data: the directory of traces; None if there is none.
        out: the directory of results; None to write no results.
        quick: whether to run smaller versions that take seconds.
        again: whether to repeat experiments with a report in ``out``.
        jobs: number of processes.
    """

    data: Path | None = None
    out: Path | None = None
    quick: bool = False
    again: bool = False
    jobs: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one experiment.

    Attributes:
        name: the experiment's name.
        source: the reproduced document.
        about: a description of one line.
        report: the experiment's result; None if the experiment failed.
        error: the error message of a failed experiment.
        seconds: run time in seconds.
        kept: whether the report comes from an earlier run's files.
    """

    name: str
    source: str
    about: str
    report: Report | None
    error: str = ""
    seconds: float = 0.0
    kept: bool = False


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """The content of an experiment's file report.json."""

    name: str
    version: str
    quick: bool
    seconds: float
    values: dict[str, Any]
    findings: list[Finding]
    tables: list[Table]
    figures: list[Figure]


def outcomes(names: Sequence[str], settings: Settings, progress: Progress) -> Iterator[Outcome]:
    """Run experiments; yield each outcome when its files are written.

    Args:
        names: names of the experiments.
        settings: settings of the run.
        progress: progress display.

    Raises:
        UsageError: a name is no experiment's.
    """
    found = {name: registry.load(name) for name in names}
    rest = []
    for name in names:
        stored = None if settings.again else _finished(name, settings)
        if stored is None:
            rest.append(name)
        else:
            yield Outcome(
                name, found[name].source, found[name].about, _report(stored), "", stored.seconds, True
            )
    if settings.jobs == 1 or len(rest) < 2:
        for name in rest:
            yield _kept(_run(name, settings, progress), settings)
        return
    hint = "was there too little memory? Call again, with fewer --jobs"
    with (
        worker_processes.pool(min(settings.jobs, len(rest)), hint=hint) as pool,
        progress.stage("experiments", len(rest)) as advance,
    ):
        waiting = {pool.submit(_elsewhere, name, settings): name for name in rest}
        for future in as_completed(waiting):
            advance(1)
            yield future.result()


def _elsewhere(name: str, settings: Settings) -> Outcome:
    return _kept(_run(name, settings, Silent()), settings)


def _run(name: str, settings: Settings, progress: Progress) -> Outcome:
    experiment = registry.load(name)
    begun = time.monotonic()
    try:
        report = experiment.run(registry.Inputs(progress, settings.data, settings.quick))
    except WheslError as error:
        return Outcome(name, experiment.source, experiment.about, None, str(error))
    except Exception as error:  # a defect in one experiment does not stop the others
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        said = f"a defect, {type(error).__name__}: {error} ({where}); please report it"
        return Outcome(name, experiment.source, experiment.about, None, said)
    # ``holds`` may be a NumPy bool, which is no Python bool.
    findings = [replace(one, holds=None if one.holds is None else bool(one.holds)) for one in report.findings]
    report = replace(report, findings=findings)
    return Outcome(name, experiment.source, experiment.about, report, "", time.monotonic() - begun)


def _kept(outcome: Outcome, settings: Settings) -> Outcome:
    """Write an experiment's files; report.json comes last, so its presence means that all files are whole."""
    if settings.out is None or outcome.report is None:
        return outcome
    folder, report = settings.out / outcome.name, outcome.report
    write_results(folder, report.tables, report.figures)
    stored = {
        "name": outcome.name,
        "version": __version__,
        "quick": settings.quick,
        "seconds": round(outcome.seconds, 3),
        "values": plain(report.values),
        "findings": [_plain_record(finding) for finding in report.findings],
        "tables": [_plain_record(table) for table in report.tables],
        "figures": [_plain_record(figure) for figure in report.figures],
    }
    write_text(folder / "report.json", as_json(stored))
    return outcome


def _plain_record(record: Finding | Table | Figure) -> Any:
    return msgspec.to_builtins(record, enc_hook=plain)


def _finished(name: str, settings: Settings) -> Stored | None:
    if settings.out is None:
        return None
    try:
        text = (settings.out / name / "report.json").read_bytes()
        stored = msgspec.json.decode(text, type=Stored)
    except (OSError, msgspec.MsgspecError):
        return None  # unfinished or unreadable; the experiment runs again
    return stored if (stored.version, stored.quick) == (__version__, settings.quick) else None


def _report(stored: Stored) -> Report:
    return Report(stored.findings, stored.tables, stored.figures, stored.values)


def summed(findings: Sequence[Finding]) -> tuple[int, int, int]:
    """Return the numbers of findings that hold, that do not hold, and that remain open."""
    count: Callable[[bool | None], int] = [finding.holds for finding in findings].count
    return count(True), count(False), count(None)
