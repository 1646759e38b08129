"""How well the logs of the corpus are diagnosed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.runtime.diagnose.corpus.composing import Case

Answer = tuple[int, str, str, int | None, str | None]  # line (0: none), class, advice, rank, node


class Score(NamedTuple):
    """Shares of dead jobs, of those whose log tells where, and of jobs that ended well."""

    line: float
    cls: float
    wrong: float
    nothing: float
    advice: float
    place: float
    false_alarms: float
    missed: tuple[str, ...]


def score(cases: Iterable[Case], answer: Callable[[str], Answer]) -> Score:
    """Compare what is said of each log with what is right.

    Args:
        cases: the logs.
        answer: what says what a log died of.
    """
    dead = line = cls = wrong = nothing = advice = placed = place = well = false = 0
    missed = []
    for case in cases:
        number, named, helps, rank, node = answer(case.text)
        if not case.cls:
            well += 1
            false += number > 0
            continue
        dead += 1
        right = number in case.lines
        line += right
        cls += named == case.cls
        nothing += not number
        wrong += bool(number) and not right and named != case.cls
        advice += helps in case.advice
        if case.rank is not None or case.node is not None:
            placed += 1
            place += (case.rank is None or rank == case.rank) and (case.node is None or node == case.node)
        if not right or named != case.cls:
            missed.append(case.name)
    shares = (line / dead, cls / dead, wrong / dead, nothing / dead, advice / dead)
    return Score(*shares, place / max(placed, 1), false / max(well, 1), tuple(missed))
