"""Reads the options of ``whesl exec`` without click, whose import takes longer than a program's start.

Other arguments are left to click and its messages: misspellings, ``--option=value``, help.
"""

from __future__ import annotations

import os
import sys

from whesl.managers.resource import wrapped_script
from whesl.runtime.isolator.launch import options

TYPE_CHECKING = False  # typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_UNREAD = 126  # a shell's status for a script that it cannot read
COMPLETING = "_WHESL_COMPLETE"


def read(arguments: Sequence[str]) -> dict[str, Any] | None:
    """Return the options of ``whesl exec`` by their keys, None when click has to read them.

    Args:
        arguments: the words after ``exec``.
    """
    found = dict(options.DEFAULTS)
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        name = arguments[place]
        place += 1
        if name == "--":
            found["command"] = tuple(arguments[place:])
            break
        option = options.BY_NAME.get(name)
        if option is None:
            return None
        if option.kind in ("flag", "switch"):
            found[option.key] = name == option.names[0]
            continue
        given = arguments[place] if place < len(arguments) else "-?"
        place += 1
        value = None if given.startswith("-") and given != "-" else options.value(option, given)
        if value is None:
            return None
        found[option.key] = (*found[option.key], value) if option.kind == "many" else value
    else:
        # click would take options after the command's first word as WHESL's.
        if any(word.startswith("-") for word in arguments[place:]):
            return None
        found["command"] = tuple(arguments[place:])
    if found["command"][:1] and found["command"][0].endswith(".esl"):
        return None  # a rules file is no program
    return found if found["command"] or found["script"] is not None else None


def told(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of ``whesl exec``; where it is a script's interpreter, with those in the script.

    Args:
        arguments: the words after ``exec``.
    """
    if arguments[:1] != [wrapped_script.OPTION] or "--" not in arguments:
        return [*arguments]
    from whesl.model.errors import WheslError
    from whesl.runtime.isolator.launch import signal_delivery
    from whesl.runtime.isolator.launch.setup_json import script_content

    signal_delivery.hold_signals()  # signals from here on are passed to the program
    command = arguments[arguments.index("--") + 1 :]
    try:
        content = script_content(command[int(arguments[1])])
    except (IndexError, ValueError):
        return [*arguments]  # click reports the error
    except WheslError as error:
        sys.stderr.write(f"whesl: {error}\n")
        sys.exit(_UNREAD)
    shown, given = wrapped_script.expanded(arguments, content)
    os.environ.update(shown)
    return given


def attempt(arguments: Sequence[str]) -> None:
    """Start a task and become its keeper; return where click or the full path has to do so.

    Args:
        arguments: the words after ``exec``.
    """
    found = None if COMPLETING in os.environ else read(arguments)
    if found is None:
        return
    from whesl.model.errors import WheslError
    from whesl.runtime.isolator.launch import fast_start, isolator_keeper
    from whesl.runtime.wire.private_directory import explained

    try:
        told = fast_start.prepare(found)
    except (OSError, WheslError) as error:
        from whesl.runtime.isolator.launch import unwatched_command

        said = explained(error) if isinstance(error, OSError) else str(error)
        unwatched_command.instead(found["command"], error, said)
        sys.stderr.write(f"whesl: {said}\n")
        sys.exit(error.exit_code if isinstance(error, WheslError) else 1)
    if told is not None:
        isolator_keeper.become(told)
