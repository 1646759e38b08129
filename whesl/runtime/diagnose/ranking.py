"""Chooses the cause among the findings, with reasons. Pure. docs/why.md says by which criteria."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property, partial

import msgspec

from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.diagnose.cause_location import located
from whesl.runtime.diagnose.diagnosis_records import Candidate, Diagnosis, Finding, Observed
from whesl.runtime.diagnose.diagnosis_result import (
    GENERIC,
    NEAR,
    advice_on,
    later,
    most_telling,
    named,
    order,
    place,
    sureness,
    with_consequences,
)
from whesl.runtime.diagnose.prepared_knowledge import words
from whesl.runtime.diagnose.survival import Survival
from whesl.runtime.diagnose.vocabulary import ENDS_A_HANG, Outcome, Role

_WENT_ON = 3  # least number of steps after a line that show that the program went on
_MANY = 40  # number of steps after a line that cannot all come from an output buffer
_CAUSE = 55  # least strength of a line that alone can be a cause
_NO_FAULT = 40  # greatest score of an exception without words
_OWN_END = 80  # least strength of the last words of a known program
_CHECKED = 90  # least strength of an end that says that the results were checked
_CANDIDATES = 20
_CLOSE = 20  # lines that count as the end of a file
_TRACEBACK = 20  # greatest number of lines from Python's words on an ignored exception to the exception
_STEP_ENDS = ("launchers.srun-ends", "launchers.step-cancelled")
_IGNORED = "general.exception-ignored"
_LAUNCHERS = "launchers."


def diagnose(observed: Observed) -> Diagnosis:
    """Return the diagnosis of a job: its cause, or that it ended well, or that the cause is unknown."""
    weighing = _Weighing(observed)
    candidates, living, told = weighing.judged()
    if not told and observed.accounting is not None and observed.accounting.failed:
        # The steps after an error were printed before it: standard output was held back.
        weighing = _Weighing(observed, in_order=False)
        candidates, living, told = weighing.judged()
    ended = weighing.ended_well(told)
    if ended or not told:
        return Diagnosis(
            outcome=Outcome.ENDED_WELL if ended else Outcome.UNKNOWN,
            cause=None,
            advice=Advice.UNKNOWN,
            sure=0.9 if ended else 0.0,
            candidates=tuple(candidates[:_CANDIDATES]),
        )
    first = most_telling([each for each in living if each in told or weighing.warned_of_it(each.finding)])
    rest = [candidate for candidate in living if candidate is not first]
    cause = msgspec.structs.replace(first, finding=located(first.finding, observed))
    found = Diagnosis(
        outcome=Outcome.FAILED,
        cause=cause,
        advice=advice_on(cause.finding),
        sure=sureness(first, rest),
        candidates=(cause, *rest[: _CANDIDATES - 1]),
    )
    return with_consequences(found, first.finding, observed)


class _Weighing:
    """Weighs the findings of a job."""

    def __init__(self, observed: Observed, in_order: bool = True) -> None:
        """Prepare; ``in_order`` says whether steps after a line show that the program went on."""
        self._observed = observed
        self._in_order = in_order
        self._life = Survival(observed, in_order)

    def judged(self) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
        """Return all candidates, those that may be the cause, and those that the program did not outlive."""
        candidates = self._candidates()
        living = [candidate for candidate in candidates if candidate.score > 0]
        return candidates, living, [each for each in living if not self._life.outlived(each.finding)]

    def warned_of_it(self, finding: Finding) -> bool:
        """Whether a finding is a warning of the trouble that follows it."""
        return finding.warned and self._life.leads_on(finding)

    def _candidates(self) -> list[Candidate]:
        """Return all candidates for the cause, the best first."""
        timed = all(finding.time is not None for finding in self._life.findings)
        return sorted(map(self._weighed, self._life.findings), key=lambda c: order(c, timed))

    def _weighed(self, finding: Finding) -> Candidate:
        entry = finding.entry
        score = entry.strength
        reasons = [f"{entry.role.value} of class {named(entry.cause_class)} (strength {entry.strength})"]
        if finding.warned:
            score -= 40
            reasons.append("it calls itself a warning, tells of no trouble, or the program tries again")
        after = self._life.steps_after(finding)
        if self._life.began_again(finding):
            score -= 60
            reasons.append("the job began again after it")
        elif self._life.went_on(finding, after):
            score -= 60
            reasons.append(f"the program went on: {after} steps of its work follow")
        elif entry.lasting and after >= _MANY and self._in_order:
            score -= 30
            reasons.append(f"{after} steps of other ranks follow")
        if not self._in_order and after >= _WENT_ON:
            score -= 15
            reasons.append(f"{after} steps follow, which may have been held back")
        if self._life.survivable(finding) and self._life.last_serious > (finding.number, finding.line + NEAR):
            score = min(score, GENERIC)
            reasons.append("jobs often survive it, and another failure follows much later")
        if self._life.past_a_death(finding):
            score = min(score, GENERIC)
            reasons.append("a script's command failed, since its program had ended badly")
        if entry.general and score > _NO_FAULT and finding.text.endswith(":"):
            score = _NO_FAULT
            reasons.append("it names no fault")
        if place(finding) in self._ignored:
            score -= 60
            reasons.append("Python ignores this exception")
        # srun ends the other tasks of a step by SIGTERM, and those that ignore it by SIGKILL.
        killed = entry.role is Role.SYMPTOM and entry.cause_class is CauseClass.MEMORY_HOST
        if killed and (ends := self._step_ends.get(finding.number)) is not None and ends < finding.line:
            score = min(score, GENERIC)
            reasons.append(f"srun ended the step, since line {ends}")
        explaining = self._explaining(finding)
        if explaining is not None:
            score = min(score, explaining.entry.strength // 2)
            reasons.append(f"line {explaining.line} explains it ({named(explaining.entry.cause_class)})")
        after_hang = entry.general or entry.cause_class in ENDS_A_HANG
        if after_hang and (hang := self._hang_before(finding)) is not None:
            score = min(score, 45)
            reasons.append(f"the job hung before, since line {hang.line}")
        if self._life.recorded(finding) and score > 0:
            score += 10
            reasons.append("the resource manager says so")
        return Candidate(finding=finding, score=score, reasons=tuple(reasons))

    @cached_property
    def _ignored(self) -> frozenset[tuple[int, int]]:
        """The places of exceptions of which Python says, just before them, that it ignores them."""
        exceptions = list(map(place, self._life.findings))
        found: set[tuple[int, int]] = set()
        for number, line in (place(f) for f in self._observed.findings if f.entry.name == _IGNORED):
            first = exceptions[bisect_right(exceptions, (number, line)) :][:1]
            found.update(place for place in first if place[0] == number and place[1] <= line + _TRACEBACK)
        return frozenset(found)

    @cached_property
    def _explaining_causes(self) -> list[Finding]:
        """The first cause of each entry after which the program did not go on."""
        found: dict[str, Finding] = {}
        for finding in self._life.findings:
            entry = finding.entry
            if entry.role is not Role.CAUSE or finding.warned or self._life.past_a_death(finding):
                continue
            if entry.name not in found and not self._life.went_on(finding, self._life.steps_after(finding)):
                found[entry.name] = finding
        return list(found.values())

    def _explaining(self, finding: Finding) -> Finding | None:
        """Return a cause that explains a finding; None without one."""
        entry = finding.entry
        if entry.role is not Role.SYMPTOM and not entry.explained:
            return None
        death = self._first_death
        if entry.cause_class is CauseClass.OTHER_RANK and death is not None and death.rank != finding.rank:
            return death
        for other in self._explaining_causes:
            if other.entry is entry or (entry.explained and other.entry.cause_class not in entry.explained):
                continue
            if entry.role is Role.CAUSE and entry.cause_class in other.entry.explained:
                continue  # of two that may explain each other none does
            # A weak cause explains only later symptoms, and no other cause.
            general = other.entry.strength < _CAUSE
            if entry.cause_class is CauseClass.HANG and other.entry.cause_class in ENDS_A_HANG:
                continue
            if general and (entry.role is not Role.SYMPTOM or later(other, finding)):
                continue
            if entry.role is Role.SYMPTOM or not later(other, finding, NEAR):
                return other
        return None

    @cached_property
    def _first_death(self) -> Finding | None:
        """The first message of a launcher; None when it does not tell which rank died, and how."""
        first = next((f for f in self._life.findings if f.entry.name.startswith(_LAUNCHERS)), None)
        if first is None or first.rank is None or first.entry.cause_class is CauseClass.OTHER_RANK:
            return None
        return first

    @cached_property
    def _step_ends(self) -> dict[int, int]:
        """The first line of each file that says that srun ends the step."""
        ends = [f for f in self._observed.findings if f.entry.name in _STEP_ENDS]
        return {f.number: f.line for f in reversed(ends)}

    def _hang_before(self, finding: Finding) -> Finding | None:
        """Return an earlier hang after which the program did no more steps; None without one."""
        hangs = (f for f in self._life.findings if f.entry.cause_class is CauseClass.HANG and not f.warned)
        for hang in hangs:
            if place(hang) < place(finding) and not self._life.went_on(hang, self._life.steps_after(hang)):
                return hang
        return None

    def ended_well(self, told: Sequence[Candidate]) -> bool:
        """Whether the job ended well: by its record, or by a message that no finding contradicts."""
        accounting = self._observed.accounting
        if accounting is not None and accounting.state:
            return accounting.state == "COMPLETED" and not accounting.status
        if not self._life.ends:
            return not told and self._all_steps_done
        return not self._one_is_without_end and any(
            all(map(partial(self._outweighs, end), told)) for end in self._life.ends
        )

    def _outweighs(self, end: Finding, candidate: Candidate) -> bool:
        """Whether a good end outweighs a candidate for the cause."""
        sure, finding = end.entry.strength, candidate.finding
        if place(finding) >= place(end):
            # What follows a program's own last words is often about the clean-up.
            near = end.line >= self._observed.last_lines[end.number] - _CLOSE
            if sure < _OWN_END or not near:
                return False
            if finding.entry.general:
                return candidate.score <= GENERIC
            if finding.number != end.number or self._life.work.between(end.number, end.line, finding.line):
                return False
            died = self._life.last_symptom.get(end.number, 0) > end.line
            return not died or place(self._life.ends[-1]) > place(finding)
        # The end of another program does not tell of the one that failed.
        other = self._life.next_program(finding) if candidate.score > GENERIC else None
        if other is not None and place(end) > (finding.number, other):
            return False
        # A solver that did not converge also prints its usual end.
        unsolved = finding.entry.cause_class is CauseClass.NUMERICAL and candidate.score >= _CAUSE
        if unsolved and sure < _CHECKED and words("unsolved").search(finding.text):
            return False
        return candidate.score <= sure or (sure >= _OWN_END and self._life.lived_until(end, finding))

    @cached_property
    def _one_is_without_end(self) -> bool:
        """Whether a log shows work and no good end, and several other logs of the job show both."""
        working = {step.number for step in self._observed.progress}
        ended = working & {end.number for end in self._life.ends}
        return len(ended) > 1 and ended != working

    @cached_property
    def _all_steps_done(self) -> bool:
        """Whether one of the last lines of a file is a last step, such as ``step 500/500``.

        Any other step may also be the last line of a program that was killed between two steps.
        """
        lines = self._observed.last_lines
        return any(
            p.final and p.line >= lines[p.number] - _CLOSE
            for p in self._observed.progress
            if p.number < len(lines)
        )
