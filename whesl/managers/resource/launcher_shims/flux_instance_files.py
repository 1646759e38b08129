"""Reads the files by which launchers find the Flux instance inside the job. Standard library only.

``WHESL_FLUX_INSTANCE`` names the files' directory. The instance's initial program writes ``R`` (RFC 20: nodes
and their cores), ``mpi`` (Slurm's MpiDefault), ``pmix`` (where the job shell can offer PMIx) and, last and
atomically, ``uri``. The isolator writes ``failed`` when the instance does not start, or has ended.
"""

# os.path instead of pathlib: importing pathlib takes as long as the rest of a launcher's start.
# ruff: noqa: PTH110, PTH112, PTH118, PTH123
from __future__ import annotations

import os

from whesl.managers.resource.launcher_shims.srun_to_flux import Facts
from whesl.model.hostlist import expand, idset

DIRECTORY = "WHESL_FLUX_INSTANCE"
# Seconds of run time from the step's start to a usable instance. One of 4 brokers takes about a second, and
# over 15 s on a machine with far more work than processors. The limit is for a hang: an instance whose leader
# ends is given up at once.
START_LIMIT = 180.0
# Seconds of run time that a launcher waits for the instance; the isolator writes ``failed`` earlier.
_LIMIT = START_LIMIT + 5.0
_LOOK_EVERY = 0.02


def uri(directory: str) -> str:
    """Return the instance's URI, after waiting for the instance's start; empty without an instance."""
    import time

    from whesl.model.event_loop_stall import RunTime

    ran = RunTime(time.monotonic())
    while True:
        if os.path.exists(os.path.join(directory, "failed")):
            return ""
        text = read(directory, "uri")
        if text or ran.at(time.monotonic()) > _LIMIT or not os.path.isdir(directory):
            return text
        time.sleep(_LOOK_EVERY)


def read(directory: str, name: str) -> str:
    """Return the text of one of the instance's files, empty for a missing file.

    Args:
        directory: the files' directory.
        name: the file's name.
    """
    try:
        with open(os.path.join(directory, name), encoding="utf-8", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""


def facts(directory: str) -> tuple[Facts, str]:
    """Return the facts that ``srun_to_flux`` needs, and each node's rank (the value of ``WHESL_FLUX_RANKS``).

    Raises ValueError for a damaged file ``R``.
    """
    import json

    try:
        execution = json.loads(read(directory, "R"))["execution"]
        cores = min(len(idset(part["children"]["core"])) for part in execution["R_lite"])
        ranks = [rank for part in execution["R_lite"] for rank in idset(part["rank"])]
        nodes = expand(",".join(execution["nodelist"]))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a resource set: {error}") from None
    from whesl.managers.resource.launcher_shims.flux_node_swap import told_ranks

    told = told_ranks(dict(zip(nodes, sorted(ranks), strict=True)))
    pmix = os.path.exists(os.path.join(directory, "pmix"))
    return Facts(cores, pmix=pmix, mpi_default=read(directory, "mpi")), told
