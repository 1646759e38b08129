"""whesl run: check, fluxify, register, hand the workflow to its own manager, show progress, report."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import click
import msgspec
from rich.console import Console

from whesl import language
from whesl.cli import broken_pipe
from whesl.cli.launch import placement_setup
from whesl.cli.launch.watched_manager import watch
from whesl.cli.options import OBSERVE, OWN_NODE, SPARES, SPECIFICATION
from whesl.cli.parameters import argument, option, parameters
from whesl.doctor import rules_before_a_run
from whesl.language import shipped_policy
from whesl.language.path_expansion import expanded
from whesl.language.rules_file import load_rules, located
from whesl.language.spec import Spec
from whesl.managers import workflow as workflows
from whesl.managers.resource import SCHEDULERS, cluster_environment, default_manager, manager_table, scheduler
from whesl.managers.workflow import prepare
from whesl.managers.workflow.port import RemovesOlderRun, WorkflowManager
from whesl.managers.workflow.private_cluster import local_cluster
from whesl.model import home as places
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError, WheslError
from whesl.model.workflow import Workflow
from whesl.report import text_report
from whesl.report.collection import gather
from whesl.report.report_builder import summarise
from whesl.runtime.coordinator.client import unheard_task_outcomes
from whesl.runtime.coordinator.client.start import begin, ensure_running
from whesl.runtime.coordinator.client.unregistered_jobs import UnregisteredJobs
from whesl.runtime.wire import keys
from whesl.runtime.wire.client import request
from whesl.runtime.wire.messages import RegisterWorkflow

_REPLY = 30.0  # seconds that the coordinator may take to record a workflow
_LEAST_LOOK = 10.0  # seconds between two checks of jobs without messages


@click.command(context_settings={"ignore_unknown_options": False})
@parameters
def run(
    *,
    words: tuple[str, ...] = argument(
        nargs=-1, required=True, type=click.UNPROCESSED, metavar="STUDY... [-- ARGUMENTS]"
    ),
    rules: Path = SPECIFICATION,
    rjms: str | None = option(None, f"Resource manager: {', '.join(SCHEDULERS)}.", "NAME"),
    inner: str = option(
        "auto",
        "What runs the tasks' steps in Slurm's jobs: a Flux instance inside each, or Slurm.",
        shown=True,
        choices=manager_table.INNER,
    ),
    own_node: bool = OWN_NODE,
    observe: bool = OBSERVE,
    strict: bool = option(False, "Start nothing while there is a warning about the rules."),
    out: str = option("", "Directory of the run; the manager's choice without it.", "DIR"),
    spares: int = SPARES,
    nodes: int | None = option(
        None,
        "Nodes of the embedded cluster that is started; without it 4, or what the largest job needs.",
        "N",
        least=1,
    ),
    poll: float | None = option(None, "Time between the manager's looks at its jobs.", "SECONDS", least=0.1),
    heartbeat_limit: float | None = option(
        None, "Silence after which a node of a job is lost; without it 3.", "SECONDS", least=1.0
    ),
    placement: str | None = option(
        None,
        "Predictions of `whesl placement learn` or `serve`: Flux instances of your own place by them, and "
        "spares are chosen by predicted life.",
        "FILE",
        type=click.Path(dir_okay=False),
    ),
    yes: bool = option(False, "Overwrite the directory of an older run without asking.", names="-y --yes"),
    as_json: bool = option(False, "Print the report as JSON; progress goes to stderr.", names="--json"),
) -> int:
    """Run STUDY (a Maestro study, or batch scripts) under its own manager, every task protected.

    What stands behind -- goes to the manager. A batch script waits for others with job.sh:after=other,
    and runs beside one that it reads from with job.sh:with=other.
    The exit status is the manager's own: a study that failed is never reported as a success.
    """
    sources, arguments = _split(words)
    observe = observe or shipped_policy.observed((str(rules),), os.environ)
    home = keys.home()
    manager = workflows.recognise(sources[0])
    # All input is checked before the first file is written.
    first = manager.read(sources, out=out, arguments=arguments)
    result = language.checked(rules, first)
    assert result.spec is not None
    spec = located(result.spec, rules.absolute().parent)
    scripts = workflows.scripts(*sources, arguments=arguments)
    warnings = rules_before_a_run.told(result, rules, first, spares, scripts, strict=strict)
    _may_overwrite(first, manager, yes)
    name = rjms or default_manager(os.environ)
    known = manager_table.manager(name)
    directory = prepare.claim_directory(home, first.name)
    # A closed pipe or a full disk behind WHESL's lines must not end the workflow.
    console, notices = broken_pipe.steady(stderr=as_json), broken_pipe.steady(stderr=True)
    with ExitStack() as stack:
        # The files of a workflow that is refused before its begin are removed.
        unbegun = stack.enter_context(ExitStack())
        unbegun.callback(shutil.rmtree, directory, ignore_errors=True)
        environment = dict(os.environ)
        if known.embedded:
            size = nodes or max([4, *(task.nodes + spares + (not own_node) for task in first.tasks)])
            environment |= stack.enter_context(
                local_cluster(environment, directory / "cluster", size, prepare.program())
            )
        table = placement_setup.table(placement, directory) if placement else ""
        with _environment(environment):
            _scheduler_answers(name)
        # The coordinator starts while the files are written, unless it needs an embedded cluster's variables.
        child = None if known.embedded else begin(home)
        found = manager.read(sources, workflow=directory.name, out=out or first.root, arguments=arguments)
        ready = prepare.prepare(
            manager,
            sources,
            found,
            spec,
            directory,
            home=home,
            rjms=name,
            observe=observe,
            inner=inner,
            own_node=own_node,
            heartbeat_limit=heartbeat_limit,
            placement=table,
            spares=spares,
            poll=poll or known.poll,
            arguments=arguments,
            environment=environment,
        )
        manager.check(ready.plan)
        unbegun.pop_all()
        # Fill the cache, so that no task has to check the rules again.
        load_rules((str(directory / "spec.json"),), places.rules_cache(home), any_job=False)
        for notice in (*warnings, *ready.notices):
            _plain(notices, f"whesl: {notice}")
        # The coordinator does not need WHESL's sbatch, which comes first on a workflow manager's PATH.
        with _environment({**ready.plan.environment, "PATH": environment.get("PATH", os.defpath)}):
            ensure_running(home, child=child)
            _register(home, ready.workflow, spec, name, observe)
            if placement and known.user_instances:
                say = partial(_plain, notices)
                stack.enter_context(placement_setup.placed(placement, say, act=not observe))
            every = max(_LEAST_LOOK, ready.plan.poll)
            say = partial(_plain, notices)
            stack.enter_context(
                UnregisteredJobs(home, ready.workflow.id, scheduler(name), every, say, act=not observe)
            )
            submits = manager.submits(ready.plan)
            tell = partial(unheard_task_outcomes.tell, home, ready.workflow, name, submits)
            status = watch(partial(manager.start, ready.plan), tell, home, ready.workflow, console)
    report = summarise(gather(home, ready.workflow.id))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        text_report.show(report, console)
    if status != 0:
        _plain(notices, f"whesl: {manager.name} ended with status {status}; its log: {ready.plan.log}")
    broken_pipe.settle()
    return status


def _split(words: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return sources and the manager's arguments.

    click takes the ``--`` away, so the arguments begin with the first word that looks like an option.
    """
    count = next((index for index, word in enumerate(words) if word.startswith("-")), len(words))
    if count == 0:
        raise UsageError("the workflow is missing", hint="whesl run STUDY -e rules.esl [-- ARGUMENTS]")
    return words[:count], words[count:]


