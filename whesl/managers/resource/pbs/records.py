"""Reads the output of PBS's commands. Pure: text in, records out.

Forms: ``qstat -f -F json`` and ``pbsnodes -a -v -F json``, by qstat(1B) and pbsnodes(8B) of openpbs 23.06.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

from whesl.managers.resource.pbs import states
from whesl.managers.resource.port import JobRecord, NodeRecord
from whesl.model.errors import CouldNotObserveError
from whesl.model.states import NodeState

# The variable with a submission's token. The token is read from the submission's arguments: a job that is
# submitted from inside another job inherits the variable (qsub -V), but not the arguments.
TOKEN = "WHESL_SUBMISSION"  # noqa: S105 - a variable's name
SEPARATOR = "\x1e"
_TOKEN = re.compile(rf"(?:^|[\s,]){TOKEN}=([^\s,]+)")
# A value without quotes: some releases print so whatever looks like a number, also "007" and "inf", which
# JSON does not allow.
_BARE = re.compile(r'(":\s*)([-+]?[0-9.][^\s,}\]"]*|[-+]?(?:inf|nan)\w*)(?=\s*[,}\]\n])', re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PART = re.compile(r"^([^/*:+()]+)")
# A host has the worst state of its virtual nodes, in this order.
_WORST = (NodeState.DOWN, NodeState.UNKNOWN, NodeState.DRAINED, NodeState.UP)


def parsed(text: str, what: str) -> dict[str, Any]:
    """Return the objects of a command's JSON output, by name.

    Args:
        text: the command's output.
        what: the kind of objects: ``Jobs``, ``nodes`` or ``Queue``.

    Raises CouldNotObserveError for other output.
    """
    try:
        told = json.loads(text, strict=False)
    except ValueError:
        try:
            told = json.loads(_BARE.sub(_quoted, text), strict=False)
        except ValueError as error:
            raise CouldNotObserveError(f"PBS printed no JSON: {error}") from None
    found = told.get(what, {}) if isinstance(told, dict) else None
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        raise CouldNotObserveError(f"PBS printed no {what}: {text[:80]!r}")
    return found


def _quoted(match: re.Match[str]) -> str:
    value = match[2]
    return match[0] if _NUMBER.fullmatch(value) else f"{match[1]}{json.dumps(value)}"


def listed(text: str) -> dict[str, dict[str, str]]:
    """Return jobs' attributes by the jobs' ids, from ``qstat -f -F dsv -D SEPARATOR``.

    JSON would not do: qstat of openpbs 23.06 prints only the first of several jobs as JSON.
    """
    found = {}
    for part in re.split(r"(?m)^Job Id: ", text)[1:]:
        job, *fields = part.rstrip("\n").split(SEPARATOR)
        pairs = (field.partition("=") for field in fields)
        found[job.strip()] = {name: value for name, _, value in pairs}
    return found


def job_record(job: str, told: Mapping[str, Any], lost: Iterable[str] = ()) -> JobRecord:
    """Return a job's record.

    Args:
        job: the job's id.
        told: the job's attributes by qstat.
        lost: the names of nodes that are down.
    """
    letter, status = str(told.get("job_state", "")), number(told.get("Exit_status"))
    substate = number(told.get("substate"))
    state = states.job_state(letter, substate, status)
    nodes = hosts(str(told.get("exec_host", "")))
    runs = number(told.get("run_count")) or 0
    first = nodes[0] if nodes else ""
    return JobRecord(
        id=job,
        token=token_of(told),
        name=str(told.get("Job_Name", "")),
        state=state,
        raw_state=f"{letter}{'' if substate is None else substate}",
        reason=str(told.get("comment", "")),
        nodes=nodes,
        batch_host=first,
        batch_host_lost=not state.ended and first in set(lost),
        suspended=letter in states.SUSPENDED,
        # run_count counts starts: the present or last run of a running or ended job is no restart.
        restarts=runs if letter in ("Q", "H", "W", "T") else max(runs - 1, 0),
        exit_code=states.shell_status(status) if state.ended else None,
        submitted=seconds(told.get("ctime")),
        started=seconds(told.get("stime")),
        ended=(seconds(told.get("obittime")) or seconds(told.get("mtime"))) if state.ended else 0.0,
    )


def token_of(told: Mapping[str, Any]) -> str:
    """Return the token of a job that WHESL submitted, '' for any other job."""
    words = told.get("Submit_arguments")
    found = _TOKEN.search(words) if isinstance(words, str) else None
    return found[1] if found else ""


def hosts(text: str) -> tuple[str, ...]:
    """Return the hosts in an ``exec_host`` (``n01/0*2+n02/1``) or ``exec_vnode``, each once, in order."""
    found = (_PART.match(part.strip(" ()")) for part in text.split("+"))
    return tuple(dict.fromkeys(match[1] for match in found if match))


def host_of(vnode: str, told: Mapping[str, Any]) -> str:
    """Return the host of a virtual node, by the name that PBS's users see.

    Args:
        vnode: the virtual node's name.
        told: the virtual node's attributes by pbsnodes.
    """
    available = told.get("resources_available")
    host = available.get("host") if isinstance(available, dict) else None
    return str(host or told.get("Mom") or vnode)


def nodes(text: str) -> list[NodeRecord]:
    """Return the hosts in ``pbsnodes -a -v -F json``, each with the worst state of its virtual nodes."""
    found: dict[str, NodeRecord] = {}
    for vnode, told in parsed(text, "nodes").items():
        host, raw = host_of(vnode, told), str(told.get("state", ""))
        one = NodeRecord(
            name=host, state=states.node_state(raw), raw_state=raw, reason=str(told.get("comment", ""))
        )
        known = found.get(host)
        if known is None or _WORST.index(one.state) < _WORST.index(known.state):
            found[host] = one
    return list(found.values())


def free(text: str, queue: str) -> int:
    """Return how many hosts are free and have no job.

    Args:
        text: the output of ``pbsnodes -a -v -F json``.
        queue: the queue that wants the hosts; hosts that are reserved for another queue do not count.
    """
    there: dict[str, bool] = {}
    for vnode, told in parsed(text, "nodes").items():
        own = str(told.get("queue") or "")
        idle = told.get("state") == "free" and not told.get("jobs") and own in ("", queue)
        host = host_of(vnode, told)
        there[host] = there.get(host, True) and idle
    return sum(there.values())


def number(value: object) -> int | None:
    """Return a whole number from an attribute of any type; None for other values."""
    try:
        return int(str(value))
    except ValueError:
        return None


def seconds(text: object) -> float:
    """Return seconds since the epoch from a time in the form of ctime(3), 0 for other values."""
    try:
        return time.mktime(time.strptime(str(text), "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return 0.0
