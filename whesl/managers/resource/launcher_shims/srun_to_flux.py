"""Translates an ``srun`` in a task's script into the same ``flux run`` in the job's own Flux instance. Pure.

A call is translated only where every option has an exact equivalent; the real srun runs all other calls.
Sources of the options: srun(1) of 22.05 to 24.11, flux-run(1). Memory limits (Flux has none), patterns in
file names, and PMIx without Flux's plug-in for it have no equivalent.
"""

from __future__ import annotations

import re

from whesl.managers.resource.launcher_shims.flux_node_swap import QUICK, RANKS, constraint, marks, ranks_of
from whesl.managers.resource.launcher_shims.launcher_node_swap import (
    UNTOUCHED,
    named_nodes,
    node_count,
    placement,
)
from whesl.managers.resource.launcher_shims.launcher_options import Line, parse_srun
from whesl.managers.resource.launcher_shims.nodes_in_use import Nodes

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Facts:
    """Facts on the job's Flux instance that a translation needs.

    Args:
        cores: the smallest number of cores of a node.
        pmix: whether the job shell can offer PMIx.
        mpi_default: Slurm's MpiDefault; empty where it is unknown.
    """

    __slots__ = ("cores", "mpi_default", "pmix")

    def __init__(self, cores: int, *, pmix: bool = False, mpi_default: str = "") -> None:
        self.cores = cores
        self.pmix = pmix
        self.mpi_default = mpi_default


class Run:
    """A ``flux run``: its arguments, and the files (path, append) for its own standard streams.

    The launcher opens the files, because srun opens them on the node where it runs; ``flux run --output``
    would open them on another node.
    """

    __slots__ = ("error", "input", "output", "words")

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.input = ""
        self.output: tuple[str, bool] | None = None
        self.error: tuple[str, bool] | None = None


class _Other(Exception):  # noqa: N818 - not an error: the real srun's affair
    """The call needs the real srun."""


_OPTIONS = (
    "account chdir comment cpu-bind cpus-per-task disable-status distribution error exact exclude exclusive"
    " export gpus-per-task input job-name jobid kill-on-bad-exit label mpi nodefile nodelist nodes ntasks"
    " ntasks-per-node open-mode output partition qos quiet relative threads time unbuffered verbose wait"
    " whole"
)
_UNDERSTOOD = frozenset(_OPTIONS.split())
# Variables with defaults of srun that this module does not translate.
_FOREIGN = re.compile(
    r"SLURM_(DISTRIBUTION|CPU_BIND\w*|MEM_BIND\w*|HINT|THREADS_PER_CORE|CORE_SPEC|GRES\w*|GPUS\w*|GPU_\w+|JOB_GPUS|MULTI_PROG|PROLOG"
    r"|EPILOG|TASK_PROLOG|TASK_EPILOG|SRUN_\w+|STDINMODE|STDOUTMODE|STDERRMODE|OPEN_MODE|LABELIO|UNBUFFEREDIO|WAIT"
    r"|TIMELIMIT|EXCLUSIVE|EXACT|OVERLAP|OVERCOMMIT|WHOLE|KILL_BAD_EXIT|REMOTE_CWD|WORKING_DIR|RESV_PORTS|CONSTRAINT"
    r"|NTASKS_PER_(CORE|SOCKET|GPU|TRES)|IMMEDIATE|SPREAD_JOB|USE_MIN_NODES|DEPENDENCY|NETWORK|HET_SIZE)|SRUN_\w+"
)
# Daemons of MPI launchers, which count on the real srun.
_DAEMONS = frozenset({"orted", "prted", "hydra_pmi_proxy", "hydra_bstrap_proxy"})
# For MpiDefault=none and =openmpi, scontrol prints (null): read_config.c of Slurm 23.11.11 to 26.05.3.
_PLAIN_MPI = ("none", "openmpi", "pmi2", "(null)")


def flux_run(
    argv: Sequence[str],
    environ: Mapping[str, str],
    facts: Facts,
    *,
    read: Callable[[str], str],
    ordinal: int = 0,
) -> Run | None:
    """Return the ``flux run`` that does the same as an srun; None where only the real srun can do it.

    Args:
        argv: srun's arguments.
        environ: the script's environment (modules ``launcher_node_swap`` and ``flux_node_swap``).
        facts: the facts on the Flux instance.
        read: returns a file's text; raises OSError.
        ordinal: the step's number among the running steps.
    """
    try:
        return _run(parse_srun(list(argv)), environ, facts, read, ordinal)
    except (_Other, OSError, ValueError):
        return None


