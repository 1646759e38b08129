"""The rank, node, device and path of a cause, from its own line and other lines of the log. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from whesl.model.evidence import CauseClass
from whesl.runtime.diagnose.diagnosis_records import Finding, Observed
from whesl.runtime.diagnose.prepared_knowledge import words
from whesl.runtime.diagnose.vocabulary import Role

_STACKS = frozenset({"mpi.mpi-error", "mpi.mpi-init", "applications.charm"})
_ABORTS = "mpi.mpi-abort"
_BELOW = frozenset({"general.local-host", "general.rank-host"})
_WATCHDOGS = frozenset({"torch.nccl-peer", "torch.watchdog-terminated"})
_BESIDE = frozenset({"general.named-beside"})
_JOB_HOST = "general.job-host"
_STACK = 12  # greatest number of lines of an MPI error, or of a launcher's message that ends with the host
_CLOSE = 5  # greatest number of lines of one message
_ONE_HOST = re.compile(r"\bexec_host=(?P<node>[\w.-]+)/[^+\s,]+(?=[\s,]|$)")  # PBS
_TASKS = re.compile(r"srun: error: (?P<node>\S+): tasks? (?P<ranks>[\d,-]+): ")

# Expressions for nodes, ranks, devices and paths in messages; the first one that matches is used.
_HOST = r"(?=[\w.-]*\d)[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*"
_ADDRESS = r"\d{1,3}(?:\.\d{1,3}){3}"
_NODES = (
    re.compile(r"\bon Pe \d+ \((?P<node>\S+) device"),
    re.compile(rf"^(?:\[[\w-]+\] )?(?P<node>{_HOST}) dmesg: "),
    re.compile(r"\(TID \d+(?:, |\) \()(?P<node>[\w.-]+),? executor \S+\)"),
    # Unambiguous names of nodes in Cray's and HPE's systems.
    re.compile(r"\b(?P<node>nid\d{5,8}|x\d+c\d+s\d+b\d+n\d+|r\d+i\d+n\d+)\b"),
    re.compile(
        rf"(?i)\b(?:host(?:name)?|v?nodes?|node ?name|machine|server|worker ip address|ip)\b(?: name)?"
        rf"\W{{1,3}}(?:is )?(?P<node>{_HOST}|{_ADDRESS}|[a-z][a-z0-9-]*\[\d+)"
    ),
    re.compile(rf"(?i)\b(?:on|at|of|from|by|to|with) [\"'`(]?(?P<node>{_HOST})(?![\w/(])"),
    re.compile(rf"(?i)[(\[](?P<node>{_HOST})[)\]]:? "),
    re.compile(rf"(?i)^(?P<node>{_HOST}) [(\[]?(?:rank|pe|task|proc(?:ess)?)\b"),
    re.compile(rf"(?i)\btcp://(?P<node>{_ADDRESS}):\d"),
)
_RANKS = (
    re.compile(r"\bon Pe (?P<rank>\d+) \("),
    re.compile(r"/replica:\d+/task:(?P<rank>\d+)\b"),
    re.compile(
        r"(?i)\b(?:(?<!local )(?<!local_)rank|MPI (?:task|process)|PET?|processor|proc) *[#=:]? *"
        r"(?P<rank>\d+)\b(?! (?:of|ranks)\b)"
    ),
    re.compile(r"(?i)\b(?:task|process) *#? *(?P<rank>\d+) (?:on|of)\b"),
)
_DEVICES = (
    re.compile(r"(?i)\b(?:PCI:?|GPU) ?(?P<device>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.\d)?)\b"),
    re.compile(
        r"(?i)\b(?:gpu|cuda|hip|device|accelerator)(?: node)?(?: id)? ?[-:#=_]? ?"
        r"(?P<device>\d{1,2})\b(?![.:]\d)"
    ),
)
# Names that only devices have.
_NAMED_DEVICES = (
    re.compile(r"\b(?P<device>mlx[45]_\d+|cxi\d+|hsn\d+|hfi1_\d+|irdma\d+|bnxt_re\d+)\b"),
    re.compile(r"\b(?P<device>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.\d)\b"),
    re.compile(r"\b(?P<device>(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b"),
    re.compile(
        r"(?:^|\bdev(?:ice)? |/dev/|\()(?P<device>[sv]d[a-z]\d*|nvme\d+n\d+(?:p\d+)?|dm-\d+)(?=[:,) ]|$)"
    ),
)
_PATHS = (
    re.compile(r"[\"'`](?P<path>\.{0,2}/[^\"'`\s]+/[^\"'`\s]+)[\"'`]"),
    re.compile(r"(?<![\w./:>-])(?P<path>/(?:[\w.@+~=%-]+/)*[\w.@+~=%-]*[\w])(?!:\d)(?=[\s:;,)\]]|$)"),
)
# A rank's own file: rank.2.out, pe-07.log, and WRF's rsl.error.0012.
_RANK_OF_FILE = re.compile(
    r"(?i)(?:^|[/._-])(?:(?:rank|task|pe|proc)[._-]?|rsl\.(?:error|out)\.)(?P<rank>\d+)(?=[._-][^/]*$|$)"
)
_OF_FILES = frozenset(
    {
        CauseClass.FULL,
        CauseClass.QUOTA,
        CauseClass.FILESYSTEM,
        CauseClass.INPUT,
        CauseClass.DEPENDENCY,
        CauseClass.CONTAINER,
    }
)
_OF_DEVICES = frozenset(
    {CauseClass.GPU, CauseClass.MEMORY_GPU, CauseClass.FABRIC, CauseClass.BUG, CauseClass.HANG}
)
Value = TypeVar("Value")


def located(cause: Finding, observed: Observed) -> Finding:
    """Return the cause with its rank and node, where the log shows them.

    The words of the cause's own line are used first, then messages on the first failed rank (a report of the
    first failure, or a launcher's first line on a failed rank), then messages on the nodes of ranks.

    Args:
        cause: the finding that is the cause.
        observed: all findings of the job.
    """
    cause = _named(cause, observed)
    rank, node = cause.rank, cause.node
    if rank is None or node is None:
        rank, node = _of_the_stack(cause, observed)
    told = [*_failed(observed), *(f for f in observed.findings if _same_kind(f, cause))]
    if rank is None and node is None and told:
        rank, node = told[0].rank, told[0].node
    if rank is not None and node is None:
        node = _first(f.node for f in told if f.rank == rank)
        node = node or _only(f.node for f in observed.findings if f.rank == rank and f is not cause)
        node = node or _only(f.node for f in told if f.rank is None)
        node = node or _first(_ran(rank, f.text) for f in observed.findings)
    if node is not None and rank is None:
        rank = _only(f.rank for f in told if f.node == node)
    of_the_file = [f for f in observed.findings if f.entry.name == _JOB_HOST and f.number == cause.number]
    node = node or _only(f.node for f in of_the_file)
    rank = _only(f.rank for f in of_the_file) if rank is None else rank
    record = observed.accounting
    if record is not None and record.cause_class is cause.entry.cause_class:
        node = record.node or node
    if node is None and record is not None and (only := _ONE_HOST.search(record.told)) is not None:
        node = only["node"]
    return msgspec.structs.replace(cause, rank=rank, node=node)


def _named(cause: Finding, observed: Observed) -> Finding:
    """Return the cause with the places named by its line, or by other lines of the same message."""
    kind = cause.entry.cause_class
    beside = [
        f
        for f in observed.findings
        if f.entry.name in _BESIDE and f.number == cause.number and abs(f.line - cause.line) <= _CLOSE
    ]
    rank = (
        (_in_words(_RANKS, cause.text) or _in_words((_RANK_OF_FILE,), cause.file))
        if cause.rank is None
        else None
    )
    device = _in_words(_DEVICES, cause.text) if kind in _OF_DEVICES else None
    named = _in_words(_NAMED_DEVICES, cause.text)
    path = _in_words(_PATHS, cause.text) if kind in _OF_FILES else None
    return msgspec.structs.replace(
        cause,
        rank=int(rank) if rank is not None else cause.rank,
        node=None if _of_the_reporter(cause) else cause.node or _in_words(_NODES, cause.text),
        # NCCL's label names the GPU, also of a message on a network card.
        device=(named if kind is CauseClass.FABRIC else None)
        or cause.device
        or device
        or named
        or _first(f.device for f in beside),
        path=cause.path or path or _first(f.path for f in beside),
    )


def _in_words(forms: Sequence[re.Pattern[str]], text: str) -> str | None:
    """Return the place that the first matching expression captures in a message; None for no match."""
    for form in forms:
        for match in form.finditer(text):
            (found,) = match.groupdict().values()
            if not words("no-host").match(found) or "node" not in form.groupindex:
                return found.replace("[", "")
    return None


def _of_the_stack(cause: Finding, observed: Observed) -> tuple[int | None, str | None]:
    """Return rank and node, by the lines of the error's stack or by the host at the end of its message."""
    for f in observed.findings:
        stack = f.entry.name in _STACKS and abs(cause.line - f.line) <= _STACK
        below = f.entry.name in _BELOW or f.entry.name == cause.entry.name
        # PyTorch's watchdog tells the rank after NCCL has told the host.
        below = below or (cause.entry.cause_class is CauseClass.FABRIC and f.entry.name in _WATCHDOGS)
        if f.number != cause.number or not (stack or (below and 0 < f.line - cause.line <= _STACK)):
            continue
        other = cause.rank is not None and f.rank not in (None, cause.rank)
        if not other and (f.rank is not None or f.node is not None):
            return (f.rank if cause.rank is None else cause.rank), cause.node or f.node
    return cause.rank, cause.node


