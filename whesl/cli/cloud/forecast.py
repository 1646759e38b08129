"""``whesl cloud forecast``: free nodes of a cluster in each of the next 24 hours."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli.lab.progress import shown
from whesl.cli.options import FILE, FOLDER, PRINT_JSON, QUIET, SEED, moment
from whesl.cli.parameters import argument, option, parameters
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from whesl.cloud.core.plan_records import FreeForecast
    from whesl.lab.predictor_evaluation.freenodes import Fold, Row
    from whesl.lab.readers.forecast_job_history import History


_MODEL = Path("free-nodes.npz")
_DRAWS = 24
_SHOWN = (1, 2, 3, 6, 12, 24)
# Losses of the published predictor's trees; tests compare them with
# ``whesl.prediction.free_nodes.published_predictor``, which loads NumPy and is not imported here.
LOSSES = ("rmse", "rmsle", "huber")


@dataclass(frozen=True)
class _Log:
    """Options for the job log that is learned from: its file and form, and the progress display."""

    logs: tuple[Path, ...] = argument(nargs=-1, required=True, type=FILE, metavar="LOG...")
    per_node: float = option(1.0, "Processors of a node [1].", "N", least=1)
    calendar: Path | None = option(None, "Announced maintenance: start,end.", "CSV", type=FILE)
    strict: bool = option(False, "Refuse a log when a line cannot be read.")
    as_json: bool = PRINT_JSON
    quiet: bool = QUIET


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def forecast() -> None:
    """Forecast free nodes: the least in each of the next 24 hours, with quantiles.

    Trained on the site's own job log: sacct -aDXP -S START -o
    JobID,User,Partition,State,Submit,Start,End,TimelimitRaw,NNodes; SWF is read as well.
    """


@forecast.command()
@parameters
def train(
    log: _Log,
    *,
    model: Path = option(_MODEL, f"Where it is kept [{_MODEL}].", "FILE", type=FILE),
    seed: int = SEED,
) -> None:
    """Learn from a job log; keep it in a file."""
    from whesl.lab.predictor_evaluation import freenodes as study
    from whesl.prediction.free_nodes import forecast_ensemble as learning
    from whesl.prediction.free_nodes import forecast_model_files

    history = _read(log)
    progress = shown(quiet=log.quiet)
    known = study.moments(
        history.jobs, _windows(log.calendar), capacity=None, draws=_DRAWS, seed=seed, every=1, keep=None,
        progress=progress,
    )  # fmt: skip
    with progress.stage("fit", 3) as advance:
        learned = learning.fit(known.rows, known.truth, seed=seed, advance=advance)
    days = len(known.rows.time) / 24
    forecast_model_files.save(
        learned, forecast_model_files.About(history.latest, days, log.per_node, _DRAWS), model
    )
    if log.as_json:
        print(
            json.dumps({"model": str(model), "days": days, "jobs": len(history.jobs), "notes": history.notes})
        )
        return
    _note(history)
    print(f"{model}: learned from {days:.0f} days, {len(history.jobs)} jobs, until {_moment(history.latest)}")


@forecast.command()
@parameters
def now(
    log: _Log,
    *,
    model: Path = option(_MODEL, f"What was learned [{_MODEL}].", "FILE", type=FILE),
    at: str | None = option(None, "The moment [the log's last event]: ISO 8601 or seconds.", "TIME", "--now"),
    out: Path | None = option(None, "Also write the JSON there.", "FILE", type=FILE),
    seed: int = SEED,
) -> None:
    """Forecast from running and waiting jobs.

    The job log has to hold them.
    """
    import msgspec

    from whesl.lab.readers.site_job_records import Clock
    from whesl.prediction.free_nodes import forecast_model_files, past_forecasts
    from whesl.prediction.free_nodes.forecast import forecast as forecast_of

    learned, about = forecast_model_files.load(model)
    beside = model.with_name(f"{model.stem}.given.npz")
    earlier = past_forecasts.load(beside)
    history = _read(log)
    try:
        moment = Clock().time(at) if at is not None else history.latest
    except ValueError as error:
        raise UsageError(f"--now: {error}") from None
    if not math.isfinite(moment):
        raise UsageError(f"--now: not a time: {at!r}", hint="2026-11-23T04:54:34 or Unix seconds")
    earlier = earlier.learned(history.jobs, moment)
    found = forecast_of(
        learned, history.jobs, moment, _windows(log.calendar), draws=about.draws, seed=seed, given=earlier
    )
    try:
        past_forecasts.save(earlier.added(found), beside)
    except WheslError as error:
        click.echo(f"this forecast will not be calibrated with: {error}", err=True)
    unit = log.per_node if log.per_node != 1.0 else about.unit
    answer = _record(found.now, found.capacity / unit, found.levels, found.nodes / unit)
    text = msgspec.json.encode(answer).decode()
    if out is not None:
        try:
            out.write_text(text + "\n")
        except OSError as error:
            raise UsageError(f"cannot write {out}: {error.strerror}") from error
    if log.as_json:
        print(text)
        return
    if not log.quiet:
        _note(history)
    print(
        f"from {_moment(found.now)}: {found.running} jobs run, {found.waiting} wait for nodes, "
        f"{found.held} are held by something else; capacity {found.capacity / unit:.0f} nodes"
    )
    print("hour  10 %  50 %  90 %  least free nodes")
    for hour, row in enumerate(answer.nodes, 1):
        print(f"{hour:4d}  " + "  ".join(f"{one:4.0f}" for one in row))


@forecast.command()
@parameters
def evaluate(
    log: _Log,
    *,
    months: int = option(3, "Latest months to forecast [3].", "N", least=1),
    until: str | None = option(None, "Leave alone what comes later: YYYY-MM-DD.", "DATE"),
    replayed: float | None = option(
        None,
        "Replay the log under FCFS and EASY backfilling on N nodes first, as the dissertation does.",
        "N",
        least=1,
    ),
    every: int = option(1, "Hours between forecasts [1].", "H", least=1, most=24),
    draws: int = option(_DRAWS, f"Of the queue [{_DRAWS}].", "N", least=2),
    out: Path | None = option(None, "Results; resumes.", "DIR", type=FOLDER),
    document: bool = option(False, "Score the dissertation's trees as well."),
    loss: str = option("huber", "Of the dissertation's trees [huber].", choices=LOSSES),
    seed: int = SEED,
) -> None:
    """Score forecasts of the latest months.

    Each is made by a model that has seen only what was before its month.
    """
    from whesl.lab.predictor_evaluation import freenodes as study
    from whesl.prediction.free_nodes.job_history import replayed as replay

    if document and every != 1:
        raise UsageError(
            "the dissertation's trees are sampled every hour", hint="--document goes with --every 1"
        )
    limit = moment("--until", until) if until is not None else math.inf
    history = _read(log)
    jobs = replay(history.jobs, replayed) if replayed is not None else history.jobs
    keep = _directory(out)
    progress = shown(quiet=log.quiet)
    known = study.moments(
        jobs, _windows(log.calendar), capacity=replayed, draws=draws, seed=seed, every=every, keep=keep,
        progress=progress,
    )  # fmt: skip
    chosen = study.months(known, months, limit)
    beside = None
    if document:
        beside = study.printed(jobs, known, loss, keep=keep, progress=progress)
    with progress.stage("fit and forecast, month by month", len(chosen)) as advance:
        folds = [
            study.fold(known, month, seed=seed, keep=keep, beside=beside, advance=advance) for month in chosen
        ]
    rows = study.summary(folds, unit=log.per_node, seed=seed)
    text = json.dumps(_as_json(folds, rows), indent=1)
    if out is not None:
        (out / "results.json").write_text(text + "\n")
    if log.as_json:
        print(text)
        return
    _note(history)
    _table(folds, rows)


@forecast.command()
@parameters
def outages(
    log: _Log,
    *,
    weekday: int | None = option(None, "Only those of a weekday: 1 is Monday.", "N", least=1, most=7),
    hours: tuple[float, float] = option((0.0, 24.0), "Begun in UTC hours.", "FROM TO", type=(float, float)),
) -> None:
    """Print outages that a job log shows, as a calendar to edit.

    An outage is use below 5 % of the capacity for 3 hours.
    """
    from whesl.prediction.free_nodes.hourly_free_node_history import supply, windows

    history = _read(log)
    found = [
        (begin, finish)
        for begin, finish in windows(supply(history.jobs)).tolist()
        if (weekday is None or datetime.fromtimestamp(begin, timezone.utc).isoweekday() == weekday)
        and hours[0] <= begin % 86400 / 3600 <= hours[1]
    ]
    if log.as_json:
        print(json.dumps([{"start": begin, "end": finish} for begin, finish in found]))
        return
    print("start,end")
    for begin, finish in found:
        print(f"{_moment(begin)},{_moment(finish)}")


def _read(log: _Log) -> History:
    from whesl.lab.readers.forecast_job_history import read_history

    return read_history(list(log.logs), strict=log.strict)


def _windows(calendar: Path | None) -> Any:
    from whesl.lab.readers.forecast_job_history import read_calendar
    from whesl.prediction.free_nodes.forecast import NO_CALENDAR

    return read_calendar(calendar) if calendar is not None else NO_CALENDAR


def _record(now: float, capacity: float, levels: tuple[float, ...], nodes: Any) -> FreeForecast:
    from whesl.cloud.core.plan_records import FreeForecast

    return FreeForecast(
        made=now,
        start=now,
        capacity=round(capacity),
        levels=levels,
        nodes=tuple(tuple(round(one, 2) for one in row) for row in nodes.tolist()),
        source="queue rolled forward and boosted trees",
    )


def _note(history: History) -> None:
    for note in history.notes:
        click.echo(note, err=True)


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, timezone.utc).isoformat(timespec="seconds")


def _directory(out: Path | None) -> Path | None:
    if out is None:
        return None
    keep = out / "kept"
    try:
        keep.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make {keep}: {error.strerror}") from error
    return keep


def _as_json(folds: list[Fold], rows: list[Row]) -> dict[str, Any]:
    return {
        "months": [
            {"month": one.name, "forecasts": len(one.time), "seconds to fit": round(one.seconds, 1)}
            for one in folds
        ],
        "hours": [
            {
                "hour": row.hour,
                "mean absolute error": {name: round(value, 2) for name, value in row.error.items()},
                "below the best": round(row.skill, 4),
                "95 %": [round(row.low, 4), round(row.high, 4)],
                "covered": round(row.covered, 4),
            }
            for row in rows
        ],
    }


def _table(folds: list[Fold], rows: list[Row]) -> None:
    from whesl.lab.predictor_evaluation.freenodes import ALL

    print(f"forecasts of {', '.join(f'{one.name} ({len(one.time)})' for one in folds)}")
    print("hour  forecast  persistence  median  climatology  last hour   below the best (95 %)  in 80 %")
    for row in rows:
        if row.hour in _SHOWN:
            ours, still, middle, daily, last = (
                row.error[name] for name in ("forecast", "persistence", "median", "climatology", "last hour")
            )
            print(
                f"{row.hour:4d}  {ours:8.1f}  {still:11.1f}  {middle:6.1f}  {daily:11.1f}  "
                f"{last:9.1f}  {row.skill:6.1%} ({row.low:6.1%} {row.high:6.1%})  {row.covered:6.1%}"
            )
    for name in folds[0].methods[len(ALL) :]:
        print(
            f"{name}: "
            + ", ".join(f"{row.error[name]:.1f} at {row.hour} h" for row in rows if row.hour in _SHOWN)
        )
    worse = [str(row.hour) for row in rows if row.skill < 0]
    print(f"worse than the best at hours {', '.join(worse)}" if worse else "at no hour worse than the best")
