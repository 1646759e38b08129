"""Recognises wrapped scripts in Flux jobspecs (RFC 14, RFC 25), and adds WHESL's options to a jobspec. Pure.

Every submission to Flux (``flux batch``, ``flux submit``, Python bindings) becomes a jobspec, so this is the
only place that adds tokens, spare nodes and bad nodes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from whesl.files import file_retry
from whesl.managers.resource.granted_spares_and_requeue import inside
from whesl.managers.workflow import script_wrapping
from whesl.model.errors import UsageError

Jobspec = dict[str, Any]

# The most nodes of a nested instance in which every node talks only to the first node, so that a lost node
# does not disconnect others (flux-broker-attributes(7), tbon.topo: kary:32 by default). More nodes would
# overload the first.
FLAT = 256
# The most bytes of a script; a longer file is taken for a program.
_LONGEST_SCRIPT = 4 << 20


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """The jobspec to submit, its number of spare nodes, and notices (``submit_with_fallbacks.Wish``)."""

    jobspec: Jobspec
    spares: int
    nodes: int = 0
    notices: tuple[str, ...] = ()


def read_file(path: str) -> str:
    """Return a script's text; '' for a file that is unreadable or too large."""

    def read() -> str:
        if os.stat(path).st_size > _LONGEST_SCRIPT:  # noqa: PTH116 - one call for any kind of name
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - as above
            return file.read()

    try:
        return file_retry.retried(read)
    except (OSError, ValueError):
        return ""


def wrapped_script(
    jobspec: Jobspec, read: Callable[[str], str] = read_file
) -> tuple[script_wrapping.WrappedScript, str] | None:
    """Return the options in a jobspec's wrapped script and the script's text, None without a wrapped script.

    The script is in the jobspec (``flux batch``), or a file in the jobspec's command.

    Args:
        jobspec: the jobspec.
        read: returns a file's text, '' for an unreadable file.
    """
    system = _system(jobspec)
    embedded = _mapping(_mapping(system.get("files")).get("script")).get("data")
    texts = [embedded] if isinstance(embedded, str) else []
    for word in _command(jobspec):
        if "{{" not in word and "\0" not in word:
            texts.append(read(os.path.join(str(system.get("cwd") or ""), word)))  # noqa: PTH118 - keeps a bare name
    for text in texts:
        if not script_wrapping.is_wrapped(text):
            continue
        try:
            found = script_wrapping.read_wrapped(text)
        except UsageError:
            continue
        if found is not None:
            return found, text
    return None


def is_instance(jobspec: Jobspec) -> bool:
    """Whether a job is a Flux instance of its own, like the jobs of ``flux batch`` and ``flux alloc``."""
    return [os.path.basename(word) for word in _command(jobspec)[:2]] == ["flux", "broker"]  # noqa: PTH119 - a name


def rewrite(
    jobspec: Jobspec,
    wrapped: script_wrapping.WrappedScript,
    token: str,
    *,
    spares: bool = True,
    avoid: Sequence[str] = (),
    hidden: Sequence[str] = (),
) -> Rewritten:
    """Return a jobspec for one submission of a wrapped script.

    Args:
        jobspec: the workflow manager's jobspec, which is not changed.
        wrapped: the options in the wrapped script.
        token: the submission's token, put into ``attributes.user``, the user's own part of a jobspec.
        spares: whether to ask for the spare nodes.
        avoid: the host names of nodes that the job must not use.
        hidden: WHESL's directories, which are removed from the job's PATH and PYTHONPATH.
    """
    new: Jobspec = msgspec.json.decode(msgspec.json.encode(jobspec))
    _ensure(new, "attributes", "user", "whesl")["token"] = token
    notices: list[str] = []
    system = _ensure(new, "attributes", "system")
    if is_instance(new):
        _survive(new, system)
    count = wrapped.spares if spares else 0
    if count:
        if not is_instance(new):
            why = "it is no instance of its own, and only in one can a node be replaced (use flux batch)"
        elif not _grow(new, count):
            why = "its job does not say how many nodes it needs (-N)"
        else:
            why = ""
        if why:
            notices.append(f"whesl: {wrapped.task} has no spare node: {why}")
            count = 0
    if avoid:
        away: Jobspec = {"not": [{"hostlist": [",".join(avoid)]}]}
        asked = system.get("constraints")
        system["constraints"] = {"and": [asked, away]} if asked else away
    environment = system.get("environment")
    if isinstance(environment, dict):
        for name in ("PATH", "PYTHONPATH"):
            if name in environment:
                environment[name] = without(str(environment[name]), hidden)
                if name == "PYTHONPATH" and not environment[name]:
                    del environment[name]
        environment.update(inside(count, "", wrapped.workflow, wrapped.step))
    return Rewritten(jobspec=new, spares=count, notices=tuple(notices))


def without(places: str, hidden: Sequence[str]) -> str:
    """Return a search path without some directories.

    Args:
        places: the search path.
        hidden: the directories to remove.
    """
    real = {os.path.realpath(directory) for directory in hidden}
    kept = (p for p in places.split(os.pathsep) if not p or os.path.realpath(p) not in real)
    return os.pathsep.join(kept)


def _survive(jobspec: Jobspec, system: Jobspec) -> None:
    """Change a nested instance's jobspec so that the instance outlives the loss of any node except its first.

    Flux counts a lost node's job shell as an exited task, after which ``exit-timeout`` would end the other
    tasks (``flux batch`` sets it to "none" itself, the bindings' ``from_nest_command`` leaves it to the
    caller).
    """
    _ensure(system, "shell", "options").setdefault("exit-timeout", "none")
    nodes = node_count(jobspec)
    command = jobspec["tasks"][0]["command"]
    if nodes <= FLAT and not any("tbon.topo" in word for word in command):
        command[2:2] = ["-Stbon.topo=kary:0"]


def node_count(jobspec: Jobspec) -> int:
    """Return the smallest number of nodes that a jobspec asks for, 0 where it is not given."""
    node = _node(jobspec)
    if node is None:
        return 0
    count = node.get("count")
    if isinstance(count, dict):
        count = count.get("min")
    return count if isinstance(count, int) and not isinstance(count, bool) else 0


def _grow(jobspec: Jobspec, spares: int) -> bool:
    node = _node(jobspec)
    if node is None or not node_count(jobspec):
        return False
    count = node["count"]
    if isinstance(count, dict):
        for end in ("min", "max"):
            if isinstance(count.get(end), int):
                count[end] += spares
    else:
        node["count"] = count + spares
    return True


def _node(jobspec: Jobspec) -> Jobspec | None:
    """Return a jobspec's only resource where it counts nodes; None for any other resources."""
    resources = jobspec.get("resources")
    found = [r for r in resources if isinstance(r, dict)] if isinstance(resources, list) else []
    return found[0] if len(found) == 1 and found[0].get("type") == "node" else None


def _command(jobspec: Jobspec) -> list[str]:
    tasks = jobspec.get("tasks")
    if not isinstance(tasks, list) or len(tasks) != 1 or not isinstance(tasks[0], dict):
        return []
    words = tasks[0].get("command")
    return [word for word in words if isinstance(word, str)] if isinstance(words, list) else []


def _system(jobspec: Jobspec) -> Jobspec:
    return _mapping(_mapping(jobspec.get("attributes")).get("system"))


def _mapping(value: object) -> Jobspec:
    return dict(value) if isinstance(value, Mapping) else {}


def _ensure(tree: Jobspec, *names: str) -> Jobspec:
    for name in names:
        if not isinstance(tree.get(name), dict):
            tree[name] = {}
        tree = tree[name]
    return tree
