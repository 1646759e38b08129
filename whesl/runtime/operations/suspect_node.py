"""Finds the node at fault from evidence alone. Pure.

The most specific evidence wins; two different nodes at the same level give no answer. A wrong replacement
costs a spare and leaves the faulty node in use, so "unknown" is a valid answer, which rules can handle. Only
lost nodes do not contradict each other: the first one is the answer; each other one is a separate exception,
or is left out when the next attempt is placed.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence

import msgspec

from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Evidence
from whesl.model.hostlist import expand
from whesl.model.workflow import Grade

# The strength of kinds of evidence about the node at fault; a higher number overrules all lower ones.
LOST = 90  # WHESL's agents or the resource manager report the node as lost
NAMED = 80  # captured by the user's own pattern
FAILED = 70  # scheduler or launcher reports that the node failed or was lost
STUCK = 65  # WHESL's agent saw that the program's processes cannot run on the node
PEER = 60  # a peer on the node did not answer
DIED = 50  # a process on the node died; its siblings are often killed in consequence
REPORTED = 20  # the node reported an error, which it may not have caused

_HOST = r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)"
_HOSTS = r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[0-9,-]+\][A-Za-z0-9._-]*)?)"


class Wording(msgspec.Struct, frozen=True, kw_only=True):
    """A form in which a program names a node: ``sample`` is a real line, ``near_miss`` must not match."""

    source: str
    pattern: str
    level: int
    sample: str
    near_miss: str


WORDINGS: tuple[Wording, ...] = (
    Wording(
        source="Slurm srun: node failure",
        pattern=rf"\bsrun: error: Node failure on {_HOSTS}",
        level=FAILED,
        sample="srun: error: Node failure on n02",
        # ON names the first node of the step here, not the failed node.
        near_miss="slurmstepd: error: *** STEP 12.0 ON n02 CANCELLED AT 2026-01-02T03:04:05 DUE TO NODE "
        "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
    ),
    Wording(
        source="Slurm srun: launch failed",
        pattern=rf"\bsrun: error: Task launch for \S+ failed on node {_HOST}:",
        level=FAILED,
        sample="srun: error: Task launch for StepId=1.0 failed on node n02: Communication connection failure",
        near_miss="srun: error: Application launch failed: Communication connection failure on node n02",
    ),
    Wording(
        source="Slurm srun: task ended",
        pattern=rf"\bsrun: error: {_HOSTS}: tasks? [0-9,-]+: (?!Out Of Memory)\S",
        level=DIED,
        sample="srun: error: n02: task 1: Killed",
        near_miss="srun: Job step aborted: Waiting up to 32 seconds for job step to finish on n02.",
    ),
    Wording(
        source="Slurm PMIx plugin",
        pattern=rf"\bmpi/pmix\S{{0,40}}:(?: \S{{1,80}}:)? {_HOST} \[\d+\]: \S+ (?:\[_errhandler\] )?",
        level=DIED,
        sample="slurmstepd: error:  mpi/pmix_v4: _errhandler: n02 [0]: pmixp_client_v2.c:211: Error handler "
        "invoked: status = -61, source = [slurm.pmix.12.0:1]",
        near_miss="slurmstepd: error: mpi/pmix_v4: n02 is only mentioned here",
    ),
    Wording(
        source="Flux: job shell lost",
        pattern=rf"\blost contact with job shell on (?:broker )?{_HOST} \((?:shell )?rank \d+\)",
        level=FAILED,
        sample="job.exception type=node-failure severity=2 lost contact with job shell on n02 (shell rank 1)",
        near_miss="flux-job: task(s) exited with exit code 1 on n02 (shell rank 1)",
    ),
    Wording(
        source="Flux: broker lost",
        pattern=rf"\bbroker\.err\[\d+\]: (?:broker on )?{_HOST} \(rank \d+\) "
        r"(?:has been unresponsive|transitioning to LOST)",
        level=FAILED,
        sample="broker.err[0]: broker on n02 (rank 1) has been unresponsive for 31.9987s",
        # A parent broker sends this to its child; the parent is not at fault.
        near_miss="broker.crit[2]: n02 (rank 0) sent disconnect control message",
    ),
    Wording(
        source="Open MPI, PRRTE: daemon lost",
        pattern=rf"\bRemote daemon: \[[^]\s]*\]?(?:,\d+\])? on node {_HOST}",
        level=FAILED,
        sample="  Remote daemon: [[16919,0],3] on node n02",
        near_miss="  HNP daemon   : [[16919,0],0] on node n02",
    ),
    Wording(
        source="Open MPI, PRRTE: process ended",
        pattern=rf"\bnoticed that process rank \d+ with PID \d+ on node {_HOST} exited on(?: signal|$)",
        level=DIED,
        sample="mpirun noticed that process rank 1 with PID 4711 on node n02 exited on signal 9 (Killed).",
        near_miss="Abort(1) on node 2 (rank 2 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 1)",
    ),
    Wording(
        source="Open MPI: peer",
        pattern=rf"\bPeer (?:host|hostname|node)\s*:\s*{_HOST}",
        level=PEER,
        sample="  Peer host:  n02",
        near_miss="  Local host: n02",
    ),
    Wording(
        source="Open MPI: reporting process",
        pattern=rf"^\[{_HOST}:\d+\] \*\*\* (?:An error occurred in MPI_|Process received signal)",
        level=REPORTED,
        sample="[n02:12345] *** An error occurred in MPI_Allreduce",
        near_miss="[n02:12345] 3 more processes have sent help message help-mpi-errors.txt",
    ),
    Wording(
        source="MPICH, Intel MPI: bad termination",
        pattern=rf"^=\s+(?:RANK \d+ )?PID \d+ RUNNING AT {_HOST}",
        level=DIED,
        sample="=   RANK 1 PID 65033 RUNNING AT n02",
        near_miss="=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES AT n02",
    ),
    Wording(
        source="Hydra: proxy",
        pattern=rf"^\[proxy:\d+(?::\d+)?@{_HOST}\] .*(?:assert|failed)",
        level=DIED,
        sample="[proxy:0:1@n02] HYD_pmcd_pmip_control_cmd_cb (pmip_cb.c:878): assert (!closed) failed",
        near_miss="[mpiexec@n02] control_cb (pm/pmiserv/pmiserv_cb.c:208): assert (!closed) failed",
    ),
    Wording(
        source="Hydra: host unreachable",
        pattern=rf"\bunable to connect (?:from \"[^\"]*\" )?to \"{_HOST}\"",
        level=FAILED,
        sample='[proxy:0:0@n01] HYDU_sock_connect: unable to connect from "n01" to "n02" (refused)',
        near_miss='[proxy:0:0@n01] connected from "n01" to "n02"',
    ),
)
_COMPILED = tuple((wording, re.compile(wording.pattern, re.MULTILINE)) for wording in WORDINGS)
# Bounds on the work that job output can cause, since anyone who controls the output could attack WHESL.
_MOST_TEXT = 65_536  # characters of one piece of evidence
_MOST_NAMES = 65_536  # hosts, over all evidence
_NAMES = ("node", "host", "hostname", "nodename")
_LOSSES = ("heartbeat", "node")  # kinds of evidence


class Suspect(msgspec.Struct, frozen=True, kw_only=True):
    """The node at fault, or "" when it is unknown; ``because`` says why in either case.

    ``level`` is the level of the decisive evidence.
    """

    node: str = ""
    because: str
    level: int = 0


def grade_of(level: int) -> Grade:
    """Return the grade of a bad node that belongs to a level of evidence."""
    if level >= LOST:
        return Grade.LOST
    return Grade.BLAMED if level >= FAILED else Grade.SUSPECTED


def find_suspect(
    evidence: Sequence[Evidence],
    nodes: NodeSet,
    silent: Iterable[str] = (),
) -> Suspect:
    """Return the node that is at fault according to the evidence.

    Args:
        evidence: the pieces of evidence.
        nodes: the nodes of the allocation. A node that is out of use counts where it was lost only now, as
            the node of the job's script may be, and no other node is to blame.
        silent: nodes that WHESL's agents or the resource manager call lost.
    """
    known = _Names([*nodes.active, *nodes.spares])
    found: dict[int, dict[str, str]] = {}
    left = _MOST_NAMES

    def blame(level: int, name: str, because: str) -> None:
        node = known.match(name)
        if node:
            found.setdefault(level, {}).setdefault(node, because)

    for item in evidence:
        if item.kind in _LOSSES and item.node:
            blame(LOST, item.node, f"{item.node} was lost")
        elif item.kind == "job-exception" and item.node:
            blame(FAILED, item.node, f"{item.node} is named by the resource manager: {item.detail[:120]}")
        elif item.kind in ("external", "predicted") and item.node:
            blame(NAMED, item.node, f"{item.node} is named: {item.detail[:120]}")
        elif item.kind == "stuck" and item.node:
            blame(STUCK, item.node, f"on {item.node}: {item.detail[:120]}")
        for name in _NAMES:
            if item.captures.get(name):
                blame(NAMED, item.captures[name], f"captured as {name}")
        text = f"{item.line}\n{item.detail}"[:_MOST_TEXT]
        for wording, pattern in _COMPILED:
            for match in pattern.finditer(text):
                hosts = _expanded(match.group("host"))
                left -= len(hosts)
                if left < 0:
                    return Suspect(because=f"unknown: the evidence names more than {_MOST_NAMES} hosts")
                because = f"{wording.source}: {_line_of(match)}"
                for host in hosts:
                    blame(wording.level, host, because)
    for name in silent:
        # A silent spare cannot cause the failure of a task that does not use it.
        if match_node(name, nodes.active):
            blame(LOST, name, f"{name} is silent")
    if not found and len(nodes.active) == 1 and any(item.kind == "cause" for item in evidence):
        blame(REPORTED, nodes.active[0], "the task uses no other node")
    if not found:
        for item in evidence:
            if item.kind in _LOSSES and (node := match_node(item.node, nodes.lost)):
                return Suspect(node=node, because=f"{node} was lost", level=LOST)
        return Suspect(because="unknown: the evidence names no node of the allocation")
    level = max(found)
    if len(found[level]) > 1 and level < LOST:
        names = ", ".join(sorted(found[level]))
        return Suspect(because=f"unknown: the evidence names several nodes ({names})")
    node, because = next(iter(found[level].items()))
    return Suspect(node=node, because=because, level=level)


def _line_of(match: re.Match[str]) -> str:
    start = match.string.rfind("\n", 0, match.start()) + 1
    return match.string[start:].partition("\n")[0].strip()[:200]


def match_node(name: str, known: Sequence[str]) -> str:
    """Return the known node of a name, "" for none: an exact match, else a match of short host names.

    An address is never shortened. A short name that matches two nodes means neither.

    Args:
        name: the name of a host.
        known: names of known nodes.
    """
    return _Names(known).match(name)


class _Names:
    """An index of known nodes by name, since a log may name tens of thousands of hosts."""

    def __init__(self, known: Sequence[str]) -> None:
        self._exact: dict[str, str] = {}
        self._short: dict[str, list[str]] = {}
        for node in known:
            self._exact.setdefault(node.lower(), node)
            self._short.setdefault(shorten(node), []).append(node)

    def match(self, name: str) -> str:
        """Return the known node of a name, as ``match_node`` does."""
        wanted = name.strip().rstrip(".").lower()
        if wanted in self._exact:
            return self._exact[wanted]
        alike = self._short.get(shorten(wanted), ())
        short = [node for node in alike if _same_domain(node.lower(), wanted)]
        return short[0] if len(short) == 1 else ""


def _same_domain(one: str, other: str) -> bool:
    """Whether two names may be one host: n1.a and n1.b are two hosts; n1 and n1.a may be one."""
    return "." not in one or "." not in other


def shorten(name: str) -> str:
    """Return a host name's first label in lower case; an address as it is."""
    lowered = name.lower()
    try:
        ipaddress.ip_address(lowered)
    except ValueError:
        return lowered.partition(".")[0]
    return lowered


def _expanded(hosts: str) -> tuple[str, ...]:
    """Return the names of a host list; a malformed or too long one is one name, which matches no node."""
    try:
        return expand(hosts)
    except ValueError:
        return (hosts,)
