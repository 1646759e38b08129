"""All probes, in the order in which their findings are shown: group, name, and the function."""

from __future__ import annotations

from whesl.doctor import (
    flux,
    home_filesystem,
    host_and_home,
    login,
    placement,
    resource_managers,
    slurm_settings,
    software,
    workflow_managers,
)
from whesl.doctor.probe_runner import Probe
from whesl.model import home as places

PROBES: tuple[tuple[str, str, Probe], ...] = (
    (software.GROUP, "Python", software.python),
    (software.GROUP, "libraries", software.libraries),
    (software.GROUP, "pattern engine", software.engine),
    (software.GROUP, "stacks", software.stacks),
    (resource_managers.GROUP, "Slurm", resource_managers.slurm),
    (slurm_settings.GROUP, "Slurm settings", slurm_settings.slurm),
    (placement.GROUP, placement.NAME, placement.slurm),
    (flux.GROUP, "Flux", flux.commands),
    (flux.GROUP, "Flux instance", flux.instance),
    (flux.GROUP, "Flux bindings", flux.bindings),
    (flux.GROUP, "Flux placement", flux.placement),
    (resource_managers.GROUP, "PBS", resource_managers.pbs),
    (placement.GROUP, placement.PBS, placement.pbs),
    (resource_managers.GROUP, "local", resource_managers.local),
    (resource_managers.LAUNCHERS, "launchers", resource_managers.launchers),
    (host_and_home.GROUP, "inotify", host_and_home.inotify),
    (host_and_home.GROUP, "user namespaces", host_and_home.namespaces),
    (login.GROUP, "open files", login.open_files),
    (login.GROUP, "limits", login.limits),
    (login.GROUP, "sessions", login.sessions),
    (login.GROUP, "ports", login.ports),
    (host_and_home.HOME, places.VARIABLE, host_and_home.home),
    (host_and_home.HOME, "locks", home_filesystem.files),
    (host_and_home.HOME, "interpreter", host_and_home.interpreter),
    (host_and_home.HOME, "coordinator", host_and_home.coordinator),
    (workflow_managers.GROUP, "Maestro", workflow_managers.maestro),
    (workflow_managers.GROUP, "batch scripts", workflow_managers.batch),
    (workflow_managers.GROUP, "Cylc", workflow_managers.cylc),
    (workflow_managers.GROUP, "Makeflow", workflow_managers.makeflow),
    (workflow_managers.GROUP, "Snakemake", workflow_managers.snakemake),
    (workflow_managers.GROUP, "Parsl", workflow_managers.parsl),
    (workflow_managers.GROUP, "Nextflow", workflow_managers.nextflow),
)
