"""The checked specification: what ESL text becomes and what every other room reads.

Records are frozen and JSON-ready (msgspec structs), so that ``whesl compile`` and the daemons
exchange exactly these types. Vocabulary: dissertation (2026), section 4.3.3, listing 4.1.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from whesl.language.detections.kinds import Detection
from whesl.language.patterns_and_places import Record, Span
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


class RecoveryStep(Record, frozen=True, kw_only=True):
    """One operation on a resource, by an entity, with its arguments (any JSON object).

    Argument strings may use captures of the detection as ``${name}``. ``resource`` is a ``ResourceKind`` or
    one of the user's own, ``operation`` an ``Operation`` or one of the user's own. ``before_failure``: it is
    done while the node lives, after a checkpoint that became whole, or not at all.
    """

    entity: Entity
    resource: str
    operation: str
    arguments: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    before_failure: bool = False
    span: Span


class JobExceptionRaise(Record, frozen=True, kw_only=True):
    """An exception that the resource manager is told of: type and severity (1 to 7), as in Flux RFC 21."""

    exception_type: str
    severity: int = DEFAULT_SEVERITY


class ExceptionSpec(Record, frozen=True, kw_only=True):
    """An exception: for which jobs (globs), how it is seen, what is done, how often, and what then.

    ``limit`` recoveries are allowed (within ``limit_within`` seconds, if given; ``without_progress``: those
    since the task last got further); the n-th recovery waits ``backoff * 2**(n-1)`` seconds first; then
    ``otherwise``. ``escalate_to`` names the exception that
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
    without_progress: bool = False
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
    """A whole checked specification. ``coupled``: globs of jobs that exchange data while they run."""

    version: int = SPEC_VERSION
    file: str
    entities: tuple[Entity, ...]
    levels: tuple[Level, ...]
    resources: tuple[ResourceDeclaration, ...]
    coupled: tuple[tuple[str, ...], ...] = ()
    exceptions: tuple[ExceptionSpec, ...]

    def exception(self, name: str) -> ExceptionSpec:
        """Return the exception called ``name``; raises KeyError."""
        for spec in self.exceptions:
            if spec.name == name:
                return spec
        raise KeyError(name)

    def exceptions_of(self, task: Task) -> tuple[ExceptionSpec, ...]:
        """Return the exceptions that cover a task, in the order of the file."""
        return tuple(spec for spec in self.exceptions if job_matches(spec.jobs, task.step, task.name))

    def covering(self, task: Task) -> tuple[str, ...]:
        """Return the names of the exceptions that cover a task, in the order of the file."""
        return tuple(spec.name for spec in self.exceptions_of(task))

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