def _run(
    line: Line, environ: Mapping[str, str], facts: Facts, read: Callable[[str], str], ordinal: int
) -> Run:
    nodes = Nodes(environ)
    _understood(line, environ, nodes)
    wanted, tasks, named = _size(line, nodes, environ, read, ordinal)
    cores, words = _shape(line, environ, wanted, tasks, facts)
    ranks = ranks_of(environ.get(RANKS, ""))
    words.append(f"--requires={constraint(named or nodes.active, ranks)}")
    words += [*_mpi(line, environ, facts), *_behaviour(line), *_variables(environ, wanted, tasks, cores)]
    words += [*_export(line, environ), *marks(environ)]
    run = Run([*words, "--", *(line.rest[1:] if line.rest[0] == "--" else line.rest)])
    append = line.value("open-mode") in ("append", "a")
    run.input = _file(line.value("input")) or ""
    run.output = _opened(line.value("output"), append)
    run.error = _opened(line.value("error"), append)
    return run


def _understood(line: Line, environ: Mapping[str, str], nodes: Nodes) -> None:
    if not nodes.active or not line.rest or any("{{" in word for word in line.rest):
        raise _Other
    if ":" in line.rest:  # a step of several components, each with a command
        raise _Other
    if line.has(*UNTOUCHED) or any(option.name not in _UNDERSTOOD for option in line.options):
        raise _Other
    if line.value("jobid") not in (None, environ.get("SLURM_JOB_ID", "")):
        raise _Other
    if any(value and _FOREIGN.fullmatch(name) for name, value in environ.items()):
        raise _Other
    if line.rest[0].rsplit("/", 1)[-1] in _DAEMONS:
        raise _Other
    if any(option.value is None for option in line.options if option.name in ("nodes", "ntasks", "export")):
        raise _Other


def _size(
    line: Line, nodes: Nodes, environ: Mapping[str, str], read: Callable[[str], str], ordinal: int
) -> tuple[int, int, list[str]]:
    """Return the numbers of nodes and tasks, and the nodes' names where the user chose nodes."""
    given = line.value("nodes")
    if given is not None and not given.isdecimal():
        raise _Other
    names = named_nodes(line, environ, read)
    wanted = node_count(line, environ, names, len(nodes.active))
    chosen: list[str] = []
    if names is not None or line.has("exclude", "relative"):
        placed = placement(line, nodes, environ, read, ordinal)
        if placed is None:
            raise _Other
        from whesl.model.hostlist import expand

        chosen = list(expand(placed[1].partition("=")[2]))
        wanted = len(chosen)
    if given and environ.get("SLURM_NTASKS") and not line.has("ntasks"):
        raise _Other  # srun's releases differ on --nodes beside SLURM_NTASKS
    tasks = _number(line.value("ntasks") or environ.get("SLURM_NTASKS") or None)
    each = _number(line.value("ntasks-per-node"))
    if each is None and not line.has("ntasks"):
        each = _number(environ.get("SLURM_NTASKS_PER_NODE"))
    if tasks is None:
        tasks = wanted * (each or 1)
    elif line.has("ntasks-per-node") and each is not None and tasks != each * wanted:
        raise _Other
    return min(wanted, tasks), tasks, chosen


