"""Rewrites the arguments of launchers in a task's script for the nodes in use. Pure; standard library only.

Variables that are read:

* ``WHESL_NODELIST``: the nodes in use (``nodes_in_use.told``); without it nothing is rewritten;
* ``WHESL_JOB``: the job that has these nodes; in another job nothing is rewritten;
* ``WHESL_SWAPPED``: a JSON object with the present node of each replaced node;
* ``WHESL_HIDDEN_NODES``: nodes of the allocation that no step may use (spares and lost nodes);
* ``WHESL_LOST_NODES``: the lost ones of the hidden nodes;
* ``WHESL_RESTART_COUNT``: the number of attempts before this one.
"""

from __future__ import annotations

from whesl.managers.resource.launcher_shims.launcher_options import (
    MPI_HOSTFILES,
    MPI_HOSTS,
    MPI_RANKFILES,
    Line,
    Option,
    joined,
    parse_mpi,
    parse_srun,
    parts,
)
from whesl.managers.resource.launcher_shims.nodes_in_use import HET_SIZE, LONG, TOKEN, Nodes, told
from whesl.model.hostlist import compress, expand

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Options with which srun starts no step in this job, or prints something and ends.
UNTOUCHED = ("help", "usage", "version", "no-allocate")
MARKED = "RSS"  # srun's name of the resource limit that carries an attempt's mark
_JOB_NUMBERS = ("SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NTASKS")
_NODE_OPTIONS = ("nodes", "nodelist", "nodefile", "exclude", "relative")


def rewrite(
    name: str,
    argv: Sequence[str],
    environ: Mapping[str, str],
    *,
    read: Callable[[str], str],
    flavour: Callable[[], str] = lambda: "openmpi",
    ordinal: int = 0,
    keep: Callable[[str], str] | None = None,
    ask: Callable[[], str] | None = None,
) -> list[str]:
    """Return a launcher's arguments (without the command's name), rewritten for the nodes in use.

    Args:
        name: the launcher: ``srun``, ``flux``, ``mpirun`` or ``mpiexec``.
        argv: the arguments that the user's script gave.
        environ: the environment (module docstring).
        read: returns a file's text (node files and host files); raises OSError.
        flavour: returns an mpirun's MPI, ``openmpi`` or ``hydra`` (MPICH, Intel); called only when needed.
        ordinal: the step's number among the running steps, by which steps on some of the nodes are spread.
        keep: writes a text to a file of the step and returns the file's path; raises OSError.
        ask: returns what the real srun prints for ``--help``; called only for an option that is not known.

    A damaged value, an unreadable file or a form that is not understood leaves the user's words unchanged:
    the real launcher then reports the error.
    """
    try:
        nodes = Nodes(environ)
        if not nodes.active:
            return list(argv)
        if name == "flux":
            from whesl.managers.resource.launcher_shims.flux_node_swap import rewrite_flux

            return rewrite_flux(argv, environ)
        if name == "srun":
            return _srun(list(argv), nodes, environ, read, ordinal, ask)
        words = _mpi(list(argv), nodes, environ, read, flavour)
        named = any(word.lstrip("-") in MPI_RANKFILES for word in words)
        if keep is None or not named or flavour() != "openmpi":
            return words
        return _with_rankfiles(words, nodes, read, keep)
    except (OSError, ValueError):
        return list(argv)


# srun ------------------------------------------------------------------------------------------


def _srun(
    argv: list[str],
    nodes: Nodes,
    environ: Mapping[str, str],
    read: Callable[[str], str],
    ordinal: int,
    ask: Callable[[], str] | None,
) -> list[str]:
    lines = [parse_srun(words, ask) for words in parts(argv)]
    job = environ.get("SLURM_JOB_ID", "")
    for line in lines:
        if not job or line.has(*UNTOUCHED) or line.value("jobid") not in (None, job):
            return argv
        if line.value("mpi") == "list":
            return argv
    used: list[str] = []
    if environ.get(HET_SIZE) and (nodes.hidden or nodes.overlap):
        of_groups = [
            (_of_group(line, group), group)
            for number, line in enumerate(lines)
            for group in _groups(line, number)
        ]
        return joined(
            [
                _component(
                    line, nodes.of_group(group, environ), _seen_by_group(group, environ), read, ordinal, used
                )
                for line, group in of_groups
            ]
        )
    return joined([_component(line, nodes, environ, read, ordinal, used) for line in lines])


