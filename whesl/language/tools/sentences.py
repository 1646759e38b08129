"""A specification in sentences: the events that raise exceptions, and the recoveries. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from whesl.language.detections.wording import cut
from whesl.language.spec import (
    Entity,
    ExceptionSpec,
    Level,
    Operation,
    Otherwise,
    RecoveryStep,
    ResourceKind,
    Spec,
)
from whesl.language.wording import one_of, seconds, times, within

_UNKNOWN = {
    "restart": "the task restarts on the same nodes",
    "fail": "the recovery fails",
    "pause": "the task is paused",
}


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence, and the place of its statement in the specification (``file:line``)."""

    text: str
    place: str


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """One exception in sentences.

    ``when`` are the ways to raise the exception, ``then`` are its recovery's steps in their order; ``budget``
    is the number of recoveries, ``otherwise`` the action after the last one, ``told`` the exception raised
    with the resource manager (empty for none). ``restarts``: whether the recovery restarts the program.
    """

    name: str
    level: Level
    place: str
    jobs: tuple[str, ...]
    when: tuple[Sentence, ...]
    then: tuple[Sentence, ...]
    budget: str
    otherwise: str
    told: str = ""
    restarts: bool = True


def explain(spec: Spec) -> tuple[Explained, ...]:
    """Return every exception of a specification in sentences, in their order."""
    return tuple(_explained(spec, exception) for exception in spec.exceptions)


def _explained(spec: Spec, exception: ExceptionSpec) -> Explained:
    return Explained(
        name=exception.name,
        level=exception.level,
        place=spec.place(exception.span),
        jobs=exception.jobs,
        when=tuple(Sentence(text=d.sentence(), place=spec.place(d.span)) for d in exception.detections),
        then=tuple(Sentence(text=done(spec, s), place=spec.place(s.span)) for s in exception.steps),
        budget=_budget(exception),
        otherwise=_otherwise(exception),
        told=_told(exception),
        restarts=any(step.operation != Operation.CHECKPOINT for step in exception.steps),
    )


# What is done -------------------------------------------------------------------------------------


def done(spec: Spec, step: RecoveryStep) -> str:
    """Return a recovery step as a clause: entity, operation and resource.

    Args:
        spec: the specification, for its custom handlers.
        step: the recovery step.
    """
    operation = f"{step.resource}.{step.operation}"
    handler = spec.handler(step.resource, step.operation)
    if handler is not None:
        given = f" with {cut(msgspec.json.encode(step.arguments).decode())}" if step.arguments else ""
        return f"{step.entity.value}: {operation} by your handler {handler}{given}"
    what = step.resource, step.operation
    clause = _CLAUSES[what](step.arguments)
    if step.before_failure:
        clause = f"once a checkpoint is whole, and only then, {clause}, before the node has failed"
        return f"{step.entity.value}: {operation} BEFORE FAILURE: {clause}"
    if step.entity is Entity.DEPENDENT_JOB and what == (ResourceKind.JOB, Operation.REPLACE):
        clause += "; that is for tasks that depend on it or are coupled with it, and restarts those that run"
    return f"{step.entity.value}: {operation}: {clause}"


def _filesystem_replace(arguments: dict[str, Any]) -> str:
    roots = arguments["filesystem"]
    target = roots if isinstance(roots, str) else f"the first with room of {one_of(roots)}"
    free = arguments.get("min_free")
    room = f", with at least {free} bytes free" if free else ""
    files = "moved" if arguments.get("mode") == "move" else "linked"
    told = f"; running dependents are sent {arguments['signal']}" if arguments.get("signal") else ""
    return (
        f"what lies below {arguments['defaultpath']} is {files} below {target}{room}, and the task and its"
        f" dependents work there{told}"
    )


def _node_replace(arguments: dict[str, Any]) -> str:
    return f"a spare of the allocation takes the place of {_suspect(arguments)}{_further(arguments)}"


def _further(arguments: dict[str, Any]) -> str:
    wait = arguments.get("wait")
    return (
        f"; without a usable one, further nodes are waited for, at most {seconds(float(wait))}"
        if wait
        else ""
    )


def _node_remove(arguments: dict[str, Any]) -> str:
    least = arguments.get("min_nodes")
    enough = f", if that leaves {least} or more" if least else ""
    return f"the task goes on without {_suspect(arguments)}{enough}"


def _suspect(arguments: dict[str, Any]) -> str:
    node = arguments.get("node")
    who = f"the node {node}" if node else "the node that the evidence blames"
    given = arguments.get("expires")
    kept = seconds(float(given)) if given is not None else "1 h to 24 h, by the evidence"
    unknown = _UNKNOWN[arguments.get("unknown", "restart")]
    return f"{who}, which is kept in mind as bad for {kept} (if it is not known: {unknown})"


def _node_add(arguments: dict[str, Any]) -> str:
    count = arguments.get("count", 1)
    taken = "a spare of the allocation is" if count == 1 else f"{count} spares of the allocation are"
    return f"{taken} taken into use{_further(arguments)}"


