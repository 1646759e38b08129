"""A job's allocation, read from the environment alone. Standard library only, for ``whesl exec``.

Covers Slurm jobs and hosts without a resource manager. Allocations of other resource managers need queries
(``whesl.managers.resource.current_allocation``).
"""

from __future__ import annotations

import os
from types import SimpleNamespace

from whesl.managers import resource as rjms
from whesl.managers.resource.manager_table import BUILT_IN, HOST

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Given(SimpleNamespace):
    """An allocation with the fields of ``whesl.managers.resource.port.AllocationInfo``."""

    rjms: str
    job_id: str
    nodes: tuple[str, ...]
    batch_host: str
    restart_count: int
    components: tuple[tuple[str, ...], ...] = ()


def given(environ: Mapping[str, str]) -> Given | None:
    """Return the allocation; None where only a query to the resource manager tells it.

    Args:
        environ: the process's environment.

    Raises CouldNotObserveError for a damaged environment.
    """
    if environ.get("FLUX_URI") or rjms.offered():
        return None
    if not environ.get("SLURM_JOB_ID") and any(
        all(map(environ.get, one.inside)) for one in BUILT_IN.values() if not one.early
    ):
        return None
    if not environ.get("SLURM_JOB_ID"):
        node = os.uname().nodename
        return Given(rjms=HOST, job_id="", nodes=(node,), batch_host=node, restart_count=0)
    job = environ["SLURM_JOB_ID"]
    if environ.get("WHESL_LOCAL") or not job.isdigit():
        return None
    from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import (
        components,
        job_of,
        nodes_of,
        own_node,
    )

    nodes = nodes_of(environ)
    again = environ.get("SLURM_RESTART_COUNT", "")
    return Given(
        rjms="slurm",
        job_id=job_of(environ),
        nodes=nodes,
        batch_host=own_node(environ, nodes, os.uname().nodename),
        restart_count=int(again) if again.isascii() and again.isdigit() else 0,
        components=components(environ),
    )


def launch_environment(active: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make a job's launchers see ``active`` as the whole allocation.

    Args:
        active: the nodes in use.
        environ: the environment of a job for which ``given`` returns an allocation.
    """
    from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import for_nodes

    return for_nodes(active, environ)
