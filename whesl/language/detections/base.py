"""What all kinds of detections have in common: a kind is one module of this folder.

A kind is a record of the specification (``Kind``), which says how it is written, how it is checked and what
it means in a sentence, and, where something that the isolator observes raises it, what judges that
(``Detector``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import msgspec

from whesl.language.patterns_and_places import Pattern, Record, Source, Span
from whesl.model.evidence import Cause, Evidence
from whesl.model.states import NodeState

if TYPE_CHECKING:
    from whesl.language.compiler.detection_checks import DetectionCheck
    from whesl.language.compiler.syntax import Form
    from whesl.model.evidence import PredictedFailure

Found = tuple[Evidence, ...]
STREAMS = "stdout|stderr|output|file"


class DiskMetric(str, Enum):
    """What a disk detector measures."""

    SPACE = "space"
    INODES = "inodes"
    QUOTA = "quota"


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Use of the file system that holds ``path``, as a fraction of what can be had.

    ``path`` is as the specification writes it. Above 1 for a soft quota that was passed.
    """

    path: str
    metric: DiskMetric
    fraction: float

    def __str__(self) -> str:
        return f"{self.path}: {self.fraction:.1%}"


class Broken(str, Enum):
    """What is wrong with promised files."""

    MISSING = "missing"
    EMPTY = "empty"
    OLDER = "older"
    UNMATCHED = "unmatched"


class Promise(Record, frozen=True, kw_only=True):
    """Files that are to be there, and what must not be wrong with them.

    ``path`` and ``than`` are globs in the task's working directory. ``than``: of files that none of them may
    be older than. ``pattern`` is to be found in each of them. ``needed``: a missing file is wrong, too.
    """

    path: str
    broken: Broken
    than: str | None = None
    pattern: Pattern | None = None
    needed: bool = False


class Reads(NamedTuple):
    """The patterns that a detection looks for, and where."""

    source: Source
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True)
class Seen:
    """A pattern in a line; ``place`` (file, offset of the line) tells lines apart."""

    pattern: Pattern
    place: tuple[str, int]
    evidence: Evidence


class Kind(Record, frozen=True, kw_only=True):
    """A kind of detection: what a file's statement becomes. ``span`` is the statement's place.

    ``alternatives`` are those of ``detection`` in the grammar that it is read from; ``written`` says how,
    beginning with the word (or words, ``a|b``) that such a statement begins with.
    """

    alternatives: ClassVar[tuple[str, ...]] = ()
    written: ClassVar[tuple[str, ...]] = ()
    timed: ClassVar[bool] = False  # its patterns put a timer back
    sign_of_life: ClassVar[bool] = False  # and that is all that they do
    hears_manager: ClassVar[bool] = False  # it waits for exceptions of the resource manager
    of_nodes: ClassVar[bool] = False  # it waits for nodes that are lost
    of_causes: ClassVar[bool] = False  # it waits for what a failed attempt died of

    if TYPE_CHECKING:  # each record has it as its last field

        @property
        def span(self) -> Span: ...

    @classmethod
    @abstractmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> Kind | None:
        """Return the record of a statement, or None when it is wrong; findings go to ``check``."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the way to raise an exception as a clause: what happens."""

    def detector(self, exception: str, node: str) -> Detector | None:
        """Return what judges it for one task; None where something else raises it.

        Args:
            exception: the exception that it raises.
            node: where the isolator runs, for the evidence.
        """
        return None

    def unjudged(self, last: tuple[int, int] | None, ended: bool) -> str:
        """Return what a log without a clock cannot say of it, an empty string for nothing.

        Args:
            last: in how many lines its pattern was seen, and the number of the last one; None where no
                pattern puts a timer back.
            ended: how the job ended is known and raised something.
        """
        return f"what happened outside the job's output ({self.sentence()})"

    def reads(self) -> Reads | None:
        """Return which patterns are looked for, and where; None for none."""
        return None

    def new_start(self) -> Pattern | None:
        """Return what tells, where it reads, that the program starts anew inside its attempt."""
        return None

    def looked_for(self) -> Reads | None:
        """Return all that its detector is told of; None for nothing."""
        reads, anew = self.reads(), self.new_start()
        return reads if reads is None or anew is None else Reads(reads.source, (*reads.patterns, anew))

    def with_paths(self, change: Callable[[str], str]) -> Kind:
        """Return it with the paths that it names changed: of a file that is read, of a file system."""
        source: Source | None = getattr(self, "source", None)
        if source is None or source.path is None:
            return self
        changed = msgspec.structs.replace(source, path=change(source.path))
        return self if changed == source else msgspec.structs.replace(self, source=changed)

    def one_line(self) -> Reads | None:
        """Return the patterns of which a single line is enough to raise it; None for none."""
        return None

    def starved(self, taken: frozenset[Pattern]) -> bool:
        """Whether it is never raised when each line that has one of these patterns ends the attempt."""
        return False

    def captured(self) -> list[frozenset[str]]:
        """Return the names that it captures, in each way that it can be raised."""
        return [frozenset()]

    def measured(self) -> tuple[str, DiskMetric] | None:
        """Return what of which file system has to be measured; None for none."""
        return None

    def fuller_than(self) -> float | None:
        """Return the fraction of a file system above which it is raised; None for none."""
        return None

    def promised(self) -> Promise | None:
        """Return which files have to be there once the task has ended well; None for none."""
        return None

    def counted(self) -> str | None:
        """Return the exception that it counts; None for none."""
        return None

    def sees_lost_nodes(self) -> bool:
        """Whether a node's loss raises it."""
        return False

    def foresees(self, prediction: PredictedFailure) -> bool:
        """Whether a predicted failure raises it."""
        return False


