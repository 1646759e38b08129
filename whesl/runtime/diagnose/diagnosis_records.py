"""Records of a diagnosis: what is known, what was found in a log, and what is made of it."""

from __future__ import annotations

import msgspec

from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.diagnose.vocabulary import Outcome, Role


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A message that programs print, and what it says of the job.

    Attributes:
        name: ``file.table`` of the knowledge.
        role: what the message is.
        cause_class: None for harmless messages, good ends and facts.
        match: expressions; groups called node, rank, device and path say where it happened.
        means: a sentence for the reader.
        source: who prints it.
        strength: 0 to 100, how sure it is that a line like this is what the job died of.
        explained: classes of which a finding explains this one; empty: of a symptom, any cause.
        advice: what would help.
        general: of any program: another entry that finds the same line says more.
        lasting: whether the job may go on for a while after it.
        fatal: the job ends of it also where the line calls itself a warning.
        report: it stands before the output of the job that it tells of: what follows says nothing against it.
        below: what the line below it looks like where that one says what went wrong: it is shown then.
        by_words: it may tell of any trouble: the first topic that its words hold, or those of the line
            below it, says of which class it is.
        library, exception: the pattern library, and what a rule would name of it; empty for none.
        sees, ignores: real lines that it finds, and others that it must not.
    """

    name: str
    role: Role
    cause_class: CauseClass | None
    match: tuple[str, ...]
    means: str
    source: str
    strength: int
    explained: frozenset[CauseClass] = frozenset()
    advice: Advice = Advice.UNKNOWN
    general: bool = False
    lasting: bool = False
    fatal: bool = False
    report: bool = False
    below: str = ""
    by_words: bool = False
    library: str = ""
    exception: str = ""
    sees: tuple[str, ...] = ()
    ignores: tuple[str, ...] = ()


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A line in which an entry was found.

    Attributes:
        entry: what was found.
        file: path as it was given.
        number: of the file, from 0, in the order in which files were given.
        line: from 1.
        text: without colour codes, as it stands in the file.
        rank, node: as the line's label says; what the entry captures goes first.
        device, path: as the entry captures them.
        time: seconds of the line's time stamp, of a day or zone that is not known; None without one.
        warned: the line calls itself a warning, or says that the program goes on.
    """

    entry: Entry
    file: str
    number: int
    line: int
    text: str
    rank: int | None = None
    node: str | None = None
    device: str | None = None
    path: str | None = None
    time: float | None = None
    warned: bool = False


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A line of steady work near the end of a file: a step, an iteration, a row of numbers.

    Attributes:
        number, line: the file, and the line in it.
        rank: as the line's label says.
        final: it tells of the last of so many steps: ``step 500/500``.
    """

    number: int
    line: int
    rank: int | None = None
    final: bool = False


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """What a resource manager says of a job.

    Attributes:
        state: in Slurm's words: COMPLETED, FAILED, TIMEOUT, OUT_OF_MEMORY, NODE_FAIL, PREEMPTED, CANCELLED.
        status: exit status as a shell gives it; None where it is not known.
        node: the node that failed.
        told: the line that says so, for the reader.
    """

    state: str = ""
    status: int | None = None
    node: str | None = None
    told: str = ""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """All that was read of a job.

    Attributes:
        findings: in the order of files and lines.
        progress: of the last part of each file.
        counts: how often each entry was found, by name; findings are kept up to a number.
        last_lines: lines of each file.
        accounting: of the resource manager; None where it was not asked or does not know.
    """

    findings: tuple[Finding, ...]
    progress: tuple[Progress, ...] = ()
    counts: dict[str, int] = {}
    last_lines: tuple[int, ...] = ()
    accounting: Accounting | None = None


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that could be the cause, with its score and the reasons for it."""

    finding: Finding
    score: int
    reasons: tuple[str, ...]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The answer.

    Attributes:
        outcome: how the job ended.
        cause: the first of the candidates; None where the job ended well or nothing is known.
        advice: what would help.
        sure: 0 to 1.
        candidates: the best first, the cause among them.
        consequences: what followed from the cause.
        unusual: (file, line, text) of lines that are unlike the others, where the cause is not known.
        told: what the resource manager says of the job; empty where it was not asked.
    """

    outcome: Outcome
    cause: Candidate | None
    advice: Advice
    sure: float
    candidates: tuple[Candidate, ...] = ()
    consequences: tuple[Finding, ...] = ()
    unusual: tuple[tuple[str, int, str], ...] = ()
    told: str = ""
