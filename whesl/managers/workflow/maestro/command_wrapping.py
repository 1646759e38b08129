"""Wraps a study's text: a line in each command names the task, and ``batch.shell`` names a program of WHESL.

The text is never printed from a parsed tree. Lines are inserted at the positions that the YAML parser
reports, and the result is parsed again and compared with the original before it is returned.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import yaml

from whesl.managers.resource import wrapped_script
from whesl.managers.workflow import script_wrapping
from whesl.managers.workflow.maestro import yaml_loading
from whesl.model.errors import UsageError

_COMMANDS = ("cmd", "restart")
_WAS = "#WHESL was: "
# A shell setting where the study had none; its quotation marks differ from those of a replaced setting.
_ADDED = "shell: '{}'"
_NEXT = ", "
# A batch section where the study had none; its blanks differ from those of a user's section.
_ALONE = "batch: {{ {} }}"
# Characters that a literal block cannot hold: YAML's unusual line ends, and control characters.
_UNPRINTABLE = frozenset("\r\x85\u2028\u2029\ufeff") | {
    chr(code) for code in range(32) if code not in (9, 10)
}


# The end of a block scalar's first line: indicators (with an optional indentation), and an optional comment.
_HEADER = re.compile(r"[|>][-+]?(\d?)[-+]?[ \t]*(?:#.*)?\r?\n?$")


class Command(msgspec.Struct, frozen=True):
    """A command in a study's text: its value, its range [start, end), its style and its key's column."""

    step: str
    key: str
    value: str
    start: int
    end: int
    style: str
    column: int
    flow: bool


def commands(text: str, path: str) -> list[Command]:
    """Return the commands of all steps in the order of the text.

    Args:
        text: the study's text.
        path: the study's file, for messages.

    Raises UsageError for a text that is no study.
    """
    root = yaml_loading.nodes(text, path)
    found: dict[int, Command] = {}
    for step in _items(_get(root, "study")):
        name, run = _get(step, "name"), _get(step, "run")
        if not isinstance(run, yaml.MappingNode) or not isinstance(name, yaml.ScalarNode):
            continue
        for key, node in run.value:
            if key.value in _COMMANDS and isinstance(node, yaml.ScalarNode) and node.value:
                start = node.start_mark.index
                found[start] = Command(
                    name.value,
                    key.value,
                    node.value,
                    start,
                    node.end_mark.index,
                    node.style or "",
                    key.start_mark.column,
                    bool(run.flow_style) or bool(step.flow_style),
                )
    return [found[start] for start in sorted(found)]


def _items(node: Any) -> Iterator[Any]:
    if isinstance(node, yaml.SequenceNode):
        yield from (item for item in node.value if isinstance(item, yaml.MappingNode))


def _get(node: Any, name: str) -> Any:
    """Return the value of a mapping's key; as in PyYAML, a repeated key's last value counts."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in reversed(node.value) if key.value == name), None)
    return None


