"""An agent's two halves, each of which restarts the other after a kill (docs/design/liveness.md).

The resource manager knows only the resident half that it has started, and ends the agent by ending that half.
A half that outlives it may never be ended by others, and ends by itself (``Lease.orphaned``).
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

# Seconds before another resident half is started, since a resource manager ends the halves one by one.
RESTORE_AFTER = 0.25
_LOOK, _LONGEST = 0.1, 30.0  # seconds between two looks at the lease
_FIRST = 3  # first descriptor after the standard ones


class Pair:
    """Both halves of one agent.

    Args:
        limit: the lease's limit, seconds.
        work: does the working half's work: takes this pair, and returns at the agent's end.

    ``kept`` is the lease's memory. Processes are watched by descriptors (pidfd_open(2)); on a kernel without
    them, the resident half is just the parent that waits.
    """

    def __init__(self, limit: float, work: Callable[[Pair], None]) -> None:
        self.kept = mmap.mmap(-1, KEPT)
        self._limit = limit
        self._work = work
        self._other: int | None = None  # a process descriptor of the other half
        self._child = 0  # process number of the other half, if this process has started it
        self._working = 0  # process number of the working half
        self._restore_at: float | None = None
        self._woke = 0.0  # time until which the resident half, or only the working one, was stopped; 0: never

    # The resident half ----------------------------------------------------------------------------------

    def stand_by(self) -> int:
        """Keep a working half running until one has ended by itself; return this process's exit status."""
        lease = Lease(self._limit, time.monotonic(), self.kept)
        while True:
            if self._other is None:
                self._start(lease)
            # Keeps the next half's code in memory, since this node may be cut off from its files, too.
            stay_resident()
            self._watch(lease)
            self._reap()
            if lease.finished:
                return 0

    def _start(self, lease: Lease) -> None:
        lease.taken_over(self._woke)
        lease.runs(time.monotonic())
        here = _descriptor(os.getpid())
        child = os.fork()
        if child == 0:
            self._other, self._child = here, 0
            try:
                self._work(self)
            except BaseException:  # any error ends the agent, since the next half would meet it again
                traceback.print_exc()
            finally:
                lease.finished = True
                os._exit(0)
        if here is not None:
            os.close(here)
        self._other, self._child, self._working = _descriptor(child), child, child

    def _watch(self, lease: Lease) -> None:
        """Wait until the working half has ended, and kill a stopped one whose lease is neglected."""
        if self._other is None:
            os.waitpid(self._child, 0)
            self._child = 0
            return
        poller = select.poll()
        poller.register(self._other, select.POLLIN)
        stoppage = Stoppage(time.monotonic(), lead(self._limit))
        ended = False
        while True:
            now = time.monotonic()
            if stoppage.found(now):
                self._woke = now
            if ended:
                return
            due = lease.neglected_from(self._woke)
            if lease.held and now >= due and _stopped(self._working):
                self._woke = now
                signal.pidfd_send_signal(self._other, signal.SIGKILL)
                poller.poll()
                return
            until = min(max(due, now + _LOOK), now + _LONGEST)
            stoppage.waits(until)
            ended = bool(poller.poll((until - now) * 1000))

    def _reap(self) -> None:
        if self._other is not None:
            os.close(self._other)
        if self._child:
            os.waitpid(self._child, 0)
        self._other, self._child = None, 0

    # The working half -----------------------------------------------------------------------------------

    def restore_due(self, now: float) -> bool:
        """Whether the resident half has been gone for ``RESTORE_AFTER`` seconds."""
        if self._other is None or not _ended(self._other):
            return False
        if self._restore_at is None:
            self._restore_at = now + RESTORE_AFTER
        return now >= self._restore_at

    def restore(self, lease: Lease, let_go: Callable[[], None]) -> None:
        """Start another resident half.

        Args:
            lease: the agent's lease.
            let_go: called in the new process to close resources of the working half.
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
                # Connections of the working half are closed here, so that they end with that half.
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
