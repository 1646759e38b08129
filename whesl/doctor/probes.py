"""All probes, in the order in which their findings are shown: group, name, and the function."""

from __future__ import annotations

from whesl.doctor import (
    flux,
    home_files,
    login,
    machine,
    managers,
    placement,
    settings,
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
    (managers.GROUP, "Slurm", managers.slurm),
    (settings.GROUP, "Slurm settings", settings.slurm),
    (placement.GROUP, placement.NAME, placement.slurm),
    (flux.GROUP, "Flux", flux.commands),
    (flux.GROUP, "Flux instance", flux.instance),
    (flux.GROUP, "Flux bindings", flux.bindings),
    (flux.GROUP, "Flux placement", flux.placement),
    (managers.GROUP, "local", managers.local),
    (managers.LAUNCHERS, "launchers", managers.launchers),
    (machine.GROUP, "inotify", machine.inotify),
    (machine.GROUP, "user namespaces", machine.namespaces),
    (login.GROUP, "open files", login.open_files),
    (login.GROUP, "limits", login.limits),
    (login.GROUP, "sessions", login.sessions),
    (login.GROUP, "ports", login.ports),
    (machine.HOME, places.VARIABLE, machine.home),
    (machine.HOME, "locks", home_files.files),
    (machine.HOME, "interpreter", machine.interpreter),
    (machine.HOME, "coordinator", machine.coordinator),
    (workflows.GROUP, "Maestro", workflows.maestro),
    (workflows.GROUP, "batch scripts", workflows.batch),
    (workflows.GROUP, "Snakemake", workflows.snakemake),
    (workflows.GROUP, "Parsl", workflows.parsl),
    (workflows.GROUP, "Nextflow", workflows.nextflow),
)
