"""Lines that a script prints by its own words: ``echo``, ``printf``, ``cat``, and Python in it. Pure."""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from whesl.doctor.job_script.commands import Command, Loop
from whesl.doctor.job_script.facts import said

# What stands for a value that is not known.
_VALUE = "7"
_COLOUR = re.compile(r"\\(?:033|0?33|e|x1[bB])\[[\d;]*m|\x1b\[[\d;]*m")
_DATED = re.compile(r"\$\(date[^)]*\)|`date[^`]*`|%\(asctime\)s")
_REPLACED = re.compile(r"\$\([^)]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+|%\(\w+\)-?\d*s|%[-+\d.]*[sdifeg]")
_PYTHON = r"python[\d.]*"
_LONGEST = 1_000_000  # characters of a program that are parsed


class Sample(NamedTuple):
    """A line as it is printed: as written, with a value for each variable, and by which command.

    Attributes:
        written: the line as the script has it, with the last numbers of counters.
        text: the line with values in place of all variables.
        command: the command that prints it.
        always: whether it is printed in each sound run.
        loop: the loop that prints it again and again.
        of_python: whether a Python program prints it, and not the shell.
        stderr: whether a Python program prints it on standard error.
    """

    written: str
    text: str
    command: Command
    always: bool
    loop: Loop | None
    of_python: bool = False
    stderr: bool = False


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
        for line in said(command, script):
            if command.name == "printf":
                line = _formatted(command.words[1:])
            for part in re.split(r"\\n|\n", line):
                counted = _counted(part, command.place.loop)
                yield Sample(counted, filled(counted), command, command.place.always, command.place.loop)
    for source in sources:
        command = source.command
        # Of several processes or threads it is not known how often they print, and in what time.
        alone = re.fullmatch(_PYTHON, command.name) and command.place.loop is None
        alone = alone and not re.search("thread|async|multiprocessing|subprocess", ast.unparse(source.tree))
        yield from _printed(source.tree, command, command.place.always, None if alone else Loop(0, -math.inf))


def python(commands: Sequence[Command]) -> Iterator[Source]:
    """Yield the Python programs that stand in a script: in here-documents, and behind ``-c``."""
    for command in commands:
        names = [word.rpartition("/")[2] for word in command.words]
        at = next((n for n, name in enumerate(names) if re.fullmatch(_PYTHON, name)), None)
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


def _printed(node: ast.AST, command: Command, always: bool, loop: Loop | None) -> Iterator[Sample]:
    """Yield what the calls of ``print`` below a node print, as far as it stands in the text."""
    for child in ast.iter_child_nodes(node):
        sure = always and not isinstance(child, (ast.If, ast.ExceptHandler, ast.FunctionDef, ast.ClassDef))
        around = loop
        if isinstance(child, (ast.For, ast.While, ast.FunctionDef)):
            around = Loop(_times(child) if loop is None else 0, min(0, loop.pause) if loop is not None else 0)
        elif around is not None and isinstance(child, ast.stmt):
            around = around._replace(pause=around.pause + _slept(node, child))
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "print":
            files = [ast.unparse(each.value) for each in child.keywords if each.arg == "file"]
            to = files[0] if files else "sys.stdout"
            parts = [_text(each) for each in child.args]
            written, text = (" ".join(some) for some in zip(*parts, strict=True)) if parts else ("", "")
            if to in ("sys.stdout", "sys.stderr"):
                yield Sample(written, text, command, sure, loop, True, to == "sys.stderr")
        yield from _printed(child, command, sure, around)


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
