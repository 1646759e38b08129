"""Findings about a specification: stable codes, output for people and for programs."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple, Protocol

import msgspec

from whesl.language.wording import one_of

LINE_END = re.compile(r"\r\n|\n|\r")
MAX_FINDINGS = 100
MAX_SUGGESTIONS = 25  # searches for a similar name in one file, since each search takes time
_MAX_CANDIDATES = 200
_BRIEF = 3  # findings shown by commands other than ``whesl check``
_MAX_SHOWN = 160  # shown characters of a source line

# A code keeps its meaning for ever; the code of a removed finding is not used again.
# docs/error-codes.md explains each code; a test compares that document with this table.
CODES: dict[str, str] = {
    "ESL001": "not UTF-8 text",
    "ESL002": "file too large",
    "ESL003": "nested too deeply",
    "ESL004": "a character that has no meaning here",
    "ESL005": "a text in quotes is not closed on its line",
    "ESL006": "a bracket or brace is not closed",
    "ESL007": "more findings than are shown",
    "ESL008": "not a specification",
    "ESL009": "words in the wrong order",
    "ESL010": "unexpected word",
    "ESL011": "unknown statement",
    "ESL013": "clause given twice",
    "ESL014": "arguments that are not JSON",
    "ESL015": "argument given twice",
    "ESL016": "number out of range",
    "ESL017": "unknown library",
    "ESL018": "file that cannot be included",
    "ESL019": "files that include each other in a circle, or too many",
    "ESL020": "unknown entity",
    "ESL021": "unknown exception type",
    "ESL022": "unknown resource",
    "ESL023": "unknown operation",
    "ESL024": "entity declared twice",
    "ESL025": "exception type declared twice",
    "ESL026": "resource declared twice",
    "ESL027": "operation declared twice",
    "ESL028": "exception declared twice",
    "ESL029": "exception that two included files declare differently",
    "ESL030": "entity not declared",
    "ESL031": "exception type not declared",
    "ESL032": "resource not declared",
    "ESL033": "operation not declared for its resource",
    "ESL034": "exception not declared",
    "ESL040": "exception never detected",
    "ESL041": "exception without recovery",
    "ESL042": "entity out of reach of a JOB_LEVEL exception",
    "ESL043": "exceptions transformed in a circle",
    "ESL044": "escalation in a circle",
    "ESL045": "job that the workflow does not have",
    "ESL046": "no exception declared",
    "ESL047": "empty name",
    "ESL048": "restart of what can never start",
    "ESL049": "step where it cannot be done",
    "ESL050": "empty pattern",
    "ESL051": "pattern that matches everything",
    "ESL052": "pattern that can never match",
    "ESL053": "regular expression that cannot be run on a stream",
    "ESL054": "no number to watch in a PROGRESS pattern",
    "ESL055": "pattern listed twice",
    "ESL056": "pattern that sound lines have",
    "ESL057": "expression in a text that is found as it stands",
    "ESL058": "fault that is a sign of life",
    "ESL059": "pattern that another exception takes first",
    "ESL060": "time that is not above zero",
    "ESL061": "timer below its floor",
    "ESL062": "count below one",
    "ESL063": "percentage out of range",
    "ESL064": "exit code out of range",
    "ESL065": "unknown signal",
    "ESL066": "severity out of range",
    "ESL067": "no type of a job exception",
    "ESL068": "confidence out of range",
    "ESL069": "timer shorter than usual gaps",
    "ESL070": "unknown argument",
    "ESL071": "missing argument",
    "ESL072": "argument of the wrong type",
    "ESL073": "argument with a value that it does not take",
    "ESL074": "placeholder that nothing fills",
    "ESL075": "placeholder that is not always filled",
    "ESL076": "path that is not absolute",
    "ESL077": "handler that is not here",
    "ESL078": "prediction whose recovery loses work",
    "ESL079": "file system that is replaced by itself",
    "ESL080": "percentage that looks like a fraction",
    "ESL081": "path that is not there",
    "ESL082": "file that several jobs write",
    "ESL083": "pattern that a restart prints",
    "ESL084": "count that is never reached",
    "ESL085": "node without a spare",
    "ESL086": "variable that is not defined",
    "ESL087": "unknown class of a cause",
    "ESL088": "what only a new run of the job can be given",
    "ESL089": "a rule that ends torchrun before it restarts its workers",
    "ESL090": "coupled jobs that never run at once",
    "ESL091": "path that is taken as it stands",
    "ESL092": "notation of another language",
    "ESL093": "what is said twice",
    "ESL094": "number that is hardly meant",
    "ESL095": "what never happens, or always",
    "ESL096": "what the job's script keeps from the rules",
}


class Severity(str, Enum):
    """The severity of a finding. A specification with warnings only can be used."""

    ERROR = "error"
    WARNING = "warning"


class Diagnostic(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. Lines and columns count from 1; ``end_column`` is exclusive, on the same line.

    ``expected`` lists the words that are allowed at the place of a syntax error.
    """

    severity: Severity
    code: str
    message: str
    hint: str
    file: str
    line: int
    column: int
    end_column: int
    expected: tuple[str, ...] = ()

    def as_json(self) -> dict[str, str | int]:
        """Return the finding as ``whesl check --json`` prints it."""
        return {
            "severity": self.severity.value,
            "code": self.code,
            "message": f"{self.message}; expected {one_of(self.expected)}" if self.expected else self.message,
            "hint": self.hint,
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "end_column": self.end_column,
        }


class Place(NamedTuple):
    """The place of a finding: file, number of the file in reading order, line and columns from 1."""

    file: str
    part: int
    line: int
    column: int
    end_column: int


class Written(Protocol):
    """A part of the text that a finding can be about, from offset ``start`` to before ``end``."""

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