def wrap_commands(text: str, path: str, call: Callable[[str], script_wrapping.TaskCall]) -> str:
    """Return the text with a last line in every command that names its task; wrapped commands stay unchanged.

    Args:
        text: the study's text.
        path: the study's file, for messages.
        call: returns the options of ``whesl exec`` for a step's name.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    result = text
    for command in reversed(commands(text, path)):
        if wrapped_script.task_words(command.value):
            continue
        line = script_wrapping.task_line(call(command.step))
        if command.style == "|" and not command.flow:
            result = _into_literal(result, command, line, newline)
        else:
            result = _as_literal(result, command, line, newline)
    _same_but_commands(text, result, path)
    return result


def unwrap_commands(text: str, path: str) -> str:
    """Return the text with the original of every wrapped command.

    Args:
        text: the study's text.
        path: the study's file, for messages.
    """
    result = text
    for command in reversed(commands(text, path)):
        if wrapped_script.task_words(command.value):
            result = _out(result, command)
    _same_but_commands(text, result, path)
    return result


def with_shell(text: str, path: str, program: Callable[[str], str]) -> str:
    """Return the text with another ``batch.shell``.

    Args:
        text: the study's text.
        path: the study's file, for messages.
        program: returns the new value for the source text of the present value ('' where there is none).
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    batch = _get(yaml_loading.nodes(text, path), "batch")
    shell = _get(batch, "shell")
    added = _ADDED.format(program("")) if shell is None else ""
    if shell is not None:
        start, end = shell.start_mark.index, shell.end_mark.index
        result = text[:start] + json.dumps(program(text[start:end])) + text[end:]
    elif isinstance(batch, yaml.MappingNode) and batch.flow_style:
        at = batch.start_mark.index + 1
        result = text[:at] + added + (_NEXT if batch.value else "") + text[at:]
    elif isinstance(batch, yaml.MappingNode):
        at, column = batch.value[0][0].start_mark.index, batch.value[0][0].start_mark.column
        result = text[:at] + added + newline + " " * column + text[at:]
    elif batch is None:
        alone = _ALONE.format(added)
        result = f"{text}{alone}{newline}" if text.endswith("\n") else f"{text}{newline}{alone}"
    else:
        result = text
    _same_but_commands(text, result, path)
    return result


def without_shell(text: str, path: str, former: Callable[[str], str]) -> str:
    """Return the text with the ``batch.shell`` that it had before ``with_shell``.

    Args:
        text: the study's text.
        path: the study's file, for messages.
        former: returns the source text of the original value for the program in its place.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    batch = _get(yaml_loading.nodes(text, path), "batch")
    shell = _get(batch, "shell")
    if shell is None or not wrapped_script.program(f"#!{shell.value}"):
        return text
    start, end = shell.start_mark.index, shell.end_mark.index
    added = _ADDED.format(shell.value)
    at = end - len(added)
    if text[at:end] != added:
        return text[:start] + former(shell.value) + text[end:]
    begin = _ALONE.index("{}") - 1
    if text[at - begin : end + 2] == _ALONE.format(added):
        before, after = text[: at - begin], text[end + 2 :]
        return before + after.removeprefix(newline) if after else before.removesuffix(newline)
    if batch.flow_style:
        return text[:at] + text[end:].removeprefix(_NEXT)
    return text[:at] + text[end:].removeprefix(newline).lstrip(" ")


def _block(text: str, command: Command) -> tuple[int, int, int]:
    """Return (end of the header line, end of the last line with content, indentation) of a literal block."""
    head = text.index("\n", command.start) + 1
    position, last, indent = head, head, 0
    header = _HEADER.search(text[command.start : head])
    if header and header.group(1):
        indent = command.column + int(header.group(1))
    for line in text[head : max(command.end, head)].splitlines(keepends=True):
        position += len(line)
        if line.strip():
            indent = indent or len(line) - len(line.lstrip(" "))
            last = position
    return head, last, indent


def _into_literal(text: str, command: Command, line: str, newline: str) -> str:
    _, last, indent = _block(text, command)
    added = " " * indent + line
    if text[:last].endswith("\n"):
        return text[:last] + added + newline + text[last:]
    return text[:last] + newline + added + text[last:]


def _as_literal(text: str, command: Command, line: str, newline: str) -> str:
    end = command.end
    if command.style in ("|", ">"):
        _, end, _ = _block(text, command)
        end = len(text[:end].rstrip("\r\n"))
    # Maestro would expand a token after a dollar sign, even in a comment.
    was = _WAS + json.dumps(text[command.start : end], ensure_ascii=True).replace("$", "\\u0024")
    value = command.value if command.value.endswith("\n") else f"{command.value}\n"
    wrapped = f"{value}{was}\n{line}\n"
    if command.flow or _UNPRINTABLE & set(command.value):
        return text[: command.start] + json.dumps(wrapped) + text[end:]
    stop = text.find("\n", end)
    rest = (text[end:] if stop < 0 else text[end:stop]).rstrip("\r")
    margin = " " * (command.column + 2)
    lines = newline.join(margin + line if line else "" for line in wrapped.rstrip("\n").split("\n"))
    tail = "" if stop < 0 else newline + text[stop + 1 :]
    # Without an indentation number, the first line's blanks would count as the block's margin.
    header = "|2" if wrapped[0] in " \n" else "|"
    return text[: command.start] + header + rest + newline + lines + tail


def _out(text: str, command: Command) -> str:
    inner, source = plain_command(command.value)
    if command.style == '"':
        return text[: command.start] + (source or json.dumps(inner)) + text[command.end :]
    head, last, _ = _block(text, command)
    lines = text[head:last].splitlines(keepends=True)
    if source and _means(source, command.column) == inner.rstrip("\n"):
        rest = text[command.start + 1 : head].removeprefix("2").rstrip("\r\n")
        ending = "\r\n" if lines[-1].endswith("\r\n") else "\n" if lines[-1].endswith("\n") else ""
        return text[: command.start] + source + rest + ending + text[last:]
    kept = "".join(line for line in lines if not line.lstrip(" ").startswith((wrapped_script.TASK, _WAS)))
    if not lines[-1].endswith("\n"):
        kept = kept.removesuffix("\n").removesuffix("\r")
    return text[:head] + kept + text[last:]


def plain_command(value: str) -> tuple[str, str]:
    """Return a wrapped command's original value, and its original source text ('' where none was kept).

    Raises UsageError where the kept source text was changed.
    """
    lines = value.splitlines(keepends=True)
    kept = [line for line in lines if not line.startswith((wrapped_script.TASK, _WAS))]
    was = next((line for line in reversed(lines) if line.startswith(_WAS)), "")
    try:
        return "".join(kept), msgspec.json.decode(was.removeprefix(_WAS), type=str) if was else ""
    except msgspec.DecodeError:
        raise UsageError("the line '#WHESL was:' was changed", hint="restore the original file") from None


def _means(source: str, column: int) -> str | None:
    """Return the value of a scalar's source text, None where the text cannot be read on its own."""
    try:
        value = yaml_loading.values(" " * column + "cmd: " + source + "\n", "")["cmd"]
    except (UsageError, KeyError, TypeError):
        return None
    return str(value).rstrip("\n")


