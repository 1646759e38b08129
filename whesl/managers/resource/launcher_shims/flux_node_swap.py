"""The arguments of ``flux`` in a task's script, rewritten so that its jobs run on the nodes in use. Pure.

Variables that are read besides those of ``launcher_node_swap``:

* ``WHESL_FLUX_URI``: the instance that the task runs in. In a nested instance (``FLUX_URI`` differs) nothing
  is rewritten: all its nodes are nodes in use, and it has ranks of its own;
* ``WHESL_FLUX_RANKS``: the rank of each node of the task's instance (``told_ranks``).

Constraints have the form of RFC 35 of Flux (``--requires``, terms ``host:`` and ``rank:``); Flux joins
several by *and*.
"""

from __future__ import annotations

import re

from whesl.managers.resource.launcher_shims.flux_options import SUBMITTING, parse, split
from whesl.managers.resource.launcher_shims.nodes_in_use import LONG, TOKEN, Nodes
from whesl.model.hostlist import compress, expand, idset, ranges

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whesl.managers.resource.launcher_shims.launcher_options import Line, Option

INSTANCE = "WHESL_FLUX_URI"
RANKS = "WHESL_FLUX_RANKS"
# The variable that shows that ``flux run`` is unchanged by plug-ins; read by ``flux_run_direct_submission``.
PLAIN = "WHESL_FLUX_PLAIN"
# Seconds between two commits of a job's output to Flux's store; Flux's default of 0.5 delays every line.
QUICK = "--setopt=output.batch-timeout=0.01"
_TERM = re.compile(r"\b(hosts?|hostlist|ranks?):([\w.,\[\]-]+)")
_ENVIRONMENT = ("env", "env-remove", "env-file")


