"""Signals by name and number."""

from __future__ import annotations

import signal

UNHANDLED = frozenset({signal.SIGKILL, signal.SIGSTOP})  # no program can handle them
# Signals that end no program which does not handle them.
HARMLESS = frozenset(
    signal.Signals[f"SIG{name}"] for name in ("CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "WINCH")
)


def signal_number(text: str) -> int | None:
    """Return the number of a signal, given as ``SIGTERM``, ``TERM`` or ``15``; None for no signal."""
    if text.isdecimal() and text.isascii():
        # No signal has more than three digits; int() refuses very long texts.
        number = int(text) if len(text) <= 3 else 0
        return number if number in signal.valid_signals() else None
    name = text.upper()
    name = name if name.startswith("SIG") else f"SIG{name}"
    return signal.Signals[name].value if name in signal.Signals.__members__ else None


def signal_names() -> tuple[str, ...]:
    """Return the names of all signals."""
    return tuple(signal.Signals.__members__)
