"""JOB.REPLACE, ADD, REMOVE: another command, other resources, a command before the restart, or no restart."""

from __future__ import annotations

import posixpath
from typing import Protocol

import msgspec

from whesl.language.compiler.operation_signatures import JobAdd, JobRemove, JobReplace, mebibytes
from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import StepOutcome
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.node import SPARES_EXHAUSTED
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult, capture_values
from whesl.runtime.operations.spare_choice import in_order, unusable


class CommandResult(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a command. ``status`` is that of subprocess (negative: a signal), None after a timeout.

    ``output`` is the end of the command's output.
    """

    status: int | None
    output: str = ""


class RunsCommands(Protocol):
    """Runs a command inside the allocation."""

    def run(
        self, command: tuple[str, ...], environment: dict[str, str], workdir: str, timeout: float
    ) -> CommandResult:
        """Run a command; kill all its processes at the timeout. Raises OSError if it cannot start.

        Args:
            command: argument list.
            environment: variables that are added to the task's environment.
            workdir: the working directory.
            timeout: seconds until the command is killed.
        """


def replace(step: PlanStep, arguments: JobReplace, context: Context) -> StepResult:
    """Change command and resources of the restarted task. Nodes beyond those in use come from the spares.

    Args:
        step: the step.
        arguments: the operation's arguments.
        context: the task's data.
    """
    present = context.configuration
    nodes = context.nodes
    if arguments.nodes is not None:
        nodes = _resized(arguments.nodes, step.raised.time, context)
    configuration = msgspec.structs.replace(changed(present, arguments), version=present.version + 1)
    names = [
        name
        for name in ("command", "command_append", "nodes", "time", "memory", "workdir", "environment")
        if getattr(arguments, name) not in (None, {})
    ]
    return StepResult(
        configuration=configuration,
        nodes=nodes if nodes != context.nodes else None,
        note=f"restart with changed {', '.join(names)}" if names else "restart unchanged",
    )


def changed(present: Configuration, arguments: JobReplace) -> Configuration:
    """Return a configuration with the changes of JOB.REPLACE and the same version.

    A replacing command without arguments does not get the arguments of the task's own command.

    Args:
        present: the configuration before.
        arguments: the operation's arguments.
    """
    named = {
        "command": arguments.command,
        "append": arguments.command_append if arguments.command is None else arguments.command_append or (),
        "nodes": arguments.nodes,
        "time_limit": arguments.time,
        "memory": None if arguments.memory is None else mebibytes(arguments.memory),
        "workdir": arguments.workdir,
    }
    return msgspec.structs.replace(
        present,
        environment={**present.environment, **arguments.environment},
        **{name: value for name, value in named.items() if value is not None},
    )


def _resized(wanted: int, now: float, context: Context) -> NodeSet:
    if wanted < 1:
        raise RecoveryError(f"JOB.REPLACE: {wanted} nodes are not enough to run on")
    nodes = context.nodes
    missing = wanted - len(nodes.active)
    if nodes.components and missing:
        raise RecoveryError("JOB.REPLACE: the components of a heterogeneous job keep their numbers of nodes")
    if missing <= 0:
        return msgspec.structs.replace(
            nodes, active=nodes.active[:wanted], spares=(*nodes.spares, *nodes.active[wanted:])
        )
    spares, gone = in_order(context, now), unusable(context)
    usable = tuple(spare for spare in spares if spare not in gone)
    if len(usable) < missing:
        raise RecoveryError(
            f"JOB.REPLACE: {wanted} nodes are wanted, {len(nodes.active) + len(usable)} are usable",
            hint="reserve more spares",
            reason=SPARES_EXHAUSTED,
        )
    return msgspec.structs.replace(nodes, spares=spares).add(missing)


def add(step: PlanStep, arguments: JobAdd, context: Context, runner: RunsCommands) -> StepResult:
    """Run a command before the restart; any other status than 0 makes the recovery fail.

    The captures of the evidence are in the command's environment as ``WHESL_CAPTURE_<NAME>``. After a crash
    the command may run a second time, with the same ``WHESL_STEP_ID``: it has to be idempotent.

    Args:
        step: the step.
        arguments: the operation's arguments.
        context: the task's data.
        runner: runs the command.
    """
    paths = context.configuration.path_map
    command = paths.arguments(arguments.command)
    workdir = paths.path(context.configuration.workdir or context.workspace or "/")
    values = capture_values(step.raised, context, step.suspect)
    configured = paths.environment(context.configuration.environment)
    environment = {
        **{name: value for name, value in configured.items() if value},
        **{f"WHESL_CAPTURE_{name.upper()}": value for name, value in values.items() if "\0" not in value},
        "WHESL_STEP_ID": step.id,
        "WHESL_TASK": step.raised.task,
        "WHESL_NODELIST": ",".join(context.nodes.active),
    }
    name = posixpath.basename(command[0])
    try:
        result = runner.run(command, environment, workdir, arguments.timeout)
    except OSError as error:
        raise RecoveryError(f"JOB.ADD: {command[0]} could not be started: {error.strerror}") from None
    if result.status is None:
        raise RecoveryError(f"JOB.ADD: {name} did not end within {arguments.timeout:g} s and was killed")
    if result.status:
        said = result.output.strip().splitlines()[-1:] or ["(no output)"]
        how = f"status {result.status}" if result.status > 0 else f"signal {-result.status}"
        raise RecoveryError(f"JOB.ADD: {name} ended with {how}: {said[0][:200]}")
    return StepResult(note=f"{name} done")


def remove(arguments: JobRemove, context: Context) -> StepResult:
    """Skip the task, which then counts as done.

    Args:
        arguments: the operation's arguments.
        context: the task's data.
    """
    present = context.configuration
    return StepResult(
        outcome=StepOutcome.SKIP,
        configuration=msgspec.structs.replace(present, version=present.version + 1, skip=True),
        note=f"task skipped: {arguments.reason}" if arguments.reason else "task skipped",
    )
