"""The variables that identify a job's cluster, and the environment in which commands query that cluster.

Standard library only: ``whesl exec`` records the cluster before the program runs.
"""

from __future__ import annotations

import os

from whesl.files import file_retry
from whesl.managers.resource.manager_table import BUILT_IN, manager

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

# Variables that identify the cluster that jobs are submitted to; PATH finds the cluster's commands.
VARIABLES = ("PATH", *(name for manager in BUILT_IN.values() for name in manager.cluster))
_FILES = {name: before for manager in BUILT_IN.values() for name, before in manager.files.items()}


def described(rjms: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that identify the cluster on which a job runs.

    Args:
        rjms: the resource manager's name.
        environ: the job's environment.
    """
    known = manager(rjms)
    return {name: environ[name] for name in known.cluster + known.job_cluster if environ.get(name)}


def outside(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without an embedded cluster, which ``whesl local env`` puts first in PATH.

    Args:
        environ: the environment of a process that may see an embedded cluster.
    """
    cluster = environ.get("WHESL_LOCAL")
    found = {name: value for name, value in environ.items() if name != "WHESL_LOCAL"}
    if cluster and "PATH" in found:
        commands = os.path.join(cluster, "bin")  # noqa: PTH118
        found["PATH"] = os.pathsep.join(
            place for place in found["PATH"].split(os.pathsep) if os.path.normpath(place) != commands
        )
    return found


def asking(environ: Mapping[str, str], cluster: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which commands query a given cluster.

    A cluster variable is left out where it names a file that this host does not have (a node's copy of
    slurm.conf, a broker's socket): the caller's own value counts then.

    Args:
        environ: the caller's environment.
        cluster: the cluster's variables, from the environment of a job or workflow.
    """
    known = {}
    for name, value in cluster.items():
        before = _FILES.get(name)
        if before is not None and value.startswith(before) and file_retry.gone(value[len(before) :]):
            continue
        known[name] = value
    return {**outside(environ), **known}
