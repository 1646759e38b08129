"""Why an exception was raised: the line, where it stood, on which node, and when; what an attempt died of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum

import msgspec

from whesl.model.recovery_criterion import Reach

_LONGEST = 200  # characters of a cause's line that are shown
STOPPED = "stopped"  # the kind of evidence of a silence that counts only while ranks are stopped


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen. Times are seconds since the epoch; offsets are bytes from the file's start.

    ``line`` is the line's text (undecodable bytes replaced, cut at 4 KiB). ``captures`` are the regular
    expression's named groups. ``detail`` carries what is not a line: an exit status, a stack dump. ``time``
    is when it was seen, ``since`` the latest time at which it had not happened yet for certain (0: ``time``).
    """

    # log, hang, silence, stopped, progress, exit, cause, node, job-exception, disk, count, heartbeat, stuck,
    # launcher, external (``whesl raise``), predicted (``whesl ckpt predict``)
    kind: str
    time: float
    node: str = ""
    pattern: str = ""
    line: str = ""
    file: str = ""
    offset: int = -1
    captures: dict[str, str] = {}
    detail: str = ""
    since: float = 0.0


class Detected(msgspec.Struct, frozen=True, kw_only=True):
    """An exception as a detector raised it, before counting and transformation. The last evidence is why.

    ``times``: how often it was raised by what was read at once; the evidence is that of the first time.
    """

    exception: str
    evidence: tuple[Evidence, ...] = ()
    times: int = 1

    @property
    def order(self) -> tuple[float, float]:
        """Sorts by time, then by place in the log; what is not from a log comes after what is."""
        last = self.evidence[-1]
        return last.time, last.offset if last.kind == "log" else math.inf


def grouped(found: Iterable[Detected]) -> list[Detected]:
    """Return each exception once, in the order of their first times, with how often it was raised."""
    first: dict[str, Detected] = {}
    for item in found:
        times = item.times + (first[item.exception].times if item.exception in first else 0)
        first[item.exception] = msgspec.structs.replace(first.get(item.exception, item), times=times)
    return list(first.values())


class History(msgspec.Struct, frozen=True, kw_only=True):
    """What counting rules have seen (``runtime.detect.exception_transformation``): occurrences not yet used
    up.

    ``counts``: for each rule their times in seconds, oldest first.
    """

    counts: dict[str, tuple[float, ...]] = {}


class PredictedFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A node is predicted to fail: what placement, p-ckpt and rules receive from every predictor.

    ``time`` is when it was predicted, in seconds since the epoch; ``lead`` how many seconds later the node
    fails; ``confidence`` the probability that it does, from 0 to 1; ``source`` names the predictor.
    """

    node: str
    time: float
    lead: float
    confidence: float = 1.0
    evidence: str = ""
    source: str = ""

    def at(self, now: float) -> PredictedFailure:
        """Return the prediction with the lead that is left at ``now``; a past failure has a negative one."""
        return msgspec.structs.replace(self, time=now, lead=self.time + self.lead - now)

    def __str__(self) -> str:
        """Return the prediction in one line."""
        sure = f" (confidence {self.confidence:g})" if self.confidence < 1 else ""
        why = f": {self.evidence}" if self.evidence else ""
        source = f" [{self.source}]" if self.source else ""
        return f"{self.node} is predicted to fail in {round(self.lead, 1):g} s{sure}{why}{source}"


class LastLines(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last lines that a failed attempt printed, fit to be shown.

    Where both streams go to one file, all of them are in ``stdout``.
    """

    stdout: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()

    @property
    def clearest(self) -> str:
        """The last line of standard error, else of standard output."""
        return next((lines[-1] for lines in (self.stderr, self.stdout) if lines), "")


def explain(kind: str, line: str, detail: str) -> str:
    """Return in one line why an exception was raised: the line that was seen, else the detail.

    For a hang the line is the last good one; what is wrong is the time since, so that comes first. For
    an exit the line is what was printed last. For a cause the detail is its class and sentence.

    Args:
        kind: the evidence's kind.
        line: the evidence's line, or an empty string.
        detail: the evidence's detail, of which the first line counts, or an empty string.
    """
    seen, told = line.strip(), detail.strip().split("\n", 1)[0]
    if kind in ("hang", "progress") and seen and told:
        return f"{told}; the last was: {seen}"
    if kind == "exit" and seen and told:
        return f"{told}; the last line: {seen}"
    if kind == "cause" and seen and told:
        return f"{told} It says: {seen}"
    return seen or told


