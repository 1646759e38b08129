"""``whesl ckpt watch``: a node's own counters as predictions of its failure."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whesl.cli.parameters import option, parameters
from whesl.model.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whesl.placement.site.node_counters import Reading


@click.command()
@parameters
def watch(
    *,
    node: str | None = option(None, "This node's name; default: SLURMD_NODENAME, else the host's.", "NODE"),
    every: float = option(10.0, "Between two looks [10].", "SECONDS", least=0.1),
    rules: tuple[str, ...] = option((), "Other LEAD and P for a kind of counter.", "KIND=LEAD,P", "--rule"),
    once: bool = option(False, "End after the second look."),
    root: Path = option(Path("/"), "", hidden=True),
) -> None:
    """Read this node's counters again and again, and predict its failure when one goes up.

    Memory (EDAC), file systems, disks, links, critical temperatures (hwmon), and SMART where smartctl may
    read it: what is not there is left out. A state that is there at the start (a disk that fails, a degraded
    array, a critical temperature) is predicted at once; a counter is not, since it may be from years ago.
    LEAD is seconds until the failure, P how sure that is; --rule "link down=60,0" leaves one out.
    """
    from whesl.checkpoints.rendezvous import name_of_node
    from whesl.cli.ckpt.control import tell_prediction
    from whesl.model.errors import RefusedError, TransientError
    from whesl.placement.site import counter_predictions, node_counters

    says = counter_predictions.SAYS | dict(_rule(text) for text in rules)
    here = node or name_of_node()
    before: Reading | None = None
    while True:
        now = node_counters.read(here, time.time(), root)
        if before is None:
            click.echo(_first(now, says), err=True)
        for prediction in counter_predictions.predicted(before, now, says):
            try:
                told = tell_prediction(prediction)
                click.echo(f"{prediction}: told {', '.join(told.tasks) or 'the coordinator of checkpoints'}")
            except (RefusedError, TransientError) as error:
                click.echo(f"{prediction}: {error}", err=True)
        if before is not None and once:
            return
        before = now
        time.sleep(every)


def _first(reading: Reading, says: Mapping[str, tuple[float, float]]) -> str:
    """Return a sentence on the first reading of the counters."""
    from whesl.placement.site.node_counters import STATES

    if not reading.counters:
        return f"{reading.node}: no counter can be read here, so nothing will be predicted"
    kinds = {name: name.rpartition(" ")[0] for name in reading.counters}
    old = [
        f"{name} {value}"
        for name, value in sorted(reading.counters.items())
        if value and kinds[name] in says and kinds[name] not in STATES
    ]
    told = f"; from before, and not predicted: {', '.join(old)}" if old else ""
    return f"{reading.node}: {len(reading.counters)} counters{told}"


def _rule(text: str) -> tuple[str, tuple[float, float]]:
    from whesl.placement.site.counter_predictions import SAYS

    kind, _, values = text.partition("=")
    try:
        lead, confidence = (float(value) for value in values.split(","))
    except ValueError:
        lead = confidence = -1.0
    if kind not in SAYS or not (lead >= 0 and 0 <= confidence <= 1):
        raise UsageError(
            f"--rule {text!r} is none",
            hint=f'for example "link down=60,0.3"; kinds are {", ".join(SAYS)}',
        )
    return kind, (lead, confidence)
