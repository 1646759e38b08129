"""Custom handlers: an operation that a user's own program carries out. Contract: docs/handlers.md.

The program gets one JSON document on standard input and answers with one on standard output. It runs in a
separate process with a time limit; an error of the program makes the recovery fail, never the isolator.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from whesl.language.compiler.operation_signatures import HANDLER_TIMEOUT
from whesl.model.allocation_nodes import NodeSet
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import StepOutcome
from whesl.model.pathmap import PathMap
from whesl.model.workflow import BadNode
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.bounded_process import run_limited
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult
from whesl.runtime.operations.recovery_step_arguments import absolute
from whesl.runtime.operations.spare_choice import in_order, unusable

GROUP = "whesl.handlers"
PROTOCOL = 1
MOST_OUTPUT = 1 << 20
LONGEST_TIMEOUT = 86_400.0


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Change(_Strict, frozen=True, kw_only=True):
    """A handler's change of the configuration; missing fields stay unchanged."""

    path_map: dict[str, str] = {}
    environment: dict[str, str | None] = {}
    command: tuple[str, ...] | None = None
    nodes: int | None = None
    time_limit: float | None = None
    workdir: str | None = None
    excluded_nodes: tuple[str, ...] = ()


class NodeSetAnswer(NodeSet, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole node set, in which each node of the allocation is in exactly one list.

    ``components`` are a request's own, which an answer may repeat.
    """


class BadNodeAnswer(_Strict, frozen=True, kw_only=True):
    """A node for the memory of bad nodes; ``expires`` in seconds from now."""

    node: str
    reason: str
    expires: float = 86_400.0


class Answer(_Strict, frozen=True, kw_only=True):
    """The answer that a handler prints."""

    outcome: Literal["continue", "skip", "pause", "fail", "escalate"]
    reason: str = ""
    note: str = ""
    configuration: Change | None = None
    node_set: NodeSetAnswer | None = None
    bad_nodes: tuple[BadNodeAnswer, ...] = ()
    signal: int = 0


def request(step: PlanStep, context: Context) -> dict[str, Any]:
    """Return the request that a handler reads, as JSON values.

    Args:
        step: the step.
        context: the task's data.
    """
    raised = step.raised
    nodes = msgspec.structs.replace(context.nodes, spares=in_order(context, raised.time))
    document = {
        "version": PROTOCOL,
        "step": {
            "id": step.id,
            "resource": step.resource,
            "operation": step.operation,
            "arguments": step.arguments,
            "suspect": step.suspect,
        },
        "exception": {
            "name": raised.exception,
            "ordinal": raised.ordinal,
            "attempt": raised.attempt,
            "time": raised.time,
            "transformed_from": raised.transformed_from,
        },
        "evidence": raised.evidence,
        "task": context.task,
        "workspace": context.workspace,
        "command": context.command,
        "attempt": context.attempt,
        "nodes": nodes,
        "unusable": sorted(unusable(context)),
        "batch_host": context.batch_host,
        "bad_nodes": context.bad_nodes,
        "configuration": context.configuration,
    }
    result: dict[str, Any] = msgspec.to_builtins(document)
    return result


def command_of(handler: str) -> list[str]:
    """Return the argument list that runs a handler: an executable by its absolute path, else an entry point.

    Raises RecoveryError when neither exists.
    """
    if "/" in handler:
        path = Path(handler)
        if not path.is_absolute() or not path.is_file() or not os.access(path, os.X_OK):
            raise RecoveryError(
                f"handler {handler} is not an executable file", hint="check the path and its x permission"
            )
        return [handler]
    from importlib.metadata import entry_points  # a slow import that few tasks need

    known = sorted(point.name for point in entry_points(group=GROUP))
    if handler not in known:
        raise RecoveryError(
            f"no handler called {handler} is installed (known: {', '.join(known) or 'none'})",
            hint=f"install the package that has the entry point {handler} in {GROUP}, or name an executable",
        )
    return [sys.executable, "-m", "whesl.runtime.operations.custom_handler_host", handler]


def run_handler(step: PlanStep, context: Context, log: IO[Any] | int) -> StepResult:
    """Carry a step out by its custom handler.

    Args:
        step: the step, with its handler.
        context: the task's data.
        log: takes the handler's standard error.

    Raises:
        RecoveryError: the handler does not exist, exceeded its time, failed, or gave an invalid answer.
    """
    handler = step.handler or ""
    timeout = _timeout(step)
    command = command_of(handler)
    try:
        given = msgspec.json.encode(request(step, context))
        result = run_limited(
            command,
            timeout=timeout,
            limit=MOST_OUTPUT,
            given=given,
            errors=log,
            environment={**os.environ, **_variables(step)},
        )
    except (OSError, msgspec.EncodeError, UnicodeEncodeError) as error:
        raise RecoveryError(f"handler {handler} could not be started: {error}") from None
    if result.timed_out:
        raise RecoveryError(
            f"handler {handler} did not end within {timeout:g} s and was killed",
            hint="raise handler_timeout in the step's arguments",
        )
    if result.too_much:
        raise RecoveryError(f"handler {handler} printed more than {MOST_OUTPUT} bytes and was killed")
    if result.status:
        how = f"status {result.status}" if result.status > 0 else f"signal {-result.status}"
        raise RecoveryError(f"handler {handler} ended with {how}", hint="its messages are in the task's log")
    try:
        answer = msgspec.json.decode(result.output, type=Answer)
        return _accept(answer, step, context)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise RecoveryError(f"handler {handler} gave no valid answer: {error}") from None


def _variables(step: PlanStep) -> dict[str, str]:
    """Return the request as environment variables, for handlers that do not read JSON."""
    return {
        "WHESL_STEP_ID": step.id,
        "WHESL_STEP_RESOURCE": step.resource,
        "WHESL_STEP_OPERATION": step.operation,
        "WHESL_STEP_TASK": step.raised.task,
        "WHESL_STEP_EXCEPTION": step.raised.exception,
    }


def _timeout(step: PlanStep) -> float:
    value = step.arguments.get("handler_timeout", HANDLER_TIMEOUT)
    try:
        timeout = float(value)
    except (TypeError, ValueError):
        timeout = 0.0
    if not 0.0 < timeout <= LONGEST_TIMEOUT:
        raise RecoveryError(
            f"handler_timeout has to be seconds between 0 and {LONGEST_TIMEOUT:g}, not {value!r}"
        )
    return timeout


def _accept(answer: Answer, step: PlanStep, context: Context) -> StepResult:
    """Check an answer against the task. Raises ValueError."""
    configuration, dependents = None, None
    present = context.configuration
    if answer.configuration is not None:
        configuration, dependents = _changed(answer.configuration, present)
    if answer.outcome == "skip":
        configuration = msgspec.structs.replace(
            configuration or present, version=present.version + 1, skip=True
        )
    if not 0 <= answer.signal <= 64:
        raise ValueError(f"signal {answer.signal} does not exist")
    time = step.raised.time
    return StepResult(
        outcome=StepOutcome(answer.outcome),
        reason=answer.reason or ("handler" if answer.outcome == "escalate" else ""),
        note=answer.note or f"handler {step.handler} done",
        configuration=configuration,
        dependents=dependents,
        signal=answer.signal,
        nodes=None if answer.node_set is None else _node_set(answer.node_set, context.nodes),
        bad_nodes=tuple(
            BadNode(
                node=bad.node, reason=bad.reason, task=step.raised.task, time=time, expires=time + bad.expires
            )
            for bad in answer.bad_nodes
        ),
    )


def _changed(change: Change, present: Configuration) -> tuple[Configuration, Configuration | None]:
    rules, added = present.path_map, PathMap()
    for old, new in change.path_map.items():
        rules, added = rules.with_rule(old, new), added.with_rule(old, new)
    if change.nodes is not None and change.nodes < 1:
        raise ValueError(f"nodes has to be at least 1, not {change.nodes}")
    if change.time_limit is not None and not change.time_limit > 0:
        raise ValueError(f"time_limit has to be more than 0 minutes, not {change.time_limit}")
    if change.command == ():
        raise ValueError("command is empty")
    configuration = msgspec.structs.replace(
        present,
        version=present.version + 1,
        path_map=rules,
        environment={**present.environment, **{k: v or "" for k, v in change.environment.items()}},
        command=change.command or present.command,
        nodes=change.nodes or present.nodes,
        time_limit=change.time_limit or present.time_limit,
        workdir=absolute("workdir", change.workdir) if change.workdir else present.workdir,
        excluded_nodes=tuple(dict.fromkeys((*present.excluded_nodes, *change.excluded_nodes))),
    )
    return configuration, Configuration(path_map=added) if added else None


def _node_set(answer: NodeSetAnswer, present: NodeSet) -> NodeSet:
    given = NodeSet(**{**msgspec.structs.asdict(answer), "components": present.components})
    if sorted(given.all) != sorted(present.all):
        raise ValueError("node_set has to hold every node of the allocation exactly once")
    if not given.active:
        raise ValueError("node_set leaves no node to run on")
    if not {*answer.swapped, *answer.swapped.values()} <= set(present.all):
        raise ValueError("swapped names nodes that the allocation does not have")
    return given
