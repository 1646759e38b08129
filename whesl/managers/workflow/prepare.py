"""Prepares a run's files and environment before the workflow manager starts."""

from __future__ import annotations

import getpass
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.language.spec import ResourceKind, Spec
from whesl.managers.resource import manager_table
from whesl.managers.workflow import file_of
from whesl.managers.workflow.port import (
    FluxifyOptions,
    RunPlan,
    WorkflowManager,
    keeping_steps,
    spares_by_step,
    text_of,
    with_isolators_node,
)
from whesl.managers.workflow.submission.flux_bindings import OUTER
from whesl.managers.workflow.submission.flux_command import python_directory
from whesl.managers.workflow.submission.install import install
from whesl.managers.workflow.wrapping_changes import concerning
from whesl.model import home as places
from whesl.model.errors import UsageError
from whesl.model.workflow import Task, Workflow


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A run's plan, the workflow with its spare nodes, and notices for the user, each a sentence."""

    plan: RunPlan
    workflow: Workflow
    notices: tuple[str, ...]


def program() -> tuple[str, ...]:
    """Return the command that starts WHESL on every host that sees this installation."""
    beside = Path(sys.executable).parent / "whesl"
    return (str(beside),) if os.access(beside, os.X_OK) else (sys.executable, "-m", "whesl")


def claim_directory(home: Path, name: str, *, now: float | None = None) -> Path:
    """Create and return a new run's directory, whose name is the workflow's id.

    Args:
        home: WHESL_HOME.
        name: the workflow's name.
        now: seconds since the epoch, None for the clock's time.
    """
    clean = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-") or "workflow"
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    parent = places.workflows(home)
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(1, 10_000):
        path = parent / (f"{clean}_{stamp}" if number == 1 else f"{clean}_{stamp}_{number}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise UsageError(
                f"cannot make {path}: {error.strerror}", hint="make room for WHESL_HOME"
            ) from None
        return path
    raise UsageError(f"too many runs of {name} in one second")


def prepare(
    manager: WorkflowManager,
    sources: Sequence[str],
    workflow: Workflow,
    spec: Spec,
    directory: Path,
    *,
    home: Path,
    rjms: str,
    observe: bool,
    inner: str,
    own_node: bool,
    heartbeat_limit: float | None,
    placement: str,
    spares: int,
    poll: float,
    arguments: Sequence[str],
    environment: Mapping[str, str],
) -> Prepared:
    """Write the specification, the workflow, the fluxified files and the commands for the manager's PATH.

    Args:
        manager: the workflow's manager.
        sources: the workflow's files as the user gave them.
        workflow: the workflow that the manager read from the files.
        spec: the checked specification.
        directory: WHESL's directory of this run (``claim_directory``).
        home: the WHESL home.
        rjms: the resource manager's name.
        observe: whether WHESL only reports what it would do, and changes nothing.
        inner: the manager of the tasks' steps (``whesl exec --inner``).
        own_node: whether the isolator's node serves the task, too; otherwise each job gets one more node.
        heartbeat_limit: seconds of silence after which a node counts as lost; None for the default.
        placement: the path of the table of nodes' risks by which spares are chosen, "" for none.
        spares: the number of spare nodes for each job with a recovery that may need one.
        poll: seconds between two looks of the manager at its jobs.
        arguments: the user's arguments for the manager.
        environment: the environment to start from.
    """
    extra = {} if observe else spares_by_step(spec, workflow, spares)
    if not own_node and not observe:
        extra = with_isolators_node(extra, workflow)
    workflow = _with_spares(workflow, extra).with_coupled(spec.coupled)
    file_retry.write(directory / "spec.json", msgspec.json.encode(spec))
    file_retry.write(directory / "workflow.json", msgspec.json.encode(workflow))
    options = FluxifyOptions(
        program=program(),
        workflow=workflow.id,
        spec=str(directory / "spec.json"),
        home=str(home),
        spares=extra,
        observe=observe,
        inner=inner,
        own_node=own_node,
        heartbeat_limit=heartbeat_limit,
        placement=placement,
        out=str(directory),
        place=str(directory),
        keeps=frozenset() if observe else keeping_steps(spec, workflow),
        arguments=tuple(arguments),
        submitted=True,
    )
    files: list[str] = []
    notices: list[str] = []
    for source in sources:
        path = file_of(source)
        text = text_of(path)
        result = manager.fluxify(text, path, options)
        # The fluxified file keeps its name, after which managers and schedulers name jobs.
        target = directory / path.name
        if str(target) in files or target.name in ("spec.json", "workflow.json"):
            target = directory / f"{len(files)}_{path.name}"
        for made in result.programs:
            made.write()
        file_retry.write(target, os.fsencode(result.text))
        files.append(str(target))
        notices += result.notices
        notices += [notice.sentence(str(path)) for notice in concerning(text)]
    commands = install(directory / "bin", rjms, environment)
    file_retry.write(directory / "manager.log")
    return Prepared(
        plan=RunPlan(
            workflow=workflow,
            files=tuple(files),
            environment=run_environment(environment, commands, home, rjms),
            directory=str(directory),
            log=str(directory / "manager.log"),
            poll=poll,
            arguments=tuple(arguments),
            full_disk=not observe and _about_disks(spec),
            keeps=bool(options.keeps),
        ),
        workflow=workflow,
        notices=tuple(notices),
    )


def _with_spares(workflow: Workflow, spares: Mapping[str, int]) -> Workflow:
    tasks: list[Task] = [
        msgspec.structs.replace(task, spares=spares.get(task.step, 0)) for task in workflow.tasks
    ]
    return msgspec.structs.replace(workflow, tasks=tuple(tasks))


def _about_disks(spec: Spec) -> bool:
    return any(
        step.resource == ResourceKind.FILESYSTEM for exception in spec.exceptions for step in exception.steps
    )


def run_environment(base: Mapping[str, str], commands: Path, home: Path, rjms: str) -> dict[str, str]:
    """Return the workflow manager's environment.

    WHESL's commands come first on PATH, and for Flux, WHESL's Python package first on PYTHONPATH.

    Args:
        base: the environment to start from.
        commands: the directory of WHESL's commands.
        home: WHESL_HOME.
        rjms: the resource manager's name.
    """
    if manager_table.manager(rjms).command == "flux":
        places = (str(python_directory(commands)), base.get("PYTHONPATH", ""))
        own = {"PYTHONPATH": os.pathsep.join(place for place in places if place), OUTER: places[1]}
    else:
        own = {}
    return {
        # Maestro calls `squeue -u $USER`, and repeats the call for ever without USER.
        "USER": getpass.getuser(),
        **base,
        "PATH": f"{commands}{os.pathsep}{base.get('PATH', os.defpath)}",
        "WHESL_HOME": str(home),
        "WHESL_PYTHON": sys.executable,
        "WHESL_RJMS": rjms,
        **own,
    }
