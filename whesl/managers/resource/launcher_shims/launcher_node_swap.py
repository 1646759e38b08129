"""What a launcher in a task's script has to be called with. Pure; standard library only.

Reads of the environment:

* ``WHESL_NODELIST``: nodes in use, comma separated; without it nothing is rewritten;
* ``WHESL_SWAPPED``: JSON object, node that was replaced to the node in its place;
* ``WHESL_HIDDEN_NODES``: nodes of the allocation that no step may use (spares and lost ones);
* ``WHESL_LOST_NODES``: those of them that are lost;
* ``WHESL_RESTART_COUNT``: attempts before this one.
"""

from __future__ import annotations

from whesl.managers.resource.hostlist import compress, expand
from whesl.managers.resource.launcher_shims.launcher_options import (
    MPI_HOSTFILES,
    MPI_HOSTS,
    MPI_RANKFILES,
    Line,
    joined,
    parse_mpi,
    parse_srun,
    parts,
)
from whesl.managers.resource.launcher_shims.nodes_in_use import HET_SIZE, TOKEN, Nodes

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# With these, srun starts no step in this job, or prints something and ends.
UNTOUCHED = ("help", "usage", "version", "no-allocate")
MARKED = "RSS"  # the limit that carries the mark, as srun calls it
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
) -> list[str]:
    """Return the arguments (without the command's name) that reach the nodes in use.

    Args:
        name: ``srun``, ``flux``, ``mpirun`` or ``mpiexec``.
        argv: the arguments that the user's script gave.
        environ: the environment (module docstring).
        read: returns a file's text (node files and host files); raises OSError.
        flavour: which MPI an mpirun belongs to, ``openmpi`` or ``hydra`` (MPICH, Intel); asked only when
        needed. ordinal: number of the step among those that run; steps on part of the nodes go round by it.
        keep: writes a text to a file of the step's and returns its path; raises OSError.

    A damaged value, an unreadable file or a form that is not understood leaves the user's words as they are:
    the launcher then says itself what it thinks of them.
    """
    try:
        nodes = Nodes(environ)
        if not nodes.active:
            return list(argv)
        if name == "flux":
            from whesl.managers.resource.launcher_shims.flux_node_swap import rewrite_flux

            return rewrite_flux(argv, environ)
        if name == "srun":
            return _srun(list(argv), nodes, environ, read, ordinal)
        words = _mpi(list(argv), nodes, environ, read, flavour)
        named = any(word.lstrip("-") in MPI_RANKFILES for word in words)
        if keep is None or not named or flavour() != "openmpi":
            return words
        return _with_rankfiles(words, nodes, read, keep)
    except (OSError, ValueError):
        return list(argv)


# srun ------------------------------------------------------------------------------------------


def _srun(
    argv: list[str], nodes: Nodes, environ: Mapping[str, str], read: Callable[[str], str], ordinal: int
) -> list[str]:
    lines = [parse_srun(words) for words in parts(argv)]
    job = environ.get("SLURM_JOB_ID", "")
    for line in lines:
        if not job or line.has(*UNTOUCHED) or line.value("jobid") not in (None, job):
            return argv
        if line.value("mpi") == "list":
            return argv
    used: list[str] = []
    return joined([_component(line, nodes, environ, read, ordinal, used) for line in lines])


