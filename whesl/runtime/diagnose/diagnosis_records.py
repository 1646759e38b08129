"""Records of a diagnosis: known messages, findings in a log, and the result."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whesl.model.evidence import Advice, CauseClass
from whesl.runtime.diagnose.vocabulary import STATES, Outcome, Role


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message that programs print, and its meaning for the job.

    Attributes:
        name: ``file.table`` of the knowledge; the other attributes are keys of the table.
        role: the role of the message.
        cause_class: None for harmless messages, good ends and facts.
        match: expressions; the groups node, rank, device and path capture the place of the failure, process a
            rank that a launcher's label outweighs.
        means: the meaning of the message, a sentence.
        source: the program that prints it.
        strength: 0 to 100, the confidence that a matching line is the job's cause.
        explained: classes of causes that explain this message; empty for a symptom that any cause explains.
            Without classes of its own, an entry by words has those of ``DEEPER`` in the vocabulary.
        advice: the recovery that would help.
        general: whether any program may print it; a more specific entry for the same line is preferred.
        lasting: whether the job may go on for a while after it.
        fatal: whether the job ends also where the line is marked as a warning.
        survivable: whether jobs often end well after it: a cause only beside a line that tells of a death.
        report: whether it is printed before the job's output, so that later output does not contradict it.
        below: expression for the line below that names the fault; that line is shown instead.
        by_words: whether it may report any trouble; the first topic in its words, or in those of the line
            below, gives its class.
        library, exception: the pattern library and its exception for the message; empty for none.
        sees, ignores: real lines that the entry finds, and lines that it must not find.
    """

    name: str
    role: Role = Role.CAUSE
    cause_class: CauseClass | None = msgspec.field(default=None, name="class")
    match: tuple[str, ...]
    means: str = ""
    source: str
    strength: int = 0
    explained: frozenset[CauseClass] = frozenset()
    advice: Advice = Advice.UNKNOWN
    general: bool = False
    lasting: bool = False
    fatal: bool = False
    survivable: bool = False
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
        entry: the entry that was found.
        file: the file's path, as the user gave it.
        number: the number of the file, from 0, in the order of the files given.
        line: the number of the line, from 1.
        text: the line without colour codes.
        rank, node: as captured by the entry, otherwise from the line's label.
        device, path: as captured by the entry.
        time: the line's time stamp in seconds, of an unknown day and zone; None without a time stamp.
        warned: whether the line is marked as a warning, or says that the program goes on.
        again: the line below that speaks of a next try, or the own line of an exception whose words do; 0
            without one.
        speaker: the form of the logger's label of the line, or of its record; empty for none.
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
    again: int = 0
    speaker: str = ""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """A line of steady work near the end of a file: a step, an iteration, a row of numbers.

    Attributes:
        number, line: the numbers of the file and of the line.
        rank: the rank in the line's label; None without one.
        final: whether it reports the last step, such as ``step 500/500``.
        since: the line behind which a trouble has to stand for this line to be work after it; 0 for any.
    """

    number: int
    line: int
    rank: int | None = None
    final: bool = False
    since: int = 0


class Accounting(msgspec.Struct, frozen=True, kw_only=True):
    """A resource manager's record of a job.

    Attributes:
        state: in Slurm's words: COMPLETED, FAILED, or one of ``STATES`` in the vocabulary.
        status: exit status as a shell gives it; None where it is unknown.
        node: the node that failed.
        told: the line of the record, for the reader.
    """

    state: str = ""
    status: int | None = None
    node: str | None = None
    told: str = ""

    @property
    def failed(self) -> bool:
        """Whether the job ended, with an exit status or a signal that is not that of a good end."""
        return self.state == "FAILED" and bool(self.status)

    @property
    def cause_class(self) -> CauseClass | None:
        """The class of causes that the state tells; None where it tells none."""
        return STATES[self.state][0] if self.state in STATES else None


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found in the logs of a job.

    Attributes:
        findings: the findings, in the order of files and lines; only a limited number of each entry is kept.
        progress: the lines of steady work in the last part of each file.
        ordinary: numbers of the ordinary lines in the last part of each file with a finding.
        last_lines: number of lines of each file.
        accounting: the resource manager's record; None where it is unknown.
        left_out: names of the entries that were found in more lines than ``findings`` has.
    """

    findings: tuple[Finding, ...]
    progress: tuple[Progress, ...] = ()
    ordinary: tuple[Sequence[int], ...] = ()
    last_lines: tuple[int, ...] = ()
    accounting: Accounting | None = None
    left_out: frozenset[str] = frozenset()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that may be the cause, with its score and the reasons for the score."""

    finding: Finding
    score: int
    reasons: tuple[str, ...]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a diagnosis.

    Attributes:
        outcome: how the job ended.
        cause: the first candidate; None where the job ended well or the cause is unknown.
        advice: the recovery that would help.
        sure: the confidence in the cause, 0 to 1.
        candidates: all candidates including the cause, the best first.
        consequences: the findings that the cause explains.
        more: whether the log has more consequences than that.
        unusual: (file, line, text) of lines unlike the others, where the cause is unknown.
        working: (file, line) of each last line that is a step of work, where the cause is unknown.
        told: the resource manager's record of the job as a line; empty where it was not asked.
    """

    outcome: Outcome
    cause: Candidate | None
    advice: Advice
    sure: float
    candidates: tuple[Candidate, ...] = ()
    consequences: tuple[Finding, ...] = ()
    more: bool = False
    unusual: tuple[tuple[str, int, str], ...] = ()
    working: tuple[tuple[str, int], ...] = ()
    told: str = ""
