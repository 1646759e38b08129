"""Lines of system logs: time, node and message, for the forms that sites have.

Known forms are syslog by RFC 3164 and RFC 5424, syslog with ISO 8601 times as rsyslog and ``journalctl -o
short-iso`` write it, and the logs of Blue Gene/L, Thunderbird and LANL's system 20 as in loghub. Any other
form is given by a regular expression with the groups ``time``, ``node`` and ``message``.
"""

from __future__ import annotations

import re
import time as clocks
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone, tzinfo
from typing import NamedTuple

from whesl.language.pattern_and_stream_records import Pattern
from whesl.model.errors import UsageError
from whesl.runtime.detect.engines import capturer
from whesl.runtime.detect.regex_canonical_form import canonical

_ISO = r"\d\d\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
# A program's name and process number, then the kernel's time stamp, then the message.
_TAG = r"(?:[^ :\[]+(?:\[\d+\])?: +)?(?:\[ *\d+\.\d+\] )?(?P<message>.*)$"
_BG = r"\d\d\d\d-\d\d-\d\d-\d\d\.\d\d\.\d\d\.\d+"
FORMATS = {
    "bluegene": r"^[^ ]+ (?P<time>\d+) [\d.]+ (?P<node>[^ ]+) "
    + _BG
    + r" [^ ]+ [^ ]+ [^ ]+ [^ ]+ (?P<message>.*)$",
    "thunderbird": r"^[^ ]+ (?P<time>\d+) [\d.]+ (?P<node>[^ ]+) [A-Z][a-z]+ +\d+ [\d:]+ [^ ]+ " + _TAG,
    "system20": r"^\d+ (?P<node>[^ ]+) [^ ]+ [^ ]+ (?P<time>\d+) \d+ (?P<message>.*)$",
    "rfc5424": rf"^<\d+>\d+ (?P<time>{_ISO}) (?P<node>[^ ]+) "
    r"[^ ]+ [^ ]+ [^ ]+ (?:-|\[[^\]]*\])+ ?(?P<message>.*)$",
    "iso": rf"^(?:<\d+>)?(?P<time>{_ISO}) (?P<node>[^ ]+) " + _TAG,
    "syslog": r"^(?:<\d+>)?(?P<time>[A-Z][a-z][a-z] [ \d]\d \d\d:\d\d:\d\d) (?P<node>[^ ]+) " + _TAG,
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_AHEAD = 86400.0  # largest time in seconds that a time without a year may lie in the future
_LOOKED_AT = 200  # number of lines that show a log's form


class Line(NamedTuple):
    """The content of a log line.

    Attributes:
        time: time of the message in seconds since the epoch.
        node: the node's name without its domain.
        message: the message without time, node and program.
    """

    time: float
    node: str
    message: bytes


class Header:
    """Reads lines of one form.

    Args:
        form: a name of ``FORMATS``, or a regular expression with the groups ``time``, ``node``, ``message``.
        now: reference for times without a year, which take the latest year that is at most a day after it, in
            seconds since the epoch; None for the present.
        zone: time zone of times without a zone; None for this machine's zone.

    Raises:
        UsageError: the regular expression is invalid, or a group is missing.
    """

    def __init__(self, form: str, now: float | None = None, zone: tzinfo | None = None) -> None:
        text = FORMATS.get(form, form)
        pattern = canonical(Pattern(text=text, regex=True))
        missing = [group for group in ("time", "node", "message") if group not in pattern.groups]
        found = capturer(pattern)
        if missing or found is None:
            raise UsageError(
                f"the form {form[:80]!r} has no group {', '.join(missing)}",
                hint="write (?P<time>...), (?P<node>...) and (?P<message>...), or one of "
                + ", ".join(FORMATS),
            )
        self.form = form
        self._capture = found
        self._now = now
        self._zone = zone
        self._hours: dict[bytes, float] = {}

    def read(self, line: bytes) -> Line | None:
        """Return the content of a line; None for a line of another form.

        Args:
            line: the line without its line break.
        """
        groups = self._capture(line)
        if len(groups) < 3:
            return None
        try:
            time = self._time(groups["time"])
        except (ValueError, OverflowError):
            return None
        node = groups["node"].decode("utf-8", "replace")
        if not node.replace(".", "").isdigit():
            node = node.partition(".")[0]
        return Line(time, node, groups["message"].rstrip(b"\r")) if node else None

    def _time(self, text: bytes) -> float:
        if text.isdigit():
            return float(text)
        # Most lines share their hour with the line before, so a time zone's rules are looked up once for each
        # hour.
        split = 9 if len(text) == 15 else 13
        rest = text[split:]
        plain = rest[:1] == b":" and len(rest) >= 6 and rest[1:3].isdigit() and rest[4:6].isdigit()
        if not plain:
            return self._parsed(text.decode())
        zone = _zone_of(rest[6:])
        fraction = rest[6 : len(rest) - len(zone)].replace(b",", b".")
        key = text[:split] + zone
        hour = self._hours.get(key)
        if hour is None:
            if len(self._hours) > 10_000:
                self._hours.clear()
            hour = self._hours[key] = self._parsed((text[:split] + b":00:00" + zone).decode())
        return hour + 60 * int(rest[1:3]) + int(rest[4:6]) + (float(b"0" + fraction) if fraction else 0.0)

    def _parsed(self, text: str) -> float:
        if text[:3] in _MONTHS:
            return self._without_year(text)
        if text.endswith("Z"):
            text = f"{text[:-1]}+00:00"
        elif re.search(r"[+-]\d{4}$", text):
            text = f"{text[:-2]}:{text[-2:]}"
        moment = datetime.fromisoformat(text.replace(",", "."))
        return self._seconds(moment)

    def _without_year(self, text: str) -> float:
        now = clocks.time() if self._now is None else self._now
        year = datetime.fromtimestamp(now + _AHEAD, timezone.utc).year
        month, day, at = _MONTHS.index(text[:3]) + 1, int(text[4:6]), text[7:]
        for back in range(9):  # any nine successive years contain a leap year
            try:
                moment = datetime.fromisoformat(f"{year - back:04d}-{month:02d}-{day:02d}T{at}")
            except ValueError:
                continue
            if (seconds := self._seconds(moment)) <= now + _AHEAD:
                return seconds
        raise ValueError(f"no day {text!r}")

    def _seconds(self, moment: datetime) -> float:
        if moment.tzinfo is None and self._zone is not None:
            moment = moment.replace(tzinfo=self._zone)
        if moment.tzinfo is None:
            return moment.timestamp()
        return (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) / timedelta(seconds=1)


def _zone_of(text: bytes) -> bytes:
    """Return the time zone at the end of a time: ``Z``, ``+01:00``, ``+0100`` or nothing."""
    for place, letter in enumerate(text):
        if letter in b"Z+-":
            return text[place:]
    return b""


def told(lines: Iterable[bytes], now: float | None = None, zone: tzinfo | None = None) -> Header | None:
    """Return the line reader that reads most of a log's first lines; None when no known form reads any.

    Args:
        lines: the log's lines without their line breaks.
        now, zone: see ``Header``.
    """
    some = [line for line, _ in zip(lines, range(_LOOKED_AT), strict=False) if line.strip()]
    best, most = None, 0
    for form in FORMATS:
        header = Header(form, now, zone)
        count = sum(header.read(line) is not None for line in some)
        if count > most:
            best, most = header, count
    return best


def unknown_form(name: str) -> UsageError:
    """Return the error for a log whose form is not known.

    Args:
        name: the log's name.
    """
    return UsageError(
        f"{name}: none of its first {_LOOKED_AT} lines has a time and a node in a known form",
        hint=f"known are {', '.join(FORMATS)}; or give --form with the groups time, node and message",
    )
