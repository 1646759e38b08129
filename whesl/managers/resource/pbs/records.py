"""What PBS's commands print, as records. Pure.

``qstat -f -F json`` and ``pbsnodes -a -v -F json``: qstat(1B), pbsnodes(8B) of openpbs 23.06.
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

# The variable holds the token of a submission of WHESL. A job that is submitted from inside another one
# inherits the variable (qsub -V), but not the arguments of the submission.
TOKEN = "WHESL_SUBMISSION"  # noqa: S105 - a variable's name
SEPARATOR = "\x1e"
_TOKEN = re.compile(rf"(?:^|[\s,]){TOKEN}=([^\s,]+)")
# Some releases print what looks like a number as one: JSON allows no zero in front, and no other word.
_BARE = re.compile(r'(":\s*)([-+]?[0-9.][^\s,}\]"]*|[-+]?(?:inf|nan)\w*)(?=\s*[,}\]\n])', re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_PART = re.compile(r"^([^/*:+()]+)")
# Which state of its virtual nodes a host is told to be in: the worst.
_WORST = (NodeState.DOWN, NodeState.UNKNOWN, NodeState.DRAINED, NodeState.UP)


def parsed(text: str, what: str) -> dict[str, Any]:
    """Return the objects of a command's output, by name: ``Jobs``, ``nodes`` or ``Queue``.

    Args:
        text: what was printed.
        what: which of them.

    Raises CouldNotObserveError for what is no such output.
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
    """Return jobs' attributes by id, of ``qstat -f -F dsv`` with ``SEPARATOR`` between them.

    As JSON, qstat of openpbs 23.06 prints the first of several jobs alone.
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
        job: its id.
        told: its attributes.
        lost: the nodes that are down.
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
        # A job that waits has run as often as it was started; one that runs or has ended, once more.
        restarts=runs if letter in ("Q", "H", "W", "T") else max(runs - 1, 0),
        exit_code=states.shell_status(status) if state.ended else None,
        submitted=seconds(told.get("ctime")),
        started=seconds(told.get("stime")),
        ended=(seconds(told.get("obittime")) or seconds(told.get("mtime"))) if state.ended else 0.0,
    )


def token_of(told: Mapping[str, Any]) -> str:
    """Return the token of a submission of ours, '' for any other job."""
    words = told.get("Submit_arguments")
    found = _TOKEN.search(words) if isinstance(words, str) else None
    return found[1] if found else ""


def hosts(text: str) -> tuple[str, ...]:
    """Return the hosts of ``exec_host`` (``n01/0*2+n02/1``) or ``exec_vnode``, each once, in order."""
    found = (_PART.match(part.strip(" ()")) for part in text.split("+"))
    return tuple(dict.fromkeys(match[1] for match in found if match))


def host_of(vnode: str, told: Mapping[str, Any]) -> str:
    """Return the host of a virtual node, as PBS's users name it."""
    available = told.get("resources_available")
    host = available.get("host") if isinstance(available, dict) else None
    return str(host or told.get("Mom") or vnode)


def nodes(text: str) -> list[NodeRecord]:
    """Return the hosts of ``pbsnodes -a -v -F json``; of several virtual nodes the worst state."""
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
    """Return how many hosts take a job now and have none.

    Args:
        text: of ``pbsnodes -a -v -F json``.
        queue: hosts that are kept for another queue do not count.
    """
    there: dict[str, bool] = {}
    for vnode, told in parsed(text, "nodes").items():
        own = str(told.get("queue") or "")
        idle = told.get("state") == "free" and not told.get("jobs") and own in ("", queue)
        host = host_of(vnode, told)
        there[host] = there.get(host, True) and idle
    return sum(there.values())


def number(value: object) -> int | None:
    """Return a whole number, however it is printed; None for anything else."""
    try:
        return int(str(value))
    except ValueError:
        return None


def seconds(text: object) -> float:
    """Return seconds since the epoch of a time as ctime(3) prints it, 0 for none."""
    try:
        return time.mktime(time.strptime(str(text), "%a %b %d %H:%M:%S %Y"))
    except (ValueError, OverflowError):
        return 0.0
