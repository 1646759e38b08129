"""Rewrites the command line of qsub so that the submitted script is wrapped. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence

import msgspec

from whesl.managers.resource.granted_spares_and_requeue import GRANTED_SPARES, NO, NOTHING, REQUEUE_SAID, YES
from whesl.managers.resource.pbs.records import TOKEN
from whesl.managers.resource.pbs.select import Chunk, parse, written
from whesl.managers.resource.pbs.submission import directives, name, options, parts
from whesl.managers.workflow.script_wrapping import WrappedScript
from whesl.model.errors import UsageError

_WAITS = re.compile(r"(?:^|,)\s*block\s*=\s*true", re.IGNORECASE)
_OUTLIVES = re.compile(r"(?:^|,)\s*tolerate_node_failures\s*=")
# Resources of a whole job that do not concern its nodes (pbs_resources(7B)).
_OF_NO_NODE = ("walltime", "min_walltime", "max_walltime", "cput", "pcput", "place", "software", "nice")
_OLD_NODES = re.compile(r"(\d+)((?::[^+#]*)?)")


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One call of qsub: its options and its script; ``commanded`` for a command instead of a script."""

    options: tuple[tuple[str, str], ...]
    script: str = ""
    commanded: bool = False


class Rewritten(msgspec.Struct, frozen=True, kw_only=True):
    """A rewritten call: the words after ``qsub``, the user's requeue choice, and notices for the user.

    ``spares`` is the number of spare nodes in the call, 0 where the call does not tell the job's nodes.
    ``nodes`` is the number of all nodes where some are spares.
    """

    words: tuple[str, ...]
    spares: int
    nodes: int = 0
    requeue: str = ""
    notices: tuple[str, ...] = ()


def parse_call(words: Sequence[str]) -> Call:
    """Parse the words after ``qsub``. Raises UsageError for an option that lacks its value."""
    found, others = options(words)
    commanded = len(others) != 1 or others[0] == "-" or others[0].startswith("--")
    return Call(options=tuple(found), script="" if commanded else others[0], commanded=commanded)


def interactive(call: Call, text: str) -> bool:
    """Whether qsub is the job's terminal (-I), by the call or by the script's text.

    Args:
        call: the call of qsub.
        text: the script's text, of which the ``#PBS`` lines are read.
    """
    return any(option == "-I" for option, _ in (*directives(text), *call.options))


def waits(call: Call, text: str) -> bool:
    """Whether qsub waits for the job's end (-W block=true), by the call or by the script's text.

    Args:
        call: the call of qsub.
        text: the script's text, of which the ``#PBS`` lines are read.
    """
    said = (*directives(text), *call.options)
    return any(option == "-W" and _WAITS.search(value) for option, value in said)


def rewrite(call: Call, text: str, wrapped: WrappedScript, token: str, *, spares: bool = True) -> Rewritten:
    """Return the call with the token, and with the options that the task's rules need.

    The job outlives lost nodes (``tolerate_node_failures``) where the rules act on lost nodes. The user's own
    options stay; as in qsub itself, options of the call override options of the script.

    Args:
        call: the workflow manager's call.
        text: the script's text, of which the ``#PBS`` lines are read.
        wrapped: the options in the wrapped script.
        token: the submission's token.
        spares: whether to ask for the spare nodes.

    Raises UsageError for ``#PBS`` lines that qsub would refuse.
    """
    said = (*directives(text), *call.options)
    resources = resources_said(said)
    changes: dict[str, str] = {}
    notices: list[str] = []
    count = wrapped.spares if spares else 0
    if count:
        grown = _grown(resources, count)
        if isinstance(grown, str):
            notices.append(f"whesl: {wrapped.task}: {grown}, so no spare node is added")
            count = 0
        else:
            changes = grown
    words: list[str] = []
    for option, value in call.options:
        if option == "-l":
            kept = [part for part in parts(value) if part.partition("=")[0].strip() not in changes]
            words += ["-l", ",".join(kept)] if kept else []
        elif option != "-v":
            words += [option, *([value] if value else [])]
    words += [word for key, value in changes.items() for word in ("-l", f"{key}={value}")]
    if wrapped.keeps and not any(option == "-W" and _OUTLIVES.search(value) for option, value in said):
        words += ["-W", "tolerate_node_failures=all"]
    if not any(option == "-N" for option, _ in said):
        # qsub would name the job after the wrapped copy.
        words += ["-N", name(posixpath.basename(wrapped.source or call.script))]
    # Only qsub's last list of variables counts; variables without a value come from qsub's environment.
    variables = [value for option, value in said if option == "-v"][-1:]
    words += ["-v", ",".join([*variables, f"{TOKEN}={token}", GRANTED_SPARES, REQUEUE_SAID])]
    again = [value for option, value in said if option == "-r"]
    requeue = {"y": YES, "n": NO}.get(again[-1], NOTHING) if again else NOTHING
    return Rewritten(
        words=(*words, call.script),
        spares=count,
        nodes=node_count(changes) if count else 0,
        requeue="" if wrapped.observe else requeue,
        notices=tuple(notices),
    )


def node_count(resources: Mapping[str, str]) -> int:
    """Return the largest number of nodes that a job may get: one for each chunk. Raises UsageError."""
    if old := resources.get("nodes"):
        counts = [re.match(r"\d+", part) for part in old.split("#")[0].split("+")]
        return sum(int(count[0]) if count else 1 for count in counts)
    return sum(chunk.count for chunk in parse(resources.get("select", "1")))


def resources_said(said: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return a job's resources (``-l``) by name; the last value of each resource counts."""
    pairs = [part.partition("=") for option, value in said if option == "-l" for part in parts(value)]
    return {key.strip(): value.strip() for key, _, value in pairs}


def _grown(resources: Mapping[str, str], spares: int) -> dict[str, str] | str:
    """Return the resources with the spare nodes added, or the reason why no nodes can be added.

    Only in a scattered job (``place=scatter``) each chunk is surely a node of its own.
    """
    if old := resources.get("nodes"):
        found = _OLD_NODES.fullmatch(old)
        if not found:
            return "its nodes are of several kinds (-l nodes)"
        return {"nodes": f"{int(found[1]) + spares}{found[2]}"}
    select = resources.get("select")
    if select is None and (strange := [key for key in resources if key not in _OF_NO_NODE]):
        return f"it asks for {strange[0]}, and does not say how many nodes it needs (-l select)"
    try:
        chunks = parse(select or "1")
    except UsageError as error:
        return error.message
    if len({chunk.resources for chunk in chunks}) > 1:
        return "its chunks are of several kinds"
    if any(key in ("host", "vnode") for key, _ in chunks[0].resources):
        return "it names its nodes"
    asked = sum(chunk.count for chunk in chunks)
    arrangement, *sharing = resources.get("place", "free").split(":")
    if arrangement not in ("free", "pack", "scatter", "vscatter"):
        arrangement, sharing = "free", [arrangement, *sharing]
    if asked > 1 and arrangement != "scatter":
        return "several of its chunks may be on one node (no -l place=scatter)"
    grown = {"select": written((Chunk(asked + spares, chunks[0].resources),))}
    if arrangement != "scatter":
        grown["place"] = ":".join(("scatter", *sharing))
    return grown
