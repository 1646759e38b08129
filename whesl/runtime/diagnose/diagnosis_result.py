"""The diagnosis that is made of the chosen cause: advice, certainty and consequences. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.diagnose.cause_location import located
from whesl.runtime.diagnose.diagnosis_records import Candidate, Diagnosis, Finding, Observed
from whesl.runtime.diagnose.vocabulary import Outcome, Role

NEAR = 60  # greatest distance, in lines, between several messages of one failure
GENERIC = 30  # greatest strength of a line that any program may print
_GUESS = 20  # score of a line of which only the words are known
# Lower bounds of levels of strength; within a level the order in time decides.
_LEVELS = (75, 55, 40, 25, 10)


def place(finding: Finding) -> tuple[int, int]:
    """Return a finding's number of the file, and of the line."""
    return finding.number, finding.line


def order(candidate: Candidate, timed: bool) -> tuple[float, ...]:
    """Return what the candidates are sorted by: level of strength, time, file and line.

    Args:
        candidate: the candidate.
        timed: whether all candidates have a time.
    """
    finding = candidate.finding
    level = next((i for i, least in enumerate(_LEVELS) if candidate.score >= least), len(_LEVELS))
    return (level, finding.time if timed and finding.time is not None else 0.0, finding.number, finding.line)


def most_telling(living: Sequence[Candidate]) -> Candidate:
    """Return the first candidate, or a close one of the same class with a much higher score."""
    first = living[0]
    same = [
        other
        for other in living
        if other.finding.entry.cause_class is first.finding.entry.cause_class
        and other.finding.number == first.finding.number
        and 0 <= other.finding.line - first.finding.line <= NEAR
        and (other.finding.rank in (None, first.finding.rank) or first.finding.rank is None)
        and other.score >= first.score + 10
    ]
    return max(same, key=lambda c: c.score, default=first)


def with_consequences(diagnosis: Diagnosis, cause: Finding, observed: Observed) -> Diagnosis:
    """Return a diagnosis with the later findings, and the earlier symptoms, as consequences of its cause.

    Args:
        diagnosis: the diagnosis.
        cause: the line of its cause.
        observed: what was found in the logs.
    """
    found = tuple(
        finding
        for finding in observed.findings
        if finding.entry.role in (Role.CAUSE, Role.SYMPTOM)
        and place(finding) != place(cause)
        and (place(finding) > place(cause) or finding.entry.role is Role.SYMPTOM)
    )
    more = any(finding.entry.name in observed.left_out for finding in found)
    return msgspec.structs.replace(diagnosis, consequences=found, more=more)


def advice_on(finding: Finding) -> Advice:
    local = finding.path is not None and finding.path.startswith(("/tmp", "/dev/shm", "/var/tmp", "/local"))  # noqa: S108 - named in a log
    if finding.entry.cause_class is CauseClass.FULL and local:
        return Advice.OTHER_NODES
    return finding.entry.advice


def sureness(first: Candidate, rest: Sequence[Candidate]) -> float:
    """Return the confidence in the cause, from 0 to 1; less if another class has nearly the same score.

    Args:
        first: the candidate for the cause.
        rest: all other candidates.
    """
    sure = min(0.95, max(0.05, first.score / 100))
    rival = any(
        other.score >= first.score - 5
        and other.finding.entry.cause_class is not first.finding.entry.cause_class
        for other in rest
    )
    return round(sure * (0.7 if rival else 1.0), 2)


def named(cause: CauseClass | None) -> str:
    return cause.value if cause is not None else "none"


def says_nothing(diagnosis: Diagnosis) -> bool:
    """Whether a diagnosis names no fault, or its line says only that something failed."""
    if diagnosis.cause is None:
        return diagnosis.outcome is Outcome.UNKNOWN
    entry = diagnosis.cause.finding.entry
    if entry.role is Role.SYMPTOM:
        return entry.cause_class is CauseClass.OTHER_RANK
    return entry.general and entry.by_words and entry.strength <= GENERIC


def guessed(diagnosis: Diagnosis, observed: Observed, finding: Finding) -> Diagnosis:
    """Return a diagnosis whose cause is a line of which only the words are known.

    Args:
        diagnosis: the diagnosis, which names no fault.
        observed: what was found in the logs.
        finding: the line; its entry is the topic of its words.
    """
    finding = located(finding, observed)
    told = "it is unlike the job's other lines, its words tell of trouble, and the program ends after it"
    candidate = Candidate(finding=finding, score=_GUESS, reasons=(told,))
    found = msgspec.structs.replace(
        diagnosis,
        outcome=Outcome.FAILED,
        cause=candidate,
        advice=advice_on(finding),
        sure=_GUESS / 100,
        candidates=(candidate, *diagnosis.candidates),
    )
    return with_consequences(found, finding, observed)


def later(one: Finding, other: Finding, lines: int = 0) -> bool:
    """Whether one finding is later in time than another, or more than ``lines`` lines after it in a file.

    Args:
        one: the finding that may be the later one.
        other: the other finding.
        lines: number of lines by which it has to be later, where a finding has no time.
    """
    if one.number == other.number and one.line <= other.line + lines:
        return False
    if one.time is not None and other.time is not None:
        return one.time > other.time
    return one.number == other.number
