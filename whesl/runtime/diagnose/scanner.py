"""Finds the lines of logs with known messages: one pass over bytes, in constant memory.

Hyperscan searches whole blocks for the needles of all messages at once. A line with a needle is cleaned of
its labels (``3: Killed`` becomes ``Killed``), and then tried with the expressions that have this needle.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec

from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.evidence import CauseClass
from whesl.runtime.detect.engines import Engine, searcher
from whesl.runtime.detect.regex_canonical_form import canonical
from whesl.runtime.diagnose.diagnosis_records import Entry, Finding, Observed, Progress
from whesl.runtime.diagnose.labels import COLOUR, Cleaned, clean
from whesl.runtime.diagnose.outliving_words import (
    SOON,
    goes_on,
    heads_a_stack,
    next_try,
    passes_over,
    quoted,
    raised,
    speaker,
    warns,
)
from whesl.runtime.diagnose.prepared_knowledge import prepared, words
from whesl.runtime.diagnose.progress import Breaks, Tail, measures
from whesl.runtime.diagnose.search.log_storms import Storms
from whesl.runtime.diagnose.search.required_literal_search import NeedleSearch
from whesl.runtime.diagnose.search.required_literals import Needle, ignores_case, needles
from whesl.runtime.diagnose.vocabulary import NOT_SOUGHT, Role

LONGEST = 1 << 20  # bytes of a line; a longer line is searched in pieces
_FIRST, _LAST = 200, 50  # kept findings of one entry: the first ones and the last ones
_TEXT = 2000  # kept characters of a line
_CLEAR = 70  # least strength of a message that is known word for word
_EXCEPTION = 50  # least strength of a message of any program that is an exception of its language
_ONLY_ERROR = re.compile(r"\W*ERROR\W*$")
_BELOW = 3  # lines below a heading, also blank ones, in which the fault may be named
_IN_THREAD = re.compile(r"Exception in thread (?!\"?main\b)")
_EPILOGUE = 5  # number of lines that show that a program went on after a thread's exception
_TRACEBACK_HEAD = "Traceback (most"
_TRACEBACK = 20  # greatest number of lines from a traceback's head to its exception
# The head of a record that warns, and the beginnings of its further lines.
_WARNED = re.compile(rb"(?:[\d:., /-]+)?\W*WARN(?:ING)?\b")
_FURTHER = (b"  ", b"- ")
_RECORD = 8  # greatest number of lines of a record that warns
_PLAIN_WORD = re.compile(r"[a-z]+")  # such as "the" or "connection", and not the name of a file
_FRAME = re.compile(r'\s*File ".*", line \d+')


class Knowledge:
    """Entries, compiled for the search.

    Args:
        entries: the known messages.
        engine: as for ``whesl.runtime.detect.engines.make_engine``.
    """

    def __init__(self, entries: Sequence[Entry], engine: str = "auto") -> None:
        self._topics = sorted((e for e in entries if e.role is Role.TOPIC), key=lambda entry: -entry.strength)
        self._pairs = [
            (entry, text) for entry in entries if entry.role not in NOT_SOUGHT for text in entry.match
        ]
        users: dict[tuple[Needle, bool], list[int]] = {}
        known = prepared().needles
        for number, (_, text) in enumerate(self._pairs):
            ignore_case = ignores_case(text)
            for needle in known[text] if text in known else needles(text):
                users.setdefault((needle, ignore_case), []).append(number)
        self._users = list(users.values())
        self._searchers: dict[int, Callable[[bytes], dict[str, bytes] | None]] = {}
        self.scan = NeedleSearch(list(users), engine)

    def found(self, needles: Iterable[int], text: str, whole: str) -> list[tuple[Entry, dict[str, str]]]:
        """Return the entries found in a line, with the captures of their groups.

        Args:
            needles: numbers of the needles in the line.
            text: the line without labels.
            whole: the line with labels, which contain the host of some messages.
        """
        line, labelled = text.encode(), whole[:_TEXT].encode()
        result = []
        for number in sorted({number for needle in needles for number in self._users[needle]}):
            search = self._searchers.get(number) or self._searcher(number)
            captured = search(line)
            if captured is None and len(labelled) != len(line):
                captured = search(labelled)
            if captured is not None:
                groups = {name: value.decode("utf-8", "replace") for name, value in captured.items()}
                result.append((self._pairs[number][0], groups))
        return result

    def by_words(self, entry: Entry, text: str) -> Entry:
        """Return an entry for any trouble with the class of the first topic in its words.

        Args:
            entry: the entry of the message.
            text: the words of the message.
        """
        # A language's exception about an argument need not mean an input of the user.
        exception = entry.general and entry.strength >= _EXCEPTION
        topic = self.topic(text, without=CauseClass.INPUT if exception else None)
        if topic is None:
            return entry
        return msgspec.structs.replace(
            entry,
            cause_class=topic.cause_class,
            means=topic.means,
            advice=topic.advice,
            lasting=topic.lasting,
            by_words=False,
        )

    def topic(self, text: str, without: CauseClass | None = None) -> Entry | None:
        """Return the first topic in some words, except those of one class; None without one.

        Args:
            text: the words.
            without: the class whose topics are passed over; None for no class.
        """
        for topic in self._topics:
            if topic.cause_class is not without and re.search("|".join(topic.match), text, re.IGNORECASE):
                return topic
        return None

    def _searcher(self, number: int) -> Callable[[bytes], dict[str, bytes] | None]:
        form = canonical(Pattern(text=self._pairs[number][1], regex=True))
        search = self._searchers[number] = searcher(form)
        return search


class Scanner:
    """Searches the bytes of files, one file after another, and keeps the findings.

    Args:
        knowledge: the messages that are looked for in all lines.
        endings: the messages that are looked for only in the last part of each file.
    """

    def __init__(self, knowledge: Knowledge, endings: Knowledge) -> None:
        self._knowledge = knowledge
        self._endings = endings
        self._breaks = Breaks()
        self._storms = Storms(knowledge.scan)
        self._ending_storms = Storms(endings.scan)
        self._first: dict[tuple[str, bool], list[Finding]] = {}
        self._last: dict[str, deque[Finding]] = {}
        self._left_out: set[str] = set()
        self._tails: list[Tail] = []
        self._lines: list[int] = []

    @property
    def engine(self) -> Engine:
        """The engine that searches all bytes."""
        return self._knowledge.scan

    def begin(self, file: str) -> None:
        """Begin the file with the name ``file``."""
        self._file = file
        self._number = len(self._lines)
        self._carry = b""
        self._before = self._behind = b""  # the lines before and behind those that are searched
        self._line = 1  # number of the line that contains the first byte not yet searched
        self._tail = Tail()
        self._caught = 0  # the last line of a traceback whose exception was caught
        self._record = (0, "", False)  # the last line of a traceback, its logger, whether a thread raised it

    def feed(self, data: bytes) -> None:
        """Search the next bytes of the file. The last lines wait until the lines behind them have come."""
        text = self._carry + data
        end = text.rfind(b"\n") + 1
        for _ in range(SOON):
            end = end and text.rfind(b"\n", 0, end - 1) + 1
        if not end and len(text) >= LONGEST:
            end = text.rfind(b"\n") + 1
            if not end:
                self._block(text + b"\n")
                self._line -= 1  # a break inside a long line is not counted
                self._carry = b""
                return
        self._carry = text[end:]
        if end:
            self._block(text[:end], self._carry)

    def finish(self) -> None:
        """Search the rest of the file and end it."""
        if self._carry:
            self._block(self._carry if self._carry.endswith(b"\n") else self._carry + b"\n")
            self._carry = b""
        self._lines.append(self._line - 1)
        self._tails.append(self._tail)
        self._before = self._behind = b""
        for text, line in self._tail.blocks():
            self._search(self._endings, self._ending_storms, text, line)

    def observed(self) -> Observed:
        """Return the findings of all files."""
        findings = {(f.number, f.line, f.entry.name): f for kept in self._first.values() for f in kept}
        findings |= {(f.number, f.line, f.entry.name): f for kept in self._last.values() for f in kept}
        known = {(f.number, f.line) for f in findings.values()}
        progress = [
            Progress(number=number, line=line, rank=rank, final=final, since=since)
            for number, tail in enumerate(self._tails)
            for line, rank, final, since in tail.progress()
            if (number, line) not in known
        ]
        told = {f.number for f in findings.values()}
        return Observed(
            findings=tuple(findings[key] for key in sorted(findings)),
            progress=tuple(progress),
            ordinary=tuple(t.ordinary() if n in told else () for n, t in enumerate(self._tails)),
            last_lines=tuple(self._lines),
            left_out=frozenset(self._left_out | self._storms.names | self._ending_storms.names),
        )

    def tails(self) -> list[Tail]:
        """Return the last part of each file."""
        return self._tails

    def _block(self, text: bytes, behind: bytes = b"") -> None:
        """Search whole lines; ``behind`` begins with the lines that follow them."""
        if b"\x1b" in text:
            text = COLOUR.sub(b"", text)
        self._behind = _shown(COLOUR.sub(b"", behind[:_TEXT]))
        self._search(self._knowledge, self._storms, text, self._line)
        self._before = _shown(text[-_TEXT:])
        self._line += self._breaks.count(text)
        self._tail.add(text, self._line)

    def _search(self, knowledge: Knowledge, storms: Storms, text: bytes, first: int) -> None:
        """Search whole lines, of which the first one has the number ``first``, but for those of storms."""
        shown = _shown(text)
        at, line = 0, first
        for start, stop, found in storms.search.lines(shown, 0, len(shown)):
            line += text.count(b"\n", at, start)
            at = start
            content = shown[start:stop]
            if storms.holds(content, found):
                continue
            near = start < _TEXT  # lines before it may be in the part before
            above = self._before + shown[:start] if near else shown
            begin = len(above) if near else start
            previous = _line_before(above, begin)[1]
            names = self._judge(
                knowledge,
                _decoded(content),
                line,
                found,
                _decoded(previous[-_TEXT:]),
                _decoded((shown[stop + 1 : stop + 1 + _TEXT] + self._behind)[:_TEXT]),
                _WARNED.match(_head(above, begin)) is not None if content[:2] in _FURTHER else False,
            )
            storms.judged(content, found, names)

    def _judge(
        self,
        knowledge: Knowledge,
        text: str,
        line: int,
        needles: Iterable[int],
        previous: str,
        following: str,
        below_a_warning: bool,
    ) -> tuple[str, ...]:
        """Keep the findings of a line, and return the names of its entries."""
        cleaned = clean(text)
        found = knowledge.found(needles, cleaned.text, text)
        if not found:
            return ()
        below, second = f"{following}\n".split("\n", 2)[:2]
        stack = heads_a_stack(below)
        if cleaned.text.startswith(_TRACEBACK_HEAD):
            # The exception was caught where the line above says that the program goes on.
            self._caught = line + _TRACEBACK if goes_on(previous) else 0
            # Exceptions of one record are separated by blank lines.
            if previous.strip() or line > self._record[0]:
                self._record = (line, speaker(previous), _IN_THREAD.match(clean(previous).text) is not None)
            self._record = (line + _TRACEBACK, *self._record[1:])
        elif (
            below_a_warning
            or (
                previous.rstrip().endswith(":")
                and warns(clean(previous))
                and words("launcher").search(text) is None
            )
            or (stack and (goes_on(previous) or words("logged-low").search(previous)))
        ):
            self._caught = line
        elif stack:
            self._record = (line, speaker(previous), False)
        elif line <= self._record[0] and _FRAME.match(cleaned.text):
            self._record = (line + _TRACEBACK, *self._record[1:])
        died = raised(cleaned, previous if line <= self._record[0] else "", stack)
        # A matching harmless entry overrides others; otherwise the most specific entry is kept.
        harmless = [e for e, _ in found if e.role is Role.HARMLESS and not (died and e.general)]
        if harmless:
            least = _CLEAR if all(entry.general for entry in harmless) else None
            found = [pair for pair in found if _stands(pair[0], least)]
        elif (text[:1].isspace() or cleaned.text[:1].isspace()) and _FRAME.match(clean(previous).text):
            return ()  # the line is the source line of a traceback's frame
        elif all(entry.general for entry, _ in found) and measures(cleaned.text):
            found = [pair for pair in found if pair[0].role is Role.END]
        telling = {e.role for e, _ in found if not e.general} & {Role.CAUSE, Role.SYMPTOM}
        if telling:
            found = [pair for pair in found if not pair[0].general]
        best: dict[Role, tuple[Entry, dict[str, str]]] = {}
        for entry, captured in found:
            role = Role.CAUSE if entry.role is Role.SYMPTOM else entry.role
            held = best.get(role)
            if held is None or (entry.strength, len(captured)) > (held[0].strength, len(held[1])):
                best[role] = (entry, captured)
        for entry, captured in best.values():
            # All entries of a line name one place; the captures of entries of the same class go first.
            ordered = sorted(found, key=lambda pair: pair[0].cause_class is entry.cause_class)
            places = {key: value for _, told in ordered for key, value in told.items()}
            finding = self._finding(entry, places | captured, cleaned, text, line)
            fault = _below(entry, cleaned.text, following)
            if entry.below and fault is not None:
                own = clean(fault[1])
                finding = msgspec.structs.replace(
                    finding,
                    line=line + fault[0],
                    text=fault[1].rstrip(),
                    rank=finding.rank if own.rank is None else own.rank,
                    node=finding.node or own.node,
                )
            if not entry.fatal:
                skipped = fault[0] if died and fault is not None else 0  # its own words
                behind = following.split("\n")[skipped:SOON]
                finding = self._outlived(finding, line + skipped, text, behind, died)
            if entry.by_words:
                said = finding.text if entry.below or fault is None else f"{finding.text} {fault[1]}"
                finding = msgspec.structs.replace(finding, entry=knowledge.by_words(entry, said))
            # A line above the record of an exception tells no fault of its own.
            if (
                entry.general
                and entry.role is Role.CAUSE
                and (_TRACEBACK_HEAD in below or heads_a_stack(second))
            ):
                heading = msgspec.structs.replace(finding.entry, role=Role.SYMPTOM)
                finding = msgspec.structs.replace(finding, entry=heading)
            self._keep(entry, finding)
        if best:
            self._caught = 0
        return tuple(entry.name for entry, _ in best.values())

    def _outlived(
        self, finding: Finding, line: int, text: str, following: Sequence[str], died: bool
    ) -> Finding:
        """Return a finding, with the signs in the lines beside it that the program goes on.

        An uncaught exception whose text sounds harmless counts like a line that tells of a next try.
        """
        own = clean(text).text
        if line <= self._caught or passes_over(text, following) or quoted(own, finding.entry):
            return msgspec.structs.replace(finding, warned=True)
        _, logger, in_thread = self._record if line <= self._record[0] else (0, "", False)
        again = next_try(own, following)
        harmless = finding.warned if died else again is not None
        again = line + again if again else finding.line * harmless
        entry = finding.entry
        # A thread's exception ends its program only where little follows.
        if in_thread and sum(bool(below.strip()) for below in following) >= _EPILOGUE:
            entry = msgspec.structs.replace(entry, survivable=True)
        return msgspec.structs.replace(
            finding,
            entry=entry,
            warned=finding.warned and not died,
            again=again,
            speaker=logger or finding.speaker,
        )

    def _keep(self, entry: Entry, finding: Finding) -> None:
        first = self._first.setdefault((entry.name, finding.warned), [])
        if len(first) < _FIRST:
            first.append(finding)
            return
        last = self._last.setdefault(entry.name, deque(maxlen=_LAST))
        if len(last) == _LAST:
            self._left_out.add(entry.name)
        last.append(finding)

    def _finding(
        self, entry: Entry, captured: dict[str, str], cleaned: Cleaned, text: str, line: int
    ) -> Finding:
        own = captured.get("process", "") if cleaned.rank is None else ""
        rank = captured.get("rank", own)
        path = captured.get("path", "").rstrip(":;,")
        return Finding(
            entry=entry,
            file=self._file,
            number=self._number,
            line=line,
            text=text.rstrip()[:_TEXT],
            rank=int(rank) if rank.isdigit() else cleaned.rank,
            node=captured.get("node") or cleaned.node,
            device=captured.get("device") or cleaned.device,
            path=path if path and not _PLAIN_WORD.fullmatch(path) else None,
            time=cleaned.time,
            warned=not entry.fatal and warns(cleaned),
            speaker=speaker(text),
        )


def _shown(text: bytes) -> bytes:
    return text.replace(b"\r", b"\n") if b"\r" in text else text


def _line_before(text: bytes, start: int) -> tuple[int, bytes]:
    """Return where the line before a line starts, and that line."""
    stop = max(0, start - 1)
    begin = text.rfind(b"\n", 0, stop) + 1
    return begin, text[begin:stop]


def _head(text: bytes, start: int) -> bytes:
    """Return the line that a record begins with, of which one of the further lines starts at ``start``."""
    line = b""
    for _ in range(_RECORD):
        start, line = _line_before(text, start)
        if line[:2] not in _FURTHER:
            break
    return line


def told_by_topic(line: int, text: str, topic: Entry, *, file: str, number: int) -> Finding:
    """Return the finding of a line of which only the topic of its words is known.

    Args:
        line, text: the line.
        topic: the topic of its words.
        file, number: the file's name and number.
    """
    cleaned = clean(text)
    entry = msgspec.structs.replace(topic, role=Role.CAUSE, general=True)
    return Finding(
        entry=entry,
        file=file,
        number=number,
        line=line,
        text=text[:_TEXT],
        rank=cleaned.rank,
        node=cleaned.node,
        device=cleaned.device,
    )


def _stands(entry: Entry, least: int | None) -> bool:
    """Whether an entry counts in a line with a harmless entry.

    It needs the strength ``least``; this is None where the harmless entry is specific.
    """
    if entry.role in (Role.END, Role.FACT):
        return True
    return least is not None and not entry.general and entry.strength >= least


def _below(entry: Entry, text: str, following: str) -> tuple[int, str] | None:
    """Return the line below a heading that names the fault, and its distance from the heading in lines."""
    expected = entry.below or (r"\w" if text.endswith(":") or _ONLY_ERROR.match(text) else "")
    if not expected:
        return None
    for number, content in enumerate(following.split("\n")[:_BELOW], 1):
        said = clean(content).text
        if re.search(expected, said):
            return number, content
        if said.strip():
            break
    return None


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1")