def _shape(
    line: Line, environ: Mapping[str, str], wanted: int, tasks: int, facts: Facts
) -> tuple[int, list[str]]:
    """Return the cores per task (0 without an option for them), and the options of a step's size.

    A step gets whole nodes unless its options ask for less.
    """
    cores = _number(line.value("cpus-per-task"))
    less = cores is not None or line.has("exact", "exclusive")
    # Slurm may count hardware threads, which are more than the cores; only srun can place such steps.
    if -(-tasks // wanted) * (cores or 1) > facts.cores:
        raise _Other
    words = [f"--nodes={wanted}", f"--ntasks={tasks}"]
    if cores is not None:
        words.append(f"--cores-per-task={cores}")
    gpus = _number(line.value("gpus-per-task"))
    if gpus is not None:
        words.append(f"--gpus-per-task={gpus}")
    if not less or line.has("whole"):
        words.append("--exclusive")
    return cores or 0, words


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise _Other
    return int(text)


def _mpi(line: Line, environ: Mapping[str, str], facts: Facts) -> list[str]:
    kind = line.value("mpi") or environ.get("SLURM_MPI_TYPE") or facts.mpi_default
    if kind in _PLAIN_MPI:
        return []
    if kind.startswith("pmix") and facts.pmix:
        return ["--setopt=pmi=simple,pmix"]
    raise _Other


def _behaviour(line: Line) -> list[str]:
    """Return the options of ``flux run`` that concern neither the step's size nor its nodes."""
    # As with srun, the end of one task does not end the other tasks (exit-timeout).
    words = [QUICK, f"--setopt=exit-timeout={_wait(line)}"]
    if line.has("label"):
        words.append("--label-io")
    if line.has("unbuffered"):
        words.append("--unbuffered")
    if line.has("kill-on-bad-exit") and line.value("kill-on-bad-exit") != "0":
        words.append("--setopt=exit-on-error")
    binding = (line.value("cpu-bind") or "").removeprefix("quiet,")
    if binding not in ("", "none", "cores"):
        raise _Other
    if binding:
        words.append(f"--setopt=cpu-affinity={'off' if binding == 'none' else 'per-task'}")
    distribution = line.value("distribution")
    if distribution not in (None, "block", "cyclic"):
        raise _Other
    if distribution == "cyclic":
        words.append("--taskmap=cyclic")
    for option, name in (("job-name", "job-name"), ("chdir", "cwd")):
        value = line.value(option)
        if value is not None:
            words.append(f"--{name}={_plain(value)}")
    limit = line.value("time")
    if limit is not None:
        words.append(f"--time-limit={_seconds(limit)}s")
    return words


def _plain(value: str) -> str:
    if not value or "{{" in value:
        raise _Other
    return value


def _wait(line: Line) -> str:
    given = line.value("wait")
    if given in (None, "0"):
        return "none"
    return f"{_number(given)}s"


def _seconds(text: str) -> int:
    """Return the seconds of a value of ``--time`` (srun(1)). Raises ValueError."""
    days, dash, rest = text.rpartition("-")
    fields = [int(field) for field in rest.split(":")]
    if dash:
        hours, minutes, seconds = (*fields, 0, 0)[:3]
        total = int(days) * 86400 + hours * 3600 + minutes * 60 + seconds
    elif len(fields) == 3:
        total = fields[0] * 3600 + fields[1] * 60 + fields[2]
    else:
        total = fields[0] * 60 + sum(fields[1:2])
    if total <= 0 or len(fields) > 3:
        raise _Other
    return total


def _variables(environ: Mapping[str, str], wanted: int, tasks: int, cores: int) -> list[str]:
    """Return options that set the variables of an srun step; the job shell fills in each task's values."""
    values = {
        "SLURM_PROCID": "{{taskid}}",
        "SLURM_LOCALID": "{{task.index}}",
        "SLURM_NODEID": "{{node.id}}",
        "SLURM_NTASKS": tasks,
        "SLURM_NPROCS": tasks,
        "SLURM_STEP_NUM_TASKS": tasks,
        "SLURM_STEP_NUM_NODES": wanted,
        "SLURM_NNODES": wanted,
    }
    if cores:
        values["SLURM_CPUS_PER_TASK"] = cores
    return [f"--env={name}={value}" for name, value in values.items()]


def _export(line: Line, environ: Mapping[str, str]) -> list[str]:
    given = line.value("export") or environ.get("SLURM_EXPORT_ENV") or "ALL"
    names = given.split(",")
    if "ALL" not in names or any(character in given for character in "'\"{"):
        raise _Other
    # Flux reads a single dollar sign as a reference to another variable.
    return [f"--env={name.replace('$', '$$')}" for name in names if name != "ALL" and "=" in name]


def _file(given: str | None) -> str | None:
    """Return the path in an option's value, None for the default; a pattern or task's number needs srun."""
    if given is None or given == "all":
        return None
    if given == "none":
        return "/dev/null"
    if not given or "%" in given or "\\" in given or given.isdecimal():
        raise _Other
    return given


def _opened(given: str | None, append: bool) -> tuple[str, bool] | None:
    path = _file(given)
    return None if path is None else (path, append)
