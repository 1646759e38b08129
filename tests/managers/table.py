"""The workflow managers of document 003, table 4.1, and Merlin: what is done with each, and what shows it."""

# ruff: noqa: E501 - lines of a table and a page are as long as their sentences
from __future__ import annotations

from dataclasses import dataclass

WORKER = "no: the job is a worker or the manager, which would begin again with all of its tasks"
EXEC = 2  # `whesl exec` before the command
GRAPH = 4  # `whesl run` reads the graph, and tells dependents of new paths


@dataclass(frozen=True)
class Manager:
    """One manager whose recipe is run on a real Slurm.

    ``packages`` are from PyPI; ``program`` is one that has to be there, which ``debian`` names the origin of.
    ``setting`` is what is written in the manager's own files. ``sees`` are expressions that have to be in what
    ``run.sh`` prints: the manager's own view of its tasks. ``jobs`` counts the jobs that it hands to Slurm.
    ``quick`` ones run with every change. ``graph`` is the test of ``whesl run``, where it reads the graph.
    ``alone`` are the faults from which tasks recover under ``whesl front`` alone (level 1), and ``alone_remark``
    says what keeps them from the others. ``plain`` are expressions in the recipe with what stands in their place
    there, beside those of ``desk.PLAIN``.
    """

    name: str
    setting: str
    sees: tuple[str, ...]
    packages: tuple[str, ...] = ()
    program: str = ""
    debian: str = ""
    jobs: int = 2
    quick: bool = False
    remark: str = ""
    graph: str = ""
    alone: tuple[str, ...] = ()
    alone_remark: str = ""
    plain: tuple[tuple[str, str], ...] = ()

    @property
    def recipe(self) -> str:
        """The folder of its recipe."""
        return self.name.lower().replace(" ", "-").replace("/", "")

    @property
    def front(self) -> str:
        """What holds at level 1: the faults that the test has, and why not the others."""
        if self.jobs == 1:
            return WORKER
        names = {"HUNG": "a hang", "FULL": "a full disk", "LOST": "a lost node"}
        held = ", ".join(names[fault] for fault in self.alone)
        if held:
            return f"{held}{'.' if len(self.alone) == len(names) else '; not the rest:'} {self.alone_remark}"
        return f"no: {self.alone_remark}" if self.alone_remark else "not tried"

    @property
    def version(self) -> str:
        """What was tried: the first package."""
        return self.packages[0].replace("==", " ") if self.packages else self.debian


@dataclass(frozen=True)
class Elsewhere:
    """One manager that has tests of its own."""

    name: str
    version: str
    level: int
    setting: str
    proof: str
    front: str


@dataclass(frozen=True)
class Untried:
    """One manager that no test runs: why, what would have to be written where, and what is known of level 1."""

    name: str
    why: str
    setting: str
    front: str = "not tried"