def _groups(line: Line, number: int) -> list[int]:
    """Return the components of a heterogeneous job for one part of a call; srun(1), ``--het-group``.

    Without the option, each part of a call goes to the component with the part's number.
    """
    given = line.value("het-group", "pack-group")
    return sorted({int(group[1:]) for group in expand(f"g[{given}]")}) if given is not None else [number]


def _of_group(line: Line, group: int) -> Line:
    """Return a part of a call for one component."""
    options = [option for option in line.options if option.name not in ("het-group", "pack-group")]
    return Line((*options, Option("het-group", str(group), (f"--het-group={group}",))), line.rest)


def _seen_by_group(group: int, environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with the numbers of one component as those of the job; srun(1) reads them so."""
    numbers = {name: environ.get(f"{name}_HET_GROUP_{group}") for name in _JOB_NUMBERS}
    return {**environ, **{name: value for name, value in numbers.items() if value}}


def _component(
    line: Line,
    nodes: Nodes,
    environ: Mapping[str, str],
    read: Callable[[str], str],
    ordinal: int,
    used: list[str],
) -> list[str]:
    """Return the rewritten words of one component of an srun.

    Each component gets nodes of its own as long as there are some: ``used`` has the nodes of the earlier
    components, and gets this component's nodes. In a heterogeneous job without spares and lost nodes, a
    component keeps the user's nodes.
    """
    added = ["--overlap"] if nodes.overlap and not line.has("overlap") else []
    dropped = {"exclusive"} if added else set()  # srun refuses both together
    if nodes.overlap and _memory_per_cpu(line, environ):
        added.append("--mem=0")
        dropped.add("mem-per-cpu")
    export = _export(line, environ)
    if export is not None:
        added.append(f"--export={export}")
        dropped.add("export")
    propagate = _propagate(line, environ)
    if propagate is not None:
        added.append(f"--propagate={propagate}")
        dropped.add("propagate")
    whole = environ.get(HET_SIZE) and not (nodes.hidden or nodes.overlap)
    placed = None if whole else placement(line, nodes, environ, read, ordinal, used)
    if placed is not None:
        added += placed
        dropped.update(_NODE_OPTIONS)
    return [*added, *line.without(*dropped), *line.rest]


def _memory_per_cpu(line: Line, environ: Mapping[str, str]) -> bool:
    """Whether the step asks for memory per CPU, also by the job's default (DefMemPerCPU).

    A step with a lost node keeps its memory: Slurm would refuse the next step with memory per CPU for lack of
    memory, even with overlap (22.05). Slurm does not refuse steps with ``--mem=0``, all memory that the job
    has on the node, or with memory per node.
    """
    if line.has("mem-per-cpu"):
        return True
    return bool(environ.get("SLURM_MEM_PER_CPU")) and not line.has("mem", "mem-per-gpu")


def placement(
    line: Line,
    nodes: Nodes,
    environ: Mapping[str, str],
    read: Callable[[str], str],
    ordinal: int,
    used: list[str] | None = None,
) -> list[str] | None:
    """Return the options that name the step's nodes exactly; None where Slurm's own choice is as good.

    Args:
        line: srun's arguments.
        nodes: the task's nodes.
        environ: the environment.
        read: returns a file's text; raises OSError.
        ordinal: the step's number among the running steps.
        used: the nodes of the same step's earlier components; the chosen nodes are added.
    """
    named = named_nodes(line, environ, read)
    if not (nodes.hidden or nodes.overlap):
        # The user's choice is Slurm's to take, and to refuse where the job never had such nodes.
        asked = max(map(int, (line.value("nodes") or "0").split("-")))
        if asked > len(nodes.active) or named is not None or line.has("exclude", "relative"):
            return None
    exclude = line.value("exclude")
    excluded = frozenset(nodes.translate(_host_list(exclude, read)) if exclude is not None else ())
    available = [node for node in nodes.active if node not in excluded]
    taken = frozenset(used or ())
    available = [node for node in available if node not in taken] or available
    if not available:
        return None
    if named is not None and _arbitrary(line, environ):
        # An arbitrary distribution lists a node for each task, in the order of the tasks. Newer sruns refuse
        # a number of nodes beside it.
        usable = frozenset(available)
        tasks = [node for node in nodes.translate(named) if node in usable]
        count = [f"--nodes={len(set(tasks))}"] if line.has("nodes") else []
        if len(",".join(tasks)) > LONG and not (nodes.hidden or nodes.overlap):
            return None
        said = [] if line.has("distribution") else ["--distribution=arbitrary"]
        return [*count, *said, f"--nodelist={told(tasks)}"] if tasks else None
    wanted = node_count(line, environ, named, len(available))
    relative = line.value("relative")
    if relative is not None:
        named = tuple((available[int(relative) :] + available)[: len(available)])
    usable = frozenset(available)
    chosen = [node for node in dict.fromkeys(nodes.translate(named or ())) if node in usable][:wanted]
    if named is None and wanted < len(available):
        if not (nodes.hidden or nodes.overlap or exclude is not None):
            return None
        # Without a start by the ordinal, all steps on some of the nodes would run on the first nodes.
        start = ordinal * wanted % len(available)
        available = available[start:] + available[:start]
    others = usable.difference(chosen)
    chosen += [node for node in available if node in others][: wanted - len(chosen)]
    if used is not None:
        used += chosen
    return [f"--nodes={wanted}", f"--nodelist={compress(chosen)}"]


def _arbitrary(line: Line, environ: Mapping[str, str]) -> bool:
    """Whether tasks go to nodes in a list's order: by a distribution, or by SLURM_HOSTFILE (srun(1))."""
    said = line.value("distribution") or environ.get("SLURM_DISTRIBUTION")
    return said.startswith("arbitrary") if said else not line.has("nodelist", "nodefile")


def named_nodes(line: Line, environ: Mapping[str, str], read: Callable[[str], str]) -> tuple[str, ...] | None:
    """Return the nodes that the user named for a step, None where the user named none.

    Args:
        line: srun's arguments.
        environ: the environment.
        read: returns a file's text; raises OSError.
    """
    nodelist, nodefile = line.value("nodelist"), line.value("nodefile")
    if nodelist is not None:
        return _host_list(nodelist, read)
    if nodefile is None and line.value("distribution") in (None, "arbitrary"):
        nodefile = environ.get("SLURM_HOSTFILE")
    return expand(",".join(read(nodefile).split())) if nodefile else None


def _host_list(text: str, read: Callable[[str], str]) -> tuple[str, ...]:
    """Return the names of a host list, or of the file whose path (with a slash) stands in its place."""
    return expand(",".join(read(text).split()) if "/" in text else text)


def node_count(line: Line, environ: Mapping[str, str], named: tuple[str, ...] | None, available: int) -> int:
    """Return how many nodes a step uses: the wanted number, at most the available nodes and the tasks.

    Args:
        line: srun's arguments.
        environ: the environment.
        named: the nodes that the user named (``named_nodes``).
        available: the number of nodes that the step could use.
    """
    given = line.value("nodes")
    if given is not None:
        wanted = max(map(int, given.split("-")))  # the value is "2" or "2-4"
    else:
        whole = environ.get("SLURM_JOB_NUM_NODES") or environ.get("SLURM_NNODES") or ""
        wanted = int(whole) if whole.isdecimal() else len(set(named)) if named else available
    tasks = line.value("ntasks") or (environ.get("SLURM_NTASKS") if given is None else None)
    if tasks is not None and tasks.isdecimal():
        wanted = min(wanted, int(tasks))
    return max(1, min(wanted, available))


def _export(line: Line, environ: Mapping[str, str]) -> str | None:
    """Return the value of --export that also exports the attempt's token; None where it is exported anyway.

    An attempt's processes are found on their nodes by the token.
    """
    given = line.value("export")
    if given is None:
        given = environ.get("SRUN_EXPORT_ENV", environ.get("SLURM_EXPORT_ENV"))
    if given is None or TOKEN not in environ:
        return None
    names = given.split(",")
    if "ALL" in names or TOKEN in names:
        return None
    return TOKEN if given in ("NONE", "NIL") else f"{given},{TOKEN}"


def _propagate(line: Line, environ: Mapping[str, str]) -> str | None:
    """Return the value of --propagate that also passes on the attempt's mark; None where no change is needed.

    A process that has lost its token is found by the mark (whesl.model.attempt_rlimit_mark).
    """
    given = line.value("propagate")
    if not given or TOKEN not in environ:
        return None
    names = given.upper().split(",")
    if "ALL" in names or MARKED in names:
        return None
    return MARKED if names == ["NONE"] else f"{given},{MARKED}"


# mpirun, mpiexec
# --------------------------------------------------------------------------------------------------


def _mpi(
    argv: list[str],
    nodes: Nodes,
    environ: Mapping[str, str],
    read: Callable[[str], str],
    flavour: Callable[[], str],
) -> list[str]:
    """Translate the hosts that the user named; name the nodes in use where the launcher cannot find them.

    Inside a Slurm job the launcher reads SLURM_JOB_NODELIST, and starts its daemons with the srun on PATH,
    which is a shim, too. No MPI knows the virtual nodes of the embedded resource manager.
    """
    if environ.get("WHESL_LOCAL"):
        return argv
    kind = flavour()
    lines = parse_mpi(argv, kind)
    hosts, files = MPI_HOSTS[kind], MPI_HOSTFILES[kind]
    if any(line.has(*hosts, *files) for line in lines):
        translated = [_mpi_hosts(line, nodes, read, hosts, files) for line in lines]
    elif environ.get("SLURM_JOB_ID") or not environ.get("WHESL_HOSTFILE"):
        return argv
    else:
        file_option = f"--{files[0]}" if kind == "openmpi" else f"-{files[0]}"
        first = [file_option, environ["WHESL_HOSTFILE"], *lines[0].without(), *lines[0].rest]
        translated = [first, *([*line.without(), *line.rest] for line in lines[1:])]
    return joined(translated)


def _with_rankfiles(
    argv: list[str], nodes: Nodes, read: Callable[[str], str], keep: Callable[[str], str]
) -> list[str]:
    """Translate the hosts in the user's rank files (``rank 0=host slot=0``, Open MPI) to the nodes in use."""
    contexts = []
    for line in parse_mpi(argv, "openmpi"):
        words: list[str] = []
        for option in line.options:
            if option.name in MPI_RANKFILES and option.value:
                text = read(option.value)
                translated = "".join(_rank_line(each, nodes) for each in text.splitlines(keepends=True))
                words += ["--rankfile", keep(translated)] if translated != text else option.words
            else:
                words += option.words
        contexts.append([*words, *line.rest])
    return joined(contexts)


def _rank_line(text: str, nodes: Nodes) -> str:
    head, equals, rest = text.partition("=")
    if not equals or not head.lstrip().startswith("rank"):
        return text
    host, space, tail = rest.partition(" ")
    return f"{head}={nodes.current(host)}{space}{tail}"


def _mpi_hosts(
    line: Line, nodes: Nodes, read: Callable[[str], str], hosts: tuple[str, ...], files: tuple[str, ...]
) -> list[str]:
    words: list[str] = []
    for option in line.options:
        entries: list[str] | None = None
        if option.name in hosts and option.value:
            entries = option.value.split(",")
        elif option.name in files and option.value:
            entries = [entry for entry in map(_host_file_entry, read(option.value).splitlines()) if entry]
        if entries is None:
            words += option.words
            continue
        kept = _translated_entries(entries, nodes)
        if kept == entries or not kept:
            words += option.words
        else:
            words += [f"--{hosts[-1]}" if "H" in hosts else f"-{hosts[0]}", ",".join(kept)]
    return [*words, *line.rest]


def _translated_entries(entries: list[str], nodes: Nodes) -> list[str]:
    kept: list[str] = []
    for entry in entries:
        host, colon, slots = entry.partition(":")
        kept += [f"{node}{colon}{slots}" for node in nodes.translate([host])]
    return kept


def _host_file_entry(text: str) -> str:
    """Return a host file's line (``host slots=2``, ``host:2``) as ``host:slots``; empty for a comment."""
    fields = text.split("#")[0].split()
    if not fields:
        return ""
    slots = next((field.split("=")[1] for field in fields[1:] if field.startswith("slots=")), "")
    return f"{fields[0]}:{slots}" if slots else fields[0]
