"""A specification in sentences: what is watched for, and what is done. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from whesl.esl.diagnostics import one_of
from whesl.esl.language.arguments import signal_names, signal_number
from whesl.esl.spec import (
    CountDetection,
    Detection,
    DiskDetection,
    DiskMetric,
    ExceptionSpec,
    ExitDetection,
    ExternalDetection,
    HangDetection,
    JobExceptionDetection,
    Level,
    LogDetection,
    NodeCondition,
    NodeDetection,
    Operation,
    Otherwise,
    Pattern,
    PredictedDetection,
    ProgressDetection,
    RecoveryStep,
    Require,
    ResourceKind,
    SilenceDetection,
    Source,
    Spec,
    Stream,
)
from whesl.model.record import assert_never

_LONGEST = 160  # characters of a pattern or an argument that are shown
_DAY, _HOUR, _MINUTE = 86400, 3600, 60
_UNKNOWN = {
    "restart": "the task restarts on the same nodes",
    "fail": "the recovery fails",
    "pause": "the task is paused",
}
_SUBJECTS = {
    Stream.STDOUT: "standard output",
    Stream.STDERR: "standard error",
    Stream.OUTPUT: "standard output or standard error",
}


class Sentence(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence, and where in the specification it comes from (``file:line``)."""

    text: str
    place: str