def _scheduler_answers(name: str) -> None:
    """Check that the scheduler answers, since a workflow manager would retry failing submissions for long.

    Raises CouldNotObserveError.
    """
    try:
        scheduler(name).nodes()
    except RefusedError:
        return  # the scheduler answers, but hides its nodes from users (Slurm's PrivateData=nodes)
    except CouldNotObserveError as error:
        hint = "see whether its own commands work here" + (
            "" if manager_table.manager(name).embedded else "; to go on without a cluster: --rjms local"
        )
        raise CouldNotObserveError(f"{name} does not answer: {error.message}", hint=hint) from None


def _may_overwrite(workflow: Workflow, manager: WorkflowManager, yes: bool) -> None:
    """Ask the user before the directory of an older run is removed."""
    older = manager.removed(workflow) if isinstance(manager, RemovesOlderRun) else None
    if older is None or yes:
        return
    if not older.is_dir() or not sys.stdin.isatty():
        raise UsageError(f"{older} exists", hint="choose another --out, or -y to overwrite it")
    click.confirm(f"{older} exists; overwrite it?", abort=True)


@contextmanager
def _environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Within the context, use an environment, also for a coordinator that is started."""
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _register(home: Path, workflow: Workflow, spec: Spec, rjms: str, observe: bool) -> None:
    # The coordinator's own steps run on this host, so that paths are expanded here; tasks expand theirs.
    message = RegisterWorkflow(
        workflow=workflow,
        spec=msgspec.json.encode(expanded(spec, os.environ)[0]),
        rjms=rjms,
        observe=observe,
        environment={name: os.environ[name] for name in cluster_environment.VARIABLES if name in os.environ},
    )
    reply = request(home, message, _REPLY)
    if not reply.ok:
        raise WheslError(f"the coordinator did not take the workflow: {reply.error}")


def _plain(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
