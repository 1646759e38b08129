"""Base classes of the kinds of detections; each kind is a module of this folder.

A kind has a record in the specification (``Kind``), which defines its form, its checks and its sentence.
Where observations of the isolator raise it, it also has a ``Detector``, which judges them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import msgspec

from whesl.language.pattern_and_stream_records import Pattern, Record, Source, Span
from whesl.model.evidence import Cause, CauseClass, Evidence, PredictedFailure
from whesl.model.states import NodeState

if TYPE_CHECKING:
    from whesl.language.compiler.detection_checks import DetectionCheck as DetectionCheck
    from whesl.language.compiler.syntax import Form as Form
    from whesl.language.compiler.syntax import Word as Word
else:  # for annotations alone, here and in the kinds: who judges observations loads no compiler
    DetectionCheck = Form = Word = Any

Found = tuple[Evidence, ...]
STREAMS = "stdout|stderr|output|file"


class DiskMetric(str, Enum):
    """The quantity that a disk detector measures."""

    SPACE = "space"
    INODES = "inodes"
    QUOTA = "quota"


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Use of the file system that holds ``path``, as a fraction of its capacity or of the quota.

    ``path`` is written as in the specification. The fraction is above 1 beyond a soft quota.
    """

    path: str
    metric: DiskMetric
    fraction: float

    def __str__(self) -> str:
        return f"{self.path}: {self.fraction:.1%}"


class Broken(str, Enum):
    """The fault of promised files."""

    MISSING = "missing"
    EMPTY = "empty"
    OLDER = "older"
    UNMATCHED = "unmatched"


class Promise(Record, frozen=True, kw_only=True):
    """Output files that a task has to leave, and the fault that breaks the promise.

    Attributes:
        path: glob of the files in the task's working directory.
        broken: the fault that is looked for.
        than: glob of files that none of the output files may be older than.
        pattern: the text or expression that each output file has to contain.
        needed: whether a missing file breaks the promise, too.
    """

    path: str
    broken: Broken
    than: str | None = None
    pattern: Pattern | None = None
    needed: bool = False


class Reads(NamedTuple):
    """The patterns that a detection looks for, and the source that it looks in."""

    source: Source
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Seen:
    """A pattern found in a line; ``place`` (file, offset of the line) identifies the line."""

    pattern: Pattern
    place: tuple[str, int]
    evidence: Evidence


class Kind(Record, frozen=True, kw_only=True):
    """A kind of detection: the record of a DETECTION statement. ``span`` is the statement's place.

    ``alternatives`` are the alternatives of the grammar's rule ``detection`` that become this kind;
    ``written`` are its forms, each beginning with the first word (or words, ``a|b``) of such a statement.
    """

    alternatives: ClassVar[tuple[str, ...]] = ()
    written: ClassVar[tuple[str, ...]] = ()
    timed: ClassVar[bool] = False  # its patterns reset a timer
    sign_of_life: ClassVar[bool] = False  # its patterns only reset a timer
    rises: ClassVar[bool] = False  # its patterns reset a timer when the number in them is the highest so far
    hears_manager: ClassVar[bool] = False  # exceptions of the resource manager raise it
    of_nodes: ClassVar[bool] = False  # states of the task's nodes raise it
    of_ends: ClassVar[bool] = False  # only the end of the program raises it

    if TYPE_CHECKING:  # ``span`` is the last field of each kind's record

        @property
        def span(self) -> Span: ...

    @classmethod
    @abstractmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> Kind | None:
        """Return the record of a statement, or None when the statement is wrong.

        Args:
            form: the statement's form.
            check: converts the parts of the form and collects findings.
            span: the statement's place.
        """

    @abstractmethod
    def sentence(self) -> str:
        """Return a clause with the event that raises the exception."""

    def detector(self, exception: str, node: str) -> Detector[Any] | None:
        """Return the detector of this detection for one task; None for kinds that are raised without one.

        Args:
            exception: the name of the exception that the detector raises.
            node: the node of the isolator, for the evidence.
        """
        return None

    def unjudged(self, last: tuple[int, int] | None, ended: bool) -> str:
        """Return the part of this detection that a log without a clock cannot judge, empty for none.

        Args:
            last: number of lines with its pattern, and number of the last such line; None where no pattern
                resets a timer.
            ended: whether the end of the job is known and has raised an exception.
        """
        return f"what happened outside the job's output ({self.sentence()})"

    def reads(self) -> Reads | None:
        """Return the patterns of this detection and their source; None for a kind without patterns."""
        return None

    def new_start(self) -> Pattern | None:
        """Return the pattern of a line printed when the program restarts within an attempt, or None."""
        return None

    def looked_for(self) -> Reads | None:
        """Return all patterns that its detector is called for, and their source; None for none."""
        reads, anew = self.reads(), self.new_start()
        return reads if reads is None or anew is None else Reads(reads.source, (*reads.patterns, anew))

    def with_paths(self, change: Callable[[str], str]) -> Kind:
        """Return this detection with its paths (of a file, of a file system) changed.

        Args:
            change: returns the new path for a path.
        """
        source: Source | None = getattr(self, "source", None)
        if source is None or source.path is None:
            return self
        changed = msgspec.structs.replace(source, path=change(source.path))
        return self if changed == source else msgspec.structs.replace(self, source=changed)

    def one_line(self) -> Reads | None:
        """Return the patterns for which one line raises this detection; None for none."""
        return None

    def needs_all(self) -> bool:
        """Whether this detection is raised by lines of which each has another pattern, the newest of each."""
        return False

    def starved(self, taken: frozenset[Pattern]) -> bool:
        """Whether this detection is never raised if a line with any pattern of ``taken`` ends the attempt."""
        return False

    def captured(self) -> list[frozenset[str]]:
        """Return the names that this detection captures, for each way to raise it."""
        return [frozenset()]

    def measured(self) -> tuple[str, DiskMetric] | None:
        """Return the file system's path and the measured quantity; None for other kinds."""
        return None

    def fuller_than(self) -> float | None:
        """Return the fraction of a file system above which this detection is raised, or None."""
        return None

    def promised(self) -> Promise | None:
        """Return the promise of the files that a successful task leaves; None for other kinds."""
        return None

    def causes(self) -> tuple[CauseClass, ...]:
        """Return the classes of causes that raise this detection; none for other kinds."""
        return ()

    def timer(self) -> tuple[float, float] | None:
        """Return the time-out and the warm-up of this detection's timer in seconds; None without a timer."""
        return None

    def counted(self) -> str | None:
        """Return the name of the exception that this detection counts; None for other kinds."""
        return None

    def in_vain(self) -> InVain | None:
        """Return why starting the same task again in its job does not help; None where it may help."""
        return None

    def sees_lost_nodes(self) -> bool:
        """Whether the loss of a node raises this detection."""
        return False

    def ends(self) -> tuple[frozenset[int], frozenset[int]]:
        """Return the exit codes and the signals that raise this detection; none for any, and other kinds."""
        return frozenset(), frozenset()

    def repeats(self) -> tuple[int, float | None]:
        """Return how often its lines have to come, and within how many seconds, None for any time."""
        return 1, None

    def nodes(self) -> str | None:
        """Return the glob of the nodes whose states raise this detection; None for all, and other kinds."""
        return None

    def foresees(self, prediction: PredictedFailure) -> bool:
        """Whether a predicted failure raises this detection."""
        return False


