"""All probes, in the order in which their findings are shown: group, name, and the function."""

from __future__ import annotations

from whesl.doctor import (
    flux,
    home_filesystem,
    login,
    machine,
    placement,
    resource_managers,
    slurm_settings,
    software,
    workflows,
)
from whesl.doctor.findings import Probe
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
    (resource_managers.GROUP, "local", resource_managers.local),
    (resource_managers.LAUNCHERS, "launchers", resource_managers.launchers),
    (machine.GROUP, "inotify", machine.inotify),
    (machine.GROUP, "user namespaces", machine.namespaces),
    (login.GROUP, "open files", login.open_files),
    (login.GROUP, "limits", login.limits),
    (login.GROUP, "sessions", login.sessions),
    (login.GROUP, "ports", login.ports),
    (machine.HOME, places.VARIABLE, machine.home),
    (machine.HOME, "locks", home_filesystem.files),
    (machine.HOME, "interpreter", machine.interpreter),
    (machine.HOME, "coordinator", machine.coordinator),
    (workflows.GROUP, "Maestro", workflows.maestro),
    (workflows.GROUP, "batch scripts", workflows.batch),
    (workflows.GROUP, "Snakemake", workflows.snakemake),
    (workflows.GROUP, "Parsl", workflows.parsl),
    (workflows.GROUP, "Nextflow", workflows.nextflow),
)
