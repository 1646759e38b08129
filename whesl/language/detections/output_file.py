"""``OUTPUT``: promised files that a successful task did not leave, or left wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from fnmatch import fnmatchcase

import msgspec

from whesl.language.detections import wording
from whesl.language.detections.base import Broken, DetectionCheck, Detector, Form, Found, Kind, Promise
from whesl.language.pattern_and_stream_records import Span
from whesl.model.evidence import Evidence

_EVERY = re.compile(r"(?:\./)*(?:\*[.*]*|\.{0,2}/*)")  # globs of every file, and directories
_SPECIAL = re.compile(r"/(?:dev|proc|sys)/(?!shm/)|.*/$")
_KEYWORDS = {"MISSING": Broken.MISSING, "EMPTY": Broken.EMPTY, "OLDER": Broken.OLDER, "NOT": Broken.UNMATCHED}
_SUCCESS = {"EMPTY": Broken.EMPTY, "NEWER": Broken.OLDER}


class PromisedDetection(Kind, frozen=True, kw_only=True, tag="promised"):
    """The task ended with status 0, and a promise of its output is broken."""

    alternatives = ("promised", "success")
    written = (
        'OUTPUT "files" MISSING | EMPTY | OLDER THAN "files" | NOT LOG|MATCH "text"',
        'SUCCESS IF OUTPUT "files" [NOT EMPTY | NEWER THAN "files" | LOG|MATCH "text"]',
    )

    of_ends = True

    promise: Promise
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> PromisedDetection | None:
        paths = [path for word in form.texts if (path := check.text(word, "file")) is not None]
        patterns = check.patterns(form)
        if len(paths) < len(form.texts) or patterns is None:
            return None
        path, *than = paths
        success = form.kind == "success"
        meant = _SUCCESS if success else _KEYWORDS
        otherwise = Broken.UNMATCHED if patterns else Broken.MISSING
        broken = next((meant[word.text] for word in form.keywords if word.text in meant), otherwise)
        promise = Promise(
            path=path,
            broken=broken,
            than=than[0] if than else None,
            pattern=patterns[0] if patterns else None,
            needed=success,
        )
        if (not than and promise.broken is Broken.MISSING and _EVERY.fullmatch(path)) or _SPECIAL.match(path):
            hint = "write the names of the files that the task is to leave"
            message = f"{path[:60]!r} is no file that the task leaves"
            check.findings.warn("ESL095", message, form.texts[0], hint)
        if than and than[0] != path and fnmatchcase(path, than[0]):
            hint = "name only the files that they are made of"
            message = "these files are among those they are compared with"
            check.findings.warn("ESL095", message, form.texts[1], hint)
        return PromisedDetection(promise=promise, span=span)

    def sentence(self) -> str:
        promise = self.promise
        ended = "the job ends with status 0, and"
        if promise.broken is Broken.MISSING:
            return f"{ended} there is no file {promise.path}"
        if promise.needed:
            ended += f" there is no file {promise.path}, or"
        if promise.broken is Broken.EMPTY:
            return f"{ended} a file {promise.path} is empty"
        if promise.broken is Broken.OLDER:
            return f"{ended} a file {promise.path} is older than the newest {promise.than}"
        assert promise.pattern is not None
        return f"{ended} no line of a file {promise.path} {wording.of_pattern(promise.pattern)}"

    def captured(self) -> list[frozenset[str]]:
        return [frozenset({"file"})]

    def promised(self) -> Promise:
        return self.promise

    def with_paths(self, change: Callable[[str], str]) -> PromisedDetection:
        than = self.promise.than
        changed = msgspec.structs.replace(
            self.promise, path=change(self.promise.path), than=None if than is None else change(than)
        )
        return self if changed == self.promise else msgspec.structs.replace(self, promise=changed)

    def detector(self, exception: str, node: str) -> _Promised:
        return _Promised(exception, node, self)


class _Promised(Detector[PromisedDetection]):
    def promise_broken(self, promise: Promise, evidence: Evidence) -> Found:
        return (evidence,) if promise == self.detection.promise else ()
