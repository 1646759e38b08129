"""Lines that a script prints by its own words: ``echo``, ``printf``, ``cat``, and Python in it. Pure."""

from __future__ import annotations

import ast
import logging
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whesl.doctor.job_script import commands as script_commands
from whesl.doctor.job_script.commands import Command, Loop
from whesl.doctor.job_script.facts import said

# What stands for a value that is not known.
_VALUE = "7"
_COLOUR = re.compile(r"\\(?:033|0?33|e|x1[bB])\[[\d;]*m|\x1b\[[\d;]*m")
_DATED = re.compile(r"\$\(date[^)]*\)|`date[^`]*`|%\(asctime\)s")
_REPLACED = re.compile(r"\$\([^)]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+|%\(\w+\)-?\d*s|%[-+\d.]*[sdifeg]")
_VALUES = re.compile(r"[$`\\]|%[-\d.]*\w")
PYTHON = r"python[\d.]*"  # the names of its interpreter
EXISTS = re.compile(r"(?:os\.path\.)?(?:exists|isfile|lexists)")  # functions that ask for a file
_STDOUT = "sys.stdout"
_LOGGED = re.compile(r"(?:\w+\.)*_?(?i:log(?:ger|ging)?)\.(debug|info|warning|error|critical|exception)")
_OTHER_LOGS = re.compile(r"Handler|Formatter|(?:dict|file)Config|filename=|\bstyle=")
_LONGEST = 1_000_000  # characters of a program that are parsed


class Sample(NamedTuple):
    """A line as it is printed: as written, with a value for each variable, and by which command.

    Attributes:
        written: the line as the script has it, with the last numbers of counters.
        text: the line with values in place of all variables.
        command: the command that prints it.
        always: whether it is printed in each sound run.
        loop: the loop that prints it again and again.
        fixed: the part of the line that is the same in each run: what stands before the first value.
        stderr: whether a Python program prints it on standard error.
    """

    written: str
    text: str
    command: Command
    always: bool
    loop: Loop | None
    fixed: str = ""
    stderr: bool = False

    @property
    def stream(self) -> str:
        """The job's stream that it comes on, one of ``OWN``; another text where it comes on none."""
        place = self.command.place
        return "" if place.captured else place.output[self.stderr].file


class Source(NamedTuple):
    """A program's text in the script, and the command that runs it."""

    tree: ast.Module
    command: Command


def samples(commands: Sequence[Command], script: str, sources: Sequence[Source]) -> Iterator[Sample]:
    """Yield the lines that commands print on standard output or standard error.

    Args:
        commands: the commands of a script.
        script: the script's text.
        sources: the Python programs that they run.
    """
    for command in commands:
        if command.name == "trap" and {"EXIT", "0"} & {*command.words[2:]}:
            last = script_commands.read(f"{command.words[1]}\n") or ()
            yield from samples([each._replace(place=command.place) for each in last], script, ())
        for line in said(command, script):
            if command.name == "printf":
                line = _formatted(command.words[1:])
            for part in re.split(r"\\n|\n", line):
                counted = _counted(part, command.place.loop)
                place, fixed = command.place, _VALUES.split(part)[0]
                yield Sample(counted, filled(counted), command, place.always, place.loop, fixed)
    for source in sources:
        command = source.command
        # Of several processes or threads it is not known how often they print, and in what time.
        alone = re.fullmatch(PYTHON, command.name) and command.place.loop is None
        alone = alone and not re.search("thread|async|multiprocessing|subprocess", ast.unparse(source.tree))
        around = None if alone else Loop(0, -math.inf)
        yield from _printed(source.tree, command, _logging(source.tree), command.place.always, around)


def python(commands: Sequence[Command]) -> Iterator[Source]:
    """Yield the Python programs that stand in a script: in here-documents, and behind ``-c``."""
    for command in commands:
        names = [word.rpartition("/")[2] for word in command.words]
        at = next((n for n, name in enumerate(names) if re.fullmatch(PYTHON, name)), None)
        file = command.place.output.stdout.file
        if at is None and not (command.name == "cat" and file.endswith(".py")):
            continue
        rest = command.words[at + 1 :] if at is not None else ()
        text = rest[rest.index("-c") + 1] if "-c" in rest[:-1] else command.given
        if not text:
            continue
        try:
            with warnings.catch_warnings():  # of the user's program
                warnings.simplefilter("ignore")
                tree = ast.parse(text[:_LONGEST])
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        yield Source(tree, command)


def asked_for(node: ast.AST, tree: ast.Module) -> list[str]:
    """Return the names of files of which a part of a Python program asks whether they are there.

    Args:
        node: the part.
        tree: the whole program.
    """
    tests = [x for x in ast.walk(node) if isinstance(x, ast.Call) and EXISTS.fullmatch(ast.unparse(x.func))]
    return [name for each in tests if each.args and (name := constant(each.args[0], tree))]


def constant(node: ast.expr, tree: ast.Module) -> str:
    """Return a text that stands in a program, or in a variable that is set to it once; "" for none.

    Args:
        node: the text or the variable.
        tree: the whole program.
    """
    variable, sets = ast.unparse(node), [each for each in ast.walk(tree) if isinstance(each, ast.Assign)]
    values = [each.value for each in sets if ast.unparse(each.targets[0]) == variable]
    node = values[0] if len(values) == 1 else node
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def filled(line: str) -> str:
    """Return a line of a script with a date in place of ``$(date)`` and a number for any other value."""
    return _REPLACED.sub(_VALUE, _DATED.sub("2026-01-01", line))


