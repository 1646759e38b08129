"""Options as Slurm's commands read them (getopt_long): abbreviations, optional values, headers in scripts.

Python's own parsers support neither optional values after an equals sign nor a stop at the first argument.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from whesl.managers.resource import hostlist
from whesl.model.errors import UsageError

NONE, REQUIRED, OPTIONAL = "none", "required", "optional"
_BEGIN = re.compile(r"now(?:\+(\d{1,9})\s*(seconds?|minutes?|hours?|days?|weeks?|))?", re.IGNORECASE)
_BEGIN_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Option(NamedTuple):
    """An option by its long name, its letter, and whether it takes a value."""

    name: str
    letter: str = ""
    value: str = NONE


def table(text: str) -> tuple[Option, ...]:
    """Read option definitions: ``nodes/N=`` takes a value, ``no-kill/k?`` may take one, ``hold/H`` none."""
    options = []
    for word in text.split():
        kind = {"=": REQUIRED, "?": OPTIONAL}.get(word[-1], NONE)
        name, _, letter = (word if kind == NONE else word[:-1]).partition("/")
        options.append(Option(name, letter, kind))
    return tuple(options)


def parse(
    options: Iterable[Option], arguments: Sequence[str], *, permute: bool = True
) -> tuple[list[tuple[str, str]], list[str]]:
    """Return the options in ``arguments``, in order as (name, value), and the other arguments.

    Args:
        options: the known options.
        arguments: the command line without the command's name.
        permute: whether options may follow other arguments.

    Raises UsageError in the words of getopt_long.
    """
    by_name = {option.name: option for option in options}
    by_letter = {option.letter: option for option in options if option.letter}
    found: list[tuple[str, str]] = []
    rest: list[str] = []
    queue = list(arguments)

    def value_of(option: Option, shown: str, given: str | None) -> str:
        if option.value == REQUIRED and given is None:
            if not queue:
                raise UsageError(f"option requires an argument -- '{shown}'")
            return queue.pop(0)
        if option.value == NONE and given is not None:
            raise UsageError(f"option '--{option.name}' doesn't allow an argument")
        return given or ""

    while queue:
        word = queue.pop(0)
        if word == "--":
            return found, rest + queue
        if word.startswith("--"):
            name, equals, given = word[2:].partition("=")
            option = _by_prefix(by_name, name)
            found.append((option.name, value_of(option, name, given if equals else None)))
        elif word.startswith("-") and len(word) > 1:
            letters = word[1:]
            while letters:
                if letters[0] not in by_letter:
                    raise UsageError(f"invalid option -- '{letters[0]}'")
                option, letters = by_letter[letters[0]], letters[1:]
                if option.value != NONE:
                    given_here = letters.removeprefix("=") if letters else None
                    found.append((option.name, value_of(option, option.letter, given_here)))
                    break
                found.append((option.name, ""))
        else:
            rest.append(word)
            if not permute:
                return found, rest + queue
    return found, rest


def only(options: Iterable[Option], arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Return the options of a command that takes no other arguments, as (name, value). Raises UsageError.

    Args:
        options: the known options.
        arguments: the command line without the command's name.
    """
    found, rest = parse(options, arguments)
    if rest:
        raise UsageError(f"Unrecognized option: {rest[0]}")
    return found


def _by_prefix(by_name: dict[str, Option], name: str) -> Option:
    if name in by_name:
        return by_name[name]
    near = [option for full, option in by_name.items() if full.startswith(name)]
    if len(near) != 1:
        raise UsageError(f"option '--{name}' is ambiguous" if near else f"unrecognized option '--{name}'")
    return near[0]


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
        except OSError as error:
            raise UsageError(f"Unable to open node file {text}: {error.strerror}") from None
    try:
        return tuple(dict.fromkeys(hostlist.expand(text)))
    except ValueError as error:
        raise UsageError(f"Invalid node name specified: {error}") from None
