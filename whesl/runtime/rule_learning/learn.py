"""Learning from good and bad runs: lines before failures, hang timers, limits. Pure.

Runs are split by time: rules are learned from the earlier runs and scored on the later ones, since a rule is
for future runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from whesl.runtime.diagnose.rule import telling_text
from whesl.runtime.rule_learning.run_records import (
    FEWEST,
    Learned,
    LearnedLine,
    LearnedTimer,
    Limits,
    Run,
    Score,
    Timeout,
)

PAST = 2 / 3  # share of the good runs, and of the bad runs, that rules are learned from
SHORTEST = 8  # least number of characters in a learned text
MOST_LINES = 5
_OFTEN = 1 / 3  # least share of the bad runs that have a line before the failure
_LEAD = 5  # least number of lines between a rule's line and the run's end
_STEADY = 5  # least number of times that each good run prints a line of steady work
_FACTORS = (1.0, 1.5, 2.0, 4.0)
_FLOOR = 30.0  # shortest time-out, seconds


def learn(runs: Sequence[Run]) -> Learned:
    """Return the rules learned from runs of the same work."""
    good, bad = _split([run for run in runs if run.good]), _split([run for run in runs if not run.good])
    too_little: list[str] = []
    if len(bad[0]) + len(bad[1]) < FEWEST:
        too_little.append(_said("bad", len(bad[0]) + len(bad[1]), "no line is learned"))
    if len(good[0]) + len(good[1]) < FEWEST:
        too_little.append(_said("good", len(good[0]) + len(good[1]), "no line, timer or limit is learned"))
    lines: tuple[LearnedLine, ...] = ()
    timer = limits = together = None
    if len(good[0]) + len(good[1]) >= FEWEST:
        if len(bad[0]) + len(bad[1]) >= FEWEST:
            lines = _lines(good, bad)
            together = _score([line.text for line in lines], good[1], bad[1])
        timer = _timer(good)
        limits = _limits([*good[0], *good[1]])
    return Learned(
        past_good=len(good[0]),
        past_bad=len(bad[0]),
        future_good=len(good[1]),
        future_bad=len(bad[1]),
        too_little=tuple(too_little),
        lines=lines,
        timer=timer,
        limits=limits,
        all_lines=together,
    )


def _said(kind: str, count: int, so: str) -> str:
    runs = f"{count} {kind} run{'s' if count != 1 else ''}"
    return f"too little to learn from: {runs}, {FEWEST} are needed: {so}"


def _split(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    ordered = sorted(runs, key=lambda run: (run.ended, run.name))
    past = min(len(ordered), max(2, math.floor(len(ordered) * PAST)))
    return ordered[:past], ordered[past:]


# Lines before failures --------------------------------------------------------------------------------


def _lines(good: tuple[list[Run], list[Run]], bad: tuple[list[Run], list[Run]]) -> tuple[LearnedLine, ...]:
    """Return texts that together cover the past bad runs, and that no past good run has.

    Args:
        good, bad: the runs, past and future.
    """
    harmless = {form for run in good[0] for form in run.forms}
    having: dict[str, list[int]] = {}
    for number, run in enumerate(bad[0]):
        for form in run.forms:
            if form not in harmless:
                having.setdefault(form, []).append(number)
    found: list[LearnedLine] = []
    left = set(range(len(bad[0])))
    known = {form: runs for form, runs in having.items() if len(runs) >= 2}
    while left and len(found) < MOST_LINES:
        # The form of most uncovered runs; among equals the earliest, since later lines may be consequences.
        best = max(known, key=lambda form: (len(left & set(known[form])), -_place(form, bad[0])), default="")
        newly = left & set(known.get(best, ()))
        if not newly:
            break
        del known[best]
        sample = bad[0][min(newly)].forms[best]
        text = telling_text(sample)
        past = _score([text], good[0], bad[0])
        if len(text) < SHORTEST or past.false or not past.found:
            continue
        left -= newly
        found.append(LearnedLine(text=text, sample=sample, past=past, future=_score([text], good[1], bad[1])))
    return (*found, *_before(found, known, good, bad)[: MOST_LINES - len(found)])


def _before(
    found: Sequence[LearnedLine],
    known: dict[str, list[int]],
    good: tuple[list[Run], list[Run]],
    bad: tuple[list[Run], list[Run]],
) -> list[LearnedLine]:
    """Return lines that announce a failure: they precede the lines that were found for the failure.

    Args:
        found: lines that cover the bad runs.
        known: forms that no good run has, with the numbers of the bad runs that have them.
        good, bad: the runs, past and future.
    """
    ends = [
        min((run.places[form] for form, line in run.forms.items() if _holds(line, found)), default=run.length)
        for run in bad[0]
    ]
    earlier: list[LearnedLine] = []
    for form, runs in sorted(known.items(), key=lambda pair: (-len(pair[1]), _place(pair[0], bad[0]))):
        leads = sorted(bad[0][number].length - bad[0][number].places[form] for number in runs)
        before = all(bad[0][number].places[form] < ends[number] for number in runs)
        sample = bad[0][runs[0]].forms[form]
        text, lead = telling_text(sample), leads[len(leads) // 2]
        if not before or lead < _LEAD or len(runs) < _OFTEN * len(bad[0]) or len(text) < SHORTEST:
            continue
        past = _score([text], good[0], bad[0])
        if past.false or not past.found or _holds(sample, earlier):
            continue
        future = _score([text], good[1], bad[1])
        earlier.append(LearnedLine(text=text, sample=sample, past=past, future=future, lead=lead))
    return earlier


def _holds(line: str, found: Sequence[LearnedLine]) -> bool:
    return any(each.text in line for each in found)


def _place(form: str, runs: Sequence[Run]) -> int:
    """Return the least number of a line, in all runs, at which a form is first printed."""
    return min(run.places[form] for run in runs if form in run.forms)


def _score(texts: Sequence[str], good: Sequence[Run], bad: Sequence[Run]) -> Score:
    return Score(
        bad=len(bad),
        good=len(good),
        found=sum(_has(run, texts) for run in bad),
        false=sum(_has(run, texts) for run in good),
    )


def _has(run: Run, texts: Sequence[str]) -> bool:
    return any(text in line for text in texts for line in run.forms.values())


# Hang timers ------------------------------------------------------------------------------------------


def _timer(good: tuple[list[Run], list[Run]]) -> LearnedTimer | None:
    """Return a timer for the line with the least longest gap in good runs; None without such a line."""
    stamped = [run for run in good[0] if run.gaps]
    if len(stamped) < 2:
        return None
    shared = Counter(form for run in stamped for form, times in run.times.items() if times >= _STEADY)
    every = [form for form, runs in shared.items() if runs == len(stamped)]
    every = [form for form in every if len(telling_text(stamped[0].forms[form])) >= SHORTEST // 2]
    if not every:
        return None
    longest, _, form = min((max(run.gaps[form] for run in stamped), -len(form), form) for form in every)
    later = [run for run in good[1] if form in run.gaps]
    choices = tuple(
        Timeout(
            seconds=seconds,
            false_past=sum(run.gaps[form] > seconds for run in stamped),
            false_future=sum(run.gaps[form] > seconds for run in later),
        )
        for seconds in dict.fromkeys(max(_FLOOR, math.ceil(longest * factor)) for factor in _FACTORS)
    )
    return LearnedTimer(
        text=telling_text(stamped[0].forms[form]),
        sample=stamped[0].forms[form],
        longest=longest,
        chosen=max(_FLOOR, math.ceil(longest * 1.5)),
        choices=choices,
        runs_past=len(stamped),
        runs_future=len(later),
    )


def _limits(good: Sequence[Run]) -> Limits:
    timed = [run.seconds for run in good if run.seconds is not None]
    measured = [run.memory for run in good if run.memory is not None]
    return Limits(
        seconds=max(timed, default=None),
        timed=len(timed),
        memory=max(measured, default=None),
        measured=len(measured),
    )
