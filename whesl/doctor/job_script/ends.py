"""Checks of EXIT: the statuses with which a script may end, and what hides those of its programs."""

from __future__ import annotations

import ast
import re
import signal
from collections.abc import Iterator

from whesl.doctor.job_script.commands import Command
from whesl.doctor.job_script.facts import said
from whesl.doctor.job_script.samples import filled, python
from whesl.doctor.job_script.script import JobScript, Unfit, Watch
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.signals import signal_names

_OF_SHELL = 128  # a shell's status of a program that a signal ended is the signal's number above this


def hidden(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find failures that the script hides: behind ``|| true``, in a pipe, in a trap."""
    by, program = script.facts.hidden_by, script.facts.program
    if not watch.detection.of_ends or watch.detection.promised() is not None:
        return
    if by:
        message = f"a failure of {program} is not seen: {by} hides its status"
        hint = {"wait": "wait for each by its number: wait $pid"}.get(by, "")
        if by.startswith("||"):
            hint = f"leave {by} out"
        elif by in ("local", "export", "declare", "readonly"):
            hint = f"write {by} on a line of its own, before the assignment"
        hint = hint or "write set -eo pipefail at the script's beginning"
        yield Unfit("ESL096", message, hint, watch.span, "EXIT")
    elif script.programs and _never_fails(script):
        message = f"the script asks whether {program} fails, and ends with 0 all the same"
        yield Unfit("ESL096", message, "write exit 1 in that branch", watch.span, "EXIT")
    elif _ends_with(script, "EXIT") == 0:
        message = "the script's trap of EXIT ends with exit 0 in all cases: no failure is seen"
        yield Unfit("ESL096", message, "keep the status: rc=$?, and exit $rc", watch.span, "EXIT")
    elif _caught(script):
        message = "the script's Python catches every error, and ends with 0"
        yield Unfit("ESL096", message, "write sys.exit(1) in its except", watch.span, "EXIT")


def trapped(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find signals that the script catches, after which it ends with a status."""
    codes, signals = watch.detection.ends()
    if not signals or codes:
        return
    names = [name for number in signals for name in _names(number)]
    ends = [status for name in names if (status := _ends_with(script, name)) is not None]
    if len(ends) >= len(signals):
        message = f"the script catches this signal, and ends with exit {ends[0]}"
        hint = (
            f"write EXIT CODE {ends[0]}" if ends[0] else "end the trap with another status, and watch for it"
        )
        yield Unfit("ESL096", message, hint, watch.span, "EXIT")


def changed(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find statuses that never come out of the script: it ends with others, or ``timeout`` does."""
    codes, signals = watch.detection.ends()
    wanted = {*codes, *(_OF_SHELL + number for number in signals)}
    if not wanted:
        return
    timed = [
        each for each in script.always if each.name == "timeout" and "--preserve-status" not in each.words
    ]
    if timed and wanted == {_OF_SHELL + signal.SIGTERM}:
        message = "timeout ends with 124 when the time is over"
        yield Unfit("ESL096", message, "write EXIT CODE 124", watch.span, "EXIT")
        return
    statuses = _statuses(script)
    if statuses is not None and not statuses & wanted:
        ends = ", ".join(map(str, sorted(statuses - {0}))) or "0 alone"
        message = f"a failure of {script.programs[0].words[0]} ends the script with {ends}"
        yield Unfit("ESL096", message, "let the script end with $?", watch.span, "EXIT")


def taken(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find statuses before each of which the script prints a line that raises another exception."""
    wanted, _ = watch.detection.ends()
    if not wanted or not watch.exception.steps or _statuses(script) is None:
        return
    ends = [n for n, each in enumerate(script.commands) if each.name == "exit" and _status(each) in wanted]
    before = [script.commands[number - 1] for number in ends if number]
    quick = [
        (other, pattern)
        for other in watch.all
        if other.name != watch.exception.name and {"*", *watch.exception.jobs} & {*other.jobs}
        for each in other.detections
        if (one := each.one_line()) is not None
        for pattern in one.patterns
    ]
    for other, pattern in quick if before and len(before) == len(ends) else ():
        if all(any(found_in(pattern, filled(line)) for line in said(each, script.text)) for each in before):
            message = f"the script prints a line of {other.name} before each such end, and the line counts"
            hint = f"do the steps of both in {other.name}, or give the line no rule"
            yield Unfit("ESL059", message, hint, watch.span, "EXIT")
            return


def _never_fails(script: JobScript) -> bool:
    """Whether each program's failure is asked for, and no command of the script makes a failure of it."""
    ends = r"\b(?:exit|false|return|exec|kill|trap|scancel|scontrol)\b|\$\?"
    asked = all(each.place.judged for each in script.programs)
    return (
        asked
        and re.search(ends, "\n".join(x for x in script.lines if not x.lstrip().startswith("#"))) is None
    )


def _statuses(script: JobScript) -> set[int] | None:
    """Return the statuses with which the script ends, None where a program's own may come out."""
    programs = script.programs
    if not programs or any(not (each.place.judged or each.place.hidden_by) for each in programs):
        return None
    ends = [_status(each) for each in script.commands if each.name == "exit"]
    if not ends or None in ends or re.search(r"\btrap\b|\breturn\b|\bexec\b|\bkill\b", script.text):
        return None
    return {0, *(status for status in ends if status is not None)}


def _status(command: Command) -> int | None:
    """Return the number behind ``exit``, None where it is none."""
    word = command.words[1] if len(command.words) > 1 else ""
    return int(word) if word.isdecimal() else None


def _ends_with(script: JobScript, name: str) -> int | None:
    """Return the status with which the script always ends in its trap of a signal, None without one."""
    for each in script.always:
        if each.name == "trap" and len(each.words) > 2 and {name, f"SIG{name}"} & {*each.words[2:]}:
            function = rf"^\s*(?:function\s+)?{re.escape(each.words[1])}\s*(?:\(\))?\s*\{{([^}}]*)\}}"
            body = re.search(function, script.shell, re.MULTILINE)
            found = re.search(r"\bexit\s+(\d+)\W*$", body[1] if body else each.words[1])
            return int(found[1]) if found else None
    return None


def _names(number: int) -> list[str]:
    return [name.removeprefix("SIG") for name in signal_names() if getattr(signal, name, None) == number]


def _caught(script: JobScript) -> bool:
    """Whether a Python program in the script catches all its errors and goes on to its end."""
    for source in python(script.commands):
        if [source.command] != script.programs:
            return False
        tries = [node for node in source.tree.body if isinstance(node, ast.Try)]
        plain = (ast.Import, ast.ImportFrom, ast.Assign, ast.Try)
        if tries and all(isinstance(node, plain) for node in source.tree.body):
            return all(_quiet(each) for node in tries for each in node.handlers) and all(
                any(_broad(each) for each in node.handlers) for node in tries
            )
    return False


def _broad(handler: ast.ExceptHandler) -> bool:
    name = handler.type
    return name is None or (isinstance(name, ast.Name) and name.id in ("Exception", "BaseException"))


def _quiet(handler: ast.ExceptHandler) -> bool:
    """Whether a handler ends with neither an exception nor a status other than 0."""
    text = "\n".join(map(ast.unparse, handler.body))
    return not re.search(r"\braise\b|\b_?exit\((?!0?\))|\babort\b|\bkill\b", text)
