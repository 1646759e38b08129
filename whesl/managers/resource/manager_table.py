"""The built-in resource managers: what others have to know of each, in one table. Standard library only.

Whatever else one of them can do is an optional ability of its adapter (``whesl.managers.resource.port``).
"""

from __future__ import annotations

TYPE_CHECKING = False  # launcher shims and ``whesl exec`` load this at every start: typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "host"  # the name of no manager: this machine alone
CLUSTER_NAME = "SLURM_CLUSTER_NAME"
# What runs a task's steps in a job that may hold an instance of another manager.
INNER = ("auto", "flux", "slurm")
INSTANCE = "flux"
# What variables of a job tell: its id, the node's name, the number of its script's process, its end in
# seconds since the epoch, the index of an element of a job array, how many elements that has, and how many
# components the job has (nodes of one cannot take the place of nodes of another).
ID, NODE, SCRIPT, END = "id", "node", "script", "end"
ELEMENT, ELEMENTS, COMPONENTS = "element", "elements", "components"
_SLURM = {
    ID: "SLURM_JOB_ID",
    NODE: "SLURMD_NODENAME",
    SCRIPT: "SLURM_TASK_PID",
    END: "SLURM_JOB_END_TIME",
    ELEMENT: "SLURM_ARRAY_TASK_ID",
    ELEMENTS: "SLURM_ARRAY_TASK_COUNT",
    COMPONENTS: "SLURM_HET_SIZE",
}
_SRUN = ("srun", "-N1", "-n1", "--overlap")


class Manager:
    """One resource manager.

    Args:
        scheduler: the class that is the outside face, as "module:class"; imported only when it is chosen.
        allocation: the class that is the inside face.
        inside: variables that a process inside a job has, all of them.
        cluster: variables that say which cluster is meant.
        job_cluster: variables that say it in a job alone.
        files: those of them that name a file, and what precedes its path.
        tells: the variables of a job by what they tell (``ID``, ``NODE``, ...).
        command: what submits jobs, "" where that is not known; it is wrapped for workflow managers
            (``whesl.managers.workflow.submission``).
        once: the words before a command that run it once, on some compute node; () where there are none.
        early: attempt 1 may be started before the isolator has loaded: nothing has to be there first.
        holds_flux: a job of it may hold a Flux instance that runs its tasks' steps.
        poll: seconds between two looks at jobs.
        node_lost: what it calls the end of a job that has lost a node; "" where it has no word for that.
        embedded: a private cluster of it can be started for one run.
        user_instances: users start instances of it, in which they choose the scheduler.
    """

    def __init__(
        self,
        scheduler: str,
        allocation: str,
        *,
        inside: tuple[str, ...],
        cluster: tuple[str, ...],
        job_cluster: tuple[str, ...] = (),
        files: Mapping[str, str] = {},
        tells: Mapping[str, str] = {},
        command: str = "sbatch",
        once: tuple[str, ...] = (),
        early: bool = False,
        holds_flux: bool = False,
        poll: float = 5.0,
        node_lost: str = "",
        embedded: bool = False,
        user_instances: bool = False,
    ) -> None:
        self.scheduler = scheduler
        self.allocation = allocation
        self.inside = inside
        self.cluster = cluster
        self.job_cluster = job_cluster
        self.files = files
        self.tells = tells
        self.command = command
        self.once = once
        self.early = early
        self.holds_flux = holds_flux
        self.poll = poll
        self.node_lost = node_lost
        self.embedded = embedded
        self.user_instances = user_instances


# By name; one that may run inside another's jobs stands before that one.
# sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"; slurm.conf(5); flux-environment(7).
BUILT_IN = {
    "local": Manager(
        "whesl.managers.resource.embedded.adapter:LocalScheduler",
        "whesl.managers.resource.embedded.adapter:LocalAllocation",
        inside=("SLURM_JOB_ID", "WHESL_LOCAL"),
        cluster=("WHESL_LOCAL",),
        tells=_SLURM,
        once=_SRUN,
        early=True,
        node_lost="NODE_FAIL",
        poll=1.0,  # the embedded manager answers in milliseconds, and serves one user
        embedded=True,
    ),
    "flux": Manager(
        "whesl.managers.resource.flux.scheduler:FluxScheduler",
        "whesl.managers.resource.flux.allocation:FluxAllocation",
        inside=("FLUX_URI",),
        cluster=("FLUX_URI",),
        files={"FLUX_URI": "local://"},
        command="flux",
        once=("flux", "run", "-N1", "-n1"),
        user_instances=True,
    ),
    "pbs": Manager(
        "whesl.managers.resource.pbs.scheduler:PbsScheduler",
        "whesl.managers.resource.pbs.allocation:PbsAllocation",
        inside=("PBS_JOBID", "PBS_NODEFILE"),
        cluster=("PBS_CONF_FILE",),
        files={"PBS_CONF_FILE": ""},
        tells={ID: "PBS_JOBID", ELEMENT: "PBS_ARRAY_INDEX"},
        command="qsub",
    ),
    "slurm": Manager(
        "whesl.managers.resource.slurm.scheduler:SlurmScheduler",
        "whesl.managers.resource.slurm.allocation:SlurmAllocation",
        inside=("SLURM_JOB_ID",),
        cluster=("SLURM_CONF",),
        job_cluster=(CLUSTER_NAME,),
        files={"SLURM_CONF": ""},
        tells=_SLURM,
        once=_SRUN,
        node_lost="NODE_FAIL",
        early=True,
        holds_flux=True,
    ),
}
SUBMITS = frozenset(one.command for one in BUILT_IN.values())  # a host with one of these is of a cluster
_OTHER = Manager("", "", inside=(), cluster=(), command="")  # a third party's


def manager(name: str) -> Manager:
    """Return what is known of a resource manager; of a third party's, what holds for most.

    Args:
        name: ``local``, ``flux``, ``slurm``, or a third party's.
    """
    return BUILT_IN.get(name, _OTHER)


def may_hold_flux(name: str, inner: str) -> bool:
    """Whether a Flux instance inside the job may run a task's steps.

    Args:
        name: the resource manager's.
        inner: what the user chose of ``INNER``.
    """
    return manager(name).holds_flux and inner != name


def told(environ: Mapping[str, str], what: str) -> str:
    """Return what the environment of a job's process tells, of the innermost manager; "" where none does.

    Args:
        environ: the process's.
        what: ``ID``, ``NODE``, ``SCRIPT``, ``END``, ``ELEMENT``, ``ELEMENTS`` or ``COMPONENTS``.
    """
    names = [one.tells.get(what, "") for one in BUILT_IN.values()]
    return next((environ[name] for name in names if environ.get(name)), "")


def jobs_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the jobs that a process belongs to: the id by the variable that tells it.

    A job of several components, each with an id of its own, is left out.

    Args:
        environ: the process's.
    """
    known = [one.tells for one in BUILT_IN.values()]
    names = [tells[ID] for tells in known if ID in tells and not environ.get(tells.get(COMPONENTS, ""))]
    return {name: environ[name] for name in names if environ.get(name)}


def behind(command: str, environ: Mapping[str, str]) -> str:
    """Return the resource manager that a submission command belongs to.

    Args:
        command: as it is called.
        environ: says which cluster, where several managers have such a command.
    """
    found = [name for name, one in BUILT_IN.items() if one.command == command]
    return next((name for name in found if all(map(environ.get, BUILT_IN[name].cluster))), found[-1])
