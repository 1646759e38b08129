"""What the bridge's far end reads from Flux's records, under Flux's own Python. See ``bridge_program``."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

from flux.hostlist import Hostlist  # type: ignore[import-not-found]
from flux.idset import IDset  # type: ignore[import-not-found]


def as_shipped() -> bool:
    """Whether only Flux's own plug-ins can change the jobs that ``flux run`` submits; False when unknown."""
    try:
        import flux.cli.plugins as own  # type: ignore[import-not-found]
        from flux.cli.plugin import CLIPluginRegistry  # type: ignore[import-not-found]

        with contextlib.redirect_stdout(sys.stderr):  # standard output carries the messages
            found = CLIPluginRegistry("run").plugins
        return all(str(Path(plugin.path).parent) in list(own.__path__) for plugin in found)
    except (Exception, SystemExit):
        return False


def hosts_of(resources: Any) -> dict[str, str]:
    """Return the host names by rank in a resource set R (RFC 20)."""
    if not resources:
        return {}
    execution = resources["execution"]
    names = list(Hostlist(execution["nodelist"]))
    ranks = sorted(int(rank) for entry in execution["R_lite"] for rank in IDset(entry["rank"]))
    return {str(rank): str(name) for rank, name in zip(ranks, names)}  # noqa: B905 - an old Python may run this


def ranks_of(idset: Any) -> list[int]:
    """Return the ranks of an idset."""
    return [int(rank) for rank in IDset(str(idset))] if idset not in (None, "") else []
