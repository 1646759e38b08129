"""The end of an attempt, reported to the core once the failure's cause, or the success's files, are known.

A failure that no rule explains, or whose recovery may depend on its cause, is diagnosed by a process of its
own, for a limited time. After a success, the files that the task had to leave are checked.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from whesl.model.evidence import Detected, LastLines
from whesl.runtime.isolator.core.events_and_commands import AttemptExited
from whesl.runtime.isolator.observe.observer import Observer

if TYPE_CHECKING:
    from whesl.model.evidence import Cause
    from whesl.runtime.detect.output_file_checks import Looking
    from whesl.runtime.diagnose.attempt_cause import AttemptCause


class AttemptEnd:
    """Collects the facts about an attempt's end.

    Args:
        observer: the observer that has watched the attempt.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._event: AttemptExited | None = None
        self._told: tuple[Detected, ...] = ()
        self._asked: AttemptCause | None = None
        self._by_signal: Cause | None = None
        self._looking: Looking | None = None

    @property
    def seen(self) -> bool:
        """Whether an attempt has ended, and its end was not reported to the core yet."""
        return self._event is not None

    def take(self, number: int, code: int, found: list[Detected], *, judged: bool, observed: bool) -> None:
        """Take the end of an attempt.

        Args:
            number: the attempt's number.
            code: the exit status as a shell gives it.
            found: the detections in the attempt's last output.
            judged: whether the end decides anything.
            observed: whether rules only observe, so that no rule explains the failure.
        """
        observer = self._observer
        last = observer.last_lines() if code else LastLines()
        if code and not found and judged:
            found = observer.lost_lines()
        self._told = tuple(observer.exited(code, last))
        self._event = AttemptExited(
            attempt=number,
            code=code,
            signal=code - 128 if 128 < code <= 192 else 0,
            found=tuple(found),
            last=last,
            unseen=observer.unseen(code),
        )
        if not code and judged and (observed or not found):
            self._looking = observer.look_at_promises()
        explained = not observed and (found or (self._told and not observer.hears_causes))
        explained = explained or (observer.told_by_itself(code) and not observer.hears_causes)
        if code and judged and (not explained or observer.weighed):
            from whesl.runtime.diagnose import attempt_cause  # here: only failures are diagnosed

            self._by_signal = attempt_cause.of_signal(self._event.signal)
            if files := attempt_cause.written(observer.output_begins()):
                self._asked = attempt_cause.AttemptCause(files, time.monotonic())

    def event(self, *, judged: bool) -> AttemptExited | None:
        """Return the event for the core, once.

        None while the cause of a failure is diagnosed, or the files that the task had to leave are checked.
        """
        asked, event = self._asked, self._event
        assert event is not None
        if asked is not None and judged and not asked.over(time.monotonic()):
            return None
        looking = self._looking if judged else None
        if looking is not None and not looking.over():
            return None
        looks = looking.looks() if looking is not None else []
        cause = self._by_signal
        if asked is not None:
            asked.drop()
            cause = asked.cause or cause
        found = self._observer.diagnosed(cause) if cause is not None and judged else []
        found += self._observer.promises_broken(looks)
        unknown = (
            f"{look.promise.path} could not be looked at: {look.unknown}" for look in looks if look.unknown
        )
        self._event = self._asked = self._looking = self._by_signal = None
        return msgspec.structs.replace(
            event,
            found=(*event.found, *found, *self._told),
            unseen=(*event.unseen, *unknown),
            cause=cause,
        )
