"""Reading a journal while it grows: its history, then a sentinel, then new records.

The interface follows flux-core's journal consumer (``flux.abc.JournalConsumerBase``): one class, an argument
``since``, and a sentinel between past and present.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from whesl.runtime.journal.store import Journal, Record


class CaughtUp:
    """The sentinel between the history and new records."""

    def __repr__(self) -> str:
        return "CAUGHT_UP"


CAUGHT_UP = CaughtUp()
_INTERVAL = 0.2  # seconds between checks for new records


class JournalConsumer:
    """A reader of one journal, which another process may be writing.

    Args:
        path: the journal's file.
        since: the number of the last record already seen, 0 for all records.
        clock: returns monotonic time in seconds.
        sleep: waits for a number of seconds.

    Raises JournalError when there is no such journal.
    """

    def __init__(
        self,
        path: Path,
        *,
        since: int = 0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._journal = Journal(path, read_only=True)
        self._seen = since
        self._clock = clock
        self._sleep = sleep
        self._waiting: deque[Record | CaughtUp] = deque()
        self._live = False

    def poll(self, timeout: float | None = None) -> Record | CaughtUp:
        """Return the next record; return CAUGHT_UP once, at the end of the history.

        Args:
            timeout: seconds to wait for a record, None to wait for ever.

        Raises TimeoutError when nothing came, JournalError when the journal cannot be read.
        """
        deadline = None if timeout is None else self._clock() + timeout
        while True:
            if not self._waiting:
                self._fetch()
            if self._waiting:
                return self._waiting.popleft()
            left = _INTERVAL if deadline is None else min(_INTERVAL, deadline - self._clock())
            if left <= 0:
                raise TimeoutError
            self._sleep(left)

    def __iter__(self) -> Iterator[Record | CaughtUp]:
        while True:
            yield self.poll()

    def close(self) -> None:
        """Close the file."""
        self._journal.close()

    def _fetch(self) -> None:
        for record in self._journal.read(self._seen):
            self._seen = record.seq
            self._waiting.append(record)
        if not self._live:
            self._live = True
            self._waiting.append(CAUGHT_UP)
