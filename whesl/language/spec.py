"""The checked specification: the records that ESL text is compiled to and all other packages read.

Records are frozen and JSON-ready (msgspec structs), so that ``whesl compile`` and the daemons
exchange exactly these types. Vocabulary: dissertation (2026), section 4.3.3, listing 4.1.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import msgspec

from whesl.language.detections.kinds import Detection
from whesl.language.pattern_and_stream_records import Record, Span
from whesl.model.workflow import Task, job_matches

SPEC_VERSION = 1
LONGEST_BACKOFF = 3600.0  # seconds
DEFAULT_LIMIT = 3
# Severity of an exception raised on the job (Flux RFC 21): 0 ends the job, 7 is the mildest.
DEFAULT_SEVERITY = 7


class Level(str, Enum):
    """The level of an exception: the isolator recovers it alone, or isolator and coordinator together."""

    JOB_LEVEL = "JOB_LEVEL"
    WORKFLOW_LEVEL = "WORKFLOW_LEVEL"


class Entity(str, Enum):
    """The entity that carries out a recovery step."""

    SCHEDULER = "SCHEDULER"
    WMS = "WMS"
    JOB = "JOB"
    DEPENDENT_JOB = "DEPENDENT_JOB"


class ResourceKind(str, Enum):
    """The built-in resources; a user's own resource has handlers for all its operations."""

    NODE = "NODE"
    JOB = "JOB"
    FILESYSTEM = "FILESYSTEM"

    def __str__(self) -> str:
        """Return the name: it stands where those of users' own do."""
        return self.value


class Operation(str, Enum):
    """The built-in operations; a user's own operation has a handler."""

    ADD = "ADD"
    REMOVE = "REMOVE"
    REPLACE = "REPLACE"
    CHECKPOINT = "CHECKPOINT"  # for the resource JOB only

    def __str__(self) -> str:
        """Return the name: it stands where those of users' own do."""
        return self.value


def operations_of(resource: str | None) -> tuple[str, ...]:
    """Return the built-in operations of a built-in resource; of all resources for None."""
    jobs = resource in (None, ResourceKind.JOB)
    return tuple(operation.value for operation in Operation if jobs or operation is not Operation.CHECKPOINT)


# The operations that each entity offers beside custom handlers. WMS offers those of its workflow manager.
OFFERED = {
    Entity.SCHEDULER: frozenset(
        {
            (ResourceKind.NODE, Operation.REMOVE),
            (ResourceKind.NODE, Operation.REPLACE),
            (ResourceKind.JOB, Operation.REMOVE),
            (ResourceKind.JOB, Operation.REPLACE),
        }
    ),
    Entity.DEPENDENT_JOB: frozenset(
        {
            (ResourceKind.FILESYSTEM, Operation.ADD),
            (ResourceKind.FILESYSTEM, Operation.REMOVE),
            (ResourceKind.FILESYSTEM, Operation.REPLACE),
            (ResourceKind.NODE, Operation.REMOVE),
            (ResourceKind.JOB, Operation.REMOVE),
            (ResourceKind.JOB, Operation.REPLACE),
        }
    ),
}


class Otherwise(str, Enum):
    """The action when an exception's budget is spent, or its recovery fails."""

    FAIL = "FAIL"
    PAUSE = "PAUSE"
    ESCALATE = "ESCALATE"


class RecoveryStep(Record, frozen=True, kw_only=True):
    """One operation on a resource, by an entity, with its arguments (any JSON object).

    Argument strings may use captures of the detection as ``${name}``. ``resource`` is a ``ResourceKind`` or a
    user's own resource, ``operation`` is an ``Operation`` or a user's own operation. A step with
    ``before_failure`` runs while the node still lives, after a complete checkpoint, or not at all.
    """

    entity: Entity
    resource: str
    operation: str
    arguments: dict[str, Any] = {}  # noqa: RUF012 - msgspec copies it
    before_failure: bool = False
    span: Span


class JobExceptionRaise(Record, frozen=True, kw_only=True):
    """An exception raised with the resource manager: type and severity (1 to 7), as in Flux RFC 21."""

    exception_type: str
    severity: int = DEFAULT_SEVERITY


class ExceptionSpec(Record, frozen=True, kw_only=True):
    """An exception: its jobs (globs), detections, recovery steps, budget of recoveries and last action.

    ``limit`` recoveries are allowed: within ``limit_within`` seconds, if given; with ``without_progress``,
    since the task's last progress. The n-th recovery first waits ``backoff * 2**(n-1)`` seconds; after the
    last one ``otherwise`` applies. ``escalate_to`` names the exception that ``ESCALATE`` raises; None selects
    the coordinator's default (the task fails visibly). ``raises`` is also raised on the job, each time, where
    the resource manager supports such exceptions.
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
    """An operation of a resource, with its custom handler, None for the built-in operation."""

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
        """Return the exception with the name ``name``. Raises KeyError."""
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

    def for_any_job(self) -> Spec:
        """Return the specification with exceptions that cover every task, for tasks without a name."""
        exceptions = tuple(msgspec.structs.replace(each, jobs=("*",)) for each in self.exceptions)
        return msgspec.structs.replace(self, exceptions=exceptions)

    def place(self, span: Span) -> str:
        """Return a place in the specification or an included file as ``file:line``."""
        return f"{span.file or self.file}:{span.line}"

    def handler(self, resource: str, operation: str) -> str | None:
        """Return the custom handler declared for an operation, or None for the built-in operation.

        Args:
            resource: the resource's name.
            operation: the operation's name.
        """
        for declaration in self.resources:
            if declaration.resource == resource:
                for offered in declaration.operations:
                    if offered.operation == operation:
                        return offered.handler
        return None
