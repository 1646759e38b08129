"""Further nodes for a running job: a second job waits for them, and is merged into the first one.

Source: Slurm's FAQ, "Can I change my job's size after it has started running?", and job_mgr.c. A second job
of ``--dependency=expand:JOB`` gives its nodes to the first one when its number of nodes is set to 0, and is
completed by that. It may have no script, whose step would hold its nodes.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence

from whesl.managers.resource.job_growth_port import Growth
from whesl.managers.resource.slurm.command import SlurmCommands
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import job_size
from whesl.managers.resource.slurm.releases import Ability, controller_release
from whesl.managers.resource.slurm.slurm_command_output import SEPARATOR
from whesl.model import hostlist
from whesl.model.errors import RefusedError, WheslError

PERMIT = "permit_job_expansion"
_LEAVE = 10.0  # seconds in which salloc withdraws its request
# Becomes salloc, which withdraws its request at SIGTERM: the kernel sends that when the caller has died.
_SALLOC = """\
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 15, 0, 0, 0)
if os.getppid() == int(sys.argv[1]): os.execvp("salloc", ["salloc", *sys.argv[2:]])
"""
_FIELDS = {"%P": "partition", "%a": "account", "%q": "qos", "%f": "constraint", "%L": "time", "%b": "gres"}
_NONE = ("", "(null)", "N/A", "UNLIMITED", "INVALID", "NOT_SET")


def refusal(settings: Mapping[str, str], *, changeable: bool) -> str:
    """Return why no job of a cluster can grow, '' where one can.

    Args:
        settings: the cluster's settings (``scontrol show config``).
        changeable: whether Slurm takes changes to a job whose nodes have changed.
    """
    if PERMIT not in settings.get("SchedulerParameters", "").split(","):
        return f"no job can get further nodes here: SchedulerParameters of slurm.conf lacks {PERMIT}"
    if Ability.MERGE_MAY_KILL.of(controller_release(settings)):
        return "no job can get further nodes with this release of Slurm, whose slurmctld may die of that"
    if not changeable:
        return "without slurmdbd, this release of Slurm takes no change to a job that has got further nodes"
    return ""


def wish(told: str, job: str, nodes: Sequence[str], count: int, name: str) -> list[str]:
    """Return salloc's options for further nodes like those of a job.

    Args:
        told: the values of the job by ``squeue``, of ``_FIELDS`` in order.
        job: the job's id.
        nodes: the job's nodes, free parts of which would be no further nodes.
        count: how many nodes.
        name: the second job's name.
    """
    values = zip(_FIELDS.values(), told.strip().split(SEPARATOR), strict=False)
    given = {option: re.sub(r"\bgres[:/]", "", value) for option, value in values if value not in _NONE}
    like = [f"--{option}={value}" for option, value in given.items()]
    own = [f"--job-name={name}", f"--nodes={count}", f"--exclude={hostlist.compress(nodes)}"]
    return ["--no-shell", "--exclusive", "--mem=0", f"--dependency=expand:{job}", *own, *like]


def grow(
    commands: SlurmCommands,
    job: str,
    nodes: Sequence[str],
    count: int,
    name: str,
    wait: float,
    kept: Callable[[], tuple[str, ...]],
) -> Growth:
    """Get further nodes for a job (``Grows``).

    Args:
        commands: runs Slurm's commands.
        job: the job's id.
        nodes: the nodes that the job has had.
        count, name, wait: as for ``Grows``.
        kept: returns the job's present nodes.

    Raises RefusedError, and the port's other errors.
    """
    began, present = time.monotonic(), kept()
    source = "an interrupted request"
    if set(present) <= set(nodes):
        helper = _second_job(commands, job, nodes, count, name, wait)
        source = f"job {helper}, after {time.monotonic() - began:.0f} s"
        try:
            # scontrol writes a script with new variables into its working directory.
            with tempfile.TemporaryDirectory(prefix="whesl-resize-") as directory:
                commands.run("scontrol", "update", f"JobId={helper}", "NumNodes=0", cwd=directory)
        except WheslError:
            commands.run("scancel", helper)
            raise
        present = kept()
    added = tuple(node for node in present if node not in nodes)
    if not added:
        raise RefusedError(f"Slurm has not added the nodes of job {helper} to job {job}")
    whole = (*present, *(node for node in nodes if node not in present))
    note = f"{', '.join(added)} added to the job until its end ({source})"
    return Growth(nodes=whole, added=added, variables=job_size(whole), note=note)


def _second_job(
    commands: SlurmCommands, job: str, nodes: Sequence[str], count: int, name: str, wait: float
) -> str:
    """Return the id of a second job that has nodes, also one of an interrupted call."""
    if helper := _running(commands, name):
        return helper
    told = commands.run("squeue", "-h", "-j", job, "-o", SEPARATOR.join(_FIELDS))
    said = _allocate(commands.environ, wish(told, job, nodes, count, name), wait)
    if helper := _running(commands, name):
        return helper
    raise RefusedError(f"no further node within {wait:g} s: salloc: {said or 'nothing was free'}")


def _running(commands: SlurmCommands, name: str) -> str:
    """Return the id of the second job that runs, '' for none; cancel one that nobody waits for any more."""
    shown = commands.run("squeue", "-h", "--me", "-n", name, "-o", "%A %T").split()
    found = dict(zip(shown[1::2], shown[::2], strict=True))
    if "PENDING" in found:
        commands.run("scancel", found["PENDING"])
    return found.get("RUNNING", "")


def _allocate(environ: Mapping[str, str], options: Sequence[str], wait: float) -> str:
    """Run salloc until it has nodes, or the time is over; return the last line that it printed."""
    kept = {name: value for name, value in environ.items() if not name.startswith("SALLOC_")}
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", _SALLOC, str(os.getpid()), *options],
            env=kept,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    except OSError as error:
        raise RefusedError(f"salloc could not be started: {error.strerror}") from None
    try:
        said = process.communicate(timeout=wait)[1]
    except subprocess.TimeoutExpired:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LEAVE)
        process.kill()
        said = process.communicate()[1]
    return " ".join(said.strip().splitlines()[-1:]).removeprefix("salloc: ").removeprefix("error: ")
