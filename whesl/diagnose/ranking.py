"""Which of the findings is the cause. A pure function, with its reasons.

What is weighed, in this order:

1. A program that went on with its work past a line did not die of it, unless it is of a kind that others meet
   later (a broken GPU, a full disk). A line that calls itself a warning, or says that it tries again, weighs
   little.
2. A symptom (a lost peer, a launcher's summary, a collective that timed out) is explained by any cause,
   whichever stands first: programs write to two streams, and ranks at different moments.
3. Among causes of the same weight the first one in time counts; among those of one class that stand together,
   the one that says most.
4. What the resource manager says of the job supports a class.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import msgspec

from whesl.diagnose.records import Candidate, Diagnosis, Finding, Observed
from whesl.diagnose.vocabulary import Advice, CauseClass, Outcome, Role
from whesl.diagnose.whereabouts import located

_WENT_ON = 3  # steps after a line, before anything else happens: the program went on
_MANY = 40  # steps that no buffer of an output holds back
_GENERIC = 30  # strength up to which a line is one of any program
_CAUSE = 60  # strength of what can be a cause by itself
_NEAR = 60  # lines in which one failure is told in several ways
_CANDIDATES = 20

# Strengths in steps: within one of them the order in time decides.
_LEVELS = (75, 55, 40, 25, 10)

STATES = {
    "TIMEOUT": CauseClass.TIME,
    "DEADLINE": CauseClass.TIME,
    "OUT_OF_MEMORY": CauseClass.MEMORY_HOST,
    "NODE_FAIL": CauseClass.NODE,
    "BOOT_FAIL": CauseClass.NODE,
    "PREEMPTED": CauseClass.CANCELLED,
    "CANCELLED": CauseClass.CANCELLED,
}


def diagnose(observed: Observed) -> Diagnosis:
    """Return what a job died of, or that it ended well, or that it is not known."""
    candidates = sorted(
        (_weighed(finding, observed) for finding in observed.findings if _is_candidate(finding)),
        key=lambda c: _order(c, _timed(observed)),
    )
    living = [candidate for candidate in candidates if candidate.score > 0]
    ended = _ended_well(observed, living)
    if ended or not living:
        return Diagnosis(
            outcome=Outcome.ENDED_WELL if ended else Outcome.UNKNOWN,
            cause=None,
            advice=Advice.UNKNOWN,
            sure=0.9 if ended else 0.0,
            candidates=tuple(candidates[:_CANDIDATES]),
        )
    first = _most_telling(living)
    rest = [candidate for candidate in living if candidate is not first]
    cause = msgspec.structs.replace(first, finding=located(first.finding, observed))
    return Diagnosis(
        outcome=Outcome.FAILED,
        cause=cause,
        advice=_advice(cause.finding),
        sure=_sure(first, rest),
        candidates=(cause, *rest[: _CANDIDATES - 1]),
        consequences=_consequences(first.finding, observed),
    )


def _place(finding: Finding) -> tuple[int, int]:
    return finding.number, finding.line


def _is_candidate(finding: Finding) -> bool:
    return finding.entry.role in (Role.CAUSE, Role.SYMPTOM)


def _timed(observed: Observed) -> bool:
    """Whether all candidates carry a time, so that times can be compared."""
    return all(f.time is not None for f in observed.findings if _is_candidate(f))


def _order(candidate: Candidate, timed: bool) -> tuple[float, ...]:
    finding = candidate.finding
    level = next((i for i, least in enumerate(_LEVELS) if candidate.score >= least), len(_LEVELS))
    return (level, finding.time if timed and finding.time is not None else 0.0, finding.number, finding.line)


def _weighed(finding: Finding, observed: Observed) -> Candidate:
    entry = finding.entry
    score = entry.strength
    reasons = [f"{entry.role.value} of class {_named(entry.cause_class)} (strength {entry.strength})"]
    if finding.warned:
        score -= 40
        reasons.append("it calls itself a warning, or says that the program goes on")
    after = _steps_after(finding, observed)
    if after >= _WENT_ON and _went_on(finding, after, observed):
        score -= 60
        reasons.append(f"the program went on: {after} steps of its work follow")
    explaining = _explaining(finding, observed)
    if explaining is not None:
        score = min(score, 35) - (0 if entry.role is Role.SYMPTOM else 10)
        reasons.append(f"line {explaining.line} explains it ({_named(explaining.entry.cause_class)})")
    if observed.accounting is not None:
        supported = STATES.get(observed.accounting.state)
        if supported is not None and supported is entry.cause_class and score > 0:
            score += 10
            reasons.append(f"the resource manager says {observed.accounting.state}")
    return Candidate(finding=finding, score=score, reasons=tuple(reasons))


def _steps_after(finding: Finding, observed: Observed) -> int:
    """Return how many steps follow in the same file, of the same rank where ranks are told."""
    lines = [
        p.line
        for p in observed.progress
        if p.number == finding.number and (finding.rank is None or p.rank is None or p.rank == finding.rank)
    ]
    return len(lines) - bisect_right(lines, finding.line)


def _went_on(finding: Finding, after: int, observed: Observed) -> bool:
    """Whether the steps that follow say that this was not the end."""
    if finding.entry.lasting:
        # Met later by others, unless nothing else was ever wrong.
        return not any(
            other.entry.role in (Role.CAUSE, Role.SYMPTOM)
            and (other.number, other.line) > (finding.number, finding.line)
            and not other.warned
            and other.entry.strength > _GENERIC
            for other in observed.findings
        )
    if after >= _MANY:
        return True
    last = max(p.line for p in observed.progress if p.number == finding.number)
    # An output that was held back in a buffer comes after the error, and then the launcher's summary.
    return not any(
        other.number == finding.number and other.line > last and other.entry.role is Role.SYMPTOM
        for other in observed.findings
    )


def _explaining(finding: Finding, observed: Observed) -> Finding | None:
    """Return a finding that explains this one."""
    entry = finding.entry
    if entry.role is not Role.SYMPTOM and not entry.explained:
        return None
    for other in observed.findings:
        if other.entry.role is not Role.CAUSE or other.entry is entry or other.warned:
            continue
        if entry.explained and other.entry.cause_class not in entry.explained:
            continue
        if other.entry.strength < min(_CAUSE, entry.strength) or other.entry.strength <= _GENERIC:
            continue
        after = _steps_after(other, observed)
        if after >= _WENT_ON and _went_on(other, after, observed):
            continue
        if entry.role is not Role.SYMPTOM and _later(other, finding):
            continue
        return other
    return None


def _later(one: Finding, other: Finding) -> bool:
    if one.time is not None and other.time is not None:
        return one.time > other.time
    return one.number == other.number and one.line > other.line


def _ended_well(observed: Observed, living: Sequence[Candidate]) -> bool:
    """Whether the program says that it has done its work, and nothing that counts came after it."""
    accounting = observed.accounting
    if accounting is not None and accounting.state == "COMPLETED" and not accounting.status:
        return True
    ends = [finding for finding in observed.findings if finding.entry.role is Role.END]
    if not ends:
        return not living and _still_working_at_the_end(observed)
    if not living:
        return True
    best = max(candidate.score for candidate in living)
    last = ends[-1]
    later = any((c.finding.number, c.finding.line) > (last.number, last.line) for c in living)
    return best <= _GENERIC and not later


def _still_working_at_the_end(observed: Observed) -> bool:
    """Whether each file's last lines are steps of its work."""
    return any(
        number < len(observed.last_lines) and line >= observed.last_lines[number] - 20
        for number, line in {(p.number, p.line) for p in observed.progress}
    )


