"""Reads the logs of one run: forms of lines, gaps between lines of a form, duration, memory."""

from __future__ import annotations

import re
from pathlib import Path

from whesl.runtime.diagnose.labels import clean, form
from whesl.runtime.diagnose.log_reader import lines_of_all
from whesl.runtime.rule_learning.run_records import Run

MOST_FORMS = 20_000  # first forms of a run that are kept
_DAY = 86400.0
_LONGEST = 500  # kept characters of a line
# Memory in the output of GNU time -v, of sacct and of programs: behind its name a number with a unit, or
# behind ":" or "=" any number; or "used 3 of 4 GB" in a line that names memory behind it.
_NAME = (
    r"(?<!gpu )(?<!cuda )(?<!device )\b(?:maximum resident|max ?rss|peak (?:rss|memory|resident)"
    r"|used (?:memory|rss)|(?:memory|mem|rss) us(?:age|ed))\b"
)
_NUMBER = r"(\d+(?:\.\d+)?)\s*(?:(?:of|/)\s*\d+(?:\.\d+)?\s*)?"
_MEMORY = re.compile(
    rf"(?i){_NAME}(?:[^\d:=]{{0,40}}{_NUMBER}([KMGT]?i?B|[KMGT])\b"
    rf"|[\w ()]{{0,40}}[:=]\s*{_NUMBER}([KMGT]?)i?B?\b)"
    rf"|\bus(?:ed|ing) {_NUMBER}([KMGT]?i?B)\b(?=.*\b(?:memory|mem|ram|rss)\b)"
)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def run_of(files: list[str], *, good: bool) -> Run:
    """Return the record of a run.

    Args:
        files: the run's logs.
        good: whether the run has ended well.

    Raises UsageError for a log that cannot be read.
    """
    forms: dict[str, str] = {}
    gaps: dict[str, float] = {}
    times: dict[str, int] = {}
    last: dict[str, float] = {}
    first_stamp = last_stamp = memory = None
    places: dict[str, int] = {}
    length = 0
    for length, line in enumerate(lines_of_all(files), 1):
        cleaned = clean(line)
        each = form(line)
        if not each:
            continue
        if each not in forms and len(forms) < MOST_FORMS:
            forms[each] = cleaned.text.strip()[:_LONGEST]
            places[each] = length
        if each not in forms:
            continue
        times[each] = times.get(each, 0) + 1
        if (told := _memory(line)) is not None:
            memory = max(memory or 0, told)
        if cleaned.time is None:
            continue
        stamp = cleaned.time
        if last_stamp is not None and stamp < last_stamp - _DAY / 2:
            # Time stamps without a date start again at midnight.
            stamp += _DAY * round((last_stamp - stamp) / _DAY)
        first_stamp = stamp if first_stamp is None else first_stamp
        last_stamp = stamp if last_stamp is None else max(stamp, last_stamp)
        if each in last:
            gaps[each] = max(gaps.get(each, 0.0), stamp - last[each])
        last[each] = stamp
    seconds = None if first_stamp is None or last_stamp is None else last_stamp - first_stamp
    return Run(
        name=", ".join(files),
        good=good,
        ended=max(Path(file).stat().st_mtime for file in files),
        forms=forms,
        places=places,
        length=length,
        gaps=gaps,
        times=times,
        seconds=seconds,
        memory=memory,
    )


def _memory(line: str) -> int | None:
    found = _MEMORY.search(line)
    if found is None:
        return None
    number, unit = (group for group in found.groups() if group is not None)
    if not unit and "kbytes" in line.lower():
        unit = "K"
    return int(float(number) * _UNITS[unit.upper().rstrip("IB")])
