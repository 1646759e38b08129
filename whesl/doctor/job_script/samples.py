"""Lines that a script prints by its own words: ``echo``, ``printf``, ``cat``, and Python in it. Pure."""

from __future__ import annotations

import ast
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
_LONGEST = 1_000_000  # characters of a program that are parsed


class Sample(NamedTuple):
    """A line as it is printed: as written, with a value for each variable, and by which command.

    Attributes:
        written: the line as the script has it, with the last numbers of counters.
        text: the line with values in place of all variables.
        command: the command that prints it.
        always: whether it is printed in each sound run.
        loop: the loop that prints it again and again.
    """

    written: str
    text: str
    command: Command
    always: bool
    loop: Loop | None
    of_python: bool = False


class Source(NamedTuple):
    """A program's text in the script, and the command that runs it."""

    tree: ast.Module
    command: Command


def samples(commands: Sequence[Command], script: str) -> Iterator[Sample]:
    """Yield the lines that commands print on standard output or standard error.

    Args:
        commands: the commands of a script.
        script: the script's text.
    """
    for command in commands:
        for line in said(command, script):
            if command.name == "printf":
                line = _formatted(command.words[1:])
            for part in re.split(r"\\n|\n", line):
                counted = _counted(part, command.place.loop)
                yield Sample(counted, filled(counted), command, command.place.always, command.place.loop)
    for source in python(commands):
        yield from _printed(source.tree, source.command, source.command.place.always, None)


def python(commands: Sequence[Command]) -> Iterator[Source]:
    """Yield the Python programs that stand in a script: in here-documents, and behind ``-c``."""
    for command in commands:
        names = [word.rpartition("/")[2] for word in command.words]
        at = next((n for n, name in enumerate(names) if re.fullmatch(r"python[\d.]*", name)), None)
        file = command.place.output.stdout.file
        if at is None and not (command.name == "cat" and file.endswith(".py")):
            continue
        rest = command.words[at + 1 :] if at is not None else ()
        text = rest[rest.index("-c") + 1] if "-c" in rest[:-1] else command.given
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
        around = Loop(0, 0) if isinstance(child, (ast.For, ast.While)) else loop
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "print":
            parts = [_text(each) for each in child.args]
            written = " ".join(text for text, _ in parts)
            yield Sample(written, " ".join(text for _, text in parts), command, sure, loop, True)
        yield from _printed(child, command, sure, around)


def _text(node: ast.AST) -> tuple[str, str]:
    """Return an argument of ``print`` as written, and with values in place of what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value), str(node.value)
    if isinstance(node, ast.JoinedStr):
        parts = [_text(each) for each in node.values]
        return "".join(text for text, _ in parts), "".join(text for _, text in parts)
    if isinstance(node, ast.FormattedValue):
        form = ast.unparse(node.format_spec) if node.format_spec is not None else ""
        return "$", "7.0e+00" if "e" in form.strip("f'\"") else "7.0" if "." in form else _VALUE
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        return _text(node.left)[0], filled(_text(node.left)[0])
    return "$", _VALUE