def _same_but_commands(old: str, new: str, path: str) -> None:
    """Raise UsageError unless the texts differ only in the wrapping of commands."""
    try:
        before, after = _plain(old), _plain(new)
    except UsageError:
        before, after = None, ""
    if before != after:
        raise UsageError(
            f"{path}: a command is written in a way that cannot be wrapped without changing more than it",
            hint="write each step's cmd and restart out as a block (cmd: |), without YAML aliases or merges",
        )


def _plain(text: str) -> Any:
    """Return a study's values with all commands unwrapped, without their final line breaks.

    A block's final line breaks do not belong to the command.
    """
    document = yaml_loading.values(text, "")
    batch = document.get("batch") if isinstance(document, dict) else None
    if isinstance(batch, dict):
        document["batch"] = {key: value for key, value in batch.items() if key != "shell"}
    if isinstance(document, dict) and document.get("batch") == {}:
        del document["batch"]
    for step in _steps(document):
        run = dict(step["run"])
        step["run"] = run
        for key in _COMMANDS:
            value = run.get(key)
            if not isinstance(value, str):
                continue
            words = wrapped_script.task_words(value)
            if words:
                value, _ = plain_command(value)
                if ("--step", str(step.get("name"))) not in itertools.pairwise(words):
                    raise UsageError("wrapped for another step")
            run[key] = value.rstrip("\n")
    return document


def _steps(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the steps with something to run; the study's reader reports errors in other steps."""
    found = document.get("study") if isinstance(document, dict) else None
    for step in found if isinstance(found, list) else ():
        if isinstance(step, dict) and isinstance(step.get("run"), dict):
            yield step