class Range(NamedTuple):
    """A range of the text, from offset ``start`` to before ``end``."""

    start: int
    end: int


class Findings:
    """Collects at most ``MAX_FINDINGS`` findings of a file and its included files, and counts the rest.

    Args:
        locate: returns the place of a range of offsets.
    """

    def __init__(self, locate: Callable[[int, int], Place]) -> None:
        self._locate = locate
        self._found: list[tuple[int, Diagnostic]] = []  # number of the file, and finding
        self._left_out = 0
        self._suggestions = 0
        self._left: list[tuple[int, int]] = []
        self.failed = False

    @property
    def full(self) -> bool:
        """Whether further findings are only counted, so that callers need not word them."""
        return len(self._found) >= MAX_FINDINGS

    def leave(self, start: int, end: int) -> None:
        """Drop all further findings in a part of the text that was repaired by a guess.

        Args:
            start: the first offset of the part.
            end: the offset behind the part.
        """
        self._left.append((start, end))

    def warn(self, code: str, message: str, about: Written, hint: str = "") -> None:
        """Record a warning about a part of the text.

        Args:
            code: a code of ``CODES``.
            message: the finding in one sentence.
            about: the part of the text.
            hint: what to do.
        """
        self.add(code, message, about, hint=hint, severity=Severity.WARNING)

    def add(
        self,
        code: str,
        message: str,
        about: Written,
        *,
        hint: str = "",
        severity: Severity = Severity.ERROR,
        expected: tuple[str, ...] = (),
    ) -> None:
        """Record a finding about a part of the text.

        Args:
            code: a code of ``CODES``.
            message: the finding in one sentence.
            about: the part of the text.
            hint: what to do.
            severity: error or warning.
            expected: the words that are allowed there.
        """
        if code not in CODES:
            raise KeyError(code)
        if any(first <= about.start < last for first, last in self._left):
            return
        self.failed = self.failed or severity is Severity.ERROR
        if self.full:
            self._left_out += 1
            return
        place = self._locate(about.start, about.end)
        found = Diagnostic(
            severity=severity,
            code=code,
            message=message,
            hint=hint,
            file=place.file,
            line=place.line,
            column=place.column,
            end_column=place.end_column,
            expected=expected,
        )
        self._found.append((place.part, found))

    def nearest(self, word: str, known: Iterable[str]) -> str:
        """Return the hint with the known word that is most similar to ``word``, or an empty string.

        Args:
            word: the unknown word.
            known: all known words.
        """
        if self._suggestions >= MAX_SUGGESTIONS or self.full:
            return ""
        self._suggestions += 1
        found = nearest(word, known)
        return f"did you mean {found}?" if found else ""

    def sorted(self) -> tuple[Diagnostic, ...]:
        """Return the findings by file and position; a last one counts those that were left out, if any."""
        ordered = sorted(
            self._found, key=lambda found: (found[0], found[1].line, found[1].column, found[1].code)
        )
        found = [diagnostic for _, diagnostic in ordered]
        if self._left_out:
            last = found[-1]
            more = msgspec.structs.replace(
                last,
                severity=Severity.ERROR if self.failed else Severity.WARNING,
                code="ESL007",
                message=f"{self._left_out} more findings are not shown",
                hint="correct those above and check again",
                expected=(),
            )
            found.append(more)
        return tuple(found)


def nearest(word: str, known: Iterable[str]) -> str:
    """Return the known word that is most similar to a misspelled one, or an empty string.

    Args:
        word: the misspelled word.
        known: all known words.
    """
    near = [name for name in known if abs(len(name) - len(word)) <= 4 and name != word][:_MAX_CANDIDATES]
    folded = {name.casefold(): name for name in reversed(near)}
    found = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else ""


def render(diagnostic: Diagnostic, lines: Sequence[str]) -> str:
    """Return a finding as text: place, message, the line with a caret below, expected words, hint.

    Args:
        diagnostic: the finding.
        lines: the file's lines, without line ends.
    """
    d = diagnostic
    text = [f"{d.file}:{d.line}:{d.column}: {d.severity.value}[{d.code}]: {d.message}"]
    if 1 <= d.line <= len(lines):
        # Of a very long line only a part around the caret is shown.
        first = max(0, d.column - 1 - _MAX_SHOWN // 2) if len(lines[d.line - 1]) > _MAX_SHOWN else 0
        shown = lines[d.line - 1][first : first + _MAX_SHOWN]
        before = shown[: d.column - 1 - first]
        width = max(1, min(d.end_column, first + len(shown) + 1) - d.column)
        number = str(d.line)
        text.append(f"  {number} | {_printable(shown)}")
        indent = "".join("\t" if character == "\t" else " " for character in before)
        text.append(f"  {' ' * len(number)} | {indent}{'^' * width}")
    if d.expected:
        text.append(f"  expected: {one_of(d.expected)}")
    if d.hint:
        text.append(f"  hint: {d.hint}")
    return "\n".join(text)


def lines_of(content: bytes | str) -> list[str]:
    """Return the lines of a file by the line ends that findings count, for ``render``."""
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    return LINE_END.split(text.removeprefix("\N{BYTE ORDER MARK}"))


def brief(file: str, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Return the first warnings, a line each, and the number of further ones, for commands that run tasks.

    Args:
        file: the specification's file.
        diagnostics: the findings.
    """
    said = [f"{d.file}:{d.line}: {d.severity.value}[{d.code}]: {d.message}" for d in diagnostics[:_BRIEF]]
    more = len(diagnostics) - len(said)
    return [*said, f"{file}: {more} more: whesl check {file}"] if more else said


def _printable(text: str) -> str:
    """Replace control characters, which the user's terminal could interpret."""
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)
