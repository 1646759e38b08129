"""The checked specification: what ESL text becomes and what every other room reads.

Records are frozen and JSON-ready (msgspec structs), so that ``whesl compile`` and the daemons
exchange exactly these types. Vocabulary: dissertation (2026), section 4.3.3, listing 4.1.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from whesl.model.workflow import Task, job_matches

SPEC_VERSION = 1
DEFAULT_LIMIT = 3
# Of an exception raised on the job itself: Flux (RFC 21) lets 0 end the job; 7 is the mildest.
DEFAULT_SEVERITY = 7


class Level(str, Enum):
    """Who recovers: the isolator alone, or isolator and coordinator together."""

    JOB_LEVEL = "JOB_LEVEL"
    WORKFLOW_LEVEL = "WORKFLOW_LEVEL"


class Entity(str, Enum):
    """Who carries out a recovery step."""

    SCHEDULER = "SCHEDULER"
    WMS = "WMS"
    JOB = "JOB"
    DEPENDENT_JOB = "DEPENDENT_JOB"


class ResourceKind(str, Enum):
    """The resources that are built in; any other one has handlers for all its operations."""

    NODE = "NODE"
    JOB = "JOB"
    FILESYSTEM = "FILESYSTEM"

    def __str__(self) -> str:
        """Return the name: it stands where those of users' own do."""
        return self.value


class Operation(str, Enum):
    """The operations that are built in; any other one has a handler."""

    ADD = "ADD"
    REMOVE = "REMOVE"
    REPLACE = "REPLACE"
    CHECKPOINT = "CHECKPOINT"  # of JOB alone

    def __str__(self) -> str:
        """Return the name: it stands where those of users' own do."""
        return self.value


def operations_of(resource: str | None) -> tuple[str, ...]:
    """Return the built-in operations of a built-in resource; None for any one."""
    jobs = resource in (None, ResourceKind.JOB)
    return tuple(operation.value for operation in Operation if jobs or operation is not Operation.CHECKPOINT)


class Otherwise(str, Enum):
    """What happens when an exception's budget is spent, or its recovery cannot be done."""

    FAIL = "FAIL"
    PAUSE = "PAUSE"
    ESCALATE = "ESCALATE"


class Stream(str, Enum):
    """Where a detector reads. OUTPUT is stdout and stderr together, one file or two."""

    STDOUT = "stdout"
    STDERR = "stderr"
    OUTPUT = "output"
    FILE = "file"


class Require(str, Enum):
    """How several patterns of one detection combine."""

    ANY = "any"
    ALL = "all"


class DiskMetric(str, Enum):
    """What a disk detector measures."""

    SPACE = "space"
    INODES = "inodes"
    QUOTA = "quota"


class NodeCondition(str, Enum):
    """What a node detector waits for."""

    DOWN = "DOWN"
    DRAINED = "DRAINED"


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records of the specification."""


class Span(Record, frozen=True, kw_only=True):
    """Where something stands in the source: 1-based lines and columns, end exclusive.

    ``file`` is set for what comes from an included file: a library's name in angle brackets, or a path.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    file: str | None = None


class Source(Record, frozen=True, kw_only=True):
    """A stream of the job, or a file (relative paths: to the task's working directory)."""

    stream: Stream
    path: str | None = None


class Pattern(Record, frozen=True, kw_only=True):
    """A literal text or a regular expression, with the names it captures."""

    text: str
    regex: bool = False
    captures: tuple[str, ...] = ()


class LogDetection(Record, frozen=True, kw_only=True, tag="log"):
    """Any or all of the patterns, ``times`` times, within ``within`` seconds if given."""

    patterns: tuple[Pattern, ...]
    source: Source
    require: Require = Require.ANY
    times: int = 1
    within: float | None = None
    span: Span


class HangDetection(Record, frozen=True, kw_only=True, tag="hang"):
    """The pattern did not appear for ``timeout`` s; the clock starts ``warmup`` s after the start."""

    pattern: Pattern
    source: Source
    timeout: float
    warmup: float = 0.0
    span: Span


class SilenceDetection(Record, frozen=True, kw_only=True, tag="silence"):
    """No byte of any output for ``timeout`` seconds."""

    timeout: float
    warmup: float = 0.0
    span: Span


class ProgressDetection(Record, frozen=True, kw_only=True, tag="progress"):
    """The number captured by ``capture`` did not rise for ``timeout`` seconds."""

    pattern: Pattern
    capture: str
    source: Source
    timeout: float
    warmup: float = 0.0
    span: Span


class CodeRange(Record, frozen=True, kw_only=True):
    """Inclusive range of exit codes."""

    first: int
    last: int


class ExitDetection(Record, frozen=True, kw_only=True, tag="exit"):
    """The task ended with one of these exit codes or signals; with neither given, with any failure.

    ``excluded``: it ended with any failure but these codes.
    """

    codes: tuple[CodeRange, ...] = ()
    signals: tuple[int, ...] = ()
    excluded: bool = False
    span: Span


class NodeDetection(Record, frozen=True, kw_only=True, tag="node"):
    """A node of the task is down, or is being drained."""

    condition: NodeCondition
    span: Span


