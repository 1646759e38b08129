"""The isolator's detection of exceptions in the task's output, exits, nodes and disks, by ``detect``."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from whesl.files import decode_errors, file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.language.pattern_and_stream_records import Source
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import WheslError
from whesl.model.evidence import LastLines
from whesl.model.recovery_criterion import Reach, last_steps
from whesl.model.states import NodeState
from whesl.runtime.detect import named_files
from whesl.runtime.isolator.core.events_and_commands import Event, JobExceptionSeen, LeaseEnded, NodeSeen
from whesl.runtime.isolator.observe import attempt_output_destination
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal.steady_clock import Clock
from whesl.runtime.wire.blocking_call_worker import Worker

if TYPE_CHECKING:
    from whesl.language.detections.base import Usage
    from whesl.model.evidence import Cause, Detected
    from whesl.runtime.detect.detectors import DecisiveLines
    from whesl.runtime.detect.output_file_checks import Look, Looking
    from whesl.runtime.detect.task_watch import Watch

LOG = logging.getLogger(__name__)
DISK_EVERY = 5.0


class Observer:
    """The task's detectors over all its attempts; without rules there are no detections.

    Args:
        directory: the task's directory.
        job: the task.
        worker: the thread that asks file systems, since a dead one does not answer.
        clock: the isolator's clock.
    """

    def __init__(self, directory: TaskDir, job: Job, worker: Worker, clock: Clock) -> None:
        self._directory = directory
        self._job = job
        self._worker = worker
        self._clock = clock
        self._watch: Watch | None = None
        self._begun: Mapping[str, int] | None = None  # the output files' sizes when the attempt was started
        self._configuration = Configuration()  # the present attempt's configuration
        self._number = 0
        self._disk_at = 0.0
        self._measuring = False
        self._usages: list[Usage] = []
        self.changed = False

    # The attempt ---------------------------------------------------------------------------------------

    def prepare(self, number: int, configuration: Configuration) -> None:
        """Note the state of an attempt's files before its start: content up to then is not its own.

        For the first attempt, only the files' sizes are recorded here, since the detectors take longer to
        load than the attempt takes to start (``watch``).

        Args:
            number: the attempt's number.
            configuration: the attempt's configuration.
        """
        self._number = number
        self._configuration = configuration
        sources = attempt_output_destination.sources(self._directory, self._job, number, configuration)
        if self._watch is not None:
            self._begun = named_files.sizes(sources.values())
            self._watch.new_attempt(self._clock(), sources)
            self.save()
            return
        first = self._first(number)
        if first is None:
            first = attempt_output_destination.beginning(self._directory, self._job, number, configuration)
            file_retry.replace(self._sizes(number), msgspec.json.encode(first))
        self._begun = first.sizes

    def watch(self, configuration: Configuration, began: float) -> None:
        """Watch the prepared attempt, which runs now. Raises WheslError.

        Args:
            configuration: the attempt's configuration.
            began: the attempt's start, seconds since the epoch.
        """
        if self._job.setup.spec is None or self._watch is not None:
            return
        sources = attempt_output_destination.sources(self._directory, self._job, self._number, configuration)
        self._watch = self._new(sources, self._clock(), began, self._first(self._number))
        self.save()

    def take_up(self, number: int, configuration: Configuration, began: float) -> None:
        """Watch an attempt that an earlier isolator started, from that isolator's last read position on.

        Args:
            number: the attempt's number.
            configuration: the attempt's configuration.
            began: the attempt's start or an earlier time, seconds since the epoch.
        """
        self._number = number
        self._configuration = configuration
        state = self._saved()
        first = self._first(number)
        self._begun = first.sizes if first is not None else None
        if state is not None and state.get("begun"):
            self._begun = state["begun"]
        if self._job.setup.spec is None:
            return
        sources = attempt_output_destination.sources(self._directory, self._job, number, configuration)
        if state is None and first is None:
            # A file read from its beginning raises at worst exceptions for older content; read from its end,
            # it would hide output printed while no isolator ran.
            own = str(self._directory.path)
            first = taskdir.First(sizes={path: 0 for path in sources.values() if path.startswith(own)})
        now = self._clock()
        self._watch = self._new(sources, now, began, first)
        if state is not None:
            self._watch.restore(state, now)

    def _first(self, number: int) -> taskdir.First | None:
        """Return the state of the files when an attempt was started, None when not known."""
        if self._job.first is not None and number == 1:
            return self._job.first
        return decode_errors.load(self._sizes(number), taskdir.First)

    def _sizes(self, number: int) -> Path:
        return self._directory.attempt(number) / "sizes.json"

    def _new(
        self, sources: dict[Source, str], now: float, began: float, first: taskdir.First | None
    ) -> Watch:
        # Imported here: detectors are half of an isolator's code, and a first attempt need not wait for them.
        from whesl.runtime.detect.task_watch import Watch

        setup = self._job.setup
        assert setup.spec is not None
        known = first or taskdir.First(sizes={})
        decisive: DecisiveLines | None = None
        if any(each.causes() for exception in setup.exceptions() for each in exception.detections):
            from whesl.runtime.diagnose.diagnosing import (
                decisive_lines,
            )  # imported here: the catalogue of messages is needed for causes only

            decisive = decisive_lines(setup.spec)
        return Watch(
            setup.spec,
            setup.task,
            sources,
            setup.own_node,
            now,
            offsets=known.sizes,
            before=known.before,
            began=began,
            decisive=decisive,
        )

    # Detections ----------------------------------------------------------------------------------------

    def fileno(self) -> int | None:
        """Return the descriptor to poll for reading."""
        return self._watch.fileno() if self._watch else None

    def next_deadline(self, now: float) -> float | None:
        """Return when ``poll`` has to be called at the latest, seconds since the epoch."""
        if self._watch is None:
            return None
        times = [self._watch.next_deadline(now)]
        if self._watch.detectors.disk_paths() and not self._measuring:
            times.append(self._disk_at)
        return min((time for time in times if time is not None), default=None)

    def poll(self) -> list[Detected]:
        """Return the new detections in the output and of the disks."""
        if self._watch is None:
            return []
        now = self._clock()
        self._measure(now)
        found = self._watch.poll(now)
        usages, self._usages = self._usages, []
        for usage in usages:
            found += self._watch.detectors.disk(usage, now)
        self.changed = True
        return found

    def settle(self, exceptions: Set[str]) -> None:
        """Stop raising these exceptions for the attempt's output, since they would be ignored."""
        if self._watch is not None:
            self._watch.settle(exceptions)

    def skim(self) -> bool:
        """Read output without matches; return False when ``poll`` has to read it."""
        if self._watch is None or not self._watch.skim(self._clock()):
            return False
        self.changed = True
        return True

    def suspended(self, seconds: float, found: list[Detected], launching: float) -> None:
        """Take the time of a suspension out of all timers, including those that have run out.

        Args:
            seconds: the length of the suspension.
            found: the detections by timers.
            launching: seconds that a launcher may still need to start the program.
        """
        if self._watch is not None:
            exceptions = {item.exception for item in found}
            self._watch.detectors.suspended(seconds, exceptions, self._clock(), launching)

    def drain(self) -> list[Detected]:
        """Read the output towards its end, and return the detections in it."""
        return self._watch.drain(self._clock()) if self._watch else []

    @property
    def drained(self) -> bool:
        """Whether ``drain`` has reached the end of the output."""
        return self._watch is None or self._watch.drained

    def exited(self, code: int, last: LastLines) -> list[Detected]:
        """Return the detections of an exit status; their evidence names the last line.

        Args:
            code: the exit status as a shell gives it.
            last: the attempt's last lines.
        """
        watch = self._watch
        if watch is None:
            return []
        return watch.detectors.exited(code, self._clock(), last.clearest, watch.seen_until)

    def diagnosed(self, cause: Cause) -> list[Detected]:
        """Return the detections of the cause of an attempt's failure."""
        watch = self._watch
        return watch.detectors.diagnosed(cause, self._clock(), watch.seen_until) if watch else []

    @property
    def hears_causes(self) -> bool:
        """Whether any detection waits for the cause of a failed attempt."""
        return self._watch is not None and self._watch.detectors.hears_causes

    def told_by_itself(self, code: int) -> bool:
        """Whether a program that ended with this exit status has printed the exception that ended it."""
        return 0 != code == self._job.raised

    def look_at_promises(self) -> Looking | None:
        """Begin to check the files that a successful attempt had to leave; None without such files."""
        promises = self._watch.detectors.promises() if self._watch else ()
        if not promises:
            return None
        from whesl.runtime.detect.output_file_checks import Looking

        return Looking(
            promises,
            lambda path: attempt_output_destination.named(self._job, self._configuration, path),
        )

    def promises_broken(self, looks: Sequence[Look]) -> list[Detected]:
        """Return the detections of files that are missing, or do not satisfy the rules."""
        watch = self._watch
        found: list[Detected] = []
        for look in looks if watch else ():
            if look.wrong:
                assert watch is not None
                now, since = self._clock(), watch.seen_until
                found += watch.detectors.promise_broken(look.promise, look.file, look.wrong, now, since)
        return found

    def output_begins(self) -> dict[str, int]:
        """Return for each file of the attempt's output the byte at which the output begins."""
        outputs = attempt_output_destination.present(self._directory, self._job, self._number)
        return attempt_output_destination.begins(outputs, self._begun or {}, str(self._directory.path))

    def unseen(self, code: int) -> tuple[str, ...]:
        """Return messages on detections without any input until now; ``code``: the attempt's exit status."""
        return self._watch.unseen(failed=code != 0) if self._watch else ()

    def last_lines(self) -> LastLines:
        """Return the last lines that the ended attempt printed."""
        outputs = attempt_output_destination.present(self._directory, self._job, self._number)
        return attempt_output_destination.last_lines(outputs, self._begun or {}, str(self._directory.path))

    def lost_lines(self) -> list[Detected]:
        """Return the detections in the error text for a failed task's log that cannot be written."""
        if self._watch is None:
            return []
        outputs = attempt_output_destination.present(self._directory, self._job, self._number)
        now, since = self._clock(), self._watch.seen_until
        return attempt_output_destination.lost_lines(self._job, outputs, now, since)

    def with_detections(self, event: Event) -> Event:
        """Return a report on nodes or the job with its detections; other events unchanged."""
        if self._watch is None:
            return event
        now, detectors = self._clock(), self._watch.detectors
        if isinstance(event, NodeSeen):
            found = detectors.node(event.node, event.state, event.reason, now)
            return msgspec.structs.replace(event, found=tuple(found))
        if isinstance(event, LeaseEnded):
            found = detectors.node(event.node, NodeState.DOWN, event.reason, now)
            detectors.node(event.node, NodeState.UP, "", now)  # the node is up, since its agent was heard
            return msgspec.structs.replace(event, found=tuple(found))
        if isinstance(event, JobExceptionSeen):
            kind, nodes = event.exception_type, event.nodes
            found = detectors.job_exception(kind, event.severity, event.note, nodes, event.job_id, now)
            return msgspec.structs.replace(event, found=tuple(found))
        return event

    def reached(self) -> Reach:
        """Return the attempt's reach: its output, progress, steps and newest checkpoint."""
        if self._watch is None:
            return Reach()
        outputs = attempt_output_destination.present(self._directory, self._job, self._number)
        printed = attempt_output_destination.tail(outputs, self._begun or {}, str(self._directory.path))
        return msgspec.structs.replace(
            self._watch.detectors.reached(), steps=last_steps(printed), checkpoint=self._newest_checkpoint()
        )

    def _newest_checkpoint(self) -> int:
        """Return the number of the program's newest complete checkpoint, 0 where none is known."""
        if not self._job.checkpoints:
            return 0
        from whesl.checkpoints import manifest  # imported here since only ``--checkpoints`` needs it

        try:
            return manifest.newest(Path(self._configuration.path_map.path(self._job.checkpoints)))
        except OSError:
            return 0

    @property
    def weighed(self) -> frozenset[str]:
        """The exceptions whose limit also goes by the cause of a failed attempt."""
        return frozenset(each.name for each in self._job.setup.exceptions() if each.without_progress)

    @property
    def hears_job_exceptions(self) -> bool:
        """Whether any detection waits for an exception of the resource manager."""
        return self._watch is not None and self._watch.detectors.hears_job_exceptions

    def _measure(self, now: float) -> None:
        assert self._watch is not None
        paths = self._watch.detectors.disk_paths()
        if not paths or self._measuring or now < self._disk_at:
            return
        self._measuring = True

        from whesl.runtime.detect.disk_usage import read_usage

        def measure() -> list[Usage]:
            usages = []
            for path, metric in paths:
                try:
                    usages.append(read_usage(path, metric))
                except WheslError as error:
                    LOG.debug("%s", error)
            return usages

        def then(usages: list[Usage]) -> None:
            self._measuring = False
            self._disk_at = self._clock() + DISK_EVERY
            self._usages = usages

        self._worker.submit(measure, then)

    # For a restarted isolator
    # ---------------------------------------------------------------------------------------

    def save(self) -> None:
        """Save the read positions of the output, for a restarted isolator."""
        self.changed = False
        if self._watch is None:
            return
        try:
            place = self._directory.attempt(self._number)
            file_retry.make_directory(str(place))
            state = {**self._watch.snapshot(), "begun": self._begun}
            # A position that cannot be saved now is saved within a second.
            file_retry.replace(f"{place}/watch.json", msgspec.json.encode(state), limit=0.0)
        except OSError as error:
            LOG.debug("how far was read could not be written: %s", error)

    def _saved(self) -> dict[str, Any] | None:
        try:
            content = file_retry.content(self._directory.attempt(self._number) / "watch.json")
            return None if content is None else msgspec.json.decode(content, type=dict[str, Any])
        except UNDECODABLE:
            return None

    def close(self) -> None:
        """Close the watched files."""
        if self._watch is not None:
            self._watch.close()
