"""Learned rules as a specification, every rule with its reason. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from whesl.runtime.diagnose.rule import quoted
from whesl.runtime.rule_learning.run_records import Learned, LearnedLine, LearnedTimer, Score

_HEAD = """\
DECLARE ENTITY JOB
DECLARE EXCEPTION_TYPE JOB_LEVEL
DECLARE RESOURCE JOB[REPLACE]
"""
_WIDTH = 110


def specification(learned: Learned) -> str:
    """Return the learned rules as ESL text; only comments where nothing was learned."""
    lines = [
        f"# Learned from {learned.past_good} good and {learned.past_bad} bad runs; judged on the "
        f"{learned.future_good} good and {learned.future_bad} bad runs after them."
    ]
    lines += [f"# {said}." for said in learned.too_little]
    if learned.lines or learned.timer is not None:
        lines += ["", *_HEAD.splitlines()]
    for number, line in enumerate(learned.lines, 1):
        lines += ["", *_line(number, line)]
    if learned.all_lines is not None and learned.lines:
        lines += [
            "",
            f"# All lines together, on runs that they were not learned from: {scored(learned.all_lines)}.",
        ]
    elif learned.all_lines is not None:
        lines.append("# No line stands in two bad runs and in no good one.")
    if learned.timer is not None:
        lines += ["", *_timer(learned.timer)]
    lines += [f"# {said}" for said in limits(learned)]
    return "\n".join(lines) + "\n"


def _line(number: int, line: LearnedLine) -> Iterator[str]:
    name = f"LEARNED_{number}"
    yield f"# {_cut(line.sample)}"
    yield f"# Learned from: {scored(line.past)}. Judged by: {scored(line.future)}."
    if line.lead:
        yield f"# It comes before the failure, by {line.lead} lines in the middle one of these runs."
    yield "# What helps is not known from logs: it runs again once here; say what you know to be better."
    yield f"DECLARE EXCEPTION {name} JOB_LEVEL JOB [*] LIMIT 1 ELSE FAIL"
    yield f"EXCEPTION DETECTION {name} LOG {quoted(line.text)} output"
    yield f"EXCEPTION RECOVERY STEP {name} JOB JOB.REPLACE"


def _timer(timer: LearnedTimer) -> Iterator[str]:
    yield f"# {_cut(timer.sample)}"
    yield f"# The longest time between two of these in {timer.runs_past} good runs: {timer.longest:g} s."
    yield "# False alarms that each TIMEOUT would have given:"
    for choice in timer.choices:
        yield (
            f"#   TIMEOUT {choice.seconds:g}: {choice.false_past} of {timer.runs_past} runs learned from, "
            f"{choice.false_future} of {timer.runs_future} after them"
        )
    yield "DECLARE EXCEPTION LEARNED_HANG JOB_LEVEL JOB [*] LIMIT 1 ELSE FAIL"
    yield f"EXCEPTION DETECTION LEARNED_HANG LOG {quoted(timer.text)} output TIMEOUT {timer.chosen:g}"
    yield "EXCEPTION RECOVERY STEP LEARNED_HANG JOB JOB.REPLACE"


def scored(score: Score) -> str:
    """Return a score in words."""
    counts = f"{score.found} of {score.bad} bad runs, {score.false} of {score.good} good runs"
    told = [
        f"{name} {value:.0%}"
        for name, value in (("precision", score.precision), ("recall", score.recall))
        if value is not None
    ]
    return f"{counts} ({', '.join(told)})" if told else counts


def limits(learned: Learned) -> list[str]:
    """Return sentences on the greatest memory and time that good runs needed."""
    found = learned.limits
    said = []
    if found is not None and found.seconds is not None:
        said.append(f"Time: {found.seconds:.0f} s at most in {found.timed} good runs with time stamps.")
    if found is not None and found.memory is not None:
        said.append(f"Memory: {found.memory / 2**30:.2f} GiB at most, told by {found.measured} good runs.")
    return said


def _cut(text: str) -> str:
    printable = "".join(char if char.isprintable() else "?" for char in text)
    return printable if len(printable) <= _WIDTH else f"{printable[: _WIDTH - 3]}..."