class JobExceptionDetection(Record, frozen=True, kw_only=True, tag="job_exception"):
    """The resource manager raised an exception of exactly this type on the job or one of its steps.

    ``severity`` n counts those of n and more severe ones, which have lower numbers; None counts all.
    Source: Flux RFC 21, exception events.
    """

    exception_type: str
    severity: int | None = None
    span: Span


class ExternalDetection(Record, frozen=True, kw_only=True, tag="external"):
    """It is raised from outside (``whesl raise``), as every exception may be, and in no other way."""

    span: Span


class PredictedDetection(Record, frozen=True, kw_only=True, tag="predicted"):
    """A node of the task is predicted to fail (``whesl.model.evidence.PredictedFailure``).

    ``node`` is a glob of its name, None for any; ``within``: at most so many seconds ahead; ``confidence``:
    with at least this probability.
    """

    node: str | None = None
    within: float | None = None
    confidence: float = 0.0
    span: Span


class DiskDetection(Record, frozen=True, kw_only=True, tag="disk"):
    """Use of the file system that holds ``path`` is above ``above`` (a fraction from 0 to 1)."""

    path: str
    metric: DiskMetric
    above: float
    span: Span


class CountDetection(Record, frozen=True, kw_only=True, tag="count"):
    """Another exception happened ``times`` times: it is transformed into this one before it is handled."""

    exception: str
    times: int
    within: float | None = None
    span: Span


Detection = (
    LogDetection
    | HangDetection
    | SilenceDetection
    | ProgressDetection
    | ExitDetection
    | NodeDetection
    | JobExceptionDetection
    | ExternalDetection
    | PredictedDetection
    | DiskDetection
    | CountDetection
)


class RecoveryStep(Record, frozen=True, kw_only=True):
    """One operation on a resource, by an entity, with its arguments (any JSON object).

    Argument strings may use captures of the detection as ``${name}``. ``resource`` is a ``ResourceKind`` or
    one of the user's own, ``operation`` an ``Operation`` or one of the user's own. ``before_failure``: it is
    done while the node lives, after a checkpoint that became whole, or not at all.
    """

    entity: Entity
    resource: str
    operation: str
    arguments: dict[str, Any] = {}
    before_failure: bool = False
    span: Span


class JobExceptionRaise(Record, frozen=True, kw_only=True):
    """An exception that the resource manager is told of: type and severity (1 to 7), as in Flux RFC 21."""

    exception_type: str
    severity: int = DEFAULT_SEVERITY


class ExceptionSpec(Record, frozen=True, kw_only=True):
    """An exception: for which jobs (globs), how it is seen, what is done, how often, and what then.

    ``limit`` recoveries are allowed (within ``limit_within`` seconds, if given); the n-th recovery waits
    ``backoff * 2**(n-1)`` seconds first; then ``otherwise``. ``escalate_to`` names the exception that
    ``ESCALATE`` raises; None leaves the choice to the coordinator's default (the task fails visibly).
    ``raises`` is raised on the job as well, each time, where the resource manager has such exceptions.
    """

    name: str
    level: Level
    jobs: tuple[str, ...]
    detections: tuple[Detection, ...]
    steps: tuple[RecoveryStep, ...]
    limit: int = DEFAULT_LIMIT
    limit_within: float | None = None
    backoff: float = 0.0
    otherwise: Otherwise = Otherwise.FAIL
    escalate_to: str | None = None
    raises: JobExceptionRaise | None = None
    span: Span


class OperationDeclaration(Record, frozen=True, kw_only=True):
    """An operation that a resource offers, with the custom handler that carries it out, if any."""

    operation: str
    handler: str | None = None


class ResourceDeclaration(Record, frozen=True, kw_only=True):
    """A resource and its operations."""

    resource: str
    operations: tuple[OperationDeclaration, ...]


class Spec(Record, frozen=True, kw_only=True):
    """A whole checked specification."""

    version: int = SPEC_VERSION
    file: str
    entities: tuple[Entity, ...]
    levels: tuple[Level, ...]
    resources: tuple[ResourceDeclaration, ...]
    exceptions: tuple[ExceptionSpec, ...]

    def exception(self, name: str) -> ExceptionSpec:
        """Return the exception called ``name``; raises KeyError."""
        for spec in self.exceptions:
            if spec.name == name:
                return spec
        raise KeyError(name)

    def covering(self, task: Task) -> tuple[str, ...]:
        """Return the names of the exceptions that cover a task, in the order of the file."""
        return tuple(spec.name for spec in self.exceptions if job_matches(spec.jobs, task.step, task.name))

    def place(self, span: Span) -> str:
        """Return where something stands, as ``file:line``, in whichever file that is."""
        return f"{span.file or self.file}:{span.line}"

    def handler(self, resource: str, operation: str) -> str | None:
        """Return the custom handler declared for an operation, or None for the built-in one."""
        for declaration in self.resources:
            if declaration.resource == resource:
                for offered in declaration.operations:
                    if offered.operation == operation:
                        return offered.handler
        return None
