"""Snapshots of the coordinator's state and removal of old records, in a thread beside the coordinator's loop.

The loop does not wait for snapshots: a state is immutable, and a thread writes, reads and verifies it in
small pieces. The thread also copies old records out of the journal; the loop only removes them, a few at a
time. A failure is logged once and retried later: no decision of the coordinator depends on snapshots.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import msgspec

from whesl.runtime.coordinator.storage import snapshots
from whesl.runtime.coordinator.storage.snapshots import Begun, Kept
from whesl.runtime.journal import archived_records, snapshot
from whesl.runtime.journal.snapshot import Head, SnapshotError
from whesl.runtime.journal.sqlite_errors import JournalError
from whesl.runtime.journal.store import Journal

LOG = logging.getLogger(__name__)
# Bytes of one task in a snapshot, approximately.
_TASK = 600
# A pause as a multiple of the work before it; the longest pause in seconds.
_PAUSE = 4.0
_LONGEST_PAUSE = 0.1


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits for writing snapshots and moving old records.

    A snapshot is due after ``records`` new records, or ``share`` times the number of tasks if that is more.
    ``old``: how many records are moved out of the journal together, once they are in ``kept`` snapshots.
    ``removed``: how many moved records one round of the loop removes. ``history``: the most bytes of old
    records to keep. ``apart``: the least seconds between two snapshots; ``again``: after a failed one.
    """

    records: int = 10_000
    share: float = 0.25
    kept: int = 2
    old: int = 100_000
    removed: int = 2000
    history: int = 256 << 20
    apart: float = 10.0
    again: float = 60.0


class Snapshotter:
    """Writes the snapshots of one journal, for its only writer.

    Args:
        journal: the journal; only the loop's thread uses it.
        begun: the snapshot that the coordinator started from.
        limits: when snapshots are written, and old records moved.
        clock: seconds, monotonic.

    ``trouble`` says why snapshots fail, '' while they succeed.
    """

    def __init__(
        self,
        journal: Journal,
        begun: Begun,
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.trouble = ""
        self._journal = journal
        self._directory = journal.path.parent
        self._limits = limits
        self._clock = clock
        self._last = begun.seq
        self._size = begun.size
        self._sound = [begun.path] if begun.path is not None else []
        self._not_before = 0.0
        # whether moved records wait to be removed from the journal; an earlier start may have left some
        self._removing = True
        self._thread: threading.Thread | None = None
        self._outcome = ""
        for sentence in begun.said:
            LOG.error("%s", sentence)
        for path in begun.others:
            try:
                snapshot.put_aside(path)
            except OSError as error:
                LOG.error("%s could not be put aside: %s", path, error)

    def look(self, tasks: int, kept: Callable[[], Kept]) -> None:
        """Start due work; called at each tick of the loop, when all events are in the journal.

        Args:
            tasks: the number of tasks.
            kept: returns the content of a snapshot.
        """
        if self._thread is not None:
            if self._thread.is_alive():
                return
            self._ended()
        if self._journal.tight:
            return  # the remaining space of the disk is for records
        try:
            if self._removing:
                self._removing = self._journal.forget(self._limits.removed)
            self._begin(tasks, kept)
        except JournalError as error:
            self._failed(error.message)

    def _begin(self, tasks: int, kept: Callable[[], Kept]) -> None:
        newest = self._journal.last
        enough = max(self._limits.records, int(self._limits.share * tasks))
        if newest - self._last < enough or self._clock() < self._not_before:
            return
        last = self._journal.anchor(newest)
        if last is None:
            return
        head = Head(last=last, first=self._journal.anchor(1))
        content = kept()
        self._thread = threading.Thread(
            target=self._guarded, args=(head, content), name="snapshot", daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Wait for the snapshot that is being written; for tests, and for use after the loop's end."""
        if self._thread is not None:
            self._thread.join()
            self._ended()

    def _ended(self) -> None:
        self._thread = None
        if self._outcome:
            self._failed(self._outcome)
            return
        if self.trouble:
            LOG.info("snapshots are written again")
        self.trouble = ""
        self._removing = True
        self._not_before = self._clock() + self._limits.apart

    def _failed(self, why: str) -> None:
        self._not_before = self._clock() + self._limits.again
        trouble = f"{why}; the journal has everything, and it is tried again"
        if trouble != self.trouble:
            LOG.error("%s", trouble)
        self.trouble = trouble

    # In the thread --------------------------------------------------------------------------------------

    def _guarded(self, head: Head, kept: Kept) -> None:
        try:
            self._outcome = ""
            self._write(head, kept)
        except (SnapshotError, JournalError) as error:
            self._outcome = error.message
        except Exception as error:
            # A thread that ended without a message would let the journal grow for ever.
            LOG.exception("a snapshot failed in a way that it should not")
            self._outcome = f"no snapshot was written ({type(error).__name__}: {error})"

    def _write(self, head: Head, kept: Kept) -> None:
        content = snapshots.pieces(kept)
        expected = max(self._size, _TASK * len(kept.state.tasks))
        breathe = _Breath()
        path = snapshot.write(self._directory, head, content, expected=expected, breathe=breathe)
        try:
            snapshots.prove(path, breathe=breathe)
        except FileNotFoundError:
            raise SnapshotError(f"the snapshot {path} has been removed") from None
        except SnapshotError:
            path.unlink(missing_ok=True)
            raise
        self._size = path.stat().st_size
        self._last = head.last.seq
        self._sound = [path, *(sound for sound in self._sound if sound != path)][: self._limits.kept]
        snapshot.tidy(self._directory, keep=self._sound)
        if len(self._sound) == self._limits.kept:
            self._put_away(snapshot.number(self._sound[-1]))

    def _put_away(self, last: int) -> None:
        """Move those records out of the journal that are in all kept snapshots."""
        with Journal(self._journal.path, read_only=True) as reader:
            if last - max(reader.put_away_up_to(), 1) < self._limits.old:
                return
            reader.put_away(last, breathe=_Breath())
            first = reader.anchor(1)
            if first is not None:
                for segment in archived_records.shrink(reader.path, first.crc, self._limits.history):
                    LOG.warning(
                        "the records %d to %d are kept no longer: older ones have more than %d bytes",
                        segment.first,
                        segment.last,
                        self._limits.history,
                    )


class _Breath:
    """Pauses of a thread, four times as long as its work, so that it seldom delays a decision of the loop.

    The loop waits often; after each wait it needs Python's interpreter lock, which this thread may hold.
    """

    def __init__(self) -> None:
        self._since = time.monotonic()

    def __call__(self) -> None:
        """Pause in proportion to the work since the last pause."""
        worked = time.monotonic() - self._since
        time.sleep(min(max(_PAUSE * worked, 0.001), _LONGEST_PAUSE))
        self._since = time.monotonic()