def _job_replace(arguments: dict[str, Any]) -> str:
    parts = _changes(arguments)
    for number, entry in enumerate(arguments.get("attempts", ()), 1):
        last = " and later ones" if number == len(arguments["attempts"]) and number > 1 else ""
        parts.append(f"at recovery {number}{last}: {', '.join(_changes(entry)) or 'as it is'}")
    return f"the task runs again{', changed: ' if parts else ' as it is'}{'; '.join(parts)}"


def _changes(arguments: dict[str, Any]) -> list[str]:
    parts = []
    if "command" in arguments:
        parts.append(f"the command {_words(arguments['command'])} takes the place of its own")
    if "command_append" in arguments:
        parts.append(f"{_words(arguments['command_append'])} stands behind its command")
    if "nodes" in arguments:
        parts.append(f"it gets {arguments['nodes']} nodes")
    if "time" in arguments:
        parts.append(f"its time limit is {arguments['time']:g} min")
    if "memory" in arguments:
        parts.append(f"it gets {arguments['memory']} of memory on each node")
    for name, value in arguments.get("environment", {}).items():
        parts.append(f"{name} is set to {value!r}" if value else f"{name} is taken out of its environment")
    if "workdir" in arguments:
        parts.append(f"it works in {arguments['workdir']}")
    return parts


def _job_add(arguments: dict[str, Any]) -> str:
    limit = f" (at most {seconds(float(arguments['timeout']))})" if "timeout" in arguments else ""
    return f"{_words(arguments['command'])} is run in the allocation first{limit}"


def _job_checkpoint(arguments: dict[str, Any]) -> str:
    signal, trigger, written = (arguments.get(name) for name in ("signal", "trigger", "written"))
    asked = [f"by {signal}"] if signal else []
    asked += [f"by the file {trigger}"] if trigger else []
    how = f" asked {' and '.join(asked)} where it has no client" if asked else ""
    seen = f" (written: {written})" if written else ""
    limit = f", in at most {seconds(float(arguments['timeout']))}" if "timeout" in arguments else ""
    return f"the running program is{how or ' asked'} for a checkpoint{seen}{limit}"


def _job_remove(arguments: dict[str, Any]) -> str:
    reason = f": {arguments['reason']}" if arguments.get("reason") else ""
    return f"the task is skipped and counts as done{reason}"


def _words(command: str | list[str]) -> str:
    return cut(command if isinstance(command, str) else " ".join(command))


_CLAUSES: dict[tuple[str, str], Callable[[dict[str, Any]], str]] = {
    (ResourceKind.FILESYSTEM, Operation.REPLACE): _filesystem_replace,
    (ResourceKind.FILESYSTEM, Operation.ADD): lambda a: f"the task may use {a['filesystem']} as well",
    (ResourceKind.FILESYSTEM, Operation.REMOVE): lambda a: f"the task may not use {a['filesystem']} any more",
    (ResourceKind.NODE, Operation.REPLACE): _node_replace,
    (ResourceKind.NODE, Operation.REMOVE): _node_remove,
    (ResourceKind.NODE, Operation.ADD): _node_add,
    (ResourceKind.JOB, Operation.REPLACE): _job_replace,
    (ResourceKind.JOB, Operation.ADD): _job_add,
    (ResourceKind.JOB, Operation.CHECKPOINT): _job_checkpoint,
    (ResourceKind.JOB, Operation.REMOVE): _job_remove,
}


# How often, and what then -------------------------------------------------------------------------


def _budget(exception: ExceptionSpec) -> str:
    if not exception.steps:
        return ""
    text = f"at most {times(exception.limit)} for each task{within(exception.limit_within)}"
    if exception.without_progress:
        text += " since it last got further, and once for an error that no restart mends"
    if exception.backoff:
        waits = [seconds(exception.backoff * 2**n) for n in range(min(exception.limit, 3))]
        more = " and so on" if exception.limit > len(waits) else ""
        text += f", after a wait of {', then '.join(waits)}{more}"
    return text


def _otherwise(exception: ExceptionSpec) -> str:
    if any(step.before_failure for step in exception.steps):
        return "the program goes on as it is, on the node"
    if exception.otherwise is Otherwise.FAIL:
        return "the task fails"
    if exception.otherwise is Otherwise.PAUSE:
        return "the task is paused: its allocation is kept until `whesl resume` or its time limit"
    if exception.escalate_to is not None:
        return f"{exception.escalate_to} is raised instead"
    return "the coordinator decides"


def _told(exception: ExceptionSpec) -> str:
    if exception.raises is None:
        return ""
    kind, severity = exception.raises.exception_type, exception.raises.severity
    return f"an exception of type {kind!r} and severity {severity} is raised on the job, where there are such"


def matching(jobs: Iterable[str]) -> str:
    """Return a list of job globs for a sentence."""
    patterns = list(jobs)
    return "every job" if "*" in patterns else one_of(patterns)
