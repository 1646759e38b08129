"""Wrap and unwrap the commands inside a study file's text; every other byte stays as it is.

The text is never printed anew from a parsed tree: the places of the commands are taken from the YAML
parser, lines are inserted there, and the result is parsed again and compared with the original before
anybody gets it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import yaml

from whesl.model.errors import UsageError
from whesl.workflows import script_wrapping
from whesl.workflows.maestro import yaml_loading

_COMMANDS = ("cmd", "restart")
# Line ends that YAML knows besides the usual ones, and what a literal block cannot hold.
_UNPRINTABLE = frozenset("\r\x85\u2028\u2029\ufeff") | {
    chr(code) for code in range(32) if code not in (9, 10)
}


# The end of a block scalar's first line: indicators (perhaps with an indentation), perhaps a comment.
_HEADER = re.compile(r"[|>][-+]?(\d?)[-+]?[ \t]*(?:#.*)?\r?\n?$")


class Command(msgspec.Struct, frozen=True):
    """Where a command stands in the text: [start, end) with its style, its value and its key's column."""

    step: str
    key: str
    value: str
    start: int
    end: int
    style: str
    column: int
    flow: bool


def commands(text: str, path: str) -> list[Command]:
    """Return the commands of all steps in the order of the text. Raises UsageError for no study."""
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
    """Return the value of a mapping's key; of a key that is there twice the last, as PyYAML does."""
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in reversed(node.value) if key.value == name), None)
    return None


def wrap_commands(
    text: str, path: str, call: Callable[[str], script_wrapping.TaskCall], interpreter: str
) -> str:
    """Return the text with every command wrapped; those that are wrapped already stay.

    Args:
        text: the study file.
        path: its name, for messages.
        call: gives what ``whesl exec`` is told for a step's name.
        interpreter: the study's shell.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    result = text
    for command in reversed(commands(text, path)):
        if script_wrapping.is_wrapped(command.value):
            continue
        if command.style == "|" and not command.flow:
            result = _into_literal(result, command, call(command.step), interpreter, newline)
        else:
            result = _as_literal(result, command, call(command.step), interpreter, newline)
    _same_but_commands(text, result, path)
    return result


def unwrap_commands(text: str, path: str) -> str:
    """Return the text with every wrapped command as it was before."""
    result = text
    for command in reversed(commands(text, path)):
        if script_wrapping.is_wrapped(command.value):
            result = _out(result, command)
    _same_but_commands(text, result, path)
    return result


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


def _into_literal(
    text: str, command: Command, call: script_wrapping.TaskCall, interpreter: str, newline: str
) -> str:
    head, last, indent = _block(text, command)
    before, after = script_wrapping.around(call, command.value, interpreter=interpreter)
    margin = " " * indent
    body = text[head:last]
    closing = newline.join(margin + line for line in after)
    if body.endswith("\n"):
        closing += newline
    else:
        body += newline
    opening = "".join(margin + line + newline for line in before)
    return text[:head] + opening + body + closing + text[last:]


def _as_literal(
    text: str, command: Command, call: script_wrapping.TaskCall, interpreter: str, newline: str
) -> str:
    end = command.end
    if command.style in ("|", ">"):
        _, end, _ = _block(text, command)
        end = len(text[:end].rstrip("\r\n"))
    source = text[command.start : end]
    wrapped = script_wrapping.wrap(call, command.value, interpreter=interpreter, was=source)
    if command.flow or _UNPRINTABLE & set(command.value):
        return text[: command.start] + json.dumps(wrapped) + text[end:]
    stop = text.find("\n", end)
    rest = (text[end:] if stop < 0 else text[end:stop]).rstrip("\r")
    margin = " " * (command.column + 2)
    lines = newline.join(margin + line if line else "" for line in wrapped.rstrip("\n").split("\n"))
    tail = "" if stop < 0 else newline + text[stop + 1 :]
    return text[: command.start] + "|" + rest + newline + lines + tail


def _out(text: str, command: Command) -> str:
    inner, source = script_wrapping.unwrap(command.value)
    if command.style == '"':
        return text[: command.start] + (source or json.dumps(inner)) + text[command.end :]
    head, last, _ = _block(text, command)
    lines = text[head:last].splitlines(keepends=True)
    found = script_wrapping.extent([line.strip() for line in lines])
    assert found is not None
    begin, first, stop, past = found
    if source and _means(source, command.column) == inner.rstrip("\n"):
        rest = text[command.start + 1 : head].rstrip("\r\n")
        tail = text[last:]
        ending = "\n" if lines[-1].endswith("\n") else ""
        if ending and lines[-1].endswith("\r\n"):
            ending = "\r\n"
        return text[: command.start] + source + rest + ending + tail
    kept = "".join((*lines[:begin], *lines[first:stop], *lines[past:]))
    if past == len(lines) and not lines[-1].endswith("\n"):
        kept = kept.rstrip("\r\n")
    return text[:head] + kept + text[last:]


def _means(source: str, column: int) -> str | None:
    """Return the value of a scalar's source text, or None when it cannot be read on its own."""
    try:
        value = yaml_loading.values(" " * column + "cmd: " + source + "\n", "")["cmd"]
    except (UsageError, KeyError, TypeError):
        return None
    return str(value).rstrip("\n")


def _same_but_commands(old: str, new: str, path: str) -> None:
    """Raise UsageError unless the texts differ in nothing but the wrapping of commands."""
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

    A block's final line breaks are no part of the command.
    """
    document = yaml_loading.values(text, "")
    for step in _steps(document):
        run = dict(step["run"])
        step["run"] = run
        for key in _COMMANDS:
            value = run.get(key)
            if not isinstance(value, str):
                continue
            said = script_wrapping.read_wrapped(value)
            if said is not None:
                value, _ = script_wrapping.unwrap(value)
                if said.step != step.get("name") or script_wrapping.is_wrapped(value):
                    raise UsageError("wrapped twice or for another step")
            run[key] = value.rstrip("\n")
    return document


def _steps(document: Any) -> Iterator[dict[str, Any]]:
    """Yield the steps that have something to run; whoever reads the study says what is wrong with others."""
    found = document.get("study") if isinstance(document, dict) else None
    for step in found if isinstance(found, list) else ():
        if isinstance(step, dict) and isinstance(step.get("run"), dict):
            yield step
