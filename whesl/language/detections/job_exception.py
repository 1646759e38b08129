"""``JOB EXCEPTION``: exceptions that the resource manager raises on the job (Flux RFC 21)."""

from __future__ import annotations

from whesl.language.detections.base import DetectionCheck, Detector, Form, Found, InVain, Kind
from whesl.language.pattern_and_stream_records import Span

_OVER = {"cancel": "somebody has ended the job", "timeout": "no time is left in the job"}
FLUX_TYPES = frozenset({*_OVER, "exec", "node-failure"})  # types of Flux itself


class JobExceptionDetection(Kind, frozen=True, kw_only=True, tag="job_exception"):
    """The resource manager raised an exception of exactly this type on the job or one of its steps.

    ``severity`` n covers severities 0 to n (0 is the most severe); None covers all.
    Source: Flux RFC 21, exception events.
    """

    alternatives = ("jobException",)
    written = ('JOB EXCEPTION "type" [SEVERITY n]',)
    hears_manager = True

    exception_type: str
    severity: int | None = None
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> JobExceptionDetection | None:
        kind, severity = check.job_exception(form.texts[0]), check.severity(form)
        if kind is None or (severity is None and form.part("severity") is not None):
            return None
        known = kind.lower().replace("_", "-")
        if known in FLUX_TYPES and known != kind:
            message = "types are compared letter by letter"
            check.findings.warn("ESL095", message, form.texts[0], f'write "{known}"')
        return JobExceptionDetection(exception_type=kind, severity=severity, span=span)

    def sentence(self) -> str:
        worst = "" if self.severity is None else f" of severity {self.severity}"
        worst += " or worse" if self.severity else ""
        return f"the resource manager raises an exception of type {self.exception_type!r}{worst} on the job"

    def in_vain(self) -> InVain | None:
        over = _OVER.get(self.exception_type)
        if over is None:
            return None
        return InVain(f"{over}: nothing can be started in it", "let SCHEDULER run the job again", True)

    def detector(self, exception: str, node: str) -> _JobExceptions:
        return _JobExceptions(exception, node, self)


class _JobExceptions(Detector[JobExceptionDetection]):
    def manager_raised(self, exception_type: str, severity: int, evidence: Found) -> Found:
        wanted = self.detection
        covered = wanted.severity is None or severity <= wanted.severity
        return evidence if wanted.exception_type == exception_type and covered else ()
