"""Checks of EXIT: the statuses with which a script may end, and what hides those of its programs.

The arguments of a check are those of ``script.DetectionCheck``.
"""

from __future__ import annotations

import ast
import re
import signal
from collections.abc import Iterator

from whesl.doctor.job_script import statuses
from whesl.doctor.job_script.commands import Command
from whesl.doctor.job_script.facts import said
from whesl.doctor.job_script.samples import PYTHON, filled
from whesl.doctor.job_script.script import JobScript, Unfit, Watch
from whesl.language.compiler.pattern_checks import found_in
from whesl.language.signals import signal_names

_OF_SHELL = 128  # a shell's status of a program that a signal ended is the signal's number above this

# Words of a program that ends with a status but 0, and of one that shows the stack of an error.
_FAILS = r"\b_?exit\((?!0?\))|\bSystemExit\b(?!\(0?\))|\babort\b|\bkill\b"
_SHOWS_STACK = r"traceback|exc_info|\.exception\(|print_exc|excepthook"
_STACK = "Traceback (most recent call last):"


def hidden(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find failures that the script hides, and sound runs that end as if they had failed."""
    codes, signals = watch.detection.ends()
    if not watch.detection.of_ends or watch.detection.promised() is not None:
        return
    program = script.facts.program or (script.programs[0].words[0] if script.programs else "")
    looped = not re.search(r"\b(?:break|exit|return)\b", script.shell) and any(
        x.place.loop for x in script.programs
    )
    if script.ends == {0}:
        message = f"a failure of {program} is not seen: the script ends with 0 all the same"
        yield Unfit("ESL096", message, _seen_by(script.shell), watch.span, "EXIT")
    elif _caught(script, _FAILS):
        message = "the script's Python catches every error, and ends with 0"
        yield Unfit("ESL096", message, "write sys.exit(1) in its except", watch.span, "EXIT")
    elif statuses.TESTED in statuses.sound_ends(script.shell) and (1 in codes or not (codes or signals)):
        message = "a sound run ends with 1, too, where the script's last test finds nothing"
        yield Unfit("ESL096", message, "write if ...; then ...; fi for it", watch.span, "EXIT")
    elif looped and statuses.ends(script.shell, once=True) == {0}:
        message = f"a failure of {program} is seen in the last round of its loop alone"
        yield Unfit("ESL096", message, "write || exit 1 behind it", watch.span, "EXIT")


def _seen_by(shell: str) -> str:
    """Return the options of ``set`` with which a failure ends a script with another status than 0."""
    for options in (["pipefail"], ["errexit"], ["errexit", "pipefail"]):
        if statuses.ends(shell, options=options) != {0}:
            words = f"-{'e' * ('errexit' in options)}{'o pipefail' * ('pipefail' in options)}"
            return f"write set {words} at the script's beginning"
    if re.search(r"^\s*wait\s*$", shell, re.MULTILINE):
        return "wait for each by its number: wait $pid"
    return "keep the status: rc=$? behind the program, and exit $rc at the end"


def without_stack(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find stacks of calls that are waited for, of a program that catches all its errors and prints none."""
    reads = watch.detection.reads()
    patterns = reads.patterns if reads is not None and script.known else ()
    if patterns and all(found_in(each, _STACK) for each in patterns) and _caught(script, _SHOWS_STACK):
        message = f"{script.programs[0].words[0]} catches every error, and prints no Traceback"
        yield Unfit("ESL096", message, "watch for what it prints then", watch.span, patterns[0].text)


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
    known, sound = _known(script), statuses.sound_ends(script.shell)
    if known - {0} and not (known | sound) & {*wanted, statuses.ANY}:
        ends = ", ".join(map(str, sorted(known - {0})))
        message = f"a failure of {script.programs[0].words[0]} ends the script with {ends}"
        yield Unfit("ESL096", message, "let the script end with $?", watch.span, "EXIT")


def of_python(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find statuses with which the script's only program, in Python, never ends."""
    codes, signals = watch.detection.ends()
    said = re.findall(r"(?:exit|SystemExit)\((.*?)\)", script.known)
    wanted = {str(each) for each in codes}
    other = re.search(r"\b_exit\b|\bos\.(?:system|exec\w+|kill)\b", script.known)
    direct = script.known and re.fullmatch(rf"{PYTHON}|srun|mpirun|mpiexec", script.programs[0].name)
    if not said or signals or not wanted or other or not direct or statuses.ANY in script.ends:
        return
    own = {*said, *re.findall(r"\bexit\s+(\d+)", script.text), "0", "1", "2"}
    if all(each.isdecimal() and int(each) < _OF_SHELL for each in {*own, *wanted}) and not wanted & own:
        ends = ", ".join(sorted(own - {"0", "2"}))
        message = f"{script.programs[0].words[0]} ends with {ends} when it fails"
        hint = f"it never ends with {', '.join(sorted(wanted))}"
        yield Unfit("ESL096", message, hint, watch.span, "EXIT")


def taken(script: JobScript, watch: Watch) -> Iterator[Unfit]:
    """Find statuses before each of which the script prints a line that raises another exception."""
    wanted, _ = watch.detection.ends()
    if not wanted or not watch.exception.steps or not _known(script):
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


def _known(script: JobScript) -> set[int]:
    """Return the statuses with which the script ends, empty where a program's own may come out."""
    known = {each for each in script.ends if isinstance(each, int)}
    return known if len(known) == len(script.ends) else set()


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


def _caught(script: JobScript, loud: str) -> bool:
    """Whether a Python program in the script catches all its errors, and does nothing loud anywhere."""
    for source in script.python:
        if [source.command.words] != [each.words for each in script.programs]:
            return False
        body = [each for node in source.tree.body for each in _main(node)]
        tries = [node for node in body if isinstance(node, ast.Try) and not node.orelse]
        others = [node for node in body if not isinstance(node, ast.Try)]
        plain = (ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef, ast.ClassDef)
        calm = all(isinstance(x, plain) and not re.search(r"^\w+ = .*\(", ast.unparse(x)) for x in others)
        if tries and calm and len(tries) + len(others) == len(body):
            handlers = "\n".join(
                ast.unparse(x) for node in tries for each in node.handlers for x in each.body
            )
            quiet = not re.search(loud, ast.unparse(source.tree))
            quiet = quiet and not re.search(r"\braise\b(?! SystemExit)", handlers)
            return quiet and all(any(_broad(each) for each in node.handlers) for node in tries)
    return False


def _main(node: ast.stmt) -> list[ast.stmt]:
    """Return a statement, or those behind ``if __name__ == "__main__"``."""
    return node.body if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) else [node]


def _broad(handler: ast.ExceptHandler) -> bool:
    name = handler.type
    return name is None or (isinstance(name, ast.Name) and name.id in ("Exception", "BaseException"))
