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
from functools import cached_property

import msgspec

from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.diagnose.diagnosis_records import (
    Accounting,
    Candidate,
    Diagnosis,
    Entry,
    Finding,
    Observed,
)
from whesl.runtime.diagnose.vocabulary import ADVICE, ENDS_A_HANG, Outcome, Role
from whesl.runtime.diagnose.whereabouts import located

_WENT_ON = 3  # steps after a line, before anything else happens: the program went on
_MANY = 40  # steps that no buffer of an output holds back
_GENERIC = 30  # strength up to which a line is one of any program
_CAUSE = 55  # strength of what can be a cause by itself
_NEAR = 60  # lines in which one failure is told in several ways
_CANDIDATES = 20
_CLOSE = 20  # lines to the end of a file

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
    """Return a job's cause of death, or that it ended well, or that the cause is not known."""
    weighing = _Weighing(observed)
    candidates = weighing.candidates()
    living = [candidate for candidate in candidates if candidate.score > 0]
    told = [candidate for candidate in living if not weighing.outlived(candidate.finding)]
    ended = weighing.ended_well(told)
    if ended or not told:
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


class _Weighing:
    """The findings of a job, weighed."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._findings = [f for f in observed.findings if f.entry.role in (Role.CAUSE, Role.SYMPTOM)]

    def candidates(self) -> list[Candidate]:
        """Return all candidates for the cause, the best first."""
        timed = all(finding.time is not None for finding in self._findings)
        return sorted(map(self._weighed, self._findings), key=lambda c: _order(c, timed))

    def _weighed(self, finding: Finding) -> Candidate:
        entry = finding.entry
        score = entry.strength
        reasons = [f"{entry.role.value} of class {_named(entry.cause_class)} (strength {entry.strength})"]
        if finding.warned:
            score -= 40
            reasons.append("it calls itself a warning, or says that the program goes on")
        after = self._steps_after(finding)
        if self._went_on(finding, after):
            score -= 60
            reasons.append(f"the program went on: {after} steps of its work follow")
        elif entry.lasting and after >= _MANY:
            score -= 30
            reasons.append(f"{after} steps of other ranks follow")
        explaining = self._explaining(finding)
        if explaining is not None:
            score = min(score, explaining.entry.strength // 2)
            reasons.append(f"line {explaining.line} explains it ({_named(explaining.entry.cause_class)})")
        after_hang = entry.general or entry.cause_class in ENDS_A_HANG
        if after_hang and (hang := self._hang_before(finding)) is not None:
            score = min(score, 45)
            reasons.append(f"the job hung before, since line {hang.line}")
        accounting = self._observed.accounting
        if accounting is not None and STATES.get(accounting.state) is entry.cause_class and score > 0:
            score += 10
            reasons.append(f"the resource manager says {accounting.state}")
        return Candidate(finding=finding, score=score, reasons=tuple(reasons))

    @cached_property
    def _steps(self) -> dict[tuple[int, int | None], list[int]]:
        """Lines of steps in each file: of each rank, of no rank that is told (-1), and all (None)."""
        found: dict[tuple[int, int | None], list[int]] = {}
        for step in self._observed.progress:
            found.setdefault((step.number, None), []).append(step.line)
            found.setdefault((step.number, -1 if step.rank is None else step.rank), []).append(step.line)
        return found

    def _steps_after(self, finding: Finding) -> int:
        """Return how many steps follow in the same file, of the same rank where ranks are told."""
        keys: tuple[int | None, ...] = (None,) if finding.rank is None else (finding.rank, -1)
        lists = [self._steps.get((finding.number, key), []) for key in keys]
        return sum(len(lines) - bisect_right(lines, finding.line) for lines in lists)

    @cached_property
    def _last_serious(self) -> tuple[int, int]:
        """Where the last finding stands that is more than words of any program."""
        return max(
            (_place(f) for f in self._findings if not f.warned and f.entry.strength > _GENERIC),
            default=(-1, 0),
        )

    @cached_property
    def _last_symptom(self) -> dict[int, int]:
        """The line of the last symptom in each file."""
        return {f.number: f.line for f in self._findings if f.entry.role is Role.SYMPTOM and not f.warned}

    def _went_on(self, finding: Finding, after: int) -> bool:
        """Whether the steps that follow say that this was not the end."""
        if after < _WENT_ON or finding.entry.report:
            return False
        if finding.entry.lasting:
            return self._last_serious <= _place(finding)  # else others may have met it later
        if after >= _MANY:
            return True
        # An output that was held back in a buffer comes after the error, and then the launcher's summary.
        last = self._steps[finding.number, None][-1]
        return self._last_symptom.get(finding.number, 0) < last

    @cached_property
    def _explaining_causes(self) -> list[Finding]:
        """The first cause of each entry that the program did not go on after."""
        found: dict[str, Finding] = {}
        for finding in self._findings:
            entry = finding.entry
            if entry.role is not Role.CAUSE or finding.warned:
                continue
            if entry.name not in found and not self._went_on(finding, self._steps_after(finding)):
                found[entry.name] = finding
        return list(found.values())

    def _explaining(self, finding: Finding) -> Finding | None:
        """Return a finding that explains this one."""
        entry = finding.entry
        if entry.role is not Role.SYMPTOM and not entry.explained:
            return None
        for other in self._explaining_causes:
            if other.entry is entry or (entry.explained and other.entry.cause_class not in entry.explained):
                continue
            # Words of any program say little: they explain what comes after them, and no clear cause.
            general = other.entry.strength < _CAUSE
            if entry.cause_class is CauseClass.HANG and other.entry.cause_class in ENDS_A_HANG:
                continue
            if general and (entry.role is not Role.SYMPTOM or _later(other, finding)):
                continue
            if entry.role is Role.SYMPTOM or not _later(other, finding, _NEAR):
                return other
        return None

    def _hang_before(self, finding: Finding) -> Finding | None:
        """Return a collective that had timed out before, without a step of work since."""
        hangs = (f for f in self._findings if f.entry.cause_class is CauseClass.HANG and not f.warned)
        for hang in hangs:
            if _place(hang) < _place(finding) and not self._went_on(hang, self._steps_after(hang)):
                return hang
        return None

    def outlived(self, finding: Finding) -> bool:
        """Whether the program went on after a line, or says so, to an end that looks well."""
        if finding.warned:
            return True
        if not self._went_on(finding, self._steps_after(finding)):
            return False
        last = max((_place(f) for f in self._observed.findings if f.entry.role is Role.END), default=(-1, 0))
        return last > _place(finding) or self._still_working_at_the_end

    def ended_well(self, told: Sequence[Candidate]) -> bool:
        """Whether the program says that it has done its work, and nothing that counts came after it."""
        accounting = self._observed.accounting
        if accounting is not None and accounting.state:
            return accounting.state == "COMPLETED" and not accounting.status
        ends = [finding for finding in self._observed.findings if finding.entry.role is Role.END]
        if not ends:
            return not told and self._all_steps_done
        last = ends[-1]
        if any(_place(candidate.finding) > _place(last) for candidate in told):
            return False
        sure = max((end.entry.strength for end in ends if _place(end) > _last_of(told)), default=0)
        # Solvers that did not converge end in their usual way.
        numbers = any(c.finding.entry.cause_class is CauseClass.NUMERICAL and c.score >= _CAUSE for c in told)
        return not numbers and all(candidate.score <= sure for candidate in told)

    @cached_property
    def _all_steps_done(self) -> bool:
        """Whether one of the last lines of a file is the last step of so many.

        Without that, a program that was ended between two steps looks the same.
        """
        lines = self._observed.last_lines
        return any(
            p.final and p.line >= lines[p.number] - _CLOSE
            for p in self._observed.progress
            if p.number < len(lines)
        )

    @cached_property
    def _still_working_at_the_end(self) -> bool:
        """Whether the last lines of a file are steps of its work."""
        lines = self._observed.last_lines
        return any(
            p.line >= lines[p.number] - _CLOSE for p in self._observed.progress if p.number < len(lines)
        )


def _last_of(told: Sequence[Candidate]) -> tuple[int, int]:
    return max((_place(candidate.finding) for candidate in told), default=(-1, 0))


def _place(finding: Finding) -> tuple[int, int]:
    return finding.number, finding.line


def _order(candidate: Candidate, timed: bool) -> tuple[float, ...]:
    finding = candidate.finding
    level = next((i for i, least in enumerate(_LEVELS) if candidate.score >= least), len(_LEVELS))
    return (level, finding.time if timed and finding.time is not None else 0.0, finding.number, finding.line)


def _later(one: Finding, other: Finding, lines: int = 0) -> bool:
    """Whether one finding is of a later time than another, or stands more than some lines after it."""
    if one.number == other.number and one.line <= other.line + lines:
        return False
    if one.time is not None and other.time is not None:
        return one.time > other.time
    return one.number == other.number


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
        if finding.entry.role in (Role.CAUSE, Role.SYMPTOM)
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


def told_by_accounting(diagnosis: Diagnosis, accounting: Accounting) -> Diagnosis:
    """Return the diagnosis of a job whose log says nothing, by what the resource manager says of it."""
    cause = STATES.get(accounting.state)
    if cause is None:
        return diagnosis
    entry = Entry(
        name="accounting",
        role=Role.CAUSE,
        cause_class=cause,
        match=(),
        means=f"The resource manager says {accounting.state}; the log says nothing of it.",
        source="the resource manager",
        strength=70,
        advice=ADVICE[cause],
    )
    finding = Finding(entry=entry, file="", number=0, line=0, text=accounting.told, node=accounting.node)
    candidate = Candidate(
        finding=finding, score=70, reasons=(f"the resource manager says {accounting.state}",)
    )
    return Diagnosis(
        outcome=Outcome.FAILED,
        cause=candidate,
        advice=ADVICE[cause],
        sure=0.7,
        candidates=(candidate, *diagnosis.candidates),
        told=accounting.told,
    )
