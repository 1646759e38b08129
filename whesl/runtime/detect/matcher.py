"""One matcher for all patterns of a task: bytes of a growing file go in, matches come out, each once.

A line consists of the bytes up to ``\\n``, ``\\r\\n`` or a lone ``\\r`` (progress bars rewrite their line
with it), or up to the end of the stream. A line of more than 1 MiB is read as pieces of 1 MiB, each starting
64 KiB before the end of the one before; a piece is a line for ``^``, ``$`` and the reach of an expression. So
a literal, and whatever an expression matches in up to 64 KiB, is found in a line of any length with bounded
memory.

A literal is reported as soon as its last byte was fed, even before the line's end. A regular expression is
reported at its line's end, because only then its captures, ``$`` and ``\\b`` are settled. Each pair of
pattern and line is reported at most once. The reports do not depend on how the bytes were cut into feeds.

Scanning is in block mode with the unfinished line carried over, not in hyperscan's streaming mode: the
speed is the same (measured), re2 has no streaming mode to be equal to, and the position to restart from is
a plain offset instead of an opaque stream state.

``^`` is the beginning of a line, or what follows the labels that launchers put before a rank's lines. An
expression that matches without skipping labels captures what it would capture without this rule.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from whesl.language.pattern_and_stream_records import Pattern
from whesl.runtime.detect.engines import Engine, capturer, make_engine
from whesl.runtime.detect.regex_canonical_form import Canonical, canonical

EXCERPT = 4096  # bytes of a line that are kept as evidence
PIECE = 1 << 20
OVERLAP = 1 << 16
CARRIED_MOST = 1 << 14  # the most bytes of an unfinished line that ``pass_over`` scans again
LINES_AT_ENDS = 32  # lines at a block's ends that are searched for the first or last match of an expression
# Labels of srun --label and flux --label-io (``3: ``), Hydra (``[3] ``), Open MPI (``[1,3]<stdout>: ``),
# torchrun --tee (``[default3]:``), and PyTorch's errors (``[rank3]: ``). A line has at most three of them:
# srun's, torchrun's and PyTorch's.
_LABELS = rb"(?:(?: *\d+: |\[\d+\] |\[\d+,\d+\]<std(?:out|err)>: ?|\[(?:default|rank)\d+\]: ?){0,3}?)"
_LINE_START = re.compile(rb"(?<!\[)\^")  # ``^`` in a canonical expression that does not negate a class


@dataclass(frozen=True)
class Match:
    """A pattern in a line. Offsets are bytes from the start of the file.

    ``line`` is the line as far as it is known, cut to 4 KiB around the match; ``offset`` is where these bytes
    begin and ``line_offset`` where the line does: they differ only in lines of more than 4 KiB.
    """

    pattern: int
    line: bytes
    offset: int
    line_offset: int
    captures: dict[str, str] = field(default_factory=dict)


class Matcher:
    """Compiled patterns. Immutable, except that captures of a pattern may be switched off for good."""

    def __init__(self, patterns: Sequence[Pattern], engine: str, *, piece: int, overlap: int) -> None:
        forms = [_through_labels(canonical(pattern)) for pattern in patterns]
        self.patterns = tuple(patterns)
        self.piece, self.overlap = piece, overlap
        self.engine: Engine | None = make_engine(forms, engine) if forms else None
        self.literals = {i: form.literal for i, form in enumerate(forms) if form.literal is not None}
        self.reach = max(map(len, self.literals.values()), default=0)
        self.literals_only = len(self.literals) == len(forms)
        self._capture = [capturer(form) for form in forms]

    def open(self, offset: int = 0) -> MatchStream:
        """Open a stream whose next byte is at ``offset`` of its file, at the start of a line."""
        return MatchStream(self, offset)

    def make(self, pattern: int, line: bytes, line_offset: int, known_from: int) -> Match:
        """Return the record of a match in a line.

        Args:
            pattern: the pattern's index.
            line: the bytes of the line, as far as they are known.
            line_offset: the offset of the line in its file.
            known_from: the offset of the first byte of ``line``.
        """
        shift = self._excerpt(pattern, line) if len(line) > EXCERPT else 0
        text = line[shift : shift + EXCERPT]
        capture = self._capture[pattern]
        captures = capture(text) if capture is not None else {}
        return Match(
            pattern=pattern,
            line=text,
            offset=known_from + shift,
            line_offset=line_offset,
            captures={name: value.decode("utf-8", "replace") for name, value in captures.items()},
        )

    def _excerpt(self, pattern: int, line: bytes) -> int:
        """Return where the evidence begins: the first window that holds the match, else the start."""
        literal = self.literals.get(pattern)
        if literal is not None:
            return max(0, min(line.find(literal) - EXCERPT // 4, len(line) - EXCERPT))
        assert self.engine is not None
        for begin in range(0, len(line), EXCERPT // 2):
            if pattern in self.engine.line(line[begin : begin + EXCERPT]):
                return begin
        return 0


class MatchStream:
    """The matching of one file. It keeps the unfinished line, at most two pieces of it."""

    def __init__(self, matcher: Matcher, offset: int) -> None:
        self._matcher = matcher
        self._carry = bytearray()
        self._start = offset  # offset of the carried bytes
        self._line_offset = offset
        self._scanned = 0  # number of carried bytes that the search for literals has seen
        self._reported: set[int] = set()
        self._silent = True  # the last whole lines had no match

    @property
    def next_offset(self) -> int:
        """The offset of the next byte to feed."""
        return self._start + len(self._carry)

    @property
    def restart_offset(self) -> int:
        """The offset to read from after a restart: the start of the unfinished line or piece."""
        return self._start

    def feed(self, data: bytes, offset: int, most: int | None = None) -> list[Match]:
        """Match the next bytes and return what was found, in the order of lines, then of patterns.

        Bytes that were fed before are skipped; a gap ends the unfinished line.

        Args:
            data: the bytes.
            offset: their offset in the file.
            most: the number of matches after which matching stops; the rest, from ``next_offset`` on, has to
                be fed again.
        """
        matches: list[Match] = []
        if offset < self.next_offset:
            data = data[self.next_offset - offset :]
        elif offset > self.next_offset:
            matches += self.finish()
            self._restart(offset)
        if self._matcher.engine is None:
            self._restart(self.next_offset + len(data))
            return matches
        size = self._matcher.piece
        for begin in range(0, len(data), size):
            block = data[begin : begin + size] if len(data) > size else data
            if not self._block(self._matcher.engine, block, matches, most):
                break
        return matches

    def carried(self, latest: Set[int] = frozenset()) -> bytearray | None:
        """Return the bytes of the unfinished line; None when ``pass_over`` cannot continue from them.

        Args:
            latest: patterns that ``pass_over`` will be told of.
        """
        usual = self._reported <= latest and self._line_offset == self._start
        return self._carry if usual and len(self._carry) <= CARRIED_MOST else None

    def pass_over(
        self,
        text: bytearray,
        view: memoryview,
        length: int,
        latest: Set[int] = frozenset(),
        lone: Set[int] = frozenset(),
    ) -> list[Match] | None:
        """Handle bytes with few or no matches; return None without a change where ``feed`` is needed.

        Most output needs only this method, which costs a fraction of ``feed``.

        Args:
            text: the carried bytes, followed by the next bytes.
            view: a view of ``text``.
            length: the number of valid bytes in it.
            latest: patterns of which only the last match counts; earlier matches of these are left out.
            lone: patterns of which, where no other one of them matches, the first and the last match count.
        """
        last = length
        matches: list[Match] = []
        reported: set[int] = set()
        engine = self._matcher.engine
        if engine is not None:
            if text.find(b"\r", 0, length) >= 0:
                text = text[:length].replace(b"\r", b"\n")
                view = memoryview(text)
            last = text.rfind(b"\n", 0, length) + 1
            block = bytes(view[:length])  # hyperscan accepts bytes only
            if not engine.silent(block):
                found = engine.present(block) if latest or lone else []
                others = set(found) - latest
                if not found or len(others) > 1 or not others <= lone:
                    return None
                for pattern in found:
                    places = self._lines_at_ends(engine, text, view, last, pattern, pattern in others)
                    if places is None:
                        return None
                    for start, end in places:
                        if start or pattern not in self._reported:
                            line, offset = bytes(view[start:end]), self._start + start
                            matches.append(self._matcher.make(pattern, line, offset, offset))
                # In an unfinished line, only literals are settled before the line's end.
                begun = bytes(view[last:length])
                reported = set(engine.literals(begun)) if begun else set()
                known = self._reported if not last else set()
                start = self._start + last
                matches += [self._matcher.make(p, begun, start, start) for p in sorted(reported - known)]
                reported |= known
        if last or matches:
            self._reported = reported
        if last:
            self._start += last
            self._line_offset = self._start
        self._carry = text[last:length]
        self._scanned = length - last
        return matches

    def _lines_at_ends(
        self, engine: Engine, text: bytearray, view: memoryview, last: int, pattern: int, lone: bool
    ) -> list[tuple[int, int]] | None:
        """Return the place of the last line that holds a pattern, and of the first for a lone one, in order.

        The lines are those of ``text[:last]``. None when such a line is not near the beginning or the end.
        """
        literal = self._matcher.literals.get(pattern)
        start, end = 0, last
        if literal is not None:
            place = text.rfind(literal, 0, last)
            if place < 0:
                return []
            start = text.rfind(b"\n", 0, text.find(literal)) + 1
            end = text.find(b"\n", place) + 1
        places = []
        for forward in (True, False) if lone else (False,):
            for _ in range(LINES_AT_ENDS):
                if start >= end:
                    break
                if forward:
                    line = start, text.find(b"\n", start)
                    start = line[1] + 1
                else:
                    line = text.rfind(b"\n", 0, end - 1) + 1, end - 1
                    end = line[0]
                if pattern in engine.line(view[slice(*line)]):
                    places.append(line)
                    break
            else:
                return None
        return places

    def finish(self) -> list[Match]:
        """End the unfinished line, as at the end of an attempt or of a rotated file."""
        matches: list[Match] = []
        if self._carry and self._matcher.engine is not None:
            self._judge(self._matcher.engine, bytes(self._carry), matches)
        self._restart(self.next_offset)
        return matches

    def snapshot(self) -> dict[str, Any]:
        """Return the state as JSON builtins.

        After a restart, the carried bytes are read again from the file.
        """
        return {"start": self._start, "line": self._line_offset, "reported": sorted(self._reported)}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a snapshot; the caller then feeds from ``restart_offset``."""
        self._restart(int(state["start"]))
        self._line_offset = int(state["line"])
        self._reported = {int(pattern) for pattern in state["reported"]}

    def _restart(self, offset: int) -> None:
        self._carry = bytearray()
        self._start = self._line_offset = offset
        self._scanned = 0
        self._reported.clear()

    def _block(self, engine: Engine, text: bytes, matches: list[Match], most: int | None) -> bool:
        """Match a block; False when matching stopped after a line, since ``most`` matches were found."""
        # Literals do not depend on line ends, so the search for carriage returns is saved, which takes a
        # seventh of the time of the search for one literal.
        silent = self._silent and self._matcher.literals_only and engine.silent(text)
        if not silent:
            text = text.replace(b"\r", b"\n")
        first, end = _line_breaks(text)
        if first < 0:
            self._extend(engine, text, matches)
            self._early(engine, matches)
            return True
        base = self.next_offset
        begin = 0
        # After a restart in the middle of a long line, a line is in progress without carried bytes.
        if self._carry or self._reported or self._line_offset < self._start:
            self._extend(engine, text[:first], matches)
            self._judge(engine, bytes(self._carry), matches)
            begin = first + 1
        last = end + 1
        if begin < last and not silent:
            self._silent = True
            for start, stop, patterns in engine.lines(text, begin, last):
                self._silent = False
                line = text[start:stop]
                matches.extend(self._matcher.make(p, line, base + start, base + start) for p in patterns)
                if most is not None and len(matches) >= most:
                    self._restart(base + stop + 1)
                    return False
        self._restart(base + last)
        if last < len(text):
            self._extend(engine, text[last:], matches)
            self._early(engine, matches)
        return True

    def _extend(self, engine: Engine, text: bytes, matches: list[Match]) -> None:
        self._carry += text
        piece, step = self._matcher.piece, self._matcher.piece - self._matcher.overlap
        while len(self._carry) > piece:
            self._judge(engine, bytes(self._carry[:piece]), matches)
            del self._carry[:step]
            self._start += step
            self._scanned = max(0, self._scanned - step)

    def _judge(self, engine: Engine, line: bytes, matches: list[Match]) -> None:
        self._report(engine.line(line), line, self._start, matches)

    def _early(self, engine: Engine, matches: list[Match]) -> None:
        """Find literals in the unfinished line; each byte is scanned once, plus the reach of one literal."""
        fresh = max(0, self._scanned - self._matcher.reach + 1)
        self._scanned = len(self._carry)
        if self._matcher.reach:
            found = engine.literals(bytes(memoryview(self._carry)[fresh:]))
            if found:
                self._report(found, bytes(self._carry), self._start, matches)

    def _report(self, patterns: list[int], line: bytes, start: int, matches: list[Match]) -> None:
        for pattern in patterns:
            if pattern not in self._reported:
                self._reported.add(pattern)
                matches.append(self._matcher.make(pattern, line, self._line_offset, start))


def _through_labels(form: Canonical) -> Canonical:
    """Let the beginning of a line be followed by launchers' labels."""
    return replace(form, expression=_LINE_START.sub(lambda start: start[0] + _LABELS, form.expression))


def _line_breaks(text: bytes) -> tuple[int, int]:
    """Return the positions of the first and the last line break, ``\\n`` or ``\\r``; -1 for none."""
    first, last = text.find(b"\n"), text.rfind(b"\n")
    before = text.find(b"\r", 0, first if first >= 0 else len(text))
    return (before if before >= 0 else first), max(last, text.rfind(b"\r", last + 1))


def compile_patterns(
    patterns: Sequence[Pattern], engine: str = "auto", *, piece: int = PIECE, overlap: int = OVERLAP
) -> Matcher:
    """Compile all patterns of a task into one matcher.

    Args:
        patterns: literals and regular expressions; a match carries the index into this sequence.
        engine: ``auto``, ``hyperscan`` or ``re2``; all give the same matches.
        piece, overlap: bytes of pieces of long lines and of their overlap (see the module); smaller in tests.

    Raises PatternError (a UsageError) that names an invalid pattern, UsageError for an engine that is not
    installed.
    """
    return Matcher(patterns, engine, piece=piece, overlap=overlap)
