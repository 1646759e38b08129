"""``EXIT``: the exit code or signal that ended a task."""

from __future__ import annotations

from whesl.language.detections.base import DetectionCheck, Detector, Form, Found, Kind, Word
from whesl.language.pattern_and_stream_records import Record, Span
from whesl.language.signals import HARMLESS, signal_names, signal_number
from whesl.language.wording import one_of
from whesl.model.evidence import Evidence

MAX_EXIT_CODE = 255


class CodeRange(Record, frozen=True, kw_only=True):
    """Inclusive range of exit codes."""

    first: int
    last: int


class ExitDetection(Kind, frozen=True, kw_only=True, tag="exit"):
    """The task ended with one of these exit codes or signals; without codes and signals, with any failure.

    With ``excluded`` the task ended with any failure but these codes.
    """

    alternatives = ("exit",)
    of_ends = True
    written = ("EXIT ANY [EXCEPT CODE n, ...], EXIT CODE n, ... or EXIT SIGNAL name, ...",)

    codes: tuple[CodeRange, ...] = ()
    signals: tuple[int, ...] = ()
    excluded: bool = False
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> ExitDetection | None:
        ranges = [_range(first, last, check) for first, last in form.ranges("code")]
        codes = tuple(codes for codes in ranges if codes is not None)
        signals = []
        for word in form.parts.get("signal", ()):
            number = signal_number(word.text)
            if number is None:
                check.findings.add(
                    "ESL065",
                    f"there is no signal {word.text[:40]}",
                    word,
                    hint=check.findings.nearest(word.text, signal_names())
                    or "SIGSEGV, SEGV and 11 are the same",
                )
            else:
                signals.append(number)
                if number in HARMLESS:
                    hint = "write a signal such as SEGV, ABRT, BUS or KILL"
                    check.findings.warn("ESL095", f"no program is ended by {word.text}", word, hint)
        if len(codes) < len(ranges) or len(signals) < len(form.parts.get("signal", ())):
            return None
        whole = form.keyword("ANY")
        excluded = whole is not None and bool(codes)
        single = [code for each in codes for code in range(each.first, each.last + 1)]
        if whole is not None and len({*single}) == MAX_EXIT_CODE:
            hint = "leave out the codes after which a restart helps"
            check.findings.warn("ESL095", "no code is left for which it is raised", whole, hint)
        if len({*single}) < len(single) or len({*signals}) < len(signals):
            check.twice(form.parts["code" if single else "signal"][-1])
        return ExitDetection(codes=codes, signals=tuple(signals), excluded=excluded, span=span)

    def sentence(self) -> str:
        if self.signals:
            return f"the job is ended by {one_of([_signal(number) for number in self.signals])}"
        codes = one_of([f"{c.first}" if c.first == c.last else f"{c.first} to {c.last}" for c in self.codes])
        if codes and not self.excluded:
            return f"the job ends with status {codes}"
        failure = "the job ends with any failure: a status other than 0, or a signal"
        return f"{failure}; but not with status {codes}" if codes else failure

    def unjudged(self, last: tuple[int, int] | None, ended: bool) -> str:
        return "" if ended else "how the job ended, unless --status says so"

    def detector(self, exception: str, node: str) -> _Exits:
        return _Exits(exception, node, self)

    def ends(self) -> tuple[frozenset[int], frozenset[int]]:
        codes = {code for each in self.codes for code in range(each.first, each.last + 1)}
        return frozenset() if self.excluded else frozenset(codes), frozenset(self.signals)

    def covers(self, code: int, signal: int | None) -> bool:
        """Whether this detection covers an end of the task.

        Args:
            code: the exit status as a shell gives it.
            signal: the signal that ended the task, None for none.
        """
        if not self.codes and not self.signals:
            return code != 0
        by_code = any(codes.first <= code <= codes.last for codes in self.codes)
        if self.excluded:
            return code != 0 and not by_code
        return by_code or (signal is not None and signal in self.signals)


class _Exits(Detector[ExitDetection]):
    def exited(self, code: int, signal: int | None, evidence: Evidence) -> Found:
        return (evidence,) if self.detection.covers(code, signal) else ()


def _range(first: Word, last: Word, check: DetectionCheck) -> CodeRange | None:
    low = _exit_code(first, check)
    high = low if last == first else _exit_code(last, check)
    if low is None or high is None:
        return None
    if low > high:
        from whesl.language.diagnostics import Range

        whole = Range(first.start, last.end)
        check.findings.add("ESL064", f"the range {low}-{high} is empty", whole, hint=f"write {high}-{low}")
        return None
    return CodeRange(first=low, last=high)


def _exit_code(word: Word, check: DetectionCheck) -> int | None:
    value = float(word.text)
    if value.is_integer() and 1 <= value <= MAX_EXIT_CODE:
        return int(value)
    check.findings.add(
        "ESL064",
        f"an exit code of a failure is a whole number from 1 to {MAX_EXIT_CODE}, not {word.text[:24]}",
        word,
        hint="0 is success" if value == 0 else "for a signal write EXIT SIGNAL, for any failure EXIT ANY",
    )
    return None


def _signal(number: int) -> str:
    name = next((name for name in signal_names() if signal_number(name) == number), "signal")
    return f"{name} ({number})"
