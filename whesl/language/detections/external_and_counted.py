"""``EXTERNAL``, ``PREDICTED`` and ``EXCEPTION n TIMES``: exceptions from outside, predictions, counts."""

from __future__ import annotations

from fnmatch import fnmatchcase

from whesl.language import wording
from whesl.language.detections.base import DetectionCheck, Form, Kind
from whesl.language.detections.wording import of_window
from whesl.language.pattern_and_stream_records import Span
from whesl.model.evidence import PredictedFailure


class ExternalDetection(Kind, frozen=True, kw_only=True, tag="external"):
    """The exception is only raised from outside (``whesl raise``), which is possible for every exception."""

    alternatives = ("external",)

    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> ExternalDetection:
        return ExternalDetection(span=span)

    def sentence(self) -> str:
        return "somebody raises it from outside (whesl raise)"


class PredictedDetection(Kind, frozen=True, kw_only=True, tag="predicted"):
    """A node of the task is predicted to fail (``whesl.model.evidence.PredictedFailure``).

    ``node`` is a glob of the node's name, None for any node; ``within`` is the greatest number of seconds
    until the failure; ``confidence`` is the least probability.
    """

    alternatives = ("predicted",)
    written = ('PREDICTED [NODE "node"] [WITHIN s] [CONFIDENCE p]',)

    node: str | None = None
    within: float | None = None
    confidence: float = 0.0
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> PredictedDetection | None:
        node = check.text(form.texts[0], "node") if form.texts else None
        within, confidence = check.within(form), check.probability(form)
        wrong = (node is None and form.texts) or (within is None and form.part("within") is not None)
        if wrong or confidence is None:
            return None
        return PredictedDetection(node=node, within=within, confidence=confidence, span=span)

    def sentence(self) -> str:
        who = "a node of the job" if self.node is None else f"the node {self.node} of the job"
        sure = f", with a confidence of at least {self.confidence:g}" if self.confidence else ""
        return f"{who} is predicted to fail{wording.within(self.within)}{sure}"

    def captured(self) -> list[frozenset[str]]:
        return [frozenset({"lead", "confidence", "evidence"})]

    def nodes(self) -> str | None:
        return self.node

    def foresees(self, prediction: PredictedFailure) -> bool:
        soon = self.within is None or prediction.lead <= self.within
        named = self.node is None or fnmatchcase(prediction.node, self.node)
        return soon and named and prediction.confidence >= self.confidence


class CountDetection(Kind, frozen=True, kw_only=True, tag="count"):
    """Another exception was raised ``times`` times; it is transformed into this one before its recovery."""

    alternatives = ("counted",)
    written = ("EXCEPTION exception n TIMES [WITHIN s]",)

    exception: str
    times: int
    within: float | None = None
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> CountDetection:
        return CountDetection(
            exception=check.exception(form),
            times=check.count(form, "TIMES"),
            within=check.within(form),
            span=span,
        )

    def sentence(self) -> str:
        often = f"{wording.times(self.times)}{wording.within(self.within)}"
        return f"{self.exception} has happened {often}: the last one becomes this"

    def unjudged(self, last: tuple[int, int] | None, ended: bool) -> str:
        return of_window(self.within)

    def counted(self) -> str:
        return self.exception
