"""slurm.conf and what it includes: a setting is read, a plugin is added to a list or taken out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from whesl.model.errors import WheslError

if TYPE_CHECKING:
    from pathlib import Path

_INCLUDE = re.compile(rb"^\s*include\s+(\S+)", re.IGNORECASE)
_DEEPEST = 8  # files that include each other


class Line(NamedTuple):
    """Where a setting stands: the file, the line's place in it from 0, its value."""

    path: Path
    place: int
    value: str


def read(path: Path) -> bytes:
    """Return a file's content. Raises WheslError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise WheslError(f"cannot read {path}: {error.strerror or error}") from None


def setting(conf: Path, name: str, *, depth: int = 0) -> Line | None:
    """Return where a setting is last given, in slurm.conf or a file that it includes.

    Args:
        conf: slurm.conf.
        name: of the setting; its case does not matter.
        depth: of including files, from 0.

    Raises:
        WheslError: a file cannot be read.
    """
    form = re.compile(rb"^\s*" + re.escape(name.encode()) + rb"\s*=\s*([^\s#]*)", re.IGNORECASE)
    found = None
    for index, line in enumerate(read(conf).split(b"\n")):
        if match := form.match(line):
            found = Line(conf, index, match[1].decode("ascii", "replace"))
        elif (included := _INCLUDE.match(line)) and depth < _DEEPEST:
            inner = conf.parent / included[1].decode("utf-8", "surrogateescape")
            if inner.is_file():
                found = setting(inner, name, depth=depth + 1) or found
    return found


def with_plugin(conf: Path, name: str, plugin: str) -> tuple[Path, bytes] | None:
    """Return the file and its content with a plugin in a list, None where it is there already.

    Args:
        conf: slurm.conf.
        name: of the setting, such as JobSubmitPlugins.
        plugin: its short name.
    """
    line = setting(conf, name)
    if line is None:
        content = read(conf)
        gap = b"" if content.endswith(b"\n") or not content else b"\n"
        return conf, content + gap + f"{name}={plugin}\n".encode()
    plugins = _list(line.value)
    if plugin in plugins:
        return None
    return line.path, _replaced(line, ",".join([*plugins, plugin]))


def without_plugin(conf: Path, name: str, plugin: str) -> tuple[Path, bytes] | None:
    """Return the file and its content without a plugin in a list, None where it is not there.

    A line that then names no plugin goes.
    """
    line = setting(conf, name)
    if line is None or plugin not in (plugins := _list(line.value)):
        return None
    left = [one for one in plugins if one != plugin]
    if left:
        return line.path, _replaced(line, ",".join(left))
    lines = read(line.path).split(b"\n")
    del lines[line.place]
    return line.path, b"\n".join(lines)


def _list(value: str) -> list[str]:
    found = [one.rpartition("/")[2] for one in value.split(",")]
    return [one for one in found if one and one.lower() not in ("(null)", "none")]


def _replaced(line: Line, value: str) -> bytes:
    lines = read(line.path).split(b"\n")
    lines[line.place] = re.sub(
        rb"(=\s*)[^\s#]*", lambda found: found[1] + value.encode(), lines[line.place], count=1
    )
    return b"\n".join(lines)
