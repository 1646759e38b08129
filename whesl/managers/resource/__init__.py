"""The choice between resource managers, which all stand behind one port (``whesl.managers.resource.port``).

Adapters are imported only when they are chosen. Third parties offer adapters with entry points of the group
``whesl.managers.resource``: the name ends in ``-scheduler`` for a scheduler (called with keyword options) and
in ``-allocation`` for an allocation (called with the environment); an allocation may have a static method
``present(environ) -> bool`` that says whether a process is inside a job of its kind.
"""

from __future__ import annotations

from whesl.managers.resource.manager_table import BUILT_IN

TYPE_CHECKING = False  # launcher shims import this package at every start: typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from whesl.managers.resource.port import Allocation, Scheduler

GROUP = "whesl.managers.resource"
SCHEDULERS = tuple(BUILT_IN)


def current_allocation(environ: Mapping[str, str]) -> Allocation:
    """Return the allocation that a process with this environment runs in.

    The first allocation that is present counts, in this order: a third party's, the embedded manager's,
    Flux's (inside a Slurm job, too), PBS's, Slurm's, and this machine without a resource manager.
    Raises CouldNotObserveError for a damaged environment.
    """
    for offer in _offers("-allocation").values():
        kind = offer.load()
        present = getattr(kind, "present", None)
        if present is not None and present(environ):
            found: Allocation = kind(environ)
            return found
    for built_in in BUILT_IN.values():
        if all(map(environ.get, built_in.inside)):
            kind = _loaded(built_in.allocation)
            present = getattr(kind, "present", None)
            if present is None or present(environ):
                inside: Allocation = kind(environ)
                return inside
    from whesl.managers.resource.single_host import HostAllocation

    return HostAllocation(environ)


def withheld(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables on a job's nodes that the environment lacks, asked from the resource manager.

    Raises CouldNotObserveError, RefusedError or TransientError when the resource manager gives no answer.
    """
    if not environ.get("SLURM_JOB_ID") or environ.get("FLUX_URI"):
        return {}
    from whesl.managers.resource.slurm.missing_job_variables import withheld as of_slurm

    return of_slurm(environ)


def scheduler(name: str, **options: Any) -> Scheduler:
    """Return the scheduler of a resource manager.

    Args:
        name: ``local``, ``slurm``, ``pbs``, ``flux``, or the name that a third party's adapter has.
        options: keyword arguments of the scheduler's class.

    Raises UsageError for an unknown name.
    """
    made: Scheduler = _kind(name)(**options)
    return made


def scheduler_of(name: str, cluster: Mapping[str, str]) -> Scheduler:
    """Return the scheduler of one cluster.

    Args:
        name: the resource manager's name.
        cluster: environment variables that identify the cluster (``cluster_environment.described``).

    Raises UsageError for an unknown name.
    """
    from whesl.managers.resource.port import ChoosesCluster

    kind = _kind(name)
    return kind.of_cluster(cluster) if isinstance(kind, ChoosesCluster) else scheduler(name)


def submitted_to(name: str) -> Scheduler:
    """Return the scheduler that this process's job was submitted to.

    Args:
        name: the name of the job's resource manager.

    Raises UsageError for an unknown name.
    """
    from whesl.managers.resource.port import Nests

    kind = _kind(name)
    return kind.enclosing() if isinstance(kind, Nests) else scheduler(name)


def default_manager(environ: Mapping[str, str]) -> str:
    """Return the resource manager to submit to when the user named none.

    The manager of the job that the caller is in comes first, as does an embedded cluster that the environment
    names. A ``flux`` command alone counts last, because sites install it for use inside Slurm jobs, too.

    Args:
        environ: the caller's environment.

    Raises UsageError where no resource manager is found.
    """
    from shutil import which

    path = environ.get("PATH")
    there = {name for name, one in BUILT_IN.items() if one.embedded or which(one.command, path=path)}
    for name, one in BUILT_IN.items():
        if name in there and all(map(environ.get, one.cluster if one.embedded else one.inside)):
            return name
    # The table lists inner managers before outer ones; submission prefers the outer ones.
    outside = [name for name, one in reversed(BUILT_IN.items()) if not one.embedded]
    for name in outside:
        if name in there:
            return name
    from whesl.model.errors import UsageError

    raise UsageError(
        f"there is neither {' nor '.join(BUILT_IN[name].command for name in outside)} on PATH",
        hint="load the module of Slurm, PBS or Flux, or use the embedded one: --rjms local",
    )


def _kind(name: str) -> Any:
    """Return a scheduler's class. Raises UsageError for an unknown name."""
    if name in BUILT_IN:
        return _loaded(BUILT_IN[name].scheduler)
    offers = _offers("-scheduler")
    if name not in offers:
        from difflib import get_close_matches

        from whesl.model.errors import UsageError

        known = sorted({*SCHEDULERS, *offers})
        close = get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
        raise UsageError(f"no resource manager is called {name!r}", hint=hint)
    return offers[name].load()


def _loaded(place: str) -> Any:
    """Return an adapter's class. Only that adapter is imported."""
    from importlib import import_module

    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def _offers(suffix: str) -> dict[str, Any]:
    """Return third parties' entry points whose names end in the suffix, by the resource manager's name."""
    if not offered():
        return {}
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP)
    return {point.name.removesuffix(suffix): point for point in found if point.name.endswith(suffix)}


def offered() -> bool:
    """Whether third parties offer any adapter; faster than importlib.metadata, which needs 10 ms."""
    import os
    import sys

    for place in sys.path:
        try:
            names = os.listdir(place or ".")  # noqa: PTH208  # pathlib costs milliseconds
        except OSError:
            if os.path.isfile(place):  # noqa: PTH113
                return True  # an archive: only importlib.metadata can look into it
            continue
        for name in names:
            if not name.endswith((".dist-info", ".egg-info", ".egg")):
                continue
            if name.endswith(".egg"):
                return True
            try:
                with open(os.path.join(place, name, "entry_points.txt"), "rb") as file:  # noqa: PTH118, PTH123
                    if GROUP.encode() in file.read():
                        return True
            except OSError:
                continue
    return False
