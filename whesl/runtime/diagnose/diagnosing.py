"""From files, or from a line of a running job, to a diagnosis, or to what rules make of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import msgspec

from whesl.language.pattern_and_stream_records import Pattern, Source
from whesl.language.spec import Spec
from whesl.model.evidence import Cause, CauseClass
from whesl.model.workflow import Task
from whesl.runtime.detect.detection_on_old_logs import Rehearsal, Rehearsed
from whesl.runtime.diagnose.anomalous_lines import SHOWN, trouble, unusual
from whesl.runtime.diagnose.diagnosis_records import (
    Accounting,
    Candidate,
    Diagnosis,
    Entry,
    Finding,
    Observed,
)
from whesl.runtime.diagnose.diagnosis_result import guessed, says_nothing
from whesl.runtime.diagnose.labels import form
from whesl.runtime.diagnose.log_reader import lines_of_all, observe
from whesl.runtime.diagnose.prepared_knowledge import prepared
from whesl.runtime.diagnose.progress import Tail, Work
from whesl.runtime.diagnose.ranking import diagnose
from whesl.runtime.diagnose.scanner import Knowledge, Scanner, told_by_topic
from whesl.runtime.diagnose.vocabulary import ADVICE, STATES, Outcome, Role

_NEAR = 60  # lines before the one that says only that something failed, in which the fault may be named
_TEXT = 500  # kept characters of the decisive line
# Least strength of a message that alone names a job's cause, for each class that is told while the job runs.
_WHILE_IT_RUNS = {CauseClass.GPU: 80, CauseClass.FABRIC: 80, CauseClass.NODE: 80, CauseClass.HANG: 64}


@lru_cache(maxsize=1)
def _shipped() -> tuple[Knowledge, Knowledge]:
    """Return WHESL's knowledge for all lines and for the last lines, compiled once for this process."""
    entries = prepared().entries
    endings = [entry for entry in entries if entry.role is Role.END]
    return Knowledge([entry for entry in entries if entry.role is not Role.END]), Knowledge(endings)


def scanner() -> Scanner:
    """Return a new scanner for all known messages."""
    return Scanner(*_shipped())


