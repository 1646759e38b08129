"""From a job log to a forecast: learned on weeks, asked on weeks that were not seen; files; the command."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from tests.prediction.free_nodes.made import EPOCH, NODES, cluster, sacct, swf
from whesl.cli.cloud import forecast as options
from whesl.cli.cloud.forecast import forecast as command
from whesl.cloud.core.plan_records import FreeForecast
from whesl.lab.execution.progress_interface import Silent
from whesl.lab.predictor_evaluation import freenodes as study
from whesl.lab.readers.forecast_job_history import read_calendar, read_history
from whesl.model.errors import UsageError, WheslError
from whesl.prediction.free_nodes import (
    features,
    forecast,
    forecast_ensemble,
    forecast_model_files,
    past_forecasts,
    published_predictor,
    rollforward,
)
from whesl.prediction.free_nodes.forecast import NO_CALENDAR, Learnable
from whesl.prediction.free_nodes.forecast_ensemble import Model
from whesl.prediction.free_nodes.forecast_model_files import About
from whesl.prediction.free_nodes.hourly_free_node_history import supply

ABOUT = About(EPOCH, 60.0, 1.0, 4)


@cache
def known() -> Learnable:
    return forecast.learnable(cluster(), capacity=NODES, draws=4, every=3)


@cache
def learned() -> Model:
    table = known()
    past = table.select(table.rows.time < EPOCH + 60 * 86400)
    return forecast_ensemble.fit(past.rows, past.truth)


@pytest.mark.slow
def test_it_is_nearer_than_the_best_of_what_is_simple() -> None:
    table = known()
    later = table.select(table.rows.time >= EPOCH + 62 * 86400)
    said = forecast_ensemble.predict(learned(), later.rows)
    assert (np.diff(said, axis=0) >= 0).all()
    ours = np.abs(said[1] - later.truth).mean(axis=0)
    plain = [
        np.abs(one - later.truth).mean(axis=0)
        for one in forecast_ensemble.baselines(learned(), later.rows).values()
    ]
    best = np.min(plain, axis=0)
    assert ours[:3].mean() < 0.9 * best[:3].mean()
    assert ours.mean() < best.mean()


@pytest.mark.costly
def test_what_was_nearest_has_the_weight() -> None:
    """Persistence, the median and the linear model are mixed too: where one is right, most of it is that."""
    rows = known().rows
    one = forecast_ensemble.SIMPLE.index("now") - len(forecast_ensemble.SIMPLE)
    parts = np.random.default_rng(0).random((forecast_ensemble.MIXED, 200, 24))
    found = forecast_ensemble._weights(parts, parts[one], rows.time[:200])
    assert found.sum(axis=1) == pytest.approx(np.ones(24))
    assert (found[: forecast_ensemble.SHORT, one] > 0.85).all()
    assert (found[forecast_ensemble.SHORT :, one] > 0.65).all()
    assert {"median", "of day"} < set(forecast_ensemble.SIMPLE)
    assert (learned().weights[:, len(forecast_ensemble.ANCHORS)] > 0.02).all()  # of the linear model


def test_nothing_that_came_later_is_looked_at() -> None:
    """A forecast is the same whether the log ends at its moment or goes on."""
    history, now = cluster(), EPOCH + 70.3 * 86400
    whole = forecast.forecast(learned(), history, now, draws=4)
    cut = forecast.forecast(learned(), history.until(now), now, draws=4)
    assert whole.nodes.tolist() == cut.nodes.tolist()
    assert whole.nodes.shape == (24, 3)
    assert (np.diff(whole.nodes, axis=1) >= 0).all()
    assert whole.capacity <= NODES


def test_announced_maintenance_leaves_no_node_free() -> None:
    now = EPOCH + 70 * 86400
    closed = np.array([[now + 5 * 3600, now + 8 * 3600]])
    history = cluster()
    hours = supply(history, NODES)
    which = np.array([int((now - hours.begin) // 3600)])
    rows = features.table(rollforward.index(history), hours, which, closed, draws=4, seed=0)
    half = features.COLUMNS.index("rolled forward, 50%")
    assert not rows.values[0, 5:8, half].any()
    assert rows.values[0, 4, half] > 0
    assert not rows.values[0, 5:8, features.COLUMNS.index("smallest first, 50%")].any()
    assert rows.values[0, :, features.COLUMNS.index("maintenance")].tolist() == [0] * 5 + [1] * 3 + [0] * 16


def test_running_jobs_leave_more_free_hour_by_hour() -> None:
    """What is free now, more each hour, and all when no running job can last."""
    rows = known().rows
    free = rows.values[:, :, features.COLUMNS.index("free of running jobs")]
    assert free[:, 0] == pytest.approx(rows.free / rows.capacity, abs=1e-6)
    assert (np.diff(free, axis=1) >= 0).all()
    assert (free[:, -1] == 1).all()


def test_a_saved_model_is_the_same(tmp_path: Path) -> None:
    forecast_model_files.save(learned(), ABOUT, tmp_path / "model.npz")
    again, about = forecast_model_files.load(tmp_path / "model.npz")
    assert about == ABOUT
    rows = known().select(known().rows.time >= EPOCH + 75 * 86400).rows
    assert (
        forecast_ensemble.predict(again, rows).tolist() == forecast_ensemble.predict(learned(), rows).tolist()
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.pop("weights"),
        lambda arrays: arrays.update(weights=np.zeros((2, 2))),
        lambda arrays: arrays.update(left_0=np.full_like(arrays["left_0"], 10**6)),
        lambda arrays: arrays.update(time=arrays["time"][::-1]),
        lambda arrays: arrays.update(median=np.full(24, np.nan)),
        lambda arrays: arrays.pop("slope"),
        lambda arrays: arrays.update(center=arrays["center"][:, 1:]),
    ],
)
def test_a_file_that_is_no_model_is_refused(tmp_path: Path, change: object) -> None:
    forecast_model_files.save(learned(), ABOUT, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz") as file:
        arrays = {name: file[name] for name in file.files}
    change(arrays)  # type: ignore[operator]  # a function of the arrays
    np.savez(tmp_path / "other.npz", **arrays)
    with pytest.raises(WheslError, match=r"other\.npz does not hold a forecast of free nodes"):
        forecast_model_files.load(tmp_path / "other.npz")


@pytest.mark.costly
def test_months_are_scored_and_taken_up_again(tmp_path: Path) -> None:
    def all_moments() -> Learnable:
        return study.moments(
            cluster(),
            NO_CALENDAR,
            capacity=NODES,
            draws=2,
            seed=0,
            every=6,
            keep=tmp_path,
            progress=Silent(),
        )

    table = all_moments()
    month = study.months(table, 1)
    assert len(month) == 1
    first = study.fold(table, month[0], seed=0, keep=tmp_path)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert [name.split("-")[0] for name in files] == ["moments", "month"]
    again = all_moments()
    assert again.truth.tolist() == table.truth.tolist()
    kept = study.fold(again, month[0], seed=0, keep=tmp_path)
    assert kept.seconds == first.seconds  # from the file: nothing was fitted again
    rows = study.summary([first])
    assert [row.hour for row in rows] == list(range(1, 25))
    assert all(row.low <= row.skill + 1e-9 and row.skill <= row.high + 1e-9 for row in rows[:3])
    assert rows[0].error["forecast"] < rows[0].error["median"]


@pytest.mark.slow
@pytest.mark.variant
def test_the_documents_trees_are_scored_beside(tmp_path: Path) -> None:
    history = cluster()
    table = known()
    beside = study.printed(history, table, "huber", keep=tmp_path, progress=Silent())
    found = study.fold(table, study.months(table, 1)[0], seed=0, keep=None, beside=beside)
    assert found.methods == (*study.ALL, study.TREES)
    rows = study.summary([found])
    assert rows[0].error[study.TREES] < rows[0].error["median"]
    again = study.printed(history, table, "rmse", keep=tmp_path, progress=Silent())
    assert again.values.tolist() == beside.values.tolist()  # from the file


def test_the_command_offers_the_documents_losses() -> None:
    assert tuple(published_predictor.OBJECTIVES) == options.LOSSES


def run(*arguments: str | Path, status: int = 0) -> str:
    found = CliRunner().invoke(command, [str(one) for one in arguments])
    assert found.exit_code == status, found.output
    return found.output


def test_the_command_forecasts_from_sacct(tmp_path: Path) -> None:
    """Running and pending jobs of accounting; the answer is a record that plans are made with."""
    log, kept = tmp_path / "sacct.txt", tmp_path / "model.npz"
    log.write_text(sacct(cluster().until(EPOCH + 75 * 86400)))
    forecast_model_files.save(learned(), ABOUT, kept)
    at = str(EPOCH + 75 * 86400)
    text = run("now", log, "--model", kept, "--now", at, "--json", "--out", tmp_path / "free.json")
    found = msgspec.json.decode(text, type=FreeForecast)
    assert len(found.nodes) == 24
    assert found.levels == (0.1, 0.5, 0.9)
    assert found.start == EPOCH + 75 * 86400
    assert all(0 <= row[0] <= row[1] <= row[2] <= found.capacity + 1 for row in found.nodes)
    assert (tmp_path / "free.json").read_text() == text
    assert "least free nodes" in run("now", log, "--model", kept, "--now", at)
    # Kept beside the model: a later forecast is calibrated with what came of this one.
    assert past_forecasts.load(tmp_path / "model.given.npz").time.tolist() == [EPOCH + 75 * 86400]


def test_both_readers_see_the_same_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    (tmp_path / "a.swf").write_text(swf(cluster()))
    (tmp_path / "b.txt").write_text(sacct(cluster()))
    one, other = (read_history([tmp_path / name]).jobs for name in ("a.swf", "b.txt"))
    assert len(one) == len(other) == len(cluster())
    assert np.abs(one.submit - other.submit).max() <= 1
    assert one.size.tolist() == other.size.tolist()
    assert one.limit.tolist() == other.limit.tolist()
    assert len(set(zip(one.user.tolist(), other.user.tolist(), strict=True))) == 12
    assert one.covered == pytest.approx(other.covered, abs=2)


def test_a_gap_in_a_log_is_not_covered(tmp_path: Path) -> None:
    lines = swf(cluster()).splitlines()
    day = 86400
    kept = [line for line in lines if line.startswith(";") or not 30 * day < int(line.split()[1]) < 40 * day]
    (tmp_path / "gap.swf").write_text("\n".join(kept))
    covered = (read_history([tmp_path / "gap.swf"]).jobs.covered - EPOCH) / day
    assert covered[:, 0] == pytest.approx([1, 45], abs=0.5)
    assert covered[:, 1] == pytest.approx([30, 80], abs=0.5)


@pytest.mark.parametrize("days", [10, 1.4])
def test_a_log_that_is_too_short_is_refused(tmp_path: Path, days: float) -> None:
    """With what would be accepted; nothing is written. One of a day and a half once ended in a traceback."""
    text = "".join(
        f"{job} {600 * job} 5 300 4 -1 -1 4 600 -1 1 7 1 1 1 1 -1 -1\n" for job in range(int(days * 144))
    )
    (tmp_path / "short.swf").write_text(text)
    found = CliRunner().invoke(
        command, ["train", str(tmp_path / "short.swf"), "--model", str(tmp_path / "m.npz")]
    )
    assert isinstance(found.exception, UsageError)
    assert "too few to learn from" in str(found.exception)
    assert "days" in str(found.exception.hint)
    assert not (tmp_path / "m.npz").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n", "not a calendar of maintenance"),
        ("start,end\n5,3\nx,4\n7\n", r":2: it ends before.*:3: not a time.*:4: one field"),
    ],
)
def test_a_calendar_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_calendar(tmp_path / "c.csv")


def test_a_calendar_is_read(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text(
        "start,end\n2026-11-23T08:00:00+00:00,2026-11-23T20:00:00+00:00\n100,200\n"
    )
    assert read_calendar(tmp_path / "c.csv").tolist() == [[100, 200], [1795420800, 1795464000]]


def test_outages_of_a_log_become_a_calendar(tmp_path: Path) -> None:
    """Twelve hours without a start, twice: both, and those of a weekday alone."""
    lines = swf(cluster()).splitlines()
    outages = [(day * 86400, day * 86400 + 12 * 3600) for day in (40, 50)]

    def runs(line: str) -> bool:
        begun = int(line.split()[1]) + int(line.split()[2])
        over = begun + int(line.split()[3])
        return all(over <= begin or begun >= finish for begin, finish in outages)

    kept = [line for line in lines if line.startswith(";") or runs(line)]
    (tmp_path / "log.swf").write_text("\n".join(kept))
    found = json.loads(run("outages", tmp_path / "log.swf", "--json"))
    days = [round((one["start"] - EPOCH) / 86400, 1) for one in found]
    assert {40, 50} <= {round(day) for day in days}
    weekday = (int(found[0]["start"] // 86400) + 3) % 7 + 1
    text = run("outages", tmp_path / "log.swf", "--weekday", str(weekday)).splitlines()
    assert text[0] == "start,end"
    (tmp_path / "calendar.csv").write_text("\n".join(text))
    assert len(read_calendar(tmp_path / "calendar.csv")) == len(text) - 1 >= 1
