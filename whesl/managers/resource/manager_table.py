"""One table of the built-in resource managers, with the facts that other modules need. Standard library only.

Further abilities of a manager are optional protocols of its adapter (``whesl.managers.resource.port``).
"""

from __future__ import annotations

TYPE_CHECKING = False  # launcher shims and ``whesl exec`` load this at every start: typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

HOST = "host"  # stands for "no resource manager": this machine alone
CLUSTER_NAME = "SLURM_CLUSTER_NAME"
# The user's choices for the manager of a task's steps, where a job may hold an instance of another manager.
INNER = ("auto", "flux", "slurm")
INSTANCE = "flux"
# Kinds of facts that a job's variables hold: the job's id, the node's name, the process id of the job's
# script, the job's end in seconds since the epoch.
ID, NODE, SCRIPT, END = "id", "node", "script", "end"
# More kinds: the index of a job array's element, the array's number of elements, and the job's number of
# components (a component's nodes cannot replace nodes of another component).
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
        scheduler: the ``Scheduler`` class, as "module:class"; imported only when the manager is chosen.
        allocation: the ``Allocation`` class, as "module:class".
        inside: the variables that together show that a process is inside a job.
        cluster: the variables that identify the cluster.
        job_cluster: the variables that identify the cluster only inside a job.
        files: the cluster variables that name a file, each with the prefix before the file's path.
        tells: the job's variables by the kind of fact that they hold (``ID``, ``NODE``, ...).
        command: the submission command, which WHESL wraps for workflow managers
            (``whesl.managers.workflow.submission``); "" where it is unknown.
        once: the launcher's words that run a command once, on some compute node; () where there are none.
        early: whether attempt 1 may start before the isolator has loaded.
        holds_flux: whether a job may hold a Flux instance that runs its tasks' steps.
        poll: seconds between two looks at jobs.
        node_lost: the manager's name for the state of a job that ended by a lost node; "" where it has none.
        ends_itself: the shell command by which a job's script cancels its own job; "" where the scheduler
            cannot be reached by ssh (its class takes no ``through``).
        embedded: whether WHESL can start a private cluster of this manager for one run.
        user_instances: whether users start instances of this manager, in which they choose the scheduler.
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
        ends_itself: str = "",
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
        self.ends_itself = ends_itself
        self.embedded = embedded
        self.user_instances = user_instances


# The managers by name. A manager that may run inside another manager's jobs stands before that manager.
# Sources of the variables: sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"; slurm.conf(5); flux-environment(7).
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
        ends_itself='flux --parent cancel "$(flux getattr jobid)"',
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
        ends_itself='qdel "$PBS_JOBID"',
    ),
    "slurm": Manager(
        "whesl.managers.resource.slurm.scheduler:SlurmScheduler",
        "whesl.managers.resource.slurm.allocation:SlurmAllocation",
        inside=("SLURM_JOB_ID",),
        cluster=("SLURM_CONF", "SLURM_CONF_SERVER"),
        job_cluster=(CLUSTER_NAME,),
        files={"SLURM_CONF": ""},
        tells=_SLURM,
        once=_SRUN,
        node_lost="NODE_FAIL",
        ends_itself='scancel "$SLURM_JOB_ID"',
        early=True,
        holds_flux=True,
    ),
}
# The submission commands; a host with one of them belongs to a cluster.
SUBMITS = frozenset(one.command for one in BUILT_IN.values())
_OTHER = Manager("", "", inside=(), cluster=(), command="")  # stands for any third party's manager


def manager(name: str) -> Manager:
    """Return a resource manager's row of the table; for a third party's manager, a row of defaults.

    Args:
        name: ``local``, ``flux``, ``pbs``, ``slurm``, or the name of a third party's manager.
    """
    return BUILT_IN.get(name, _OTHER)


def may_hold_flux(name: str, inner: str) -> bool:
    """Whether a Flux instance inside the job may run a task's steps.

    Args:
        name: the resource manager's name.
        inner: the user's choice from ``INNER``.
    """
    return manager(name).holds_flux and inner != name


def told(environ: Mapping[str, str], what: str) -> str:
    """Return a fact that the innermost manager's variables hold on a process's job; "" without one.

    Args:
        environ: the environment of a process of the job.
        what: the fact: ``ID``, ``NODE``, ``SCRIPT``, ``END``, ``ELEMENT``, ``ELEMENTS`` or ``COMPONENTS``.
    """
    names = [one.tells.get(what, "") for one in BUILT_IN.values()]
    return next((environ[name] for name in names if environ.get(name)), "")


def jobs_of(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the ids of the jobs that a process belongs to, by the variables that hold them.

    Heterogeneous jobs are left out: each of their components has an id of its own.

    Args:
        environ: the process's environment.
    """
    known = [one.tells for one in BUILT_IN.values()]
    names = [tells[ID] for tells in known if ID in tells and not environ.get(tells.get(COMPONENTS, ""))]
    return {name: environ[name] for name in names if environ.get(name)}


def behind(command: str, environ: Mapping[str, str]) -> str:
    """Return the resource manager that a submission command belongs to.

    Args:
        command: the command's name, such as "sbatch".
        environ: the environment, which decides where several managers have a command of this name.
    """
    found = [name for name, one in BUILT_IN.items() if one.command == command]
    return next((name for name in found if all(map(environ.get, BUILT_IN[name].cluster))), found[-1])