def diagnose_files(
    files: Sequence[str],
    accounting: Accounting | None = None,
    good: Sequence[str] = (),
    unread: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Return the diagnosis of a job.

    Args:
        files: the job's logs; ``-`` is standard input.
        accounting: the resource manager's record of the job, None where it is unknown.
        good: logs of the same work that ended well.
        unread: called with a sentence for each log that could not be read, or not to its end.

    Raises:
        UsageError: no file can be read.
    """
    reader = scanner()
    observed = msgspec.structs.replace(observe(files, reader, unread=unread), accounting=accounting)
    found = diagnose(observed)
    if accounting is not None:
        found = msgspec.structs.replace(found, told=accounting.told)
        if found.cause is None:
            found = _told_by_state(found, accounting) or _told_in_words(found, accounting) or found
    if not says_nothing(found):
        return found
    forms = frozenset(map(form, lines_of_all(good)))
    rare = [unusual(tail.lines(), forms) for tail in reader.tails()]
    runs = accounting is not None and accounting.state == "RUNNING"
    guess = _guess(found, observed, files, rare, reader.tails()) if not runs else None
    if guess is not None:
        return guessed(found, observed, guess)
    if found.outcome is not Outcome.UNKNOWN:
        return found
    lines = [(file, *line) for file, some in zip(files, rare, strict=True) for line in some]
    ends = observed.last_lines
    working = [
        (files[step.number], step.line) for step in observed.progress if step.line == ends[step.number]
    ]
    return msgspec.structs.replace(
        found, unusual=tuple(lines[-SHOWN:]), working=() if runs else tuple(working)
    )


def _guess(
    found: Diagnosis,
    observed: Observed,
    files: Sequence[str],
    rare: Sequence[list[tuple[int, str]]],
    tails: Sequence[Tail],
) -> Finding | None:
    """Return an unusual line at a program's end whose words tell of trouble; None without one."""
    cause = found.cause.finding if found.cause is not None else None
    # Without a cause, the job has outlived all lines that are known.
    outlived = {(f.number, f.line) for f in observed.findings} if cause is None else set()
    for number, (file, lines, tail) in enumerate(zip(files, rare, tails, strict=True)):
        once = {line for line, _ in lines}
        work = Work(s for s in observed.progress if s.number == number and s.line not in once)
        # A program that outlived a trouble has outlived all that stands before it.
        begin, end = max((line for at, line in outlived if at == number), default=0), sys.maxsize
        if cause is not None:
            begin, end = (cause.line - _NEAR, cause.line) if cause.number == number else (0, 0)
        ending = [
            line
            for line in lines
            if begin < line[0] <= end and (number, line[0]) not in outlived and not work.last(number, line[0])
        ]
        told = trouble(ending, list(tail.lines()), _shipped()[0].topic) if ending else None
        if told is not None:
            return told_by_topic(*told, file=file, number=number)
    return None


def _told_by_state(diagnosis: Diagnosis, accounting: Accounting) -> Diagnosis | None:
    """Return the diagnosis by the state of a job whose log shows no cause; None where it tells none."""
    cause = accounting.cause_class
    if cause is None:
        return None
    entry = Entry(
        name="accounting",
        role=Role.CAUSE,
        cause_class=cause,
        match=(),
        means=f"{STATES[accounting.state][1]}, says the resource manager; the log says nothing of it.",
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


def _told_in_words(found: Diagnosis, accounting: Accounting) -> Diagnosis | None:
    """Return the cause that the resource manager's record of the job names in words; None for none."""
    if not accounting.failed:
        return None
    status = f", exit status {accounting.status}"  # Slurm writes a signal as ExitCode=0:11
    reader = scanner()
    reader.begin("")
    reader.feed(f"{accounting.told}{status}\n".encode())
    reader.finish()
    said = diagnose(reader.observed())
    if said.cause is None or said.cause.finding.entry.cause_class is CauseClass.OTHER_RANK:
        return None
    finding = msgspec.structs.replace(said.cause.finding, line=0, text=accounting.told)
    return msgspec.structs.replace(
        said,
        cause=msgspec.structs.replace(said.cause, finding=finding),
        told=accounting.told,
        candidates=found.candidates,
    )


def cause(diagnosis: Diagnosis) -> Cause | None:
    """Return the cause of a diagnosis in the form for journals; None without a cause."""
    if diagnosis.cause is None:
        return None
    finding = diagnosis.cause.finding
    assert finding.entry.cause_class is not None
    return Cause(
        cause=finding.entry.cause_class,
        sentence=finding.entry.means,
        advice=diagnosis.advice,
        sure=diagnosis.sure,
        text=finding.text.strip()[:_TEXT],
        file=finding.file,
        line=finding.line,
        node=finding.node or "",
        rank=finding.rank,
        device=finding.device or "",
        path=finding.path or "",
    )


class DecisiveLines:
    """Lines that show the cause of a failure while the job runs: broken hardware, lost nodes, hung ranks.

    No program repairs these faults itself. After such a line ranks often wait for each other for long, or the
    launcher waits for the rank that hangs. After a line of another class a program may go on, so that only
    the end of the attempt shows the cause.
    """

    def __init__(self, *, whole: bool = False) -> None:
        self._strengths = {**_WHILE_IT_RUNS, **({CauseClass.HANG: sys.maxsize} if whole else {})}
        texts = [text for entry in prepared().entries if self._decisive(entry) for text in entry.match]
        self.patterns = tuple(Pattern(text=text, regex=True) for text in dict.fromkeys(texts))

    def cause(self, line: str, file: str) -> Cause | None:
        """Return the cause that a line shows; None for a warning, and for a line that is not decisive.

        Args:
            line: the line, as in the file.
            file: the file's path.
        """
        reader = scanner()
        reader.begin(file)
        reader.feed(line.encode() + b"\n")
        reader.finish()
        found = diagnose(reader.observed())
        first = found.cause
        if first is None or first.finding.warned or not self._decisive(first.finding.entry):
            return None
        return cause(found)

    def _decisive(self, entry: Entry) -> bool:
        known = entry.role is Role.CAUSE and not (entry.general or entry.by_words or entry.report)
        kind = entry.cause_class
        return known and kind in self._strengths and entry.strength >= self._strengths[kind]


def decisive_lines(spec: Spec, *, whole: bool = False) -> DecisiveLines | None:
    """Return the decisive lines for a specification with CAUSE detections; None without such a detection.

    Args:
        spec: the specification.
        whole: the output is there to its end, which tells whether a run went on after a line on a hang.
    """
    waits = any(
        not _WHILE_IT_RUNS.keys().isdisjoint(detection.causes())
        for exception in spec.exceptions
        for detection in exception.detections
    )
    return DecisiveLines(whole=whole) if waits else None


def rehearsed(
    spec: Spec,
    task: Task,
    logs: Mapping[str, Sequence[Source]],
    status: int | None,
    progress: Callable[[int], None] = lambda _: None,
) -> Rehearsed:
    """Return the exceptions that a job with these logs would have raised, also by the cause of its failure.

    As in a job, the cause counts where no line has raised an exception, and goes before the exit status. A
    pipe is read once, so that its cause is not looked for.

    Args:
        spec: the specification.
        task: the task whose output the logs are.
        logs: which sources each file has the lines of, by its path.
        status: the job's exit status as a shell gives it; None where it is unknown.
        progress: called with the bytes read so far, after each piece.

    Raises:
        UsageError: a file cannot be read.
    """
    rehearsal = Rehearsal(spec, task, progress=progress, decisive=decisive_lines(spec, whole=True))
    rehearsal.read(logs)
    if status != 0 and rehearsal.asks_for_a_cause and all(Path(log).is_file() for log in logs):
        found = cause(diagnose_files(list(logs)))
        if found is not None:
            rehearsal.diagnosed(found)
    if status is not None:
        rehearsal.ended(status)
    return rehearsal.result()
