"""Records of rule learning: the runs that were read, and the learned rules with their scores."""

from __future__ import annotations

import msgspec

FEWEST = 3  # least number of good runs, and of bad runs, to learn from


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the work.

    Attributes:
        name: the run's log.
        good: whether the run has ended well.
        ended: the run's end, seconds since the epoch.
        forms: a line for each form of the run's lines (``whesl.runtime.diagnose.anomalous_lines.form``).
        places: the number of the first line of each form, from 1.
        length: the number of all lines.
        gaps: the longest time between two lines of a form, seconds; empty without time stamps.
        times: the number of lines of each form.
        seconds: the time from the first to the last time stamp; None without time stamps.
        memory: the largest memory use that the log reports, bytes; None where it reports none.
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
    """A rule's score: it finds ``found`` of ``bad`` bad runs, with ``false`` alarms in ``good`` good runs."""

    bad: int
    good: int
    found: int
    false: int

    @property
    def precision(self) -> float | None:
        """The share of alarms in bad runs, 0 to 1; None without any alarm."""
        alarms = self.found + self.false
        return self.found / alarms if alarms else None

    @property
    def recall(self) -> float | None:
        """The share of bad runs with an alarm, 0 to 1; None without any bad run."""
        return self.found / self.bad if self.bad else None


class LearnedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line that bad runs print and good runs do not.

    Attributes:
        text: the part of the line that the rule looks for.
        sample: such a line of a bad run.
        past: the score on the runs that the line was learned from.
        future: the score on the later runs.
        lead: for a line before the other learned lines, the median number of lines between it and the end of
            a bad run; 0 for other lines.
    """

    text: str
    sample: str
    past: Score
    future: Score
    lead: int = 0


class Timeout(msgspec.Struct, frozen=True, kw_only=True):
    """A TIMEOUT, and the number of good runs with time stamps that it would have ended."""

    seconds: float
    false_past: int
    false_future: int


class LearnedTimer(msgspec.Struct, frozen=True, kw_only=True):
    """A hang timer: a line of steady work, and time-outs from the gaps between such lines in good runs.

    Attributes:
        text: the part of the line that the rule looks for.
        sample: such a line.
        longest: the longest gap in the runs that the timer was learned from, seconds.
        chosen: 1.5 times ``longest``, at least 30 seconds.
        choices: time-outs with their false alarms.
        runs_past, runs_future: numbers of good runs that print the line at least twice.
    """

    text: str
    sample: str
    longest: float
    chosen: float
    choices: tuple[Timeout, ...]
    runs_past: int
    runs_future: int


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The greatest time and memory of good runs (None where unknown), with the numbers of these runs."""

    seconds: float | None
    timed: int
    memory: int | None
    measured: int


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """The result of rule learning.

    Attributes:
        too_little: reasons why something was not learned, a sentence each.
        past_good, past_bad, future_good, future_bad: numbers of runs.
        lines, timer, limits: the learned rules.
        all_lines: the score of all lines together on the later runs.
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
