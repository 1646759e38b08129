"""Options as Slurm's commands read them (getopt_long): abbreviations, optional values, headers in scripts.

Python's own parsers support neither optional values after an equals sign nor a stop at the first argument.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from whesl.managers.resource.launcher_shims import launcher_options
from whesl.managers.resource.launcher_shims.launcher_options import Option, Table
from whesl.model import hostlist
from whesl.model.errors import UsageError

_BEGIN = re.compile(r"now(?:\+(\d{1,9})\s*(seconds?|minutes?|hours?|days?|weeks?|))?", re.IGNORECASE)
_BEGIN_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse(
    known: Table, arguments: Sequence[str], *, permute: bool = True
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options in ``arguments``, in order as (name, value), and the other arguments.

    Args:
        known: the command's options.
        arguments: the command line without the command's name.
        permute: whether options may follow other arguments.

    Raises UsageError in the words of getopt_long.
    """
    found: list[tuple[str, str]] = []
    rest: list[str] = []
    left = list(arguments)
    while left:
        line = launcher_options.parse(left, known)
        for option in line.options:
            _check(option, known)
            found.append((option.name, option.value or ""))
        left = list(line.rest)
        if left[:1] == ["--"]:
            return found, rest + left[1:]
        if not permute:
            return found, left
        rest += left[:1]
        del left[:1]
    return found, rest


def _check(option: Option, known: Table) -> None:
    """Raise UsageError for an option that is unknown, lacks its value, or has one that it does not take."""
    word = option.words[0]
    if option.name not in known.kinds:
        if not word.startswith("--"):
            raise UsageError(f"invalid option -- '{option.name}'")
        near = sum(name.startswith(option.name) for name in known.kinds)
        raise UsageError(
            f"option '--{option.name}' is ambiguous" if near else f"unrecognized option '{word}'"
        )
    if known.kinds[option.name] == "=" and option.value is None:
        raise UsageError(f"option requires an argument -- '{word.lstrip('-')}'")
    if not known.kinds[option.name] and option.value is not None:
        raise UsageError(f"option '--{option.name}' doesn't allow an argument")


def only(known: Table, arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Return the options of a command that takes no other arguments, as (name, value). Raises UsageError.

    Args:
        known: the command's options.
        arguments: the command line without the command's name.
    """
    found, rest = parse(known, arguments)
    if rest:
        raise UsageError(f"Unrecognized option: {rest[0]}")
    return found


def is_number(text: str) -> bool:
    """Whether a text is a whole number of at most 9 ASCII digits."""
    return text.isascii() and text.isdigit() and len(text) <= 9


def seconds(text: str) -> float | None:
    """Return a limit (``30``, ``5:00``, ``1:30:00``, ``2-12``, ``UNLIMITED``) in seconds; None: unlimited."""
    if text.upper() in ("UNLIMITED", "INFINITE", "-1"):
        return None
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(map(is_number, parts)) or len(parts) > 3 or (dash and not is_number(days)):
        raise UsageError(f"Invalid time limit specification: {text}")
    numbers = [int(part) for part in parts]
    if dash:
        numbers += [0] * (3 - len(numbers))
        hours, minutes, rest = numbers
        return float(int(days) * 86400 + hours * 3600 + minutes * 60 + rest)
    if len(numbers) == 1:
        return float(numbers[0] * 60)
    while len(numbers) < 3:
        numbers.insert(0, 0)
    return float(numbers[0] * 3600 + numbers[1] * 60 + numbers[2])


def begin_time(text: str, now: float) -> float:
    """Return a begin time (``now``, ``now+60``, ``now+1hour``, an ISO date) in seconds since the epoch.

    Args:
        text: the option's value.
        now: seconds since the epoch.
    """
    match = _BEGIN.fullmatch(text.strip())
    if match is not None:
        return now + int(match[1] or 0) * _BEGIN_UNITS[(match[2] or "")[:1].lower()]
    for form in ("%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"):
        try:
            return time.mktime(time.strptime(text, form))
        except ValueError:
            continue
    raise UsageError(f"Invalid time specification: {text}")


def count(text: str, option: str) -> int:
    """Read a whole number from 1 to 1,000,000. Raises UsageError.

    Args:
        text: the option's value.
        option: the option's name, for the error's text.
    """
    if not is_number(text) or not 0 < int(text) <= 10**6:
        raise UsageError(f'Invalid numeric value "{text}" for {option}.')
    return int(text)


def node_count(text: str) -> int:
    """Return the minimum of a node count (``4`` or ``2-4``). Raises UsageError."""
    low, _, high = text.partition("-")
    if high:
        count(high, "-N")
    return count(low, "-N")


def node_names(text: str) -> tuple[str, ...]:
    """Return the node names of a host list, or of a file (a text with a slash). Raises UsageError."""
    if "/" in text:
        try:
            with open(text) as file:  # noqa: PTH123  # pathlib slows each command's start
                text = ",".join(file.read().split())
        except (
            OSError,
            ValueError,
        ) as error:  # bytes that are no text, a zero in the name
            raise UsageError(f"Unable to open node file {text}: {error}") from None
    try:
        return tuple(dict.fromkeys(hostlist.expand(text)))
    except ValueError as error:
        raise UsageError(f"Invalid node name specified: {error}") from None
