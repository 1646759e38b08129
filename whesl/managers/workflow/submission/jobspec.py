"""A Flux jobspec (RFC 14, RFC 25): whether it runs a wrapped script, and what is added to it. Pure.

Whatever way a job is asked for (``flux batch``, ``flux submit``, Python bindings), it becomes a jobspec, so
this is the one place where a token, spare nodes and bad nodes are put in.
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

# Up to here every node of a nested instance talks to its first node alone, so that no lost node takes others
# with it (flux-broker-attributes(7), tbon.topo: kary:32 by default). Above, that would be too much for it.
FLAT = 256
# A script that is longer is not looked at.
_LONGEST_SCRIPT = 4 << 20


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """The jobspec to submit, the spare nodes it really asks for, and what to tell the user."""

    jobspec: Jobspec
    spares: int
    notices: tuple[str, ...] = ()


def read_file(path: str) -> str:
    """Return a script's text; '' for what is no readable file of reasonable size."""

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
    """Return what a jobspec's wrapped script says of itself and its text, None when it runs none.

    The script is in the jobspec (``flux batch``) or a file among the words of its command.
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
    """Whether the job is a Flux instance of its own, as ``flux batch`` and ``flux alloc`` make it."""
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
        jobspec: as the workflow manager made it; it is not changed.
        wrapped: what the script says of itself.
        token: identifies this submission; ``attributes.user`` is the user's own part of a jobspec.
        spares: ask for the spare nodes.
        avoid: host names to keep the job off.
        hidden: WHESL's directories, to take out of the job's PATH and PYTHONPATH.
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
    """Return a search path without some directories."""
    real = {os.path.realpath(directory) for directory in hidden}
    kept = (p for p in places.split(os.pathsep) if not p or os.path.realpath(p) not in real)
    return os.pathsep.join(kept)


def _survive(jobspec: Jobspec, system: Jobspec) -> None:
    """Let an instance outlive every node but its first.

    The job shell of a lost node counts as an exit of its task; ``exit-timeout`` would end the others after
    that (``flux batch`` sets it itself, the bindings' ``from_nest_command`` leaves it to the caller).
    """
    _ensure(system, "shell", "options").setdefault("exit-timeout", "none")
    nodes = node_count(jobspec)
    command = jobspec["tasks"][0]["command"]
    if nodes <= FLAT and not any("tbon.topo" in word for word in command):
        command[2:2] = ["-Stbon.topo=kary:0"]


def node_count(jobspec: Jobspec) -> int:
    """Return how many nodes a jobspec surely asks for, 0 when it does not say."""
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
    """Return the one resource that counts nodes; None when there is none, or more than one."""
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
