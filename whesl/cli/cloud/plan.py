"""``whesl cloud plan`` and ``whesl cloud prices``: the menu of plans, and the prices it uses."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whesl.cli.options import FILE, OUT, SEED
from whesl.cli.parameters import argument, option, parameters
from whesl.files.whole_file import write_text
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whesl.cloud.core.plan_menu import Case, Offer


@click.command()
@parameters
def plan(
    *,
    workflow: Path = argument(type=FILE),
    deadlines: str = option("6h,12h,24h", "6h, 90m, 2d, or local times [6h,12h,24h].", "T,..."),
    probability: float = option(
        0.9, "Of meeting a deadline, at the least [0.9].", "P", least=0.01, most=0.99
    ),
    budget: float | None = option(None, "Say which plans cost more.", "PRICE", least=0),
    profile: Path | None = option(
        None, "Run times, as `whesl cloud measure` writes them.", "JSON", type=FILE
    ),
    prices: Path | None = option(None, "Prices; `whesl cloud prices` prints an example.", "TOML", type=FILE),
    forecast: Path | None = option(
        None, "Free nodes, as `whesl cloud forecast` writes them.", "JSON", type=FILE
    ),
    free: str | None = option(None, "Free nodes instead: one number, or quantiles 10, 50, 90 %.", "N[,N,N]"),
    gpu_nodes: bool = option(False, "The cluster's nodes have GPUs."),
    seed: int = SEED,
    courses: int = option(200, "Courses simulated for each plan [200].", "N", least=20, most=20000),
    out: Path | None = OUT,
    in_json: bool = option(False, "Print the menu as JSON.", names="--json"),
) -> None:
    """Offer plans for a workflow: deadline, cost, probability, hours on the cluster and in the cloud.

    WORKFLOW is a Maestro study (.yaml), a WfCommons execution (.json) or a table of stages (.toml, .csv).
    Nothing is started and nothing is paid for. With --out DIR: DIR/menu.html and DIR/menu.json.
    """
    import msgspec

    from whesl.cloud import plan_inputs as planning
    from whesl.cloud.core import plan_menu
    from whesl.cloud.core.stage_speed import whole
    from whesl.cloud.input_errors import Refusals

    now = time.time()
    refusals = Refusals()
    moments = refusals.of(lambda: planning.moments(deadlines, now))
    foreseen = refusals.of(lambda: planning.foreseen(forecast, free, now))
    if foreseen is None and (forecast or free):
        foreseen = plan_menu.constant([0.0], now)  # the forecast was refused, but there is a cluster
    case = refusals.of(
        lambda: planning.case(
            workflow, now, prices=prices, measured=profile, forecast=foreseen, gpu=gpu_nodes
        )
    )
    refusals.check()
    assert moments is not None and case is not None
    case = msgspec.structs.replace(case, paces=whole(case.paces))
    offers = list(plan_menu.menu(case, moments, probability, courses=courses, seed=seed))
    if any(one.spot is not None for one in case.prices.platforms):
        spot = planning.on_spot(case, gpu=gpu_nodes)
        spot = msgspec.structs.replace(spot, paces=whole(spot.paces))
        more = plan_menu.menu(spot, moments, probability, courses=courses, seed=seed)
        offers = [offer for pair in zip(offers, more, strict=True) for offer in pair]
        case = msgspec.structs.replace(case, notes=spot.notes)
    values = _values(case, offers, probability)
    if out is not None:
        _write(out, case, offers, probability, values)
    if in_json:
        click.echo(values)
        return
    _show(case, offers, budget)


@click.command()
@parameters
def prices(
    *,
    spot: bool = option(False, "With today's spot prices, which the site's cloud is asked for."),
    limits: bool = option(False, "With the instances that the account's quotas have room for."),
    given: Path | None = option(None, "Prices to go on from.", "TOML", "--prices", type=FILE),
    site_file: Path | None = option(None, "The cloud [WHESL_HOME/cloud.toml].", "TOML", "--site", type=FILE),
) -> None:
    """Print the prices that are used without --prices, as a file to copy and edit.

    --spot asks the cloud (EC2) for the spot prices of its platforms, and puts them in; --limits for the
    account's quotas of vCPUs, divided by those of each type.
    """
    from whesl.cloud import prices as files
    from whesl.cloud.input_errors import read_text

    asks = spot or limits
    if site_file is not None and not asks:
        raise UsageError(
            "--site says which cloud --spot and --limits ask", hint="add one of them, or leave --site out"
        )
    text = files.default_text() if given is None else read_text(given)
    if asks:
        text = _asked(text, str(given or "prices.toml"), site_file, spot=spot, limits=limits)
    click.echo(text, nl=False)


def _asked(text: str, name: str, site_file: Path | None, *, spot: bool, limits: bool) -> str:
    import tempfile

    from whesl.cloud import prices as files
    from whesl.cloud.providers.port import Market, TellsLimits
    from whesl.cloud.runner import site_file as sites

    listed = files.parse(text, name).platforms
    cloud = sites.load(site_file).cloud
    kinds = [one.name for one in listed]
    with tempfile.TemporaryDirectory() as nowhere:
        provider = sites.provider_of(cloud, Path(nowhere), listed)
        try:
            offers = provider.prices(kinds) if spot else []
            market = Market.SPOT if cloud.spot else Market.ON_DEMAND
            told = isinstance(provider, TellsLimits)
            most = provider.most(kinds, market) if limits and isinstance(provider, TellsLimits) else {}
        finally:
            provider.close()
    today = time.strftime("%Y-%m-%d")
    if limits and not told:
        raise UsageError(f"the cloud ({cloud.provider}) tells no limits", hint="ec2 does")
    if limits:
        text = files.with_numbers(text, "limit", most, today)
    if not spot:
        return text
    found = {one.kind: one.hourly for one in offers if one.market is Market.SPOT}
    if not found:
        raise WheslError(
            f"the cloud ({cloud.provider}) tells no spot price of {', '.join(kinds)}",
            hint="spot = 0.25 in a [[platform]] of the prices is one",
        )
    return files.with_numbers(text, "spot", found, today)


def _values(case: Case, offers: Sequence[Offer], probability: float) -> str:
    import msgspec

    plain: dict[str, Any] = {
        "workflow": case.workflow.name,
        "tasks": sum(stage.tasks for stage in case.workflow.stages),
        "start": case.start,
        "currency": case.prices.currency,
        "prices": case.prices.dated,
        "probability": probability,
        "notes": case.notes,
        "offers": msgspec.to_builtins(list(offers)),
    }
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode()


def _write(out: Path, case: Case, offers: Sequence[Offer], probability: float, values: str) -> None:
    from whesl.cloud.page import html

    write_text(out / "menu.html", html(case, offers, probability))
    write_text(out / "menu.json", values + "\n")


def _show(case: Case, offers: Sequence[Offer], budget: float | None) -> None:
    from whesl.cloud.page import COLUMNS, cells

    rows = [cells(case, offer) for offer in offers]
    columns = list(COLUMNS)
    if budget is not None:
        columns.append("within budget")
        rows = [
            (*row, "yes" if offer.plan.expected_cost <= budget else "no")
            for row, offer in zip(rows, offers, strict=True)
        ]
    wide = [max(len(row[at]) for row in (columns, *rows)) for at in range(len(columns))]
    for row in (columns, *rows):
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, wide, strict=True)).rstrip())
    for note in case.notes:
        click.echo(f"note: {note}", err=True)
