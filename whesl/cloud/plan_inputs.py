"""Reads the inputs of a menu of plans from files and options."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from whesl.cloud import prices as price_files
from whesl.cloud.core import plan_menu, profile_estimation
from whesl.cloud.core import uncertainty as uncertainty
from whesl.cloud.core.plan_menu import Case
from whesl.cloud.core.plan_records import HOUR, FreeForecast, Profile, Workflow
from whesl.cloud.core.stage_speed import cluster_nodes, paces
from whesl.cloud.input_errors import Refusals, read_text
from whesl.cloud.workflow.format_detection import read
from whesl.model.errors import UsageError

_UNITS = {"s": 1.0, "m": 60.0, "h": HOUR, "d": 24 * HOUR, "w": 168 * HOUR}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
_DEADLINES = (
    "accepted are times from now (90m, 6h, 2d) and local times (2026-05-01T18:00), with commas between"
)

Form = TypeVar("Form", bound=msgspec.Struct)


def moment(text: str, now: float) -> float:
    """Return a deadline in seconds since the epoch.

    Args:
        text: a duration from now (``6h``) or a local time (``2026-05-01T18:00``).
        now: seconds since the epoch.

    Raises:
        UsageError: the text is neither, or the time is past, or later than the planned range.
    """
    if match := _DURATION.fullmatch(text.strip()):
        found = now + float(match.group(1)) * _UNITS[match.group(2)]
    else:
        try:
            found = datetime.datetime.fromisoformat(text.strip()).timestamp()
        except (ValueError, OverflowError, OSError):
            raise UsageError(f"{text!r} is no deadline", hint=_DEADLINES) from None
    if said := plan_menu.outside(found - now):
        raise UsageError(f"{text.strip()}: {said}", hint=_DEADLINES)
    return found


def moments(text: str, now: float) -> tuple[float, ...]:
    """Return deadlines in seconds since the epoch.

    Args:
        text: deadlines as ``moment`` reads them, separated by commas.
        now: seconds since the epoch.

    Raises:
        UsageError: a deadline is wrong; the message names each wrong one.
    """
    found, wrong = [], []
    for part in text.split(","):
        try:
            found.append(moment(part, now))
        except UsageError as error:
            wrong.append(error.message)
    if wrong:
        raise UsageError("\n".join(wrong), hint=_DEADLINES)
    return tuple(found)


def load(path: Path, form: type[Form], what: str) -> Form:
    """Read a record from JSON.

    Args:
        path: the file.
        form: Profile or FreeForecast.
        what: the file's kind and the command that writes it, for messages.

    Raises:
        UsageError: the file cannot be read, or does not hold such a record.
    """
    try:
        return msgspec.json.decode(read_text(path).encode(), type=form)
    except msgspec.MsgspecError as error:
        raise UsageError(f"{path}: no {what.partition(',')[0]}: {error}", hint=what) from None


def load_profile(path: Path) -> Profile:
    """Read a profile. Raises UsageError, also for run times that are not above 0."""
    found = load(path, Profile, "profile, as `whesl cloud measure` writes it")
    wrong = [
        f"{one.stage} on {one.platform}: {one.seconds:g} s"
        for one in found.measurements
        if not 0 < one.seconds < float("inf") or not 0 <= one.deviation < float("inf")
    ]
    if wrong:
        raise UsageError(f"{path}: run times: {', '.join(wrong)}", hint="seconds above 0 are accepted")
    return found


def _concerns(found: Profile, flow: Workflow, path: Path) -> None:
    """Refuse a profile that has no stage of a workflow."""
    measured, stages = {one.stage for one in found.measurements}, [one.name for one in flow.stages]
    if measured.isdisjoint(stages):
        raise UsageError(
            f"{path}: the profile of {found.workflow} has no stage of {flow.name}: "
            f"{', '.join(sorted(measured)) or 'nothing was measured'}",
            hint=f"accepted are measurements of {', '.join(stages)}",
        )


def load_forecast(path: Path) -> FreeForecast:
    """Read a forecast. Raises UsageError, also for quantiles that do not rise."""
    found = load(path, FreeForecast, "forecast, as `whesl cloud forecast --json` writes it")
    levels = found.levels
    rising = list(levels) == sorted(set(levels)) and all(0 < level < 1 for level in levels)
    if not levels or not rising or not found.nodes or found.capacity < 0:
        raise UsageError(f"{path}: levels {levels}, {len(found.nodes)} hours", hint="quantiles have to rise")
    for hour, row in enumerate(found.nodes, start=1):
        if (
            len(row) != len(levels)
            or list(row) != sorted(row)
            or not 0 <= row[0] <= row[-1] <= plan_menu.MOST
        ):
            raise UsageError(
                f"{path}: hour {hour}: {row}",
                hint=f"{len(levels)} rising numbers from 0 to {plan_menu.MOST} are accepted",
            )
    return found


def foreseen(forecast: Path | None, free: str | None, now: float) -> FreeForecast | None:
    """Return the forecast of free nodes from a file or a text; None where neither is given.

    Args:
        forecast: a file of ``whesl cloud forecast``.
        free: one number, or the quantiles 10, 50 and 90 %.
        now: seconds since the epoch.

    Raises:
        UsageError: both are given, or one of them is malformed.
    """
    if forecast is not None and free is not None:
        raise UsageError("--free and --forecast both say which nodes are free", hint="give one of them")
    if forecast is not None:
        return load_forecast(forecast)
    if free is None:
        return None
    try:
        nodes = [float(part) for part in free.split(",")]
    except ValueError:
        raise UsageError(
            f"--free {free}: no numbers", hint="accepted are 40 or 20,40,60: the quantiles 10, 50 and 90 %"
        ) from None
    return plan_menu.constant(nodes, now)


def on_spot(given: Case, *, gpu: bool = False) -> Case:
    """Return a case with spot instances on each platform that has a spot price.

    Args:
        given: the case with on-demand prices.
        gpu: whether the cluster's nodes have GPUs.

    Raises:
        UsageError: no platform has a spot price.
    """
    listed = given.prices
    if all(one.spot is None for one in listed.platforms):
        raise UsageError(
            f"the prices of {listed.dated} have no spot price",
            hint="spot = 0.25 in a [[platform]] of the file that --prices names is one",
        )
    platforms = tuple(
        one if one.spot is None else msgspec.structs.replace(one, price=one.spot, on_spot=True)
        for one in listed.platforms
    )
    shares = sorted({one.revoked for one in platforms if one.on_spot})
    said = " to ".join(f"{100 * share:g} %" for share in (shares[:1] + shares[1:][-1:]))
    cluster = cluster_nodes(gpu=gpu) if any(one.hpc is not None for one in given.paces) else None
    spot = msgspec.structs.replace(listed, platforms=platforms)
    return msgspec.structs.replace(
        given,
        prices=spot,
        paces=paces(given.workflow, given.profile, spot, cluster),
        notes=(
            *given.notes,
            f"assumed: {said} of the spot instances are taken away in an hour, each for itself;"
            " spot prices stay as they are",
        ),
    )


def limited(given: Case, most: Mapping[str, int], *, gpu: bool = False) -> Case:
    """Return a case in which no platform exceeds the account's limit of instances.

    Args:
        given: the case.
        most: limits of instances by platform; other platforms keep their limits.
        gpu: whether the cluster's nodes have GPUs.

    Raises:
        UsageError: a stage is left without a platform.
    """
    platforms = tuple(
        msgspec.structs.replace(one, limit=min(one.limit, most.get(one.name, one.limit)))
        for one in given.prices.platforms
    )
    listed = msgspec.structs.replace(given.prices, platforms=platforms)
    cluster = cluster_nodes(gpu=gpu) if any(one.hpc is not None for one in given.paces) else None
    said = ", ".join(f"{count} of {name}" for name, count in sorted(most.items()))
    return msgspec.structs.replace(
        given,
        prices=listed,
        paces=paces(given.workflow, given.profile, listed, cluster),
        notes=(*given.notes, f"the account's quotas have room for {said}"),
    )


def case(
    workflow: Path,
    now: float,
    *,
    prices: Path | None = None,
    measured: Path | None = None,
    forecast: FreeForecast | None = None,
    gpu: bool = False,
) -> Case:
    """Return the inputs of a menu of plans.

    Args:
        workflow: the file of the workflow.
        now: seconds since the epoch; plans start then.
        prices: a file of prices; None for WHESL's own file.
        measured: a file with a profile; None without measurements.
        forecast: the forecast of free nodes; None for the cloud alone.
        gpu: whether the cluster's nodes have GPUs.

    Raises:
        UsageError: files cannot be read or are wrong (all of them are named), or no platform can run a stage.
    """
    refusals = Refusals()
    flow = refusals.of(lambda: read(workflow))
    listed = refusals.of(lambda: price_files.load(prices))
    found_profile = refusals.of(lambda: load_profile(measured)) if measured else None
    if flow is not None and found_profile is not None and measured is not None:
        refusals.of(partial(_concerns, found_profile, flow, measured))
    refusals.check()
    assert flow is not None and listed is not None
    known = found_profile or Profile(workflow=flow.name)
    flow = profile_estimation.sized(flow, known)
    cluster = cluster_nodes(gpu=gpu) if forecast is not None else None
    whole = profile_estimation.complete(flow, known, (*listed.platforms, *((cluster,) if cluster else ())))
    found = paces(flow, whole, listed, cluster)
    notes = [f"prices of {listed.dated}: {listed.source}" if listed.source else f"prices of {listed.dated}"]
    notes += [f"assumed: {text}" for text in listed.assumptions]
    notes += profile_estimation.estimates(whole)
    if forecast is None:
        forecast = plan_menu.constant([0.0], now)
        notes.append("no node of the cluster is counted on")
    else:
        notes.append(f"free nodes: {forecast.source or 'a forecast'}")
        if abs(now - forecast.start) > 2 * HOUR:
            notes.append(f"the forecast begins {abs(now - forecast.start) / HOUR:.1f} h from now")
        forecast = uncertainty.from_hour(forecast, now)
    return plan_menu.Case(
        workflow=flow,
        profile=whole,
        prices=listed,
        forecast=forecast,
        paces=found,
        start=now,
        notes=tuple(notes),
    )
