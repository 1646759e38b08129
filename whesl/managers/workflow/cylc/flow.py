"""Cylc's ``flow.cylc``: the graph that Cylc prints of it, and wrapping of its tasks' scripts."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator

from whesl.model.errors import UsageError

_SCHEDULING = re.compile(r"(?m)^[ \t]*\[scheduling\]")
_SECTION = re.compile(r"[ \t]*\[(?!\[)[ \t]*([^\[\]]+?)[ \t]*\]")
_SCRIPT = re.compile(r"([ \t]*)script[ \t]*=[ \t]*(.*)", re.DOTALL)
_WAS = "# WHESL was: "
_NODE = re.compile(r'node "([^"/]+)/([^"]+)"')
_EDGE = re.compile(r'edge "([^"/]+)/([^"]+)" "([^"/]+)/([^"]+)"')
# Lines around a wrapped script; the shell has the options that Cylc's own job script sets.
_BEGIN, _END = "IFS= read -r -d '' WHESL_SCRIPT <<'WHESL_END' || true", "WHESL_END"
_SHELL = '/bin/bash -euo pipefail -c "$WHESL_SCRIPT"'
_TEMPLATE = re.compile(r"\s*(\{[%#].*[%#]\}\s*)?")  # a line without text, for Cylc
# Values as Cylc reads them (cylc-flow 8.5, parsec/validate.py).
_QUOTED = (re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"'), re.compile(r"'([^'\\]*(?:\\.[^'\\]*)*)'"))
_TASK = re.compile(r"\[\[([^\[\]]+)\]\]")

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

    A script stays as it is written, in a here-document, so that Cylc's templates make the same text of it as
    without WHESL. A comment above each script keeps the original for ``unwrap``.

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
        quote = next((each for each in ('"""', "'''") if each not in body), "")
        if not quote or _END in body:
            raise UsageError(
                f"{path}: a script with {_END}, or both kinds of three quotation marks, cannot be wrapped"
            )
        # Cylc removes the indentation that all lines of a value have in common.
        lines = [line for line in body.splitlines() if not _TEMPLATE.fullmatch(line)]
        margin = min((line[: len(line) - len(line.lstrip())] for line in lines), key=len, default="")
        inside = f"{margin}{_BEGIN}\n{body}\n{margin}{_END}\n{margin}{words} {_SHELL}"
        setting = f"{indent}script = {quote}\n{inside}\n{indent}{quote}\n"
        # Without braces, since Jinja2 reads comments, too.
        was = json.dumps([setting.count("\n"), source]).replace("{", "\\u007b")
        made.append(f"{indent}{_WAS}{was}\n{setting}")
    return "".join(made)


def unwrap(text: str, path: str) -> str:
    """Return the original of a wrapped flow.

    Args:
        text: the wrapped flow's text.
        path: the flow's file, for messages.

    Raises UsageError where a comment that keeps an original was changed.
    """
    lines = iter(_lines(text))
    made: list[str] = []
    for line in lines:
        if not line.lstrip(" \t").startswith(_WAS):
            made.append(line)
            continue
        try:
            count, was = json.loads(line.partition(_WAS)[2])
        except (ValueError, TypeError):
            raise UsageError(
                f"{path}: a line '{_WAS.strip()}' was changed; take the flow as it was"
            ) from None
        made.append(str(was))
        for _ in range(int(count)):
            next(lines, None)
    return "".join(made)


def unprotected(plain: str, wrapped: str) -> list[str]:
    """Return the tasks whose scripts are not the plain ones behind a command prefix.

    Args:
        plain: the output of ``cylc config -i [runtime]`` for the flow.
        wrapped: the same for the wrapped flow.
    """
    found = {
        task: script.partition(f"{_BEGIN}\n")[2].partition(f"\n{_END}\n")[0]
        for task, script in scripts(wrapped).items()
    }
    return [task for task, script in scripts(plain).items() if found.get(task, "").strip() != script.strip()]


def scripts(printed: str) -> dict[str, str]:
    """Return the tasks' scripts in the output of ``cylc config -i [runtime]``, which indents them."""
    made: dict[str, str] = {}
    task, lines = "", iter(printed.splitlines())
    for line in lines:
        if named := _TASK.fullmatch(line):
            task = named[1]
        elif line.startswith("    script = "):
            value = line.partition(" = ")[2]
            if value == '"""':
                value = "\n".join(inner[8:] for inner in iter(lambda: next(lines, '    """'), '    """'))
            made[task] = value
    return made


def _lines(text: str) -> list[str]:
    """Return a text's lines, each with its end, which is a line feed alone."""
    return list(io.StringIO(text, newline="\n"))


def _settings(text: str, path: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield the text in parts: each part's source, and for a task's script its indentation and value."""
    lines = _lines(text)
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
    joined = re.sub(r"\\\r?\n", "", text)
    quoted = next((found for form in _QUOTED if (found := form.match(joined))), None)
    return quoted[1] if quoted else joined.partition("#")[0].strip()
