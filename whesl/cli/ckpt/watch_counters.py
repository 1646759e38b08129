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

# Prediction for a risen counter: seconds until the node fails, and the probability. Chosen, not measured.
SAYS = {
    "memory uncorrected": (120.0, 0.5),
    "memory corrected": (3600.0, 0.05),
    "file system errors": (300.0, 0.3),
    "disk errors": (600.0, 0.2),
    "disk failing": (3600.0, 0.5),
    "disk offline": (60.0, 0.5),
    "array degraded": (3600.0, 0.2),
    "temperature critical": (120.0, 0.3),
    "link down": (60.0, 0.3),
    "link errors": (600.0, 0.1),
}


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
    from whesl.model.evidence import PredictedFailure
    from whesl.placement.site import node_counters

    says = SAYS | dict(_rule(text) for text in rules)
    here = node or name_of_node()
    before: tuple[Reading, ...] = ()
    while True:
        now = node_counters.read(here, time.time(), root)
        if not before:
            click.echo(_first(now, says), err=True)
        for change in node_counters.changes((*before, now)):
            lead, confidence = says.get(change.kind, (0.0, 0.0))
            if change.time != now.time or lead <= 0 or confidence <= 0:
                continue
            prediction = PredictedFailure(
                node=here,
                time=now.time,
                lead=lead,
                confidence=confidence,
                evidence=f"{change.kind} {change.detail}",
                source="health",
            )
            try:
                told = tell_prediction(prediction)
                click.echo(f"{prediction}: told {', '.join(told.tasks) or 'the coordinator of checkpoints'}")
            except (RefusedError, TransientError) as error:
                click.echo(f"{prediction}: {error}", err=True)
        if before and once:
            return
        before = (now,)
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
