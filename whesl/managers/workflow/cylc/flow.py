"""Cylc's ``flow.cylc``: the graph that Cylc prints of it, and wrapping of its tasks' scripts."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

from whesl.model.errors import UsageError

_SCHEDULING = re.compile(r"(?m)^[ \t]*\[scheduling\]")
_SECTION = re.compile(r"[ \t]*\[(?!\[)[ \t]*([^\[\]]+?)[ \t]*\]")
_SCRIPT = re.compile(r"([ \t]*)script[ \t]*=[ \t]*(.*)", re.DOTALL)
_WAS = "# WHESL was: "
_NODE = re.compile(r'node "([^"/]+)/([^"]+)"')
_EDGE = re.compile(r'edge "([^"/]+)/([^"]+)" "([^"/]+)/([^"]+)"')
# The shell of a task's script, with the options that Cylc's own job script sets.
_SHELL = "/bin/bash -euo pipefail -c"

Point = tuple[str, str]  # a task's name and its cycle


def looks_like_flow(text: str) -> bool:
    """Whether a text has Cylc's section ``[scheduling]``."""
    return bool(_SCHEDULING.search(text))


def graph(text: str) -> dict[Point, tuple[Point, ...]]:
    """Return the tasks in the output of ``cylc graph --reference``, each with the tasks that it waits for.

    Source: cylc-flow 8.5, ``cylc/flow/scripts/graph.py``: lines ``node "CYCLE/TASK" "..."`` and
    ``edge "CYCLE/TASK" "CYCLE/TASK"``.
    """
    nodes = [(name, cycle) for cycle, name in _NODE.findall(text)]
    edges = [((child, to), (parent, since)) for since, parent, to, child in _EDGE.findall(text)]
    return {
        node: tuple(parent for child, parent in edges if child == node and parent in nodes) for node in nodes
    }


def wrap(text: str, words: str, path: str) -> str:
    """Return a flow in which each script of ``[runtime]`` runs in a shell behind a command prefix.

    A comment above each script keeps the original for ``unwrap``.

    Args:
        text: the flow's text.
        words: the command prefix.
        path: the flow's file, for messages.

    Raises UsageError for a script that cannot be wrapped.
    """
    made: list[str] = []
    for source, indent, body in _settings(text, path):
        if body is None or not body.strip():
            made.append(source)
            continue
        # Cylc removes the common indentation of a value of several lines; the first line here has none.
        value = f"{words} {_SHELL} {shlex.quote(body)}"
        quote = next((each for each in ('"""', "'''") if each not in value), "")
        if not quote:
            raise UsageError(f"{path}: a script with both kinds of three quotation marks cannot be wrapped")
        setting = f"{indent}script = {quote}{value}\n{indent}{quote}\n"
        was = json.dumps({"lines": setting.count("\n"), "was": source})
        made.append(f"{indent}{_WAS}{was}\n{setting}")
    return "".join(made)


def unwrap(text: str, path: str) -> str:
    """Return the original of a wrapped flow.

    Args:
        text: the wrapped flow's text.
        path: the flow's file, for messages.

    Raises UsageError where a comment that keeps an original was changed.
    """
    lines = iter(text.splitlines(keepends=True))
    made: list[str] = []
    for line in lines:
        if not line.lstrip(" \t").startswith(_WAS):
            made.append(line)
            continue
        try:
            kept = json.loads(line.partition(_WAS)[2])
            was, count = str(kept["was"]), int(kept["lines"])
        except (ValueError, KeyError, TypeError):
            raise UsageError(
                f"{path}: a line '{_WAS.strip()}' was changed; take the flow as it was"
            ) from None
        for _ in range(count):
            next(lines, None)
        made.append(was)
    return "".join(made)


def _settings(text: str, path: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield the text in parts: each part's source, and for a task's script its indentation and value."""
    lines = text.splitlines(keepends=True)
    section, index = "", 0
    while index < len(lines):
        begin, line = index, lines[index]
        index += 1
        if named := _SECTION.match(line):
            section = named[1]
        # A value of several lines is one part, whichever setting it belongs to.
        name, equals, value = line.partition("=")
        value = value.strip()
        quote = (
            value[:3] if value[:3] in ('"""', "'''") and equals and not name.lstrip().startswith("#") else ""
        )
        if quote and quote not in value[3:]:
            while index < len(lines) and quote not in lines[index]:
                index += 1
            if index == len(lines):
                raise UsageError(f"{path}:{begin + 1}: the value has no end")
            index += 1
        elif equals and not quote:
            while lines[index - 1].rstrip("\r\n").endswith("\\") and index < len(lines):
                index += 1
        source = "".join(lines[begin:index])
        found = _SCRIPT.fullmatch(source) if section == "runtime" else None
        if found is None:
            yield source, "", None
        else:
            yield source, found[1], _value(found[2].strip(), quote)


def _value(text: str, quote: str) -> str:
    """Return a setting's value as Cylc reads it: without quotation marks and trailing comment."""
    if quote:
        return text[3:].partition(quote)[0].strip("\n")
    if text[:1] in ('"', "'") and text.find(text[0], 1) > 0:
        return text[1 : text.find(text[0], 1)]
    joined = re.sub(r"\\\r?\n[ \t]*", "", text)
    return re.sub(r"(?:^|\s)#.*", "", joined).strip()