class InVain(NamedTuple):
    """A failure that the same task meets again when it is started again in its job.

    ``over``: nothing can be started in the job any more, so that only a new run of the job can help.
    """

    reason: str
    hint: str
    over: bool


_K = TypeVar("_K", bound=Kind)


class Detector(Generic[_K]):
    """Judges one detection of one task over its attempts. Pure: the caller passes observations and times.

    ``observed`` is a time in seconds that stops while nobody observes the task
    (``runtime.detect.detectors``); ``now`` is seconds since the epoch. A method that returns evidence raises
    the exception with it; an empty tuple raises nothing.
    """

    timed = False  # whether it has deadlines; if so, ``printed`` and ``put_off`` are called
    has_progress = False

    def __init__(self, exception: str, node: str, detection: _K) -> None:
        self.exception = exception
        self.node = node
        self.detection = detection

    def start(self, observed: float) -> None:
        """Begin a new attempt and forget the output of the attempt before."""

    def line(self, sources: Sequence[Source], seen: Seen, now: float, observed: float) -> Found:
        """Judge a pattern that was found in a line.

        Args:
            sources: the sources that the line's file is read for.
            seen: the pattern and the line.
            now: seconds since the epoch.
            observed: the observed time.
        """
        return ()

    def rotated(self, file: str) -> None:
        """Forget the offsets of a file's lines: the path has a new file."""

    def printed(self, count: int, observed: float) -> None:
        """Note that the task has printed.

        Args:
            count: number of bytes read from any output.
            observed: the observed time.
        """

    def deadline(self) -> float | None:
        """Return the observed time at which ``overdue`` has to be called; None for never."""
        return None

    def overdue(self, now: float) -> Found:
        """Judge that the deadline has passed."""
        return ()

    def put_off(self, seconds: float, observed: float, launching: float, raised: bool) -> None:
        """Extend the deadline by a time in which the program was stopped.

        Args:
            seconds: the length of that time.
            observed: the observed time.
            launching: seconds that a launcher may take to start the program, 0 for no launcher.
            raised: whether the exception was raised in that time.
        """

    def exited(self, code: int, signal: int | None, evidence: Evidence) -> Found:
        """Judge the end of an attempt.

        Args:
            code: the exit status as a shell gives it.
            signal: the signal that ended the attempt, None for none.
            evidence: the evidence of the end.
        """
        return ()

    def diagnosed(self, cause: Cause, evidence: Evidence) -> Found:
        """Judge the cause of a failed attempt.

        Args:
            cause: the cause.
            evidence: the evidence of the cause.
        """
        return ()

    def promise_broken(self, promise: Promise, evidence: Evidence) -> Found:
        """Judge that a successful task has broken a promise of its output.

        Args:
            promise: the broken promise.
            evidence: the evidence of the fault.
        """
        return ()

    def node_is(self, name: str, state: NodeState, reason: str, now: float) -> Found:
        """Judge the state of a node; UNKNOWN neither raises nor clears anything.

        Args:
            name: the node's name.
            state: the node's state.
            reason: the reason of that state.
            now: seconds since the epoch.
        """
        return ()

    def manager_raised(self, exception_type: str, severity: int, evidence: Found) -> Found:
        """Judge an exception of the resource manager.

        Args:
            exception_type: the exception's type.
            severity: the exception's severity.
            evidence: the evidence of the exception.
        """
        return ()

    def disk(self, usage: Usage, now: float) -> Found:
        """Judge a measurement of a file system.

        Args:
            usage: the measurement.
            now: seconds since the epoch.
        """
        return ()

    def progress(self) -> float | None:
        """Return the highest number that PROGRESS has captured in this attempt; None for none."""
        return None

    def snapshot(self, observed: float) -> dict[str, Any]:
        """Return the state that a restarted isolator needs, as JSON-ready values."""
        return {}

    def restore(self, state: dict[str, Any], observed: float) -> None:
        """Restore the state of a snapshot.

        Args:
            state: the values that ``snapshot`` returned.
            observed: the observed time.
        """
