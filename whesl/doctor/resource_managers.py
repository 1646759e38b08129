"""Probes of resource managers and launchers: Slurm, PBS, the embedded one, ``srun``, ``mpirun``."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Sequence

from whesl.doctor.probe_runner import Answer, Finding, State, ask, last_word, one, version_tuple
from whesl.managers.resource import manager_table
from whesl.managers.resource.embedded import protocol
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.managers.resource.pbs.scheduler import PbsScheduler
from whesl.model.errors import WheslError

GROUP = "resource managers"
LAUNCHERS = "launchers"
LEAST_SLURM = (22, 5)
_NEEDED = ("sbatch", "squeue", "sinfo", "scontrol", "scancel", "srun")
_KEEPS_HISTORY = re.compile(r"^\s*job_history_enable = True\b", re.MULTILINE)
_NEEDED_PBS = ("qsub", "qstat", "qselect", "qdel", "qsig", "qalter", "qrerun", "pbsnodes")
_LOCAL_PATIENCE = 1.0


def slurm() -> list[Finding]:
    """Look for Slurm's commands, their version, and whether slurmctld answers them."""
    if problem := _lacking("Slurm", _NEEDED):
        return problem
    version = last_word(ask("sinfo", "--version"))
    nodes = ask("sinfo", "--noheader", "--Node", "--format=%N %T")
    assert nodes is not None
    if nodes.status != 0 and "denied" in nodes.why.lower():
        return one(State.OK, "answers, and shows users no nodes (PrivateData)", version=version)
    if nodes.status != 0:
        return one(
            State.FAILED,
            f"slurmctld does not answer: {nodes.why}",
            "scontrol ping; is SLURM_CONF right, and is this host allowed to ask?",
            version=version,
        )
    if version and version_tuple(version)[:2] < LEAST_SLURM:
        return one(State.FAILED, "older than 22.05", "use whesl exec only", version=version)
    rows = {
        words[0]: words[1].rstrip("*~#!%$@+^-")
        for line in nodes.output.splitlines()
        if (words := line.split())[1:]
    }
    return one(State.OK, _counted(rows.values(), "slurm"), version=version)


def pbs() -> list[Finding]:
    """Look for PBS's commands, their version, and whether pbs_server answers them."""
    if problem := _lacking("PBS", _NEEDED_PBS):
        return problem
    version = last_word(ask("qstat", "--version"))
    try:
        found = PbsScheduler().nodes()
    except WheslError as error:
        advice = "qstat -B; is PBS_CONF_FILE right, and is this host allowed to ask?"
        return one(State.FAILED, f"pbs_server does not answer: {error.message}", advice, version=version)
    detail = _counted([node.raw_state for node in found], "pbs")
    server = ask("qstat", "-B", "-f")
    if server is not None and server.status == 0 and not _KEEPS_HISTORY.search(server.output):
        advice = "qmgr -c 'set server job_history_enable = True', by an administrator"
        said = f"{detail}; it forgets jobs that have ended, so nobody can say how one ended"
        return one(State.WARN, said, advice, version=version)
    return one(State.OK, detail, version=version)


def _lacking(manager: str, needed: Sequence[str]) -> list[Finding]:
    """Return a finding on commands of a manager that are not on PATH, none where all are."""
    lacking = [name for name in needed if not shutil.which(name)]
    if len(lacking) == len(needed):
        return one(State.MISSING, f"no command of {manager} is on PATH")
    advice = f"load the {manager} module, or install {manager}'s client commands completely"
    return one(State.FAILED, f"not on PATH: {', '.join(lacking)}", advice) if lacking else []


def _counted(states: Collection[str], manager: str) -> str:
    """Return how many nodes there are of each state, and the job of this process if it is in one."""
    counts = ", ".join(f"{count} {state}" for state, count in sorted(Counter(states).items()))
    job = os.environ.get(manager_table.manager(manager).tells[manager_table.ID])
    return f"{len(states)} nodes: {counts}" + (f"; this is job {job}" if job else "")


def local() -> list[Finding]:
    """Look at the embedded resource manager, which is part of WHESL."""
    cluster = Cluster.of(os.environ)
    if not os.path.exists(cluster.join("settings.json")):  # noqa: PTH110  # the room's paths are texts
        return one(State.OK, "embedded, not started")
    try:
        limits = {"patience": _LOCAL_PATIENCE, "timeout": _LOCAL_PATIENCE}
        answer = cluster.ask(protocol.ListNodes(), protocol.Nodes, **limits)
    except WheslError as error:
        # A stopped cluster is no defect, unless this shell's environment names it.
        meant = bool(os.environ.get("WHESL_LOCAL"))
        return one(
            State.FAILED if meant else State.OK,
            f"WHESL_LOCAL names {cluster.path}: {error.message}" if meant else "embedded, stopped",
            "whesl local start, or unset WHESL_LOCAL" if meant else "",
        )
    return one(State.OK, f"{len(answer.nodes)} virtual nodes run in {cluster.path}")


def launchers() -> list[Finding]:
    """Look at the launchers of parallel programs, such as srun and mpirun."""
    found: list[Finding] = []
    for name in ("srun", "pbsdsh"):
        if there := shutil.which(name):
            found += one(State.OK, there, name=name)
    for name in ("mpirun", "mpiexec"):
        answer = ask(name, "--version")
        if answer is not None:
            found += _mpi(name, answer)
    if not found and not shutil.which("flux"):
        detail = "neither srun nor mpirun is on PATH: programs run on one node only"
        advice = "load the MPI module that your program was built with"
        return one(State.MISSING, detail, advice)
    return found


_FLAVOURS = (
    ("Open MPI", ("open mpi", "open-mpi", "openrte", "prrte")),
    ("Intel MPI", ("intel(r) mpi",)),
    ("MPICH (Hydra)", ("hydra", "mpich")),
)


def flavour(text: str) -> str:
    """Return the MPI of a launcher, from its version's text; "" when it is not known."""
    lowered = text.lower()
    return next((name for name, words in _FLAVOURS if any(word in lowered for word in words)), "")


def _mpi(name: str, answer: Answer) -> list[Finding]:
    text = answer.output + answer.error
    kind = flavour(text)
    if answer.why and not kind:
        advice = "does the MPI module fit the one that the program was built with?"
        return one(answer.bad, answer.why, advice, name=name)
    numbers = [word for word in text.replace(",", " ").split() if word[:1].isdigit() and "." in word]
    version = numbers[0] if numbers else ""
    if kind:
        return one(State.OK, kind, version=version, name=name)
    advice = "nodes that are lost may stay in its host list; prefer srun or flux run"
    return one(State.WARN, "of no known MPI", advice, version=version, name=name)
