"""``DISK``, ``INODES`` and ``QUOTA``: how full a file system is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from whesl.language.detections.base import DetectionCheck, Detector, DiskMetric, Form, Found, Kind, Usage
from whesl.language.pattern_and_stream_records import Span
from whesl.model.evidence import Evidence

_METRICS = {"DISK": DiskMetric.SPACE, "INODES": DiskMetric.INODES, "QUOTA": DiskMetric.QUOTA}
_SAID = {
    DiskMetric.SPACE: "the space of the file system that holds {} is used",
    DiskMetric.INODES: "the files that the file system of {} can hold exist",
    DiskMetric.QUOTA: "the user's quota on the file system of {} is used",
}


# Fractions that nearly every file system, and nearly every user of files or of a quota, has passed.
_LEAST = {DiskMetric.SPACE: 0.2, DiskMetric.INODES: 0.01, DiskMetric.QUOTA: 0.01}


class DiskDetection(Kind, frozen=True, kw_only=True, tag="disk"):
    """Use of the file system that holds ``path`` is above ``above`` (a fraction from 0 to 1)."""

    alternatives = ("disk",)
    written = tuple(f'{word} "path" ABOVE n%' for word in _METRICS)

    path: str
    metric: DiskMetric
    above: float
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> DiskDetection | None:
        path, above = check.text(form.texts[0], "path"), check.fraction(form)
        if above is None or path is None:
            return None
        metric = _METRICS[form.keywords[0].text]
        if above < _LEAST[metric]:
            check.findings.warn(
                "ESL080",
                f"nearly every file system is fuller than {above * 100:g}%: it is raised at once",
                form.parts["percent"][0],
                f"ABOVE takes a percentage: did you mean {min(99.0, above * 1e4):g}%?",
            )
        return DiskDetection(path=path, metric=metric, above=above, span=span)

    def sentence(self) -> str:
        return f"more than {self.above * 100:g}% of {_SAID[self.metric].format(self.path)}"

    def with_paths(self, change: Callable[[str], str]) -> DiskDetection:
        path = change(self.path)
        return self if path == self.path else msgspec.structs.replace(self, path=path)

    def measured(self) -> tuple[str, DiskMetric]:
        return self.path, self.metric

    def fuller_than(self) -> float:
        return self.above

    def detector(self, exception: str, node: str) -> _Disk:
        return _Disk(exception, node, self)


class _Disk(Detector[DiskDetection]):
    raised = False  # raised and not cleared since

    def disk(self, usage: Usage, now: float) -> Found:
        limit = self.detection
        if (limit.path, limit.metric) != (usage.path, usage.metric):
            return ()
        before, self.raised = self.raised, usage.fraction > limit.above
        if before or not self.raised:
            return ()
        detail = f"{usage} of {usage.metric.value} used, above {limit.above:.1%}"
        return (Evidence(kind="disk", time=now, node=self.node, file=usage.path, detail=detail),)

    def snapshot(self, observed: float) -> dict[str, Any]:
        return {"raised": self.raised}

    def restore(self, state: dict[str, Any], observed: float) -> None:
        self.raised = state["raised"]