def _component(
    line: Line,
    nodes: Nodes,
    environ: Mapping[str, str],
    read: Callable[[str], str],
    ordinal: int,
    used: list[str],
) -> list[str]:
    """Return one component's words.

    In a heterogeneous job a component uses its nodes as its user says: none of them is spare. In any other,
    each has nodes of its own, as far as there are any: ``used`` are those of the components before, added to.
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
    placed = None if environ.get(HET_SIZE) else placement(line, nodes, environ, read, ordinal, used)
    if placed is not None:
        added += placed
        dropped.update(_NODE_OPTIONS)
    return [*added, *line.without(*dropped), *line.rest]


def _memory_per_cpu(line: Line, environ: Mapping[str, str]) -> bool:
    """Whether the step asks for memory by the CPU, as the job's own default (DefMemPerCPU) does.

    A step that had a lost node keeps that memory too: the next one would be refused for want of it, overlap
    or not (22.05). ``--mem=0``, all that the job has on the node, and amounts for a node are not.
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
    """Return the options that name the step's nodes exactly, None where Slurm's own choice is as good.

    ``used``: nodes of the same step's components before this one; those that are chosen are added.
    """
    named = named_nodes(line, environ, read)
    exclude = line.value("exclude")
    excluded = nodes.translate(_host_list(exclude, read)) if exclude is not None else []
    available = [node for node in nodes.active if node not in excluded]
    available = [node for node in available if node not in (used or ())] or available
    if not available:
        return None
    if named is not None and _arbitrary(line, environ):
        # One word per task, in the order of the tasks: repeats and order are the meaning. Newer srun refuse
        # a number of nodes beside this distribution.
        tasks = [node for node in nodes.translate(named) if node in available]
        count = [f"--nodes={len(set(tasks))}"] if line.has("nodes") else []
        said = [] if line.has("distribution") else ["--distribution=arbitrary"]
        return [*count, *said, f"--nodelist={','.join(tasks)}"] if tasks else None
    wanted = node_count(line, environ, named, len(available))
    relative = line.value("relative")
    if relative is not None:
        named = tuple((available[int(relative) :] + available)[: len(available)])
    chosen = [node for node in dict.fromkeys(nodes.translate(named or ())) if node in available][:wanted]
    if named is None and wanted < len(available):
        if not (nodes.hidden or nodes.overlap or exclude is not None):
            return None
        # Slurm would put every such step on the first node.
        start = ordinal * wanted % len(available)
        available = available[start:] + available[:start]
    chosen += [node for node in available if node not in chosen][: wanted - len(chosen)]
    if used is not None:
        used += chosen
    return [f"--nodes={wanted}", f"--nodelist={compress(chosen)}"]


def _arbitrary(line: Line, environ: Mapping[str, str]) -> bool:
    """Whether tasks go to nodes in the order of a list: as is said, or by SLURM_HOSTFILE alone (srun(1))."""
    said = line.value("distribution") or environ.get("SLURM_DISTRIBUTION")
    return said.startswith("arbitrary") if said else not line.has("nodelist", "nodefile")


def named_nodes(line: Line, environ: Mapping[str, str], read: Callable[[str], str]) -> tuple[str, ...] | None:
    """Return the nodes that the user named, None when none."""
    nodelist, nodefile = line.value("nodelist"), line.value("nodefile")
    if nodelist is not None:
        return _host_list(nodelist, read)
    if nodefile is None and line.value("distribution") in (None, "arbitrary"):
        nodefile = environ.get("SLURM_HOSTFILE")
    return expand(",".join(read(nodefile).split())) if nodefile else None


def _host_list(text: str, read: Callable[[str], str]) -> tuple[str, ...]:
    """Return the names of a list, or of the file that a value with a slash names."""
    return expand(",".join(read(text).split()) if "/" in text else text)


def node_count(line: Line, environ: Mapping[str, str], named: tuple[str, ...] | None, available: int) -> int:
    """Return how many nodes the step uses: what was asked for, what there is, and never more than tasks."""
    given = line.value("nodes")
    if given is not None:
        wanted = max(map(int, given.split("-")))  # "2" or "2-4"
    else:
        whole = environ.get("SLURM_JOB_NUM_NODES") or environ.get("SLURM_NNODES") or ""
        wanted = int(whole) if whole.isdecimal() else len(set(named)) if named else available
    tasks = line.value("ntasks") or (environ.get("SLURM_NTASKS") if given is None else None)
    if tasks is not None and tasks.isdecimal():
        wanted = min(wanted, int(tasks))
    return max(1, min(wanted, available))


def _export(line: Line, environ: Mapping[str, str]) -> str | None:
    """Return the value of --export that lets the attempt's token through, None where it passes anyway.

    By its token every process of an attempt is found on its node.
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
    """Return the value of --propagate that lets the attempt's mark through, None where it passes anyway.

    By its mark a process is found that has no token any more (whesl.model.attempt_rlimit_mark).
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
    """Translate the hosts that the user named; name them where the launcher would not know them by itself.

    Inside a Slurm job the launcher reads SLURM_JOB_NODELIST, and starts its daemons with the srun on PATH,
    which is this shim again. The virtual nodes of the local resource manager are known to no MPI.
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
    """Have the lines of the user's rank files (``rank 0=host slot=0``, Open MPI's) name the nodes in use."""
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
    """Return ``host:slots`` for a host file's line (``host slots=2``, ``host:2``), empty for a comment."""
    fields = text.split("#")[0].split()
    if not fields:
        return ""
    slots = next((field.split("=")[1] for field in fields[1:] if field.startswith("slots=")), "")
    return f"{fields[0]}:{slots}" if slots else fields[0]
