"""Whether a job outlived a trouble of which its log tells: by its work, its output and its end. Pure."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property

import msgspec

from whesl.model.evidence import CauseClass
from whesl.runtime.diagnose.diagnosis_records import Finding, Observed
from whesl.runtime.diagnose.diagnosis_result import GENERIC, place
from whesl.runtime.diagnose.labels import clean, form
from whesl.runtime.diagnose.prepared_knowledge import words
from whesl.runtime.diagnose.progress import NONE, Work
from whesl.runtime.diagnose.vocabulary import AFTERMATH, FOLLOWS, Role

_WENT_ON = 3  # least number of steps after a line that show that the program went on
_MANY = 40  # number of steps after a line that cannot all come from an output buffer
_CAUSE = 55  # least strength of a line that alone can be a cause
_EPILOGUE = 5  # greatest number of lines that a script prints after the command at which it stopped
_CALM = 12  # least number of ordinary lines without trouble before a good end that show that all went on
_NOWHERE = (-1, 0)  # a place before all lines
_CLOSE = 20  # lines that count as the end of a file
_CONVERGED = "general.converged"
_BEGINS = "general.begins-again"
_NEXT_PROGRAM = "general.next-program"


class Survival:
    """What shows that a job went on after its findings.

    Args:
        observed: all that was found.
        in_order: whether steps after a line show that the program went on.

    Attributes:
        findings: the causes and symptoms; a finding that speaks of a next try that came is a warning.
        work: the steps of the job.
    """

    def __init__(self, observed: Observed, in_order: bool = True) -> None:
        self._observed = observed
        self._in_order = in_order
        self.work = Work(observed.progress)
        told = [f for f in observed.findings if f.entry.role in (Role.CAUSE, Role.SYMPTOM)]
        self.findings = [
            msgspec.structs.replace(f, warned=True) if f.again and not self._gave_up(f, told) else f
            for f in told
        ]

    def _gave_up(self, finding: Finding, told: Sequence[Finding]) -> bool:
        """Whether the next try, of which the program speaks, did not help: only its end is told behind it."""
        number, last = finding.number, finding.again
        ordinary = self._observed.ordinary[number]
        if last >= self._observed.last_lines[number]:
            return True
        if last <= finding.line:  # an exception whose own words speak of a next try
            sure = finding.entry.strength
            end = max((place(e) for e in self.ends if e.entry.strength > sure), default=_NOWHERE)
            if end < place(finding) and len(ordinary) - bisect_right(ordinary, last) <= _EPILOGUE:
                return True
        begin = max(place(finding), (number, last))
        after = [f for f in told if place(f) > begin and not (f.warned or f.again)]
        if any(f.entry.role is Role.CAUSE and f.entry.strength >= _CAUSE for f in after):
            return False
        died = next((f.line for f in after if f.number == number and f.entry.role is Role.SYMPTOM), 0)
        calm = bisect_right(ordinary, died) - bisect_right(ordinary, last)
        return died > 0 and calm <= _EPILOGUE and self.work.after(number, finding.line) < _WENT_ON

    @cached_property
    def _recorded_failure(self) -> bool:
        """Whether the resource manager's record tells of a failure."""
        accounting = self._observed.accounting
        return accounting is not None and (accounting.failed or accounting.cause_class is not None)

    def steps_after(self, finding: Finding) -> int:
        """Return the number of steps after a finding in its file, of its rank where that one tells steps."""
        work, rank = self.work, finding.rank
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
    def last_serious(self) -> tuple[int, int]:
        """The place of the last specific finding that no steps follow."""
        return max(
            (
                place(f)
                for f in self.findings
                if not (f.warned or self.survivable(f))
                and f.entry.strength > GENERIC
                and self.steps_after(f) < _WENT_ON
            ),
            default=_NOWHERE,
        )

    @cached_property
    def last_symptom(self) -> dict[int, int]:
        """The line number of the last symptom in each file."""
        return {f.number: f.line for f in self.findings if f.entry.role is Role.SYMPTOM and not f.warned}

    def went_on(self, finding: Finding, after: int) -> bool:
        """Whether the steps after a finding show that the program went on.

        Args:
            finding: the finding.
            after: number of steps after it.
        """
        if not self._in_order or after < _WENT_ON or finding.entry.report or self.recorded(finding):
            return False
        other = self.next_program(finding)
        if other is not None and self.work.between(finding.number, finding.line, other) < _WENT_ON:
            return False
        if finding.entry.lasting:
            # A later finding may be the same fault, met by others.
            return (
                self.last_serious <= place(finding) or self._calmed(finding) or self._died_otherwise(finding)
            )
        if after >= _MANY:
            return True
        # Buffered output may be printed after the error, but a launcher's summary then follows it.
        last = self.work.last(finding.number, finding.line)
        return self.last_symptom.get(finding.number, 0) < last or self._died_otherwise(finding)

    def next_program(self, finding: Finding) -> int | None:
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

    def began_again(self, finding: Finding) -> bool:
        """Whether a later line says that the job begins again, and no line after that tells of the same."""
        begins = self._begins.get(finding.number, 0)
        if not finding.line < begins < self._observed.last_lines[finding.number]:
            return False
        return not finding.entry.lasting or self.last_serious <= place(finding)

    @cached_property
    def _begins(self) -> dict[int, int]:
        """The last line of each file that says that a job begins again."""
        return {f.number: f.line for f in self._observed.findings if f.entry.name == _BEGINS}

    def _died_otherwise(self, finding: Finding) -> bool:
        """Whether the job went on after a finding, and died later of a fault that is not its consequence."""
        number, cause = finding.number, finding.entry.cause_class
        last, ordinary = self.work.last(number, finding.line), self._observed.ordinary[number]
        for (at, other), line in self._last_of_class.items():
            if at != number or line <= finding.line or other is cause or other in FOLLOWS.get(cause, ()):
                continue
            _, before = self._troubles[bisect_left(self._troubles, (number, line)) - 1]
            calm = bisect_right(ordinary, line) - bisect_right(ordinary, max(before, finding.line))
            if line > last > 0 or (calm > _EPILOGUE and other not in AFTERMATH):
                return True
        return False

    @cached_property
    def _last_of_class(self) -> dict[tuple[int, CauseClass | None], int]:
        """The line of the last specific cause of each class in each file."""
        return {
            (f.number, f.entry.cause_class): f.line
            for f in self.findings
            if f.entry.role is Role.CAUSE
            and f.entry.strength >= _CAUSE
            and not (f.warned or f.entry.general or f.entry.explained)
        }

    def outlived(self, finding: Finding) -> bool:
        """Whether the program went on after a line, or the line itself says that it goes on."""
        if finding.warned or self.went_on(finding, self.steps_after(finding)):
            return True
        if self.began_again(finding) or self._speaker_ended_well(finding) or self._calmed(finding):
            return True
        if self._died_otherwise(finding):
            return True
        # What did not converge at first did so later.
        unsolved = finding.entry.cause_class is CauseClass.NUMERICAL or "converge" in finding.text.lower()
        if unsolved and place(finding) < self._converged:
            return True
        return self._survived(finding) or self._outlived_before(finding)

    def _speaker_ended_well(self, finding: Finding) -> bool:
        """Whether the logger that told of a trouble tells of a good end, and no line of a death."""
        if not finding.speaker or self.last_symptom.get(finding.number, 0) > finding.line:
            return False
        own = (e for e in self.ends if e.number == finding.number and e.rank in (None, finding.rank))
        return any(end.speaker == finding.speaker and end.line > finding.line for end in own)

    def _calmed(self, finding: Finding) -> bool:
        """Whether ordinary output follows a finding and all later trouble, and more of it than an epilogue.

        A script may go on after a death that a launcher or a shell has told, and so may a dead rank's peers.
        Without a good end, the job went on where much output follows, or little behind words of any program.
        """
        number, ordinary = finding.number, self._observed.ordinary[finding.number]
        if self._recorded_failure or self.next_program(finding) is not None:
            return False
        weak = finding.entry.general and finding.entry.strength <= GENERIC
        death = finding.entry.role is Role.SYMPTOM or words("death").search(clean(finding.text).text)
        horizons = [(e.line, _CALM if death else _EPILOGUE + 1) for e in self.ends if e.number == number]
        if weak or not (death or finding.rank is not None):
            horizons.append((self._observed.last_lines[number], _EPILOGUE + 1 if weak else _CALM + 1))
        for line, least in horizons:
            at = bisect_right(self._troubles, (number, line))
            _, last = max([place(finding), *self._troubles[max(at - 1, 0) : at]])
            if bisect_right(ordinary, line) - bisect_right(ordinary, last) >= least:
                return True
        return False

    def leads_on(self, finding: Finding) -> bool:
        """Whether little stands between a finding and the trouble behind it, which may come of it."""
        number, line = place(finding)
        ordinary, at = self._observed.ordinary[number], bisect_right(self._troubles, (number, line))
        of_file, behind = self._troubles[at] if at < len(self._troubles) else _NOWHERE
        calm = bisect_right(ordinary, behind) - bisect_right(ordinary, line)
        return of_file == number and calm <= _EPILOGUE and self.work.between(number, line, behind) < _WENT_ON

    def _survived(self, finding: Finding) -> bool:
        """Whether nothing but a finding that jobs often survive tells of a death."""
        accounting = self._observed.accounting
        if not self.survivable(finding) or (accounting is not None and accounting.failed):
            return False
        return self.last_serious == _NOWHERE

    def survivable(self, finding: Finding) -> bool:
        """Whether jobs often survive a finding: a shell a failed command, R an error in try(), PIO a search.

        A script that stops there prints little more. The results do not need what a clean-up could not do.
        """
        text = clean(finding.text).text
        if finding.entry.survivable or words("clean-up-failed").search(text):
            return True
        more = finding.line < self._observed.last_lines[finding.number] - _EPILOGUE
        return more and words("command-failed").search(text) is not None

    def past_a_death(self, finding: Finding) -> bool:
        """Whether a command of a shell failed after a program's death was told in the same file."""
        if words("command-failed").search(clean(finding.text).text) is None:
            return False
        before = (f for f in self.findings if f.number == finding.number and f.line < finding.line)
        return any(f.entry.role is Role.SYMPTOM and not f.warned for f in before)

    def _outlived_before(self, finding: Finding) -> bool:
        """Whether much work was done between lines like this one, and a good end follows a specific one."""
        if finding.entry.strength > GENERIC and not any(place(end) > place(finding) for end in self.ends):
            return False
        first, last = self._alike[_kind(finding)]
        return self.work.between(finding.number, first.line, last.line) >= _MANY

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
        for finding in self.findings:
            kind = _kind(finding)
            found[kind] = (found[kind][0] if kind in found else finding, finding)
        return found

    @cached_property
    def ends(self) -> list[Finding]:
        """The good ends. Words that any program may print count at the end of its log."""
        ends = (finding for finding in self._observed.findings if finding.entry.role is Role.END)
        last = self._observed.last_lines
        return [end for end in ends if not end.entry.general or end.line > last[end.number] - _CLOSE]

    @cached_property
    def _troubles(self) -> list[tuple[int, int]]:
        """The places of all causes and symptoms that are no warnings."""
        return [place(f) for f in self.findings if not f.warned]

    def lived_until(self, end: Finding, finding: Finding) -> bool:
        """Whether no line between a cause and a good end in its file tells of a death.

        Args:
            end: the finding of the good end.
            finding: the cause.
        """
        if finding.number != end.number or finding.entry.role is Role.SYMPTOM:
            return False
        symptoms = (f for f in self.findings if f.entry.role is Role.SYMPTOM and not f.warned)
        return not any(place(finding) < place(symptom) < place(end) for symptom in symptoms)

    def recorded(self, finding: Finding) -> bool:
        """Whether the resource manager's record tells of the same class of causes."""
        accounting = self._observed.accounting
        return accounting is not None and accounting.cause_class is finding.entry.cause_class


def _kind(finding: Finding) -> tuple[int, str, str]:
    """Return what the lines of one message have in common: file, entry, and words without values."""
    return finding.number, finding.entry.name, form(finding.text)
