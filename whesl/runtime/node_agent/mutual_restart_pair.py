"""An agent's two halves, each of which starts the other one again when that was killed.

The *working* half does all that an agent does. The *resident* half waits for the end of the working one. It
also kills a working half that is stopped while the lease runs out: the next one has the same lease, in memory
that both share, and does what was left undone. One that is only late is as quick as any other would be.

The resource manager knows the resident half that it has started, and ends an agent through that one. Whoever
has outlived it may never be ended by others, and leaves by itself (``Lease.orphaned``).
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import time
import traceback
from collections.abc import Callable

from whesl.model.event_loop_stall import Stoppage
from whesl.runtime.locking import procfs
from whesl.runtime.node_agent.lease import KEPT, Lease, lead
from whesl.runtime.node_agent.memory_locking import stay_resident

# Seconds before another resident half is started: a resource manager that ends both halves, ends one first.
RESTORE_AFTER = 0.25
_LOOK, _LONGEST = 0.1, 30.0  # seconds between two looks at the lease
_FIRST = 3  # descriptor after the standard ones


class Pair:
    """Both halves of one agent.

    Args:
        limit: the lease's, seconds.
        work: is the working half: takes this pair, and returns when the agent is to end.

    ``kept`` is the lease's memory. Processes are watched by descriptors (pidfd_open(2)); a kernel without
    them has the resident half as a plain parent.
    """

    def __init__(self, limit: float, work: Callable[[Pair], None]) -> None:
        self.kept = mmap.mmap(-1, KEPT)
        self._limit = limit
        self._work = work
        self._other: int | None = None  # a descriptor of the other half
        self._child = 0  # process number of the partner, where this process started it
        self._working = 0  # the working half's
        self._restore_at: float | None = None

    # The resident half ----------------------------------------------------------------------------------

    def stand_by(self) -> int:
        """Have a working half until one has ended by itself; return this process's exit status."""
        lease = Lease(self._limit, time.monotonic(), self.kept)
        while True:
            if self._other is None:
                self._start(lease)
            # What the next half needs of files is in memory then: this node may be cut off from those, too.
            stay_resident()
            self._watch(lease)
            self._reap()
            if lease.finished:
                return 0

    def _start(self, lease: Lease) -> None:
        lease.runs(time.monotonic())
        here = _descriptor(os.getpid())
        child = os.fork()
        if child == 0:
            self._other, self._child = here, 0
            try:
                self._work(self)
            except BaseException:  # whatever it was, the next half would meet it again
                traceback.print_exc()
            finally:
                lease.finished = True
                os._exit(0)
        if here is not None:
            os.close(here)
        self._other, self._child, self._working = _descriptor(child), child, child

    def _watch(self, lease: Lease) -> None:
        """Return when the working half has ended, or was killed since it does not run."""
        if self._other is None:
            os.waitpid(self._child, 0)
            self._child = 0
            return
        poller = select.poll()
        poller.register(self._other, select.POLLIN)
        woke = 0.0
        stoppage = Stoppage(time.monotonic(), lead(self._limit))
        while True:
            now = time.monotonic()
            if stoppage.found(now):
                woke = now
            if lease.neglected(now, woke) and _stopped(self._working):
                lease.taken_over(woke)
                signal.pidfd_send_signal(self._other, signal.SIGKILL)
                poller.poll()
                return
            until = min(max(lease.neglected_from(woke), now + _LOOK), now + _LONGEST)
            stoppage.waits(until)
            if poller.poll((until - now) * 1000):
                return

    def _reap(self) -> None:
        if self._other is not None:
            os.close(self._other)
        if self._child:
            os.waitpid(self._child, 0)
        self._other, self._child = None, 0

    # The working half -----------------------------------------------------------------------------------

    def restore_due(self, now: float) -> bool:
        """Whether there has been no resident half for long enough."""
        if self._other is None or not _ended(self._other):
            return False
        if self._restore_at is None:
            self._restore_at = now + RESTORE_AFTER
        return now >= self._restore_at

    def restore(self, lease: Lease, let_go: Callable[[], None]) -> None:
        """Start another resident half.

        Args:
            lease: this half's.
            let_go: is called in the new process for what has to be forgotten there.
        """
        self._reap()
        self._restore_at = None
        lease.orphaned = True
        working = os.getpid()
        here = _descriptor(working)
        child = os.fork()
        if child == 0:
            try:
                let_go()
                # Connections of the working half have to close with it.
                assert here is not None
                os.dup2(here, _FIRST)
                os.closerange(_FIRST + 1, os.sysconf("SC_OPEN_MAX"))
                self._other, self._child, self._working = _FIRST, 0, working
                self.stand_by()
            finally:
                os._exit(0)
        if here is not None:
            os.close(here)
        self._other, self._child = _descriptor(child), child


def _descriptor(pid: int) -> int | None:
    try:
        return procfs.pidfd(pid)
    except OSError:
        return None


def _stopped(pid: int) -> bool:
    try:
        return procfs.status_fields(pid)[:1] == [b"T"]
    except OSError:
        return False


def _ended(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], 0)[0])
