"""The launch of an attempt: command, script, environment and directory by the present configuration.

Pure: the caller passes in the environment and the script's content, and writes the files.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from whesl.files.non_utf8_text import meant, original
from whesl.managers.resource import launcher_shims
from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.pathmap import PathMap
from whesl.runtime.isolator.launch import runner_start
from whesl.runtime.isolator.task.taskdir import Job

# Variables by which software is looked up. They are not mapped to a new root, which receives only written
# files: a task whose home ran full would lose its programs.
_LOOKED_UP = frozenset(
    {
        "HOME",
        "INFOPATH",
        "LD_LIBRARY_PATH",
        "LD_PRELOAD",
        "MANPATH",
        "MODULEPATH",
        "PATH",
        "PYTHONPATH",
        "SHELL",
        "VIRTUAL_ENV",
        "WHESL_HOME",
    }
)


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """The runner's input. ``script``: content to write to the attempt's script file first, None for none."""

    command: tuple[str, ...]
    environment: dict[str, str]
    workdir: str
    script: bytes | None = None


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """Paths of files that are passed to the task."""

    script: str
    reconfigure: str
    hosts: str
    shims: str = ""


def compose(
    job: Job,
    configuration: Configuration,
    nodes: NodeSet,
    *,
    attempt: int,
    token: str,
    places: Places,
    base: Mapping[str, str],
    launchers: Mapping[str, str],
    lingering: tuple[str, ...] = (),
    script: bytes = b"",
) -> Launch:
    """Return the launch of an attempt.

    Args:
        job: the task as the user wrote it.
        configuration: the task's configuration with the changes by recoveries.
        nodes: the present node set.
        attempt: the attempt's number, from 1.
        token: the attempt's token.
        places: paths of files that are passed to the task.
        base: the caller's environment.
        launchers: the resource manager's variables that show launchers the active nodes as the allocation.
        lingering: nodes that are not lost, but on which an earlier attempt's step may linger.
        script: the content of the job's script, where paths have moved.
    """
    paths = configuration.path_map
    place = configuration.workdir or job.workdir
    mapped = None
    if configuration.command is not None:
        command = paths.arguments(configuration.command, place)
    elif job.script:
        # The script itself is not moved; a changed copy is run only if the script names moved paths.
        own, changed = job.command[job.script], os.fsencode(paths.text(os.fsdecode(script)))
        if changed != script:
            own, mapped = places.script, changed
        before, after = job.command[: job.script], job.command[job.script + 1 :]
        command = (*paths.arguments(before, place), own, *paths.arguments(after, place))
    else:
        command = paths.arguments(job.command, place)
    if configuration.append:
        command = (*command, *paths.arguments(configuration.append, place))
    workdir = paths.path(place)
    environment = _environment(base, paths)
    environment.update(launchers)
    for name, value in configuration.environment.items():
        if value:
            environment[name] = value
        else:
            environment.pop(name, None)
    environment |= runner_start.told(
        task=job.setup.task.id,
        workflow=job.setup.workflow,
        restarts=job.setup.earlier + attempt - 1,
        token=token,
        active=nodes.active,
        swapped=msgspec.json.encode(nodes.swapped).decode(),
        lost=tuple(dict.fromkeys((*nodes.lost, *lingering))),
        hosts=places.hosts,
        reconfigure=places.reconfigure,
    )
    if workdir != job.workdir:
        environment["PWD"] = meant(workdir)
    if places.shims:
        environment |= launcher_shims.in_front(places.shims, environment)
    command = runner_start.with_checkpoints(command, paths.path(job.checkpoints) if job.checkpoints else "")
    command = tuple(map(original, command))
    return Launch(command=command, environment=environment, workdir=workdir, script=mapped)


def _environment(base: Mapping[str, str], paths: PathMap) -> dict[str, str]:
    mapped = paths.environment(written(base))
    return {**base, **mapped}


def written(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that may name written files, without those by which software is looked up."""
    return {name: value for name, value in environment.items() if name not in _LOOKED_UP}