class Detector:
    """Judges one detection of one task over its attempts. Pure: it is told what was seen, and when.

    Times called ``observed`` stand still while nobody looks (``whesl.runtime.detect.core``), ``now`` is
    seconds since the epoch. What returns evidence raises the exception with it; nothing is raised for an
    empty tuple.
    """

    timed = False  # it has deadlines, and is told of output and of time that does not count
    has_progress = False

    def __init__(self, exception: str, node: str) -> None:
        self.exception = exception
        self.node = node

    def start(self, observed: float) -> None:
        """Begin a new attempt: what was printed in the one before is forgotten."""

    def line(self, sources: Sequence[Source], seen: Seen, now: float, observed: float) -> Found:
        """Take a pattern in a line of a file that is read for ``sources``."""
        return ()

    def rotated(self, file: str) -> None:
        """Forget where lines of a file stood: the file at that path begins anew."""

    def printed(self, count: int, observed: float) -> None:
        """Note that ``count`` bytes of any output were read."""

    def deadline(self) -> float | None:
        """Return the observed time at which ``overdue`` has something to raise; None for never."""
        return None

    def overdue(self, now: float) -> Found:
        """Take that the deadline has passed."""
        return ()

    def put_off(self, seconds: float, observed: float, launching: float, raised: bool) -> None:
        """Take out that the program was stopped for so long; ``raised``: the exception was, meanwhile."""

    def exited(self, code: int, signal: int | None, evidence: Evidence) -> Found:
        """Take the end of an attempt: its status as a shell gives it, and the signal behind it, if any."""
        return ()

    def diagnosed(self, cause: Cause, evidence: Evidence) -> Found:
        """Take what an attempt died of, with its evidence."""
        return ()

    def promise_broken(self, promise: Promise, evidence: Evidence) -> Found:
        """Take that a task has ended well without what was promised, with its evidence."""
        return ()

    def node_is(self, name: str, state: NodeState, reason: str, now: float) -> Found:
        """Take a node's state. UNKNOWN neither raises nor clears anything."""
        return ()

    def manager_raised(self, exception_type: str, severity: int, evidence: Found) -> Found:
        """Take an exception of the resource manager, with its evidence."""
        return ()

    def disk(self, usage: Usage, now: float) -> Found:
        """Take a measurement of a file system."""
        return ()

    def progress(self) -> float | None:
        """Return the highest number that its pattern (``has_progress``) captured in this attempt, if any."""
        return None

    def snapshot(self, observed: float) -> dict[str, Any]:
        """Return what a restarted isolator needs, JSON-ready."""
        return {}

    def restore(self, state: dict[str, Any], observed: float) -> None:
        """Take up a snapshot."""
