"""``whesl cloud measure``: run a part of a workflow on each platform, and write a profile."""

from __future__ import annotations

import re
import time
from pathlib import Path

import click

from whesl.cli import completion_candidates
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
from whesl.files.whole_file import write_bytes
from whesl.model.errors import UsageError

_EPILOG = (
    "Exit status: 0 something was measured, 1 nothing, 2 usage. The same command takes a killed run up again."
)


@click.command(epilog=_EPILOG)
@parameters
def measure(
    *,
    workflow: Path = argument(type=FILE),
    sample: str = option("5%", "A share of the tasks, or a time: 5%, 1h [5%].", "N%|T"),
    platforms: str | None = option(
        None,
        "Instance types; default: all of the prices.",
        "NAME,...",
        shell_complete=completion_candidates.platforms,
    ),
    prices: Path | None = option(None, "Prices; default: `whesl cloud prices`.", "TOML", type=FILE),
    budget: float | None = option(None, "What the cloud may cost.", "PRICE", least=0),
    confirmed: bool = option(False, "Pay for the cloud without a budget, and do not ask.", names="--yes"),
    out: Path | None = option(None, "The profile; default: DIR/profile.json.", "JSON", "-o --out", type=FILE),
    at: Place,
) -> int:
    """Run a part of WORKFLOW's tasks on each platform; write times, sizes and costs per stage.

    5% of the tasks, for an hour at most. What was not measured is estimated when a plan is made, and
    marked. Instances cost money: before any is started, --budget, --yes or a yes at the terminal is needed,
    and the profile says how much it was.
    """
    import msgspec

    from whesl.cloud import prices as price_files
    from whesl.cloud.core.profile_estimation import complete, estimates
    from whesl.cloud.core.stage_speed import cluster_nodes
    from whesl.cloud.input_errors import Refusals
    from whesl.cloud.runner import measurement_sample
    from whesl.cloud.runner import run_lifecycle as runs
    from whesl.cloud.runner import site_file as sites
    from whesl.cloud.runner.events_and_commands import Limits
    from whesl.cloud.workflow.format_detection import read

    place = chosen_directory(at.directory, workflow, "measure")
    refusals = Refusals()
    asked = refusals.of(lambda: _sample(sample))
    site = refusals.of(lambda: sites.load(at.site_file, scheduler=at.scheduler, provider=at.provider))
    flow = refusals.of(lambda: read(workflow))
    priced = refusals.of(lambda: price_files.load(prices))
    if site is not None:
        refusals.of(lambda: checked_data(site, at.data))
    if out is not None:
        refusals.of(lambda: _writable(out))
    refusals.check()
    assert asked is not None and site is not None and flow is not None and priced is not None
    share, seconds = asked
    listed = priced.platforms if site.cloud.provider else ()
    if platforms is not None:
        wanted = platforms.split(",")
        unknown = set(wanted) - {one.name for one in listed}
        if unknown:
            known = ", ".join(one.name for one in listed) or "none"
            raise UsageError(f"no such platform: {', '.join(sorted(unknown))}", hint=f"known: {known}")
        listed = tuple(one for one in listed if one.name in wanted)
    kinds = (*((cluster_nodes(gpu=at.gpu_nodes),) if site.cluster.scheduler else ()), *listed)
    if not runs.started(place):
        now = time.time()
        part = measurement_sample.part(flow, kinds, share, now, seconds)
        limits = Limits(
            retries=site.retries,
            platforms=listed,
            currency=priced.currency,
            spot=site.cloud.spot,
            strict=True,
            stop=now + seconds,
            budget=budget,
        )
        if budget is None and not confirmed and site.cloud.provider in PAID and listed:
            most = sum(one.price for one in listed) * seconds / 3600
            may_pay(
                f"an instance of each of {len(listed)} platforms, for {seconds / 3600:.2g} h at most,"
                f" costs up to {most:.2f} {priced.currency}, and there is no budget"
            )
        with runs.nothing_left(place):
            runs.begin(place, part.workflow, part.initial, limits, site)
            link_data(place, site, at.data)
            click.echo(
                f"{len(part.workflow.tasks)} of {len(flow.tasks)} tasks on {len(kinds)} platforms", err=True
            )
            status = carry(place, in_json=at.in_json)
    else:
        compare(place, lambda: measurement_sample.of_same_tasks(flow, runs.setup_of(place).workflow))
        status = carry(place, in_json=at.in_json)
    state = runs.state_of(place)
    found = measurement_sample.profile(state, time.time())
    target = out or place / "profile.json"
    write_bytes(target, msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    for line in estimates(complete(flow, found, kinds)):
        click.echo(f"note: {line}", err=True)
    click.echo(
        f"{target}: {len(found.measurements)} entries, {found.sampled} tasks,"
        f" cost {found.cost:.2f} {runs.setup_of(place).limits.currency}",
        err=True,
    )
    return 0 if found.measurements else status


def _writable(path: Path) -> None:
    """Refuse a file that cannot be written, before any cost arises."""
    there = path.exists()
    try:
        path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise UsageError(
            f"cannot write {path}: {error.strerror}", hint="--out names a file in a directory that is there"
        ) from None


def _sample(text: str) -> tuple[float, float]:
    """Return the greatest share of the tasks, and the greatest time in seconds, of a sample."""
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text.strip()):
        share = float(match[1]) / 100
        if 0 < share <= 1:
            return share, 3600.0
    elif match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip()):
        seconds = float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]
        if 0 < seconds <= 31 * 86400:
            return 1.0, seconds
    raise UsageError(
        f"--sample {text}: no share and no time", hint="accepted are 5% or 1h, 30m, 90s, up to 744h"
    )
