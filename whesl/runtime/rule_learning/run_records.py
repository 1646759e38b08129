"""Records of what is learned: runs as they were read, and what came of them."""

from __future__ import annotations

import msgspec

FEWEST = 3  # runs of a kind, below which nothing is learned from it


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the work.

    Attributes:
        name: its log.
        good: it has ended well.
        ended: when, seconds since the epoch; earlier runs are learned from, later ones are judged.
        forms: what stays the same of its lines (``whesl.runtime.diagnose.unusual.form``), and a line for
            each.
        places: the number of the first line of each form, from 1; ``length`` is that of all lines.
        gaps: the longest times between two lines of a form, seconds; empty without time stamps.
        times: how often each form was printed.
        seconds: from its first time stamp to its last; None without.
        memory: the largest memory that it tells of itself, bytes; None where it tells none.
    """

    name: str
    good: bool
    ended: float
    forms: dict[str, str]
    places: dict[str, int] = {}
    length: int = 0
    gaps: dict[str, float] = {}
    times: dict[str, int] = {}
    seconds: float | None = None
    memory: int | None = None


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """How a rule does on runs: ``found`` of ``bad`` ones, and ``false`` alarms in ``good`` ones."""

    bad: int
    good: int
    found: int
    false: int

    @property
    def precision(self) -> float | None:
        """The share of right alarms, 0 to 1; None without any alarm."""
        alarms = self.found + self.false
        return self.found / alarms if alarms else None

    @property
    def recall(self) -> float | None:
        """The share of bad runs that are found, 0 to 1; None without any bad run."""
        return self.found / self.bad if self.bad else None


class LearnedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that bad runs have and good ones have not.

    Attributes:
        text: what is looked for, as it stands in the line.
        sample: a line of a bad run.
        past: on the runs that it was learned from.
        future: on those that it was not.
        lead: for a line that comes before the other lines that were learned, how many lines follow it until
            the run's end, in the middle one of the bad runs that have it; 0 for any other.
    """

    text: str
    sample: str
    past: Score
    future: Score
    lead: int = 0


class Timeout(msgspec.Struct, frozen=True, kw_only=True):
    """A TIMEOUT, and how many of the good runs it would have ended, of those that have time stamps."""

    seconds: float
    false_past: int
    false_future: int


class LearnedTimer(msgspec.Struct, frozen=True, kw_only=True):
    """A hang timer: a line of steady work, and time-outs from the gaps between two of it in good runs.

    Attributes:
        text: what is looked for.
        sample: a line.
        longest: the longest gap of the runs that it was learned from, seconds.
        chosen: the shortest of the time-outs without a false alarm in the past, and half as long again.
        choices: time-outs with their false alarms.
        runs_past, runs_future: good runs that have the line twice or more.
    """

    text: str
    sample: str
    longest: float
    chosen: float
    choices: tuple[Timeout, ...]
    runs_past: int
    runs_future: int


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What good runs have needed at most, with how many of them tell it; None where none does."""

    seconds: float | None
    timed: int
    memory: int | None
    measured: int


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """All that was learned.

    Attributes:
        too_little: why something was not learned, a sentence each.
        past_good, past_bad, future_good, future_bad: how many runs.
        lines, timer, limits: what was learned.
        all_lines: all lines together, on the runs that they were not learned from.
    """

    past_good: int
    past_bad: int
    future_good: int
    future_bad: int
    too_little: tuple[str, ...] = ()
    lines: tuple[LearnedLine, ...] = ()
    timer: LearnedTimer | None = None
    limits: Limits | None = None
    all_lines: Score | None = None