MANAGERS = (
    Manager(
        name="Cylc",
        packages=("cylc-flow==8.5.4",),
        setting="`script` of the root family",
        sees=(r"^1\|make\|1\|1\|0$", r"^1\|use\|1\|1\|0$"),
        graph="tests/managers/workflow/test_graphs.py",
        remark="The platform needs `install target = localhost` where nodes share the home directory. Cylc's job "
        "script traps signals and tells the scheduler of a failure, so `whesl exec` stands in `script`, inside it.",
        alone=("HUNG",),
        plain=((" *--no-kill =\\n", ""), ("--nodes = 3", "--nodes = 1")),
        alone_remark="the job script traps the signal that ends an attempt, and tells Cylc of other failures",
    ),
    Manager(
        name="executorlib",
        packages=("executorlib==1.11.0", "pysqa==1.1.1", "h5py", "cloudpickle"),
        setting="the function's command; `submission_template` for nodes and `--no-kill`",
        sees=(r"^done: 0 0$",),
        quick=True,
        remark="Not in the template: executorlib's program renames its input when it starts, and cannot be started "
        "again.",
        alone_remark="its program renames its input when it starts, and cannot be started again",
    ),
    Manager(
        name="Toil",
        packages=("toil[cwl]==9.6.0",),
        setting="`baseCommand` of the CWL tool; `TOIL_SLURM_ARGS` for nodes and `--no-kill`",
        sees=(r"Finished toil run successfully",),
        remark="CWL gives tools no environment: without `--preserve-entire-environment` neither `srun` nor WHESL "
        "know the job that they are in. Chaining is off, so that each task has a job of its own.",
        alone=("HUNG", "LOST"),
        plain=(("export TOIL_SLURM_ARGS=.*\\n", ""), ("whesl, exec, .*?--, ", "")),
        alone_remark="a task's paths stand in Toil's job store, which no recovery from a full disk changes",
    ),
    Manager(
        name="FireWorks",
        packages=("FireWorks==2.1.4", "mongomock==4.3.0", "mongomock-persistence"),
        setting="`script` of the task; `nodes` and `pre_rocket` of the queue adapter",
        sees=(r'"state": "COMPLETED"',),
        remark="mongomock stands for MongoDB.",
        alone_remark="a rocket that begins again finds its firework taken",
    ),
    Manager(
        name="Makeflow",
        program="makeflow",
        debian="coop-computing-tools 9.9",
        setting="the rule's command; `BATCH_OPTIONS` for nodes and `--no-kill`",
        sees=(r"^# COMPLETED",),
        graph="tests/managers/workflow/test_graphs.py",
        alone=("HUNG", "LOST"),
        plain=(("BATCH_OPTIONS=.*\\n", ""),),
        remark="The status file of a job is written in the job. Of one that Slurm ended (its time limit, or the loss of the "
        "node of its script) Makeflow hears nothing more, takes it for failed two to three minutes later, and tries the "
        "rule again (`--retry-count`); tried on a real Slurm, with WHESL as without. Without WHESL Slurm also runs the job of a lost node "
        "again: `BATCH_OPTIONS` needs `--no-requeue` then. With WHESL the task's processes in that job are ended within "
        "seconds, and the job stays until its time limit, as `--no-kill` asks: cancel it.",
        alone_remark="its wrapper tells the command's failure to Makeflow before WHESL sees it",
    ),
    Manager(
        name="Work Queue",
        program="work_queue_worker",
        debian="coop-computing-tools 9.9",
        setting="the task's command, here a rule of Makeflow with `-T wq`",
        sees=(r"^# COMPLETED",),
        jobs=1,
        remark="The worker is one job. It runs each task in a directory of its own and returns declared files only: paths "
        "on the shared file system are whole ones, and an empty file stands for each task.",
    ),
    Manager(
        name="AiiDA",
        packages=("aiida-core==2.9.4",),
        setting="`mpirun_command` of the computer; `custom_scheduler_commands` for `--no-kill`",
        sees=(r"^make .*FINISHED 0 \d+$", r"^use .*FINISHED 0 \d+$"),
        remark="A profile with SQLite, without PostgreSQL and RabbitMQ. AiiDA's scripts say `--no-requeue`: a job "
        "whose batch host is lost is for AiiDA to run again.",
        alone=("HUNG", "FULL", "LOST"),
        plain=(
            (r'\{WHESL\} [^"]*-- srun', "srun"),
            (r'", 3, \[', '", 1, ['),
            (r".*custom_scheduler_commands.*\n", ""),
            ("safe_interval=0", "safe_interval=0, use_login_shell=False"),
        ),
        alone_remark="The computer needs `use_login_shell=False`: a login shell may set PATH anew",
    ),
    Manager(
        name="Dask",
        packages=("dask-jobqueue==0.9.0", "distributed==2026.8.0"),
        setting="the function's command; `job_extra_directives` for nodes and `--no-kill`",
        sees=(r"^done: 0 0$",),
        jobs=1,
        remark="The worker is one job, in which both tasks run; `nanny` and `--nodes` leave it on the batch host.",
    ),
    Manager(
        name="libEnsemble",
        packages=("libensemble==1.6.1",),
        setting="`full_path` of `register_app` of the executor",
        sees=(r"^states: FINISHED FINISHED$", r"^flag: 0$"),
        jobs=1,
        remark="libEnsemble runs inside one job.",
    ),
    Manager(
        name="RADICAL-AsyncFlow",
        packages=("radical.asyncflow==0.6.0", "rhapsody-py==0.6.0"),
        setting="the command that an `executable_task` returns",
        sees=(r"^done$",),
        jobs=1,
        remark="AsyncFlow runs inside one job.",
    ),
    Manager(
        name="SmartSim",
        packages=("smartsim==0.8.0",),
        setting="the executable of the run settings",
        sees=(r"^make SmartSimStatus.STATUS_COMPLETED$", r"^use SmartSimStatus.STATUS_COMPLETED$"),
        jobs=1,
        remark="SmartSim runs inside one job, by its launcher `local`; the database for models was not used.",
    ),
    Manager(
        name="Merlin",
        packages=("merlin==1.13.0", "setuptools<80", "celery==5.4.0", "redis==5.2.1", "kombu==5.4.2"),
        setting="`cmd` of the step",
        sees=tuple(
            rf'"{step}": {{"status": "FINISHED", "return_code": "MERLIN_SUCCESS".*?"restarts": 0'
            for step in ("make", "use")
        ),
        jobs=1,
        program="redis-server",
        debian="redis-server",
        remark="The workers are one job. With Celery 5.7, kombu 5.7 and redis-py 8.1 Merlin's second step does not start, with "
        "and without WHESL: a chord ends before the next step is put into it. A step whose rules give up ends with "
        "75, which is none of Merlin's own statuses.",
    ),
    Manager(
        name="pyiron",
        packages=("pyiron_base==0.15.20", "pysqa==1.0.1", "executorlib==1.10.3"),
        setting="`executable_str` of the job class; pysqa's template for nodes and `--no-kill`",
        sees=(r"^make finished \d+$", r"^use finished \d+$"),
        remark="A job class with `executable_str` for each step, submitted by pysqa; the second job is made when the "
        "first one has ended.",
        alone=("HUNG", "LOST"),
        plain=(("--nodes=3 --no-kill", "--nodes=1"), (r'\{WHESL\} [^"]*?-- ', "cd /p/me/study && ")),
        alone_remark="of a full disk pyiron tells its `error.msg` alone, and its database calls the job aborted before its "
        "script has ended (tried on a real Slurm with rules that read files or measure the disk)",
    ),
    Manager(
        name="RADICAL-EnTK",
        packages=("radical.entk==1.103.0",),
        setting="`executable` and `arguments` of the task",
        sees=(r"make DONE$", r"^use DONE$"),
        jobs=1,
        remark="EnTK runs inside one job, by its resource `local.localhost`. This release needs neither "
        "MongoDB nor RabbitMQ.",
    ),
    Manager(
        name="Covalent",
        packages=("covalent==0.240.0", "fastapi==0.115.12", "starlette==0.46.2", "pydantic==2.11.4"),
        setting="the command that the electron calls",
        sees=(r"^done: COMPLETED 0$",),
        jobs=1,
        remark="Covalent's server runs inside one job, with its executor `local`. Its "
        "executor for Slurm, which needs a login node with ssh, was not tried. Newer releases of FastAPI, Starlette and "
        "Pydantic than these refuse Covalent's own requests (status 422).",
    ),
    Manager(
        name="Globus Compute",
        packages=("globus-compute-endpoint==4.19.0",),
        setting="the command of the `ShellFunction`; `scheduler_options` of the provider for `--no-kill`",
        sees=(r"^done: 0 0$",),
        jobs=1,
        remark="The endpoint's engine alone, which needs no login: the recipe gives it tasks as the endpoint does for "
        "those that come from Globus's service. The engine's block is one job, in which both tasks run.",
    ),
    Manager(
        name="TaskVine",
        program="vine_worker",
        debian="cctools 8, built from its sources",
        setting="the task's command, here a rule of Makeflow with `-T vine`",
        sees=(r"^# COMPLETED",),
        jobs=1,
        remark="The worker is one job. It runs each task in a directory of its own and returns declared files only, as "
        "Work Queue's does. Debian's coop-computing-tools has no TaskVine.",
    ),
    Manager(
        name="Galaxy",
        packages=("galaxy-web-apps==26.1.2",),
        setting="the tool's `command`; `job_--nodes` and `job_--no-kill` of the environment in `job_conf.yml`",
        sees=(r"^make ok 0$", r"^use ok 0$"),
        remark="Galaxy's server submits by its runner `cli` with the plug-in `Slurm`. The second tool's input is a file of "
        "the first one, so that Galaxy runs them one after the other.",
        alone_remark="its job script writes what a tool prints into files of its own, so that the output of each job is silent",
    ),
    Manager(
        name="Pegasus",
        program="pegasus-plan",
        debian="Pegasus 6.0.0-dev, built from its sources",
        setting="`pfn` of the transformation; `whesl exec`'s own words begin the job's `arguments`",
        sees=(
            r"whesl_make +POST_SCRIPT_SUCCESS",
            r"whesl_use +POST_SCRIPT_SUCCESS",
            r"SHELL_SCRIPT_FINISHED 0",
        ),
        jobs=1,
        remark="The script of the code generator `Shell` runs inside one job; HTCondor's DAGMan, which other code "
        "generators write for, was not tried.",
    ),
    Manager(
        name="Swift/T",
        program="swift-t",
        debian="Swift/T 1.6.9, built from its sources",
        setting="the command line of the `app` function",
        sees=(r"^done$",),
        jobs=1,
        remark="Swift/T runs inside one job, on Open MPI. `swift-t` has to be on PATH; its sources need ant, Tcl, SWIG and an MPI.",
    ),
)
ELSEWHERE = (
    Elsewhere(
        "Maestro",
        "maestrowf 1.2.1",
        GRAPH,
        "none: `whesl run study.yaml`",
        "tests/managers/workflow/test_run.py",
        "yes: `whesl run` puts it there",
    ),
    Elsewhere(
        "Snakemake",
        "snakemake 9.27.1, executor plugins for Slurm and Flux",
        GRAPH,
        "none: `whesl run Snakefile`; or `shell:` of the rule ([recipe](workflows.md#snakemake-on-slurm))",
        "tests/managers/workflow",
        "a hang, a lost node (tried on a real Slurm, in no test); a full disk where the study's directory lies on it "
        "(tried with a job's command on one host, in no test), and else not: the paths stand in the Snakefile, which no "
        "recovery changes",
    ),
    Elsewhere(
        "Parsl",
        "parsl 2026.10.26",
        EXEC,
        "the command of the `bash_app` ([recipe](workflows.md#parsl))",
        "tests/managers/workflow/test_managers_slurm.py",
        WORKER,
    ),
)
UNTRIED = (
    Untried(
        "Nextflow",
        "PyPI has launchers alone, which fetch the program from Nextflow's own site; a build from its sources needs Groovy 4 "
        "and libraries of Maven Central, which Debian does not have",
        "`process.shell = ['whesl', 'exec', '-e', '/p/me/rules.esl', '--', '/bin/bash', '-ue']` and "
        "`process.clusterOptions = '--nodes=3 --no-kill'` in `nextflow.config`; a script with a first line `#!` of its own "
        "is run by that one",
        "tried by a stand-in that submits Nextflow's job script, on a real Slurm: a hang, a lost node; not the "
        "rest: the script writes `.exitcode` after a failure, which Nextflow sees before the recovery",
    ),
    Untried(
        "Cromwell",
        "in none of PyPI, npm and Debian; a build from its sources needs sbt, Scala 2.13 and libraries of Maven Central",
        "`command <<< whesl exec -e /p/me/rules.esl -- ./app >>>` of the task; `--nodes=3 --no-kill` in the back end's "
        "`submit`. Not `whesl exec` in `submit`: Cromwell's script writes the file `rc` after a failure, too, and so "
        "Cromwell would see it before the recovery",
    ),
    Untried(
        "PyCOMPSs",
        "PyPI's package fetches the runtime from COMPSs's own site while it is installed; a build from its sources needs "
        "libraries (`comm`, `conn`, `distro-stream`) that only COMPSs's own Maven repository has",
        '`@binary(binary="whesl", args="exec -e /p/me/rules.esl -- ./app {{file}}")` above `@task`',
    ),
)


def by_name(name: str) -> Manager:
    """Return a manager by its name. Raises KeyError."""
    return {manager.name: manager for manager in MANAGERS}[name]