def _same_kind(finding: Finding, cause: Finding) -> bool:
    """Whether a finding reports the same failure with a rank or node."""
    entry = finding.entry
    same = entry.role in (Role.CAUSE, cause.entry.role) and entry.cause_class is cause.entry.cause_class
    return (
        same
        and not (finding.warned or _of_the_reporter(finding))
        and (finding.rank is not None or finding.node is not None)
    )


def _of_the_reporter(finding: Finding) -> bool:
    """Whether Slurm names the node that tells of a lost node, not the lost one."""
    return "DUE TO NODE FAILURE" in finding.text


def _failed(observed: Observed) -> Sequence[Finding]:
    """Return the findings that name failed ranks or nodes, in the order of the failures."""
    account: list[Finding] = []
    host: Finding | None = None
    rooted = False
    for finding in observed.findings:
        name = finding.entry.name.rpartition(".")[2]
        rooted = rooted or name == "root-cause"
        if name == "first-host":
            host = finding
        elif name == "first-failure" and rooted:
            near = host is not None and host.number == finding.number and 0 < finding.line - host.line <= 2
            node = host.node if near and host is not None else None
            account.append(msgspec.structs.replace(finding, node=node))
            rooted = False
    summaries = [
        f
        for f in observed.findings
        if f.entry.role is Role.SYMPTOM
        and ("summary" in f.entry.name or f.entry.name == _ABORTS)
        and (f.rank is not None or f.node)
    ]
    return [*account, *summaries]


def _first(values: Iterable[Value | None]) -> Value | None:
    return next((value for value in values if value is not None), None)


def _ran(rank: int, text: str) -> str | None:
    """Return the node on which Slurm says that a rank ended."""
    match = _TASKS.search(text)
    for part in match["ranks"].split(",") if match else ():
        first, _, last = part.partition("-")
        if first and match and int(first) <= rank <= int(last or first):
            return match["node"]
    return None


def _only(values: Iterable[Value | None]) -> Value | None:
    """Return the value if there is just one."""
    found = {value for value in values if value is not None}
    return found.pop() if len(found) == 1 else None
