"""The watcher of one rank: reports on standard error when the rank's heartbeat does not come in time.

Run by ``heartbeat`` as a script, with the rank and its node. Standard input has a line for each heartbeat:
the seconds until the next one (0: none is needed), and the name of the program's section. The watcher ends at
the end of its input, when the rank ends.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

_LOOK = 1.0  # seconds between two checks of the clock
_BLOCK = 1 << 16


def watch(who: str, source: int) -> None:
    """Watch the rank until the input ends.

    Args:
        who: the rank and its node, for messages.
        source: the input's descriptor.
    """
    limit, section, silent, told, rest = 0.0, "", 0.0, False, b""
    before = time.monotonic()
    while True:
        ready = select.select([source], [], [], _LOOK)[0]
        now = time.monotonic()
        # The suspension of a job stops this process with its rank, and does not count as silence.
        silent += min(now - before, 2 * _LOOK)
        before = now
        if ready:
            given = os.read(source, _BLOCK)
            if not given:
                return
            *lines, rest = (rest + given).split(b"\n")
            if lines:
                if told:
                    _say(f"{who}: a heartbeat again, after {silent:.0f} s")
                number, _, name = lines[-1].decode(errors="replace").partition(" ")
                limit, section, silent, told = float(number), name, 0.0, False
        elif limit and silent >= limit and not told:
            told = True
            _say(
                f"{who}: section {section} not over after {limit:g} s"
                if section
                else f"{who}: no heartbeat for {limit:g} s"
            )


def _say(text: str) -> None:
    try:
        sys.stderr.write(f"whesl: {text}\n")
        sys.stderr.flush()
    except OSError:  # standard error has no reader
        pass


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the rank itself handles Ctrl-C
    watch(f"rank {sys.argv[1]} on {sys.argv[2]}", 0)
