"""slurm.conf and the files that it includes: reading settings, adding a plugin to a list, and removing it.

The rules are Slurm's (slurm.conf(5), and tried with 22.05): a line holds one setting, a value may be quoted
or continue after a backslash at the line's end, the last of several values counts, and included files lie
beside slurm.conf.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from whesl.model.errors import WheslError

_VALUE = rb'("[^"\n]*"|(?:\\\r?\n|[^\s#"\\])+)'
_INCLUDE = rb"^[ \t]*include[ \t]+([^\s#]+)"
_NEXT = rb"(?:\\\r?\n)?"  # continuation of a list in the next line
_DEEPEST = 8  # largest depth of nested includes


class Value(NamedTuple):
    """A setting's value, with its file and the offsets of the setting and of the value's begin and end."""

    path: Path
    line: int
    begin: int
    end: int
    value: str


def read(path: Path) -> bytes:
    """Return a file's content. Raises WheslError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise WheslError(f"cannot read {path}: {error.strerror or error}") from None


def setting(conf: Path, name: str) -> Value | None:
    """Return the last value of a setting in slurm.conf or an included file; None for no value.

    Args:
        conf: path of slurm.conf.
        name: name of the setting, in any case.

    Raises:
        WheslError: a file cannot be read.
    """
    cluster = None if name == "ClusterName" else setting(conf, "ClusterName")
    return _setting(conf, name, conf.parent, cluster.value if cluster else "", 0)


def _setting(path: Path, name: str, here: Path, cluster: str, depth: int) -> Value | None:
    form = rb"%b|^[ \t]*(%b)[ \t]*=[ \t]*%b" % (_INCLUDE, re.escape(name.encode()), _VALUE)
    found = None
    for match in re.finditer(form, read(path), re.IGNORECASE | re.MULTILINE):
        if match[2]:
            raw = re.sub(_NEXT, b"", match[3]).strip(b'"')
            found = Value(path, match.start(2), match.start(3), match.end(3), raw.decode("ascii", "replace"))
        elif depth < _DEEPEST and not (b"%c" in match[1] and not cluster):
            inner = here / match[1].decode("utf-8", "surrogateescape").replace("%c", cluster)
            found = _setting(inner, name, here, cluster, depth + 1) or found
    return found


def with_plugin(conf: Path, name: str, plugin: str) -> tuple[Path, bytes] | None:
    """Return the file to change and its content with a plugin added to a list; None if the list has it.

    Args:
        conf: path of slurm.conf.
        name: name of the setting, such as JobSubmitPlugins.
        plugin: short name of the plugin.

    Raises:
        WheslError: a file cannot be read.
    """
    found = setting(conf, name)
    if found is None:
        content = read(conf)
        gap = b"" if content.endswith(b"\n") or not content else b"\n"
        if re.search(rb"\\\r?\n$", content + gap):
            gap += b"\n"
        return conf, content + gap + f"{name}={plugin}\n".encode()
    if plugin in plugins(found.value):
        return None
    content = read(found.path)
    end = found.end - content[found.begin : found.end].endswith(b'"')
    return found.path, content[:end] + b"," + plugin.encode() + content[end:]


def without_plugin(conf: Path, name: str, plugin: str) -> tuple[Path, bytes] | None:
    """Return the file to change and its content with a plugin removed from a list; None if the list lacks it.

    A setting that then names no plugin is removed.

    Args:
        conf: path of slurm.conf.
        name: name of the setting, such as JobSubmitPlugins.
        plugin: short name of the plugin.

    Raises:
        WheslError: a file cannot be read.
    """
    found = setting(conf, name)
    if found is None or plugin not in plugins(found.value):
        return None
    content = read(found.path)
    one = rb"(?:\w+/)?" + re.escape(plugin.encode())
    form = rb'(?:,%b%b(?=[",\\]|$)|^("?)%b(?:,%b|(?="|$)))' % (_NEXT, one, one, _NEXT)
    left = re.sub(form, lambda match: match[1] or b"", content[found.begin : found.end], count=1)
    if left.strip(b'"'):
        return found.path, content[: found.begin] + left + content[found.end :]
    begin = content.rfind(b"\n", 0, found.line) + 1
    rest = content[found.end :]
    if re.match(rb"[ \t\r]*(\n|$)", rest):
        return found.path, content[:begin] + rest.partition(b"\n")[2]
    return found.path, content[:begin] + rest.lstrip(b" \t")


def plugins(value: str) -> list[str]:
    """Return the short names of the plugins in a setting's value."""
    return [one.strip().rpartition("/")[2] for one in value.split(",") if one.strip()]
