"""Flux's states of nodes and jobs, as records of the port. Pure.

Sources: flux-resource(1) for states of nodes, RFC 21 for states and exceptions of jobs, flux-jobs(1) for
fields.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from whesl.managers.resource.port import JobRecord
from whesl.model import hostlist
from whesl.model.errors import CouldNotObserveError, RefusedError
from whesl.model.states import JobState, NodeState

_STATES = {
    "DEPEND": JobState.PENDING,
    "PRIORITY": JobState.PENDING,
    "SCHED": JobState.PENDING,
    "RUN": JobState.RUNNING,
    "CLEANUP": JobState.COMPLETING,
}
_RESULTS = {
    "COMPLETED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "CANCELED": JobState.CANCELLED,
    "TIMEOUT": JobState.TIMEOUT,
}
# A broker's rank in a note such as "node failure on n02 (rank 1)"; a "shell rank" does not match.
_RANKS = re.compile(r"\(ranks? ([0-9,-]{1,10000})\)")
_NAMES = re.compile(r" on ([\w.,\[\]-]{1,10000}?)(?= \(|[\s:;]|$)")
_LOST = re.compile(r"node failure|lost contact|broker (?:lost|failed)", re.IGNORECASE)


def names_by_rank(hosts: Mapping[str, str]) -> dict[int, str]:
    """Return node names by rank; several brokers on one machine get names of the form ``host.RANK``.

    Raises CouldNotObserveError when ``hosts`` is not a table of ranks and names.
    """
    try:
        found = {int(rank): str(name) for rank, name in hosts.items()}
    except (ValueError, TypeError, AttributeError):
        raise CouldNotObserveError(f"flux: not a table of ranks and hosts: {str(hosts)[:80]}") from None
    names = list(found.values())
    twice = {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set()
    return {rank: f"{name}.{rank}" if name in twice else name for rank, name in sorted(found.items())}


def node_states(status: Mapping[str, Any], names: Mapping[int, str]) -> dict[str, NodeState]:
    """Return the states of nodes by name, in the view of the resource service.

    A torpid broker has been silent for a while, so that its node's state is UNKNOWN.

    Args:
        status: the answer of the bridge's operation ``status``: ranks by state.
        names: node names by rank.

    Raises CouldNotObserveError for a damaged view.
    """
    try:
        online, torpid, drained = set(status["online"]), set(status["torpid"]), set(status["drained"])
        offline = set(status["offline"])
    except (KeyError, TypeError) as error:
        raise CouldNotObserveError(f"flux: not a view of the nodes: {error}") from None

    def state(rank: int) -> NodeState:
        if rank in offline:
            return NodeState.DOWN
        if rank in torpid or rank not in online:
            return NodeState.UNKNOWN
        return NodeState.DRAINED if str(rank) in drained else NodeState.UP

    return {name: state(rank) for rank, name in names.items()}


def free_ranks(seen: Mapping[str, Any], configuration: Mapping[str, Any], queue: str) -> set[int]:
    """Return the ranks of a queue's nodes that run nothing and are neither down nor drained.

    Args:
        seen: the scheduler's view: sets of resources ``all``, ``down`` and ``allocated`` (RFC 20).
        configuration: the instance's configuration (flux-config-queues(5)).
        queue: the queue's name; '' for the default queue, or for all nodes when no queues are configured.

    Raises RefusedError for an unknown queue, CouldNotObserveError for a damaged view.
    """
    try:
        queues = configuration.get("queues", {})
        if not queue:
            system = configuration.get("policy", {}).get("jobspec", {}).get("defaults", {}).get("system", {})
            queue = system.get("queue", "")
        if (queue or queues) and queue not in queues:
            raise RefusedError(
                f"Flux has no queue {queue}" if queue else "Flux has several queues, and none is the default",
                hint=f"known: {', '.join(sorted(queues)) or 'none'}",
            )
        own = queues.get(queue, {})
        required = own.get("requires")
        if required is None:  # a virtual queue (RFC 33) has its parent's nodes
            required = queues.get(own.get("parent", ""), {}).get("requires", [])
        free = _ranks_in(seen["all"]) - _ranks_in(seen["down"]) - _ranks_in(seen["allocated"])
        for wanted in required:
            free &= ranks_of(seen["all"]["execution"].get("properties", {}).get(wanted))
    except (KeyError, TypeError, AttributeError) as error:
        raise CouldNotObserveError(f"flux: not a view of the resources: {error}") from None
    return free


def _ranks_in(resources: Mapping[str, Any] | None) -> set[int]:
    """Return the ranks of a set of resources; Flux may give an empty set as null."""
    entries = resources["execution"]["R_lite"] if resources else []
    return {rank for entry in entries for rank in ranks_of(entry["rank"])}


def changed(old: NodeState, change: str, drained: bool) -> NodeState:
    """Return a node's state after an event of the resource service's journal.

    Args:
        old: the node's state before the event.
        change: the event's name.
        drained: whether the node is drained after the event.
    """
    if change == "offline" or (old is NodeState.DOWN and change != "online"):
        return NodeState.DOWN
    if change == "torpid":
        return NodeState.UNKNOWN
    return NodeState.DRAINED if drained else NodeState.UP


def nodes_in(note: str, names: Mapping[int, str]) -> tuple[str, ...]:
    """Return the nodes that an exception's note names, by rank or by host, in the allocation's order.

    Args:
        note: the exception's note.
        names: the allocation's node names by rank, in its order.
    """
    ranks = {rank for match in _RANKS.finditer(note) for rank in ranks_of(match[1])}
    hosts: set[str] = set()
    for match in _NAMES.finditer(note):
        try:
            hosts.update(hostlist.expand(match[1]))
        except ValueError:
            continue  # an ordinary word, not a host list
    # A host's name identifies a node only when the node's name is the same, not ``host.RANK``.
    return tuple(name for rank, name in names.items() if rank in ranks or name in hosts)


def job_record(info: Mapping[str, Any], names: Mapping[int, str], lost: Collection[int]) -> JobRecord:
    """Return the record of a job.

    Args:
        info: the job-list service's record, with words for state and result, and with the submission token.
        names: node names by rank.
        lost: ranks that are offline.

    Raises CouldNotObserveError.
    """
    try:
        ranks = sorted(ranks_of(info.get("ranks")))
        nodes = tuple(names[rank] for rank in ranks)
        word = str(info["state"])
        state = _STATES.get(word, JobState.UNKNOWN)
        note = str(info.get("exception_note") or "")
        kind = str(info.get("exception_type") or "")
        if word == "INACTIVE":
            word = str(info.get("result") or word)
            state = _RESULTS.get(word, JobState.UNKNOWN)
            if state is JobState.FAILED and (kind == "node-failure" or _LOST.search(note)):
                state = JobState.NODE_FAIL
            elif state is JobState.FAILED and kind == "dependency":
                state = JobState.CANCELLED  # the job never ran, since a job that it depends on failed
        started = float(info.get("t_run") or 0.0)
        return JobRecord(
            id=str(info["id"]),
            token=str(info.get("token") or ""),
            name=str(info.get("name") or ""),
            state=state,
            raw_state=word,
            reason=f"{kind}: {note}".strip(": ") or (_waits(info) if state is JobState.PENDING else ""),
            nodes=nodes,
            batch_host=nodes[0] if nodes and started else "",
            batch_host_lost=bool(ranks) and not state.ended and ranks[0] in lost,
            exit_code=_exit_code(info.get("waitstatus")) if state.ended else None,
            submitted=float(info.get("t_submit") or 0.0),
            started=started,
            ended=float(info.get("t_inactive") or 0.0) if state.ended else 0.0,
        )
    except (KeyError, ValueError, TypeError) as error:
        raise CouldNotObserveError(f"flux: not a job's record: {error}") from None


def _waits(info: Mapping[str, Any]) -> str:
    """Return why a job waits: its dependencies, its hold, or what the scheduler says of it."""
    if dependencies := info.get("dependencies"):
        return f"dependencies: {', '.join(map(str, dependencies))}"
    if info.get("urgency") == 0:
        return "held: its urgency is 0"
    if info["state"] != "SCHED":
        return ""
    told = (info.get("annotations") or {}).get("sched", {}).get("reason_pending")
    return str(told or "waits for nodes to become free")


def _exit_code(status: Any) -> int | None:
    """Return the exit code in a wait status (waitpid(2)), -N for signal N; None when no process ran."""
    if not isinstance(status, int) or isinstance(status, bool) or status < 0:
        return None
    return -(status & 0x7F) if status & 0x7F else status >> 8


def ranks_of(idset: object) -> set[int]:
    """Return the members of an idset (RFC 22, with or without brackets); damaged parts are ignored."""
    text = str(idset or "").strip("[]")
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        if low.isdecimal() and (high.isdecimal() or not high):
            found.update(range(int(low), min(int(high or low), int(low) + hostlist.MAX_HOSTS) + 1))
    return found
