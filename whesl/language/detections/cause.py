"""``CAUSE``: the cause of an attempt's failure, from its output (``whesl why``)."""

from __future__ import annotations

from whesl.language.detections.base import DetectionCheck, Detector, Form, Found, InVain, Kind, Word
from whesl.language.pattern_and_stream_records import Span
from whesl.language.wording import one_of
from whesl.model.evidence import Cause, CauseClass, Evidence

# Causes that the same task meets again, and what helps.
_MEND = "mend that first, and leave the class out; or change what the task is given"
_ROOM = "make room: FILESYSTEM.REPLACE, or JOB.ADD"
_AGAIN = {
    CauseClass.INPUT: _MEND,
    CauseClass.DEPENDENCY: _MEND,
    CauseClass.CONTAINER: _MEND,
    CauseClass.MEMORY_GPU: "give it less work at once: JOB.REPLACE with attempts, or another environment",
    CauseClass.FULL: _ROOM,
    CauseClass.QUOTA: _ROOM,
    CauseClass.TIME: 'let SCHEDULER do JOB.REPLACE with more "time"',
}
NAMES = tuple(each.value for each in CauseClass)


class CauseDetection(Kind, frozen=True, kw_only=True, tag="cause"):
    """The task's output shows a cause of one of these classes, for some classes already while it runs.

    ``confidence`` is the least confidence in the cause, 0 to 1.
    """

    alternatives = ("cause",)
    written = ("CAUSE class, ... [CONFIDENCE c]",)

    classes: tuple[CauseClass, ...]
    confidence: float = 0.0
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> CauseDetection | None:
        words = form.parts["causeClass"]
        classes = [found for word in words if (found := _class(word, check)) is not None]
        confidence = check.probability(form)
        if len(classes) < len(words) or confidence is None:
            return None
        if len({*classes}) < len(classes):
            check.twice(words[-1])
        return CauseDetection(classes=tuple(dict.fromkeys(classes)), confidence=confidence, span=span)

    def sentence(self) -> str:
        named = one_of([each.value for each in self.classes])
        sure = f", sure by at least {self.confidence:g}" if self.confidence else ""
        return f"the job's output says that the cause of its failure is {named}{sure}"

    def unjudged(self, last: tuple[int, int] | None, ended: bool) -> str:
        return ""

    def causes(self) -> tuple[CauseClass, ...]:
        return self.classes

    def in_vain(self) -> InVain | None:
        kind = next((kind for kind in self.classes if kind in _AGAIN), None)
        if kind is None:
            return None
        reason = f"the same task dies of {kind.value} again"
        return InVain(reason, _AGAIN[kind], kind is CauseClass.TIME)

    def detector(self, exception: str, node: str) -> _Causes:
        return _Causes(exception, node, self)


def _class(word: Word, check: DetectionCheck) -> CauseClass | None:
    named = word.text.strip('"').lower()
    # Classes such as input/config-error have two words.
    near = [name for name in NAMES if named in name.split("/")]
    if named in NAMES:
        return CauseClass(named)
    check.findings.add(
        "ESL087",
        f"there is no class of causes {word.text[:40]}",
        word,
        hint=f"did you mean {near[0]}?"
        if near
        else check.findings.nearest(named, NAMES) or f"there are {', '.join(NAMES)}",
    )
    return None


class _Causes(Detector[CauseDetection]):
    def diagnosed(self, cause: Cause, evidence: Evidence) -> Found:
        wanted = self.detection
        covered = cause.cause in wanted.classes and cause.sure >= wanted.confidence
        return (evidence,) if covered else ()