def _most_telling(living: Sequence[Candidate]) -> Candidate:
    """Return the first candidate, or the one beside it that tells the same failure in clearer words."""
    first = living[0]
    same = [
        other
        for other in living
        if other.finding.entry.cause_class is first.finding.entry.cause_class
        and other.finding.number == first.finding.number
        and 0 <= other.finding.line - first.finding.line <= _NEAR
        and (other.finding.rank in (None, first.finding.rank) or first.finding.rank is None)
        and other.score >= first.score + 10
    ]
    return max(same, key=lambda c: c.score, default=first)


def _consequences(cause: Finding, observed: Observed) -> tuple[Finding, ...]:
    return tuple(
        finding
        for finding in observed.findings
        if _is_candidate(finding)
        and (finding.number, finding.line) != (cause.number, cause.line)
        and (
            (finding.number, finding.line) > (cause.number, cause.line) or finding.entry.role is Role.SYMPTOM
        )
    )


def _advice(finding: Finding) -> Advice:
    local = finding.path is not None and finding.path.startswith(("/tmp", "/dev/shm", "/var/tmp", "/local"))  # noqa: S108 - named in a log
    if finding.entry.cause_class is CauseClass.FULL and local:
        return Advice.OTHER_NODES
    return finding.entry.advice


def _sure(first: Candidate, rest: Sequence[Candidate]) -> float:
    """Return how sure the cause is: by its weight, less where another class weighs as much."""
    sure = min(0.95, max(0.05, first.score / 100))
    rival = any(
        other.score >= first.score - 5
        and other.finding.entry.cause_class is not first.finding.entry.cause_class
        for other in rest
    )
    return round(sure * (0.7 if rival else 1.0), 2)


def _named(cause: CauseClass | None) -> str:
    return cause.value if cause is not None else "none"
