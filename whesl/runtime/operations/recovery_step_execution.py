"""Carries out one step of a plan. It blocks: the isolator's shell calls it in a worker thread.

An interrupted step is carried out again with the same context, and completes the first run's work.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

import msgspec

from whesl.language.compiler import operation_signatures as args
from whesl.language.spec import Operation, ResourceKind
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations import filesystem, job, node
from whesl.runtime.operations.bounded_process import run_limited
from whesl.runtime.operations.custom_handlers import run_handler
from whesl.runtime.operations.job import CommandResult
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult
from whesl.runtime.operations.relocation.tree_relocation import said

_KEPT_OUTPUT = 4096

A = TypeVar("A", bound=args.Arguments)


class Ports(job.RunsCommands, Protocol):
    """The services that a step needs besides files.

    ``directory`` is the task's directory, where a step keeps its progress. ``log`` (a file or a descriptor)
    takes the standard error of handlers.
    """

    directory: Path
    log: IO[Any] | int


class HostPorts(Ports):
    """Ports of this host: commands run as children of this process.

    Args:
        directory: the task's directory.
        log: takes the standard error of handlers.
        environment: the task's environment; None: this process's own.
    """

    def __init__(
        self,
        directory: Path,
        log: IO[Any] | int = subprocess.DEVNULL,
        environment: dict[str, str] | None = None,
    ) -> None:
        self.directory = directory
        self.log = log
        self._environment = dict(os.environ) if environment is None else environment

    def run(
        self, command: tuple[str, ...], environment: dict[str, str], workdir: str, timeout: float
    ) -> CommandResult:
        result = run_limited(
            command,
            timeout=timeout,
            limit=_KEPT_OUTPUT,
            errors=subprocess.STDOUT,
            environment={**self._environment, **environment},
            workdir=workdir,
            keep_end=True,
        )
        output = result.output.decode(errors="replace")
        return CommandResult(status=None if result.timed_out else result.status, output=output)


def execute(step: PlanStep, context: Context, ports: Ports) -> StepResult:
    """Carry out a step.

    Args:
        step: a step of a plan.
        context: the task's data after the steps before.
        ports: commands, progress and log.

    Raises:
        RecoveryError: the step cannot be done; the exception's ELSE applies.
    """
    try:
        if step.handler is not None:
            return run_handler(step, context, ports.log)
        carry_out = _BUILT_IN.get((step.resource, step.operation))
        if carry_out is None:
            raise RecoveryError(f"{step.name} is not built in, and has no handler")
        return carry_out(step, context, ports)
    except OSError as error:
        raise RecoveryError(f"{step.name}: {said(error)}") from None


def _typed(step: PlanStep, kind: type[A]) -> A:
    """Convert the arguments of a step. A plan was checked when it was made; a damaged one is refused."""
    try:
        return msgspec.convert(step.arguments, kind)
    except msgspec.ValidationError as error:
        raise RecoveryError(f"{step.name}: {error}") from None


_BUILT_IN: dict[tuple[str, str], Callable[[PlanStep, Context, Ports], StepResult]] = {
    (ResourceKind.FILESYSTEM, Operation.REPLACE): lambda step, context, ports: filesystem.replace(
        step, _typed(step, args.FilesystemReplace), context, ports.directory
    ),
    (ResourceKind.FILESYSTEM, Operation.ADD): lambda step, context, _: filesystem.add(
        _typed(step, args.FilesystemChange), context
    ),
    (ResourceKind.FILESYSTEM, Operation.REMOVE): lambda step, context, _: filesystem.remove(
        _typed(step, args.FilesystemChange), context
    ),
    (ResourceKind.NODE, Operation.REPLACE): lambda step, context, _: node.replace(
        step, _typed(step, args.NodeReplace), context
    ),
    (ResourceKind.NODE, Operation.REMOVE): lambda step, context, _: node.remove(
        step, _typed(step, args.NodeRemove), context
    ),
    (ResourceKind.NODE, Operation.ADD): lambda step, context, _: node.add(
        step, _typed(step, args.NodeAdd), context
    ),
    (ResourceKind.JOB, Operation.REPLACE): lambda step, context, _: job.replace(
        step, _typed(step, args.JobReplace), context
    ),
    (ResourceKind.JOB, Operation.ADD): lambda step, context, ports: job.add(
        step, _typed(step, args.JobAdd), context, ports
    ),
    (ResourceKind.JOB, Operation.REMOVE): lambda step, context, _: job.remove(
        _typed(step, args.JobRemove), context
    ),
}
