"""``whesl cloud run``: carry a workflow out on a cluster and a cloud, and continue a killed run."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whesl.cli.cloud.run_options_and_progress import (
    PAID,
    Place,
    carry,
    checked_data,
    chosen_directory,
    compare,
    link_data,
    may_pay,
)
from whesl.cli.options import FILE
from whesl.cli.parameters import argument, option, parameters
from whesl.model.errors import UsageError, WheslError

if TYPE_CHECKING:
    from whesl.cloud.core.plan_menu import Case
    from whesl.cloud.runner.site_file import Site

_EPILOG = "Exit status: 0 all tasks done, 1 not all, 2 usage. The same command takes a killed run up again."


@click.command(epilog=_EPILOG)
@parameters
def run(
    *,
    workflow: Path = argument(type=FILE),
    deadline: str | None = option(None, "12h, 90m, 2d, or a local time; needed for a new run.", "T"),
    budget: float | None = option(None, "What the cloud may cost.", "PRICE", least=0),
    probability: float = option(0.9, "Of meeting the deadline [0.9].", "P", least=0.01, most=0.99),
    profile: Path | None = option(None, "Run times, as `whesl cloud measure` writes.", "JSON", type=FILE),
    prices: Path | None = option(None, "Prices; default: `whesl cloud prices`.", "TOML", type=FILE),
    forecast: Path | None = option(None, "Free nodes, as `whesl cloud forecast` writes.", "JSON", type=FILE),
    free: str | None = option(None, "Free nodes instead; default: those idle now.", "N[,N,N]"),
    rules: tuple[Path, ...] = option((), "Rules (ESL) for each task.", "FILE", "-e --rules", type=FILE),
    hour: float = option(
        3600.0, "Seconds of the schedule's hours, for trying out [3600].", "S", least=5.0, most=3600.0
    ),
    confirmed: bool = option(False, "Pay for the cloud without a budget, and do not ask.", names="--yes"),
    cloud_instead: bool = option(False, "Pay the cloud for what the cluster refuses, too."),
    at: Place,
) -> int:
    """Run WORKFLOW on a cluster and a cloud, so that it is done by a deadline.

    WORKFLOW is a Maestro study (.yaml), a WfCommons execution (.json) or a table of stages (.toml, .csv).

    Asks the scheduler for single nodes, for an hour or as long as a task needs, and the cloud for the rest.
    A run that was killed is taken up again by the same command; `whesl cloud status DIR` shows it.
    """
    from whesl.cloud import plan_inputs as planning
    from whesl.cloud.core import plan_menu
    from whesl.cloud.input_errors import Refusals
    from whesl.cloud.page import percent
    from whesl.cloud.runner import run_lifecycle as runs
    from whesl.cloud.runner import site_file as sites
    from whesl.cloud.runner.events_and_commands import Limits
    from whesl.cloud.runner.plan_choice import choose, on_cluster_alone
    from whesl.cloud.workflow.format_detection import read
    from whesl.language.rules_file import load_rules
    from whesl.model import home as places
    from whesl.runtime.wire import keys

    place = chosen_directory(at.directory, workflow, "cloud")
    if not runs.started(place):
        if deadline is None:
            raise UsageError("a new run needs a deadline", hint="--deadline 12h")
        now, until_text = time.time(), deadline
        refusals = Refusals()
        until = refusals.of(lambda: planning.moment(until_text, now))
        site = refusals.of(lambda: sites.load(at.site_file, scheduler=at.scheduler, provider=at.provider))
        foreseen = refusals.of(lambda: planning.foreseen(forecast, free, now))
        asked = forecast is not None or free is not None
        if site is not None:
            refusals.of(lambda: checked_data(site, at.data))
            refusals.of(lambda: _checked_free(site, asked=asked))
            if not asked and site.cluster.scheduler:
                foreseen = refusals.of(lambda: plan_menu.constant([idle(site)], now))
        for path in (*rules, *map(Path, site.rules if site else ())):
            refusals.of(partial(load_rules, (str(path),), places.rules_cache(keys.home()), any_job=True))
        # If the number of free nodes was refused, stages that need a cluster are still checked with one.
        cluster = asked or site is None or bool(site.cluster.scheduler)
        known = foreseen or (plan_menu.constant([0.0], now) if cluster else None)
        case = refusals.of(
            lambda: planning.case(
                workflow, now, prices=prices, measured=profile, forecast=known, gpu=at.gpu_nodes
            )
        )
        refusals.check()
        assert until is not None and site is not None and case is not None
        if site.cloud.spot and site.cloud.provider:
            case = planning.on_spot(case, gpu=at.gpu_nodes)
        if most := _limits_of(site, case):
            case = planning.limited(case, most, gpu=at.gpu_nodes)
        chosen = choose(
            case,
            until,
            probability=probability,
            budget=budget,
            hour=hour,
            longest=site.cluster.longest_request,
        )
        limits = Limits(
            retries=site.retries,
            budget=budget,
            platforms=chosen.platforms if site.cloud.provider else (),
            currency=case.prices.currency,
            spot=site.cloud.spot,
            again=site.again,
            cloud_instead=cloud_instead,
            rules=tuple(str(path.resolve()) for path in (*rules, *map(Path, site.rules))),
        )
        initial = chosen.initial if site.cloud.provider else on_cluster_alone(chosen.initial)
        plan = chosen.plan
        said = (
            f"the plan costs {plan.expected_cost:.2f} {case.prices.currency}"
            + (f", probability {percent(plan.probability)}" if plan.probability is not None else "")
            if site.cloud.provider
            else "on the cluster alone: what the plan leaves to a cloud has no probability"
        )
        if budget is None and not confirmed and site.cloud.provider in PAID:
            may_pay(f"{said}, and there is no budget")
        with runs.nothing_left(place):
            runs.begin(place, case.workflow, initial, limits, site)
            link_data(place, site, at.data)
            click.echo(f"{case.workflow.name}: {len(case.workflow.tasks)} tasks; {said}", err=True)
            return carry(place, in_json=at.in_json)
    compare(place, lambda: read(workflow))
    if budget is not None and budget != (begun := runs.setup_of(place).limits).budget:
        click.echo(
            f"note: the run in {place} goes on with the budget that it was begun with:"
            f" {'none' if begun.budget is None else f'{begun.budget:.2f} {begun.currency}'}",
            err=True,
        )
    return carry(place, in_json=at.in_json)


def _limits_of(site: Site, case: Case) -> dict[str, int]:
    """Return the account's limit of instances for each platform, empty where it is unknown."""
    import tempfile

    from whesl.cloud.providers.port import Market, TellsLimits
    from whesl.cloud.runner import site_file as sites

    if site.cloud.provider in ("", "slurm"):
        return {}
    with tempfile.TemporaryDirectory() as nowhere:
        try:
            provider = sites.provider_of(site.cloud, Path(nowhere), case.prices.platforms)
            if not isinstance(provider, TellsLimits):
                provider.close()
                return {}
            market = Market.SPOT if site.cloud.spot else Market.ON_DEMAND
            found = provider.most([one.name for one in case.prices.platforms], market)
            provider.close()
        except WheslError as error:
            click.echo(f"note: {error.message}; the limits of the prices count", err=True)
            return {}
    return found


def _checked_free(site: Site, *, asked: bool) -> None:
    if asked and not site.cluster.scheduler:
        raise UsageError(
            "--free or --forecast: there is no cluster that could have free nodes",
            hint="--scheduler NAME, or leave them out",
        )


def idle(site: Site) -> float:
    """Return the number of free nodes of the cluster's partition now, according to its scheduler.

    Raises RefusedError for an unknown partition, UsageError where the scheduler does not count free nodes.
    """
    from whesl.managers import resource
    from whesl.managers.resource.port import CountsFree

    options = {"directory": site.cluster.directory} if site.cluster.directory else {}
    scheduler = resource.scheduler(site.cluster.scheduler, **options)
    if not isinstance(scheduler, CountsFree):
        raise UsageError(
            f"{site.cluster.scheduler} does not tell which of its nodes are free",
            hint="--free N, or --forecast JSON",
        )
    return float(scheduler.free_nodes(site.cluster.partition))
