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
from whesl.runtime.diagnose.labels import clean, form
from whesl.runtime.diagnose.prepared_knowledge import words
from whesl.runtime.diagnose.progress import NONE, Work
from whesl.runtime.diagnose.vocabulary import ENDS_A_HANG, Outcome, Role

_WENT_ON = 3  # least number of steps after a line that show that the program went on
_MANY = 40  # number of steps after a line that cannot all come from an output buffer
_CAUSE = 55  # least strength of a line that alone can be a cause
_NO_FAULT = 40  # greatest score of an exception without words
_EPILOGUE = 5  # greatest number of lines that a script prints after the command at which it stopped
_OWN_END = 80  # least strength of the last words of a known program
_CHECKED = 90  # least strength of an end that says that the results were checked
_CALM = 12  # least number of ordinary lines without trouble before a good end that show that all went on
_NOWHERE = (-1, 0)  # a place before all lines
_CANDIDATES = 20
_CLOSE = 20  # lines that count as the end of a file
_TRACEBACK = 20  # greatest number of lines from Python's words on an ignored exception to the exception
_CONVERGED = "general.converged"
_STEP_ENDS = ("launchers.srun-ends", "launchers.step-cancelled")
_BEGINS = "general.begins-again"
_NEXT_PROGRAM = "general.next-program"
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
    first = most_telling(living)
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
        self._work = Work(observed.progress)
        told = [f for f in observed.findings if f.entry.role in (Role.CAUSE, Role.SYMPTOM)]
        self._findings = [
            msgspec.structs.replace(f, warned=True) if f.again and not self._gave_up(f, told) else f
            for f in told
        ]

    def judged(self) -> tuple[list[Candidate], list[Candidate], list[Candidate]]:
        """Return all candidates, those that may be the cause, and those that the program did not outlive."""
        candidates = self._candidates()
        living = [candidate for candidate in candidates if candidate.score > 0]
        return candidates, living, [each for each in living if not self.outlived(each.finding)]

    def _gave_up(self, finding: Finding, told: Sequence[Finding]) -> bool:
        """Whether the next try, of which the program speaks, did not help: only its end is told behind it."""
        number, last = finding.number, finding.again
        if last >= self._observed.last_lines[number]:
            return True
        if last <= finding.line:  # an exception whose own words speak of a next try
            sure, ordinary = finding.entry.strength, self._observed.ordinary[number]
            end = max((place(e) for e in self._ends if e.entry.strength > sure), default=_NOWHERE)
            if end < place(finding) and len(ordinary) - bisect_right(ordinary, last) <= _EPILOGUE:
                return True
        begin = max(place(finding), (number, last))
        after = [f for f in told if place(f) > begin and not (f.warned or f.again)]
        if any(f.entry.role is Role.CAUSE and f.entry.strength >= _CAUSE for f in after):
            return False
        died = any(f.number == number and f.entry.role is Role.SYMPTOM for f in after)
        return died and self._work.after(number, finding.line) < _WENT_ON

    def _candidates(self) -> list[Candidate]:
        """Return all candidates for the cause, the best first."""
        timed = all(finding.time is not None for finding in self._findings)
        return sorted(map(self._weighed, self._findings), key=lambda c: order(c, timed))

    def _weighed(self, finding: Finding) -> Candidate:
        entry = finding.entry
        score = entry.strength
        reasons = [f"{entry.role.value} of class {named(entry.cause_class)} (strength {entry.strength})"]
        if finding.warned:
            score -= 40
            reasons.append("it calls itself a warning, tells of no trouble, or the program tries again")
        after = self._steps_after(finding)
        if self._began_again(finding):
            score -= 60
            reasons.append("the job began again after it")
        elif self._went_on(finding, after):
            score -= 60
            reasons.append(f"the program went on: {after} steps of its work follow")
        elif entry.lasting and after >= _MANY and self._in_order:
            score -= 30
            reasons.append(f"{after} steps of other ranks follow")
        if not self._in_order and after >= _WENT_ON:
            score -= 15
            reasons.append(f"{after} steps follow, which may have been held back")
        if self._survivable(finding) and self._last_serious > (finding.number, finding.line + NEAR):
            score = min(score, GENERIC)
            reasons.append("jobs often survive it, and another failure follows much later")
        if self._past_a_death(finding):
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
        if self._recorded(finding) and score > 0:
            score += 10
            reasons.append("the resource manager says so")
        return Candidate(finding=finding, score=score, reasons=tuple(reasons))

    def _recorded(self, finding: Finding) -> bool:
        """Whether the resource manager's record tells of the same class of causes."""
        accounting = self._observed.accounting
        return accounting is not None and accounting.cause_class is finding.entry.cause_class

    @cached_property
    def _ignored(self) -> frozenset[tuple[int, int]]:
        """The places of exceptions of which Python says, just before them, that it ignores them."""
        exceptions = list(map(place, self._findings))
        found: set[tuple[int, int]] = set()
        for number, line in (place(f) for f in self._observed.findings if f.entry.name == _IGNORED):
            first = exceptions[bisect_right(exceptions, (number, line)) :][:1]
            found.update(place for place in first if place[0] == number and place[1] <= line + _TRACEBACK)
        return frozenset(found)

    def _steps_after(self, finding: Finding) -> int:
        """Return the number of steps after a finding in its file, of its rank where that one tells steps."""
        work, rank = self._work, finding.rank
        if rank is None:
            return work.after(finding.number, finding.line)
        own = work.after(finding.number, finding.line, rank) + work.after(finding.number, finding.line, NONE)
        if own >= _WENT_ON:
            return own
        # Ranks do their steps together.
        others = work.after(finding.number, finding.line, work.busiest(finding.number))
        silent = not work.after(finding.number, 0, rank) and self._died_otherwise(finding)
        return others if others >= (_WENT_ON if silent else _MANY) else own

    @cached_property
    def _last_serious(self) -> tuple[int, int]:
        """The place of the last specific finding that no steps follow."""
        return max(
            (
                place(f)
                for f in self._findings
                if not (f.warned or self._survivable(f))
                and f.entry.strength > GENERIC
                and self._steps_after(f) < _WENT_ON
            ),
            default=_NOWHERE,
        )

    @cached_property
    def _last_symptom(self) -> dict[int, int]:
        """The line number of the last symptom in each file."""
        return {f.number: f.line for f in self._findings if f.entry.role is Role.SYMPTOM and not f.warned}

    def _went_on(self, finding: Finding, after: int) -> bool:
        """Whether the steps after a finding show that the program went on."""
        if not self._in_order or after < _WENT_ON or finding.entry.report or self._recorded(finding):
            return False
        other = self._next_program(finding)
        if other is not None and self._work.between(finding.number, finding.line, other) < _WENT_ON:
            return False
        if finding.entry.lasting:
            # A later finding may be the same fault, met by others.
            return self._last_serious <= place(finding) or self._calmed(finding)
        if after >= _MANY:
            return True
        # Buffered output may be printed after the error, but a launcher's summary then follows it.
        last = self._work.last(finding.number, finding.line)
        return self._last_symptom.get(finding.number, 0) < last or self._died_otherwise(finding)

    def _next_program(self, finding: Finding) -> int | None:
        """Return the line behind a finding at which a script begins a program that did not run before."""
        programs = self._programs.get(finding.number, [])
        before = {text for line, text in programs if line < finding.line}
        return next((line for line, text in programs if line > finding.line and text not in before), None)

    @cached_property
    def _programs(self) -> dict[int, list[tuple[int, str]]]:
        """The lines of each file at which scripts begin programs, and the forms of these lines."""
        found: dict[int, list[tuple[int, str]]] = {}
        for each in (f for f in self._observed.findings if f.entry.name == _NEXT_PROGRAM):
            found.setdefault(each.number, []).append((each.line, form(each.text)))
        return found

    def _began_again(self, finding: Finding) -> bool:
        """Whether a later line says that the job begins again, and no line after that tells of the same."""
        begins = self._begins.get(finding.number, 0)
        if not finding.line < begins < self._observed.last_lines[finding.number]:
            return False
        return not finding.entry.lasting or self._last_serious <= place(finding)

    @cached_property
    def _begins(self) -> dict[int, int]:
        """The last line of each file that says that a job begins again."""
        return {f.number: f.line for f in self._observed.findings if f.entry.name == _BEGINS}

    def _died_otherwise(self, finding: Finding) -> bool:
        """Whether a specific cause of another class stands behind the steps after a finding."""
        last = self._work.last(finding.number, finding.line)
        return any(
            line > last > 0 and number == finding.number and cause is not finding.entry.cause_class
            for (number, cause), line in self._last_of_class.items()
        )

    @cached_property
    def _last_of_class(self) -> dict[tuple[int, CauseClass | None], int]:
        """The line of the last specific cause of each class in each file."""
        return {
            (f.number, f.entry.cause_class): f.line
            for f in self._findings
            if f.entry.role is Role.CAUSE
            and f.entry.strength >= _CAUSE
            and not (f.warned or f.entry.general or f.entry.explained)
        }

    @cached_property
    def _explaining_causes(self) -> list[Finding]:
        """The first cause of each entry after which the program did not go on."""
        found: dict[str, Finding] = {}
        for finding in self._findings:
            entry = finding.entry
            if entry.role is not Role.CAUSE or finding.warned or self._past_a_death(finding):
                continue
            if entry.name not in found and not self._went_on(finding, self._steps_after(finding)):
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
        first = next((f for f in self._findings if f.entry.name.startswith(_LAUNCHERS)), None)
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
        hangs = (f for f in self._findings if f.entry.cause_class is CauseClass.HANG and not f.warned)
        for hang in hangs:
            if place(hang) < place(finding) and not self._went_on(hang, self._steps_after(hang)):
                return hang
        return None

    def outlived(self, finding: Finding) -> bool:
        """Whether the program went on after a line, or the line itself says that it goes on."""
        if finding.warned or self._went_on(finding, self._steps_after(finding)):
            return True
        if self._began_again(finding) or self._speaker_ended_well(finding) or self._calmed(finding):
            return True
        # What did not converge at first did so later.
        unsolved = finding.entry.cause_class is CauseClass.NUMERICAL or "converge" in finding.text.lower()
        if unsolved and place(finding) < self._converged:
            return True
        return self._survived(finding) or self._told_on(finding) or self._outlived_before(finding)

    def _speaker_ended_well(self, finding: Finding) -> bool:
        """Whether the logger that told of a trouble tells of a good end, and no line of a death."""
        if not finding.speaker or self._last_symptom.get(finding.number, 0) > finding.line:
            return False
        own = (e for e in self._ends if e.number == finding.number and e.rank in (None, finding.rank))
        return any(end.speaker == finding.speaker and end.line > finding.line for end in own)

    def _calmed(self, finding: Finding) -> bool:
        """Whether a finding and all trouble behind it are followed by much ordinary output and a good end."""
        number, ordinary = finding.number, self._observed.ordinary[finding.number]
        if self._recorded_failure or self._next_program(finding) is not None:
            return False
        for end in (end for end in self._ends if end.number == number and end.line > finding.line):
            at = bisect_right(self._serious, place(end))
            _, last = max([place(finding), *self._serious[max(at - 1, 0) : at]])
            if bisect_right(ordinary, end.line) - bisect_right(ordinary, last) >= _CALM:
                return True
        return False

    @cached_property
    def _recorded_failure(self) -> bool:
        """Whether the resource manager's record tells of a failure."""
        accounting = self._observed.accounting
        return accounting is not None and (accounting.failed or accounting.cause_class is not None)

    def _survived(self, finding: Finding) -> bool:
        """Whether nothing but a finding that jobs often survive tells of a death."""
        accounting = self._observed.accounting
        if not self._survivable(finding) or (accounting is not None and accounting.failed):
            return False
        return self._last_serious == _NOWHERE

    def _survivable(self, finding: Finding) -> bool:
        """Whether jobs often survive a finding: a shell a failed command, R an error in try(), PIO a search.

        A script that stops there prints little more. The results do not need what a clean-up could not do.
        """
        text = clean(finding.text).text
        if finding.entry.survivable or words("clean-up-failed").search(text):
            return True
        more = finding.line < self._observed.last_lines[finding.number] - _EPILOGUE
        return more and words("command-failed").search(text) is not None

    def _past_a_death(self, finding: Finding) -> bool:
        """Whether a command of a shell failed after a program's death was told in the same file."""
        if words("command-failed").search(clean(finding.text).text) is None:
            return False
        before = (f for f in self._findings if f.number == finding.number and f.line < finding.line)
        return any(f.entry.role is Role.SYMPTOM and not f.warned for f in before)

    def _told_on(self, finding: Finding) -> bool:
        """Whether words that any program may print are followed by more than a script's epilogue."""
        if self._recorded_failure or not finding.entry.general or finding.entry.strength > GENERIC:
            return False
        last = max(f.line for f in self._findings if f.number == finding.number and not f.warned)
        ordinary = self._observed.ordinary[finding.number]
        return len(ordinary) - bisect_right(ordinary, last) > _EPILOGUE

    def _outlived_before(self, finding: Finding) -> bool:
        """Whether much work was done between lines like this one, and a good end follows a specific one."""
        if finding.entry.strength > GENERIC and not any(place(end) > place(finding) for end in self._ends):
            return False
        first, last = self._alike[_kind(finding)]
        return self._work.between(finding.number, first.line, last.line) >= _MANY

    @cached_property
    def _converged(self) -> tuple[int, int]:
        """The place of the last line that says that a computation converged."""
        return max(
            (place(f) for f in self._observed.findings if f.entry.name == _CONVERGED), default=_NOWHERE
        )

    @cached_property
    def _alike(self) -> dict[tuple[int, str, str], tuple[Finding, Finding]]:
        """The first and the last finding of each kind."""
        found: dict[tuple[int, str, str], tuple[Finding, Finding]] = {}
        for finding in self._findings:
            kind = _kind(finding)
            found[kind] = (found[kind][0] if kind in found else finding, finding)
        return found

    @cached_property
    def _ends(self) -> list[Finding]:
        """The good ends. Words that any program may print count at the end of its log."""
        ends = (finding for finding in self._observed.findings if finding.entry.role is Role.END)
        last = self._observed.last_lines
        return [end for end in ends if not end.entry.general or end.line > last[end.number] - _CLOSE]

    def ended_well(self, told: Sequence[Candidate]) -> bool:
        """Whether the job ended well: by its record, or by a message that no finding contradicts."""
        accounting = self._observed.accounting
        if accounting is not None and accounting.state:
            return accounting.state == "COMPLETED" and not accounting.status
        if not self._ends:
            return not told and self._all_steps_done
        return any(all(map(partial(self._outweighs, end), told)) for end in self._ends)

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
            if finding.number != end.number or self._work.between(end.number, end.line, finding.line):
                return False
            died = self._last_symptom.get(end.number, 0) > end.line
            return not died or place(self._ends[-1]) > place(finding)
        # The end of another program does not tell of the one that failed.
        other = self._next_program(finding) if candidate.score > GENERIC else None
        if other is not None and place(end) > (finding.number, other):
            return False
        # A solver that did not converge also prints its usual end.
        unsolved = finding.entry.cause_class is CauseClass.NUMERICAL and candidate.score >= _CAUSE
        if unsolved and sure < _CHECKED and words("unsolved").search(finding.text):
            return False
        return candidate.score <= sure or (sure >= _OWN_END and self._lived_until(end, finding))

    def _lived_until(self, end: Finding, finding: Finding) -> bool:
        """Whether no line between a cause and a good end in its file tells of a death."""
        if finding.number != end.number or finding.entry.role is Role.SYMPTOM:
            return False
        symptoms = (f for f in self._findings if f.entry.role is Role.SYMPTOM and not f.warned)
        return not any(place(finding) < place(symptom) < place(end) for symptom in symptoms)

    @cached_property
    def _serious(self) -> list[tuple[int, int]]:
        """The places of findings that say more than any program may say."""
        return [place(f) for f in self._findings if not f.warned and f.entry.strength > GENERIC]

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


def _kind(finding: Finding) -> tuple[int, str, str]:
    """Return what the lines of one message have in common: file, entry, and words without values."""
    return finding.number, finding.entry.name, form(finding.text)