def _formatted(words: Sequence[str]) -> str:
    """Return what ``printf`` prints of its words."""
    line, values = words[0] if words else "", iter(words[1:])
    return re.sub(r"%-?\d*s", lambda found: next(values, ""), line)


def _counted(line: str, loop: Loop | None) -> str:
    for name, number in loop.last if loop is not None else ():
        line = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", number, line)
    return line


def plain(line: str) -> str:
    """Return a line without its colours."""
    return _COLOUR.sub("", line)


class _Logging(NamedTuple):
    """The form of the lines of ``logging``, and the stream that they go to; "" where it is not known."""

    form: str = ""
    to: str = "sys.stderr"


def _logging(tree: ast.Module) -> _Logging:
    """Return how a program writes its log, as its only call of ``basicConfig`` says."""
    calls = [x for x in ast.walk(tree) if isinstance(x, ast.Call) and "basicConfig" in ast.unparse(x.func)]
    if len(calls) != 1 or _OTHER_LOGS.search(ast.unparse(tree)):
        return _Logging()
    given = {each.arg: each.value for each in calls[0].keywords}
    form = given.get("format", ast.Constant(logging.BASIC_FORMAT))
    to = ast.unparse(given["stream"]) if "stream" in given else _Logging().to
    return _Logging(str(form.value) if isinstance(form, ast.Constant) else "", to)


def _said(call: ast.Call, log: _Logging) -> tuple[str, str, str]:
    """Return what a call prints, as written and with values, and the stream; no stream for another call."""
    name, parts = ast.unparse(call.func), [_text(each) for each in call.args]
    written, text = (" ".join(some) for some in zip(*parts, strict=True)) if parts else ("", "")
    if name == "print":
        return written, text, next((ast.unparse(x.value) for x in call.keywords if x.arg == "file"), _STDOUT)
    if name in ("sys.stdout.write", "sys.stderr.write"):
        return written.strip("\n"), text.strip("\n"), name.removesuffix(".write")
    level = _LOGGED.fullmatch(name)
    if level is None or not log.form or not parts:
        return "", "", ""
    form = re.sub(r"%\(levelname\)-?\d*s", level[1].upper().replace("EXCEPTION", "ERROR"), log.form)
    lines = [form.replace("%(message)s", each) for each in parts[0]]
    return lines[0], filled(lines[1]), log.to


def _printed(
    node: ast.AST, command: Command, log: _Logging, always: bool, loop: Loop | None
) -> Iterator[Sample]:
    """Yield what the calls below a node print or log, as far as it stands in the text."""
    for child in ast.iter_child_nodes(node):
        sure = always and not isinstance(child, (ast.If, ast.ExceptHandler, ast.FunctionDef, ast.ClassDef))
        around = loop
        if isinstance(child, (ast.For, ast.While, ast.FunctionDef)):
            around = Loop(_times(child) if loop is None else 0, min(0, loop.pause) if loop is not None else 0)
        elif around is not None and isinstance(child, ast.stmt):
            around = around._replace(pause=around.pause + _slept(node, child))
        written, text, to = _said(child, log) if isinstance(child, ast.Call) else ("", "", "")
        if isinstance(child, ast.Call) and to in (_STDOUT, "sys.stderr"):
            shown = not _LOGGED.fullmatch(ast.unparse(child.func))  # a level can hide what is logged
            yield Sample(written, text, command, sure and shown, loop, text, to != _STDOUT)
        yield from _printed(child, command, log, sure, around)


def _times(loop: ast.stmt) -> int:
    """Return how often a loop of Python runs, 0 where that is not known."""
    over = ast.unparse(loop.iter) if isinstance(loop, ast.For) else ""
    found = re.fullmatch(r"range\((?:0, )?(\d{1,9})\)", over)
    return int(found[1]) if found else 0


def _slept(node: ast.AST, child: ast.stmt) -> float:
    """Return the seconds that the statements beside one of them sleep, 0 where it sleeps itself."""
    blocks = [getattr(node, name, None) or [] for name in ("body", "orelse", "finalbody")]
    return sum(slept(each) for some in blocks if child in some for each in some)


def slept(statement: ast.stmt) -> float:
    """Return the seconds that a statement of Python sleeps, 0 for any other one."""
    found = re.fullmatch(r"(?:time\.)?sleep\((\d+(?:\.\d+)?)\)", ast.unparse(statement))
    return float(found[1]) if found else 0.0


def _text(node: ast.AST) -> tuple[str, str]:
    """Return an argument of ``print`` as written, and with values in place of what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value), str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [_text(each) for each in node.values]
        return "".join(text for text, _ in parts), "".join(text for _, text in parts)
    if isinstance(node, ast.FormattedValue):
        form = ast.unparse(node.format_spec) if node.format_spec is not None else ""
        value = "7,000" if "," in form else _VALUE
        return "$", "7.0e+00" if "e" in form.strip("f'\"") else f"{value}.0" if "." in form else value
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _text(node.left)[0], filled(_text(node.left)[0])
    return "$", _VALUE