def shortened(text: str, most: int) -> str:
    """Return a text of at most ``most`` characters: the middle goes, since the end tells what is wrong.

    Args:
        text: one line.
        most: characters, 8 or more.
    """
    if len(text) <= most:
        return text
    begin = most // 3
    return f"{text[:begin]}…{text[begin + 1 - most :]}"


class Raised(msgspec.Struct, frozen=True, kw_only=True):
    """An exception that was raised for a task, after counting and transformation.

    ``ordinal`` numbers the task's exceptions from 1 over all attempts; (task, ordinal) is the identity
    that makes every later step of its recovery idempotent. ``reached``: how far the attempt had come.
    ``cause``: what it died of, where it has ended and its output says so.
    """

    exception: str
    task: str
    attempt: int
    ordinal: int
    time: float
    evidence: tuple[Evidence, ...]
    transformed_from: tuple[str, ...] = ()
    reached: Reach = Reach()
    cause: Cause | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its evidence."""
        return tuple(item.kind for item in self.evidence)

    @property
    def since(self) -> float:
        """The latest time at which nothing of its evidence had happened yet, seconds since the epoch."""
        return min((item.since for item in self.evidence if item.since), default=self.time)


def kept(collected: str) -> str:
    """Return the file with the stacks that were collected of a hung attempt, "" when it could not be kept.

    Args:
        collected: the record's detail: the file's path on a line of its own, then how it begins.
    """
    first = collected.partition("\n")[0]
    return first if first.startswith("/") else ""


class CauseClass(Enum):
    """What kind of thing ended a job."""

    MEMORY_HOST = "out-of-memory-host"
    MEMORY_GPU = "out-of-memory-gpu"
    GPU = "gpu-hardware"
    FABRIC = "network-fabric"
    NODE = "node-lost"
    FULL = "filesystem-full"
    QUOTA = "quota"
    FILESYSTEM = "filesystem-error"
    TIME = "time-limit"
    CANCELLED = "preempted/cancelled"
    HANG = "hang/collective-timeout"
    BUG = "segfault/app-bug"
    NUMERICAL = "numerical"
    INPUT = "input/config-error"
    DEPENDENCY = "missing-dependency"
    LICENCE = "licence"
    CONTAINER = "container"
    LAUNCHER = "launcher/rendezvous"
    OTHER_RANK = "dependency-of-other-rank"


class Advice(Enum):
    """What lets the same job succeed; ``none``: nothing, before a person has mended what is named."""

    SAME_NODES = "same-nodes"
    OTHER_NODES = "other-nodes"
    OTHER_RESOURCES = "other-resources"
    NONE = "none"
    UNKNOWN = "unknown"


HELPS = {
    Advice.SAME_NODES: "the same again, on the same nodes",
    Advice.OTHER_NODES: "the same again, on other nodes",
    Advice.OTHER_RESOURCES: "the same again, with other resources",
    Advice.NONE: "nothing, before this is mended",
    Advice.UNKNOWN: "not known",
}


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an attempt died of, according to its log.

    Attributes:
        cause: its class.
        sentence: what that is, for the reader.
        text: the line that tells it.
        file: where that stands; ``line`` is its number, from 1.
        advice: what would help.
        sure: 0 to 1.
        node, rank, device, path: where it struck; "" and None where the log does not tell.
    """

    cause: CauseClass
    sentence: str
    advice: Advice
    sure: float
    text: str = ""
    file: str = ""
    line: int = 0
    node: str = ""
    rank: int | None = None
    device: str = ""
    path: str = ""

    def told(self) -> str:
        """Return all of it in one line."""
        at = f" ({self.file}:{self.line})" if self.file and self.line else ""
        named = (("node", self.node), ("rank", self.rank), ("device", self.device), ("path", self.path))
        where = ", ".join(f"{name} {value}" for name, value in named if value not in ("", None))
        return " ".join(
            (
                f"{self.cause.value}: {self.sentence}",
                *([f"The line: {shortened(self.text, _LONGEST)}{at}."] if self.text else []),
                *([f"Where: {where}."] if where else []),
                f"What helps: {HELPS[self.advice]}.",
            )
        )