def rewrite_flux(argv: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the arguments of ``flux``, rewritten so that its jobs run on the nodes in use.

    Args:
        argv: the arguments that the user's script gave.
        environ: the environment (module docstring).

    Arguments that are not understood stay unchanged.
    """
    words = list(argv)
    found = split(words)
    if found is None or not environ.get(INSTANCE) or environ.get("FLUX_URI") != environ[INSTANCE]:
        return words
    before, command, arguments = found
    try:
        nodes = Nodes(environ)
        ranks = ranks_of(environ.get(RANKS, ""))
        if not nodes.active:
            return words
        if command in SUBMITTING:
            line = parse(command, arguments)
            if line.has("help", "list-plugins"):
                return words
            # flux run prints the job's output, so its delay counts; the user's own options come later and
            # override.
            quick = [QUICK] if command == "run" else []
            return [*before, command, *quick, *_submission(line, nodes, ranks, environ)]
        if command == "exec":
            return [*before, command, *_exec(parse(command, arguments), nodes, ranks)]
        return [*before, *_view(command, arguments, nodes, ranks, in_job="FLUX_JOB_ID" in environ)]
    except ValueError:
        pass
    return words


def told_ranks(ranks: Mapping[str, int]) -> str:
    """Return each node's rank as a variable's value: ``n01=0,n02=1``; ``n[01-02]=0-1`` where that is long."""
    text = ",".join(f"{node}={rank}" for node, rank in ranks.items())
    return text if len(text) <= LONG else f"{compress(ranks)}={ranges([*map(str, ranks.values())])}"


def ranks_of(text: str) -> dict[str, int]:
    """Return the rank of each node from what ``told_ranks`` returns. Raises ValueError for other text."""
    if "[" in text:
        nodes, _, numbers = text.rpartition("=")
        ranks = (int(rank[1:]) for rank in expand(f"r[{numbers}]"))
        return dict(zip(expand(nodes), ranks, strict=True))
    pairs = (item.partition("=") for item in text.split(",") if item)
    return {node: int(rank) for node, _, rank in pairs}


def constraint(nodes: Sequence[str], ranks: Mapping[str, int]) -> str:
    """Return the constraint that confines a job to some nodes: by ranks where all are known, else by names.

    Args:
        nodes: the nodes' names.
        ranks: the known ranks by the nodes' names.
    """
    if ranks and all(node in ranks for node in nodes):
        return f"rank:{','.join(str(rank) for rank in sorted(ranks[node] for node in nodes))}"
    return f"host:{compress(nodes)}"


def marks(environ: Mapping[str, str]) -> list[str]:
    """Return the options that put the attempt's token and the node's name into a job's environment.

    By these two variables the attempt's processes are found. The job shell fills in the node's name
    (``{{node.name}}``), because the script's environment has the name of the script's node.
    """
    words = [f"--env={TOKEN}"] if TOKEN in environ else []
    return [*words, "--env=SLURMD_NODENAME={{node.name}}"] if environ.get("SLURMD_NODENAME") else words


def _submission(line: Line, nodes: Nodes, ranks: Mapping[str, int], environ: Mapping[str, str]) -> list[str]:
    words = [f"--requires={constraint(nodes.active, ranks)}"]
    rules = [place for place, option in enumerate(line.options) if option.name in _ENVIRONMENT]
    last = rules[-1] if rules else -1
    if last < 0:
        words += marks(environ)
    for place, option in enumerate(line.options):
        words += _translated(option, nodes, ranks) if option.name in ("requires", "require") else option.words
        if place == last:
            # Flux applies environment rules in order: the marks come after a rule that empties the
            # environment.
            words += marks(environ)
    return [*words, *line.rest]


def _translated(option: Option, nodes: Nodes, ranks: Mapping[str, int]) -> Sequence[str]:
    """Return the words of a user's constraint, with each replaced node's name or rank translated."""
    if option.value is None:
        return option.words
    changed = _TERM.sub(lambda term: _term(term[1], term[2], nodes, ranks), option.value)
    return option.words if changed == option.value else (f"--requires={changed}",)


def _term(operator: str, operand: str, nodes: Nodes, ranks: Mapping[str, int]) -> str:
    if operator.startswith("host"):
        names = expand(operand)
        now = [nodes.current(name) for name in names]
        return f"{operator}:{operand if list(names) == now else compress(list(dict.fromkeys(now)))}"
    return f"{operator}:{_rank_set(operand, nodes, ranks)}"


def _rank_set(text: str, nodes: Nodes, ranks: Mapping[str, int]) -> str:
    """Return a set of ranks (RFC 22), with each replaced node's rank translated."""
    names = {rank: node for node, rank in ranks.items()}
    before = idset(text)
    after = [ranks.get(nodes.current(names[rank]), rank) if rank in names else rank for rank in before]
    return text if after == before else ",".join(map(str, sorted(set(after))))


def _view(
    command: str, arguments: list[str], nodes: Nodes, ranks: Mapping[str, int], *, in_job: bool
) -> list[str]:
    """Return a command's words, changed so that a command which lists nodes lists the nodes in use."""
    names = compress(nodes.active)
    if command == "getattr" and arguments == ["hostlist"]:
        return ["hostlist", names]
    if command == "getattr" and arguments == ["size"]:
        return ["hostlist", "--count", names]
    if command == "resource" and arguments[:1] in (["list"], ["status"]):
        line = parse(command, arguments[1:])
        if not (line.has("include", "help") or line.rest):
            target = constraint(nodes.active, ranks).partition(":")[2]
            # With --include alone, list leaves out states without nodes.
            whole = [] if line.has("skip-empty") or arguments[0] == "status" else ["--no-skip-empty"]
            return [command, arguments[0], f"--include={target}", *whole, *arguments[1:]]
    if command == "hostlist":
        words: list[str] = []
        sources: list[str] = []
        rest: Sequence[str] = arguments
        while rest:
            line = parse(command, rest)
            words += line.without("local")
            sources += line.rest[:1] or (["local"] if line.has("local") and not sources else [])
            rest = line.rest[1:]
        # In a job of the instance, local is that job.
        shown = ("instance",) if in_job else ("instance", "local", "avail", "available")
        return [command, *words, *(names if source in shown else source for source in sources)]
    return [command, *arguments]


def _exec(line: Line, nodes: Nodes, ranks: Mapping[str, int]) -> list[str]:
    """Return the words of ``flux exec`` on the nodes in use; with ``--jobid``, the words stay unchanged."""
    words = [*line.without(), *line.rest]
    if not ranks or line.has("jobid", "attach", "help"):
        return words
    given = line.value("rank")
    if given is None or given == "all":
        wanted = ",".join(str(rank) for rank in sorted(ranks[n] for n in nodes.active if n in ranks))
    else:
        wanted = _rank_set(given, nodes, ranks)
    return [f"--rank={wanted}", *line.without("rank"), *line.rest]