class Explained(msgspec.Struct, frozen=True, kw_only=True):
    """One exception in sentences.

    ``when`` are the ways to raise it, ``then`` the steps of its recovery in their order; ``budget`` says how
    often, ``otherwise`` what happens after that, ``told`` what the resource manager is told, if anything.
    ``restarts``: whether the program is ended and started again.
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
        when=tuple(Sentence(text=detected(d), place=spec.place(d.span)) for d in exception.detections),
        then=tuple(Sentence(text=done(spec, s), place=spec.place(s.span)) for s in exception.steps),
        budget=_budget(exception),
        otherwise=_otherwise(exception),
        told=_told(exception),
        restarts=any(step.operation != Operation.CHECKPOINT for step in exception.steps),
    )


# How it is seen -----------------------------------------------------------------------------------


def detected(detection: Detection) -> str:
    """Return a way to raise an exception as a clause: what happens."""
    match detection:
        case LogDetection():
            return _log(detection)
        case HangDetection():
            line = f"line of {_source(detection.source)} that {_pattern(detection.pattern)}"
            return f"no {line} appears for {_timer(detection.timeout, detection.warmup)}"
        case SilenceDetection():
            return f"the job prints nothing for {_timer(detection.timeout, detection.warmup)}"
        case ProgressDetection():
            timer = _timer(detection.timeout, detection.warmup)
            line = f"lines of {_source(detection.source)} that {_pattern(detection.pattern, many=True)}"
            return f"the number {detection.capture!r} in {line} does not rise for {timer}"
        case ExitDetection():
            return _exit(detection)
        case NodeDetection():
            lost = detection.condition is NodeCondition.DOWN
            return "a node of the job is lost" if lost else "a node of the job is being taken out of service"
        case JobExceptionDetection():
            worst = "" if detection.severity is None else f" of severity {detection.severity}"
            worst += " or worse" if detection.severity else ""
            kind = detection.exception_type
            return f"the resource manager raises an exception of type {kind!r}{worst} on the job"
        case ExternalDetection():
            return "somebody raises it from outside (whesl raise)"
        case PredictedDetection():
            return _predicted(detection)
        case DiskDetection():
            return _disk(detection)
        case CountDetection():
            return _counted(detection)
    return assert_never(detection)


def _log(detection: LogDetection) -> str:
    where = _source(detection.source)
    if detection.require is Require.ALL:
        shown = ", ".join(_shown(pattern) for pattern in detection.patterns)
        within = f" within {_seconds(detection.within)}" if detection.within is not None else ""
        return f"all of these have been seen in {where}{within}: {shown}"
    text = f"a line of {where} {one_of([_pattern(pattern) for pattern in detection.patterns])}"
    if detection.times > 1 or detection.within is not None:
        within = f" within {_seconds(detection.within)}" if detection.within is not None else ""
        text += f", {detection.times} times{within}"
    return text


def _exit(detection: ExitDetection) -> str:
    if detection.signals:
        return f"the job is ended by {one_of([_signal(number) for number in detection.signals])}"
    codes = one_of([f"{c.first}" if c.first == c.last else f"{c.first} to {c.last}" for c in detection.codes])
    if codes and not detection.excluded:
        return f"the job ends with status {codes}"
    failure = "the job ends with any failure: a status other than 0, or a signal"
    return f"{failure}; but not with status {codes}" if codes else failure


def _signal(number: int) -> str:
    name = next((name for name in signal_names() if signal_number(name) == number), "signal")
    return f"{name} ({number})"


def _predicted(detection: PredictedDetection) -> str:
    who = "a node of the job" if detection.node is None else f"the node {detection.node} of the job"
    within = f" within {_seconds(detection.within)}" if detection.within is not None else ""
    sure = f", with a confidence of at least {detection.confidence:g}" if detection.confidence else ""
    return f"{who} is predicted to fail{within}{sure}"


def _disk(detection: DiskDetection) -> str:
    share = f"{detection.above * 100:g}%"
    if detection.metric is DiskMetric.SPACE:
        return f"more than {share} of the space of the file system that holds {detection.path} is used"
    if detection.metric is DiskMetric.INODES:
        return f"more than {share} of the files that the file system of {detection.path} can hold exist"
    return f"more than {share} of the user's quota on the file system of {detection.path} is used"


def _counted(detection: CountDetection) -> str:
    within = f" within {_seconds(detection.within)}" if detection.within is not None else ""
    return f"{detection.exception} has happened {times(detection.times)}{within}: the last one becomes this"


def _timer(timeout: float, warmup: float) -> str:
    start = f" (the clock starts {_seconds(warmup)} after the job)" if warmup else ""
    return f"{_seconds(timeout)}{start}"


def _source(source: Source) -> str:
    return f"the file {source.path}" if source.path is not None else _SUBJECTS[source.stream]


def _pattern(pattern: Pattern, *, many: bool = False) -> str:
    if pattern.regex:
        return f"{'match' if many else 'matches'} {_shown(pattern)}"
    return f"{'contain' if many else 'contains'} {_shown(pattern)}"


def _shown(pattern: Pattern) -> str:
    mark = "/" if pattern.regex else '"'
    return f"{mark}{_cut(pattern.text)}{mark}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


# What is done -------------------------------------------------------------------------------------


def done(spec: Spec, step: RecoveryStep) -> str:
    """Return a recovery step as a clause: who does what to which resource."""
    operation = f"{step.resource}.{step.operation}"
    handler = spec.handler(step.resource, step.operation)
    if handler is not None:
        given = f" with {_cut(msgspec.json.encode(step.arguments).decode())}" if step.arguments else ""
        return f"{step.entity.value}: {operation} by your handler {handler}{given}"
    clause = _CLAUSES[step.resource, step.operation](step.arguments)
    if step.before_failure:
        clause = f"once a checkpoint is whole, and only then, {clause}, before the node has failed"
        return f"{step.entity.value}: {operation} BEFORE FAILURE: {clause}"
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
    return f"a spare of the allocation takes the place of {_suspect(arguments)}"


def _node_remove(arguments: dict[str, Any]) -> str:
    least = arguments.get("min_nodes")
    enough = f", if that leaves {least} or more" if least else ""
    return f"the task goes on without {_suspect(arguments)}{enough}"


def _suspect(arguments: dict[str, Any]) -> str:
    node = arguments.get("node")
    who = f"the node {node}" if node else "the node that the evidence blames"
    given = arguments.get("expires")
    kept = _seconds(float(given)) if given is not None else "1 h to 24 h, by the evidence"
    unknown = _UNKNOWN[arguments.get("unknown", "restart")]
    return f"{who}, which is kept in mind as bad for {kept} (if it is not known: {unknown})"


def _node_add(arguments: dict[str, Any]) -> str:
    count = arguments.get("count", 1)
    if count == 1:
        return "a spare of the allocation is taken into use"
    return f"{count} spares of the allocation are taken into use"


def _job_replace(arguments: dict[str, Any]) -> str:
    parts = []
    if "command" in arguments:
        parts.append(f"the command {_words(arguments['command'])} takes the place of its own")
    if "nodes" in arguments:
        parts.append(f"it gets {arguments['nodes']} nodes")
    if "time" in arguments:
        parts.append(f"its time limit is {arguments['time']:g} min")
    for name, value in arguments.get("environment", {}).items():
        parts.append(f"{name} is set to {value!r}" if value else f"{name} is taken out of its environment")
    if "workdir" in arguments:
        parts.append(f"it works in {arguments['workdir']}")
    return f"the task runs again{', changed: ' if parts else ' as it is'}{'; '.join(parts)}"


def _job_add(arguments: dict[str, Any]) -> str:
    limit = f" (at most {_seconds(float(arguments['timeout']))})" if "timeout" in arguments else ""
    return f"{_words(arguments['command'])} is run in the allocation first{limit}"


def _job_checkpoint(arguments: dict[str, Any]) -> str:
    signal, trigger, written = (arguments.get(name) for name in ("signal", "trigger", "written"))
    asked = [f"by {signal}"] if signal else []
    asked += [f"by the file {trigger}"] if trigger else []
    how = f" asked {' and '.join(asked)} where it has no client" if asked else ""
    seen = f" (written: {written})" if written else ""
    limit = f", in at most {_seconds(float(arguments['timeout']))}" if "timeout" in arguments else ""
    return f"the running program is{how or ' asked'} for a checkpoint{seen}{limit}"


def _job_remove(arguments: dict[str, Any]) -> str:
    reason = f": {arguments['reason']}" if arguments.get("reason") else ""
    return f"the task is skipped and counts as done{reason}"


def _words(command: str | list[str]) -> str:
    return _cut(command if isinstance(command, str) else " ".join(command))


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
    within = f" within {_seconds(exception.limit_within)}" if exception.limit_within is not None else ""
    text = f"at most {times(exception.limit)} for each task{within}"
    if exception.backoff:
        waits = [_seconds(exception.backoff * 2**n) for n in range(min(exception.limit, 3))]
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


def times(count: int) -> str:
    """Return how often, in words: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _seconds(seconds: float) -> str:
    """Return a time with the largest unit that it is a whole number of."""
    for unit, size in (("day", _DAY), ("h", _HOUR), ("min", _MINUTE)):
        if seconds >= size and seconds % size == 0:
            plural = "s" if unit == "day" and seconds != size else ""
            return f"{seconds / size:g} {unit}{plural}"
    return f"{seconds:g} s"


def matching(jobs: Iterable[str]) -> str:
    """Return a list of job globs for a sentence."""
    patterns = list(jobs)
    return "every job" if "*" in patterns else one_of(patterns)
