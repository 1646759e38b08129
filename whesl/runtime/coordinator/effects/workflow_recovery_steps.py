"""The coordinator's own steps, carried out through ports. They block: the daemon runs them in worker threads.

Every function looks before it acts, so it may be called again after a kill at any point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import IO, Any, TypeVar

import msgspec

from whesl.language.compiler import operation_signatures as args
from whesl.language.spec import Entity, Operation, ResourceKind
from whesl.managers.resource.port import (
    AllowsRequeue,
    ChangesLimits,
    JobRecord,
    LiftsHold,
    Limits,
    Scheduler,
)
from whesl.model.bad_node_expiry import SECONDS
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError, WheslError
from whesl.model.outcomes import OrderStatus, OwnStepOutcome, StepOutcome
from whesl.model.pathmap import PathMap
from whesl.model.states import JobState, NodeState
from whesl.model.workflow import BadNode, Grade
from whesl.runtime.coordinator.core.dependents_and_names import dependents
from whesl.runtime.coordinator.core.events_and_commands import (
    AllowRequeue,
    AskRequeue,
    CancelJob,
    Command,
    Event,
    JobCancelled,
    JobSeen,
    LookAtJob,
    Requeue,
    RequeueAllowed,
    StepEnded,
)
from whesl.runtime.coordinator.core.recovery.coordinator_step_plan import context_of, exception_of, plan_step
from whesl.runtime.coordinator.core.state import Recovery, State
from whesl.runtime.coordinator.effects.scheduler_and_manager_lookup import Ports
from whesl.runtime.journal.records.coordinator_records import OwnStep, RequeueBegun, RequeueDone
from whesl.runtime.operations import filesystem
from whesl.runtime.operations.custom_handlers import run_handler
from whesl.runtime.operations.job import changed
from whesl.runtime.operations.recovery_plan import StepResult
from whesl.runtime.operations.suspect_node import grade_of

_LATER = (TransientError, CouldNotObserveError)
A = TypeVar("A", bound=args.Arguments)


class _Job:
    """One step with all data that its execution needs."""

    def __init__(self, state: State, recovery: Recovery, index: int, ports: Ports, log: IO[Any] | int):
        self.state = state
        self.recovery = recovery
        self.index = index
        self.own: OwnStep = recovery.steps[index]
        self.entry = state.tasks[recovery.task]
        self.workflow = state.workflows.get(self.entry.workflow)
        self.ports = ports
        self.log = log

    def ended(self, outcome: OwnStepOutcome, note: str = "", **changes: Any) -> StepEnded:
        changed = [*changes.get("others", ())]
        if changes.get("configuration") is not None:
            changed.append(self.entry.id)
        return StepEnded(
            recovery=self.recovery.id,
            index=self.index,
            outcome=outcome,
            note=note,
            bases={task: self.state.tasks[task].configuration for task in changed},
            **changes,
        )

    def arguments(self, kind: type[A]) -> A:
        return msgspec.convert(self.own.step.arguments, kind)


def perform(state: State, key: str, index: int, ports: Ports, log: IO[Any] | int) -> StepEnded:
    """Carry out a step and return how it ended; errors of ports and handlers become results.

    Args:
        state: the coordinator's state at the time of the command.
        key: the recovery's id.
        index: the step's index among the recovery's own steps.
        ports: schedulers and workflow managers.
        log: takes the standard error of handlers.
    """
    job = _Job(state, state.recoveries[key], index, ports, log)
    try:
        if job.own.handler is not None:
            return _handler(job)
        return _ENTITIES[job.own.step.entity](job)
    except _LATER as error:
        return job.ended(OwnStepOutcome.LATER, error.message)
    except WheslError as error:
        return job.ended(OwnStepOutcome.FAIL, error.message)
    except (OSError, ValueError) as error:
        return job.ended(OwnStepOutcome.FAIL, f"{job.own.name}: {error}")


def _handler(job: _Job) -> StepEnded:
    step = plan_step(job.own, job.recovery.id, job.index, job.recovery.raised)
    result: StepResult = run_handler(step, context_of(job.entry), job.log)
    if result.outcome not in (StepOutcome.CONTINUE, StepOutcome.SKIP):
        why = result.note or result.reason or "no reason given"
        return job.ended(
            OwnStepOutcome.FAIL, f"handler: {result.outcome.value}: {why}", bad_nodes=result.bad_nodes
        )
    own, downstream = result.configuration, result.dependents
    if job.own.step.entity is Entity.DEPENDENT_JOB:
        own, downstream = None, own or downstream
    return job.ended(
        OwnStepOutcome.CONTINUE,
        result.note,
        configuration=own,
        dependents=downstream,
        signal=result.signal,
        bad_nodes=result.bad_nodes,
    )


# WMS ---------------------------------------------------------------------------------------------------


def _by_manager(job: _Job) -> StepEnded:
    if job.workflow is None:
        return job.ended(
            OwnStepOutcome.FAIL, "no workflow manager is known: the task's workflow was not registered"
        )
    workflow = job.workflow.workflow
    before = job.recovery.configuration or job.entry.configuration
    manager = job.ports.manager(workflow.wms)
    after = manager.apply(workflow, job.own.step, job.recovery.raised, before)
    change = Configuration(path_map=after.path_map) if after.path_map != before.path_map else None
    rules = ", ".join(f"{rule.old} -> {rule.new}" for rule in after.path_map.rules)
    return job.ended(OwnStepOutcome.CONTINUE, rules, configuration=after, dependents=change)


# SCHEDULER ---------------------------------------------------------------------------------------------


def _by_scheduler(job: _Job) -> StepEnded:
    step = job.own.step
    scheduler = job.ports.scheduler(job.entry.rjms, job.state.environment_of(job.entry.id))
    if step.resource == ResourceKind.JOB and step.operation == Operation.REPLACE:
        return _restart(job)
    if step.resource == ResourceKind.JOB:
        scheduler.cancel(job.entry.job_id)
        return job.ended(OwnStepOutcome.CONTINUE, f"job {job.entry.job_id} cancelled")
    arguments = job.arguments(args.NodeRemove if step.operation == Operation.REMOVE else args.NodeReplace)
    node = arguments.node or job.own.suspect
    if not node:
        how = OwnStepOutcome.CONTINUE if arguments.unknown == "restart" else OwnStepOutcome.FAIL
        return job.ended(how, "which node is to blame is not known from the evidence")
    bad = _bad_node(job, node, arguments.expires)
    marked = scheduler.mark_node(node, f"whesl: {bad.reason}")
    note = f"{node} taken out of service" if marked else f"{node} noted as bad; only its owner may drain it"
    if step.operation == Operation.REPLACE and not _job_replaces_node(job):
        return job.ended(OwnStepOutcome.REQUEUE, note, bad_nodes=(bad,))
    return job.ended(OwnStepOutcome.CONTINUE, note, bad_nodes=(bad,))


def _restart(job: _Job) -> StepEnded:
    """Run the same job again, under the same id: its size stays, the rest may change."""
    arguments = job.arguments(args.JobReplace)
    if arguments.nodes is not None and arguments.nodes > len(job.entry.nodes):
        return job.ended(
            OwnStepOutcome.FAIL,
            f"a job that runs again keeps its size: {len(job.entry.nodes)} nodes, not {arguments.nodes}",
        )
    before = job.recovery.configuration or job.entry.configuration
    return job.ended(OwnStepOutcome.REQUEUE, "the job runs again", configuration=changed(before, arguments))


def _job_replaces_node(job: _Job) -> bool:
    described = exception_of(job.workflow.spec if job.workflow else None, job.recovery.exception)
    return described is not None and any(
        (step.entity, step.resource, step.operation) == (Entity.JOB, ResourceKind.NODE, Operation.REPLACE)
        for step in described.steps
    )


def _bad_node(job: _Job, node: str, expires: float | None) -> BadNode:
    raised = job.recovery.raised
    grade = grade_of(job.own.level) if node == job.own.suspect else Grade.BLAMED
    why = f" ({job.own.because})" if job.own.because else ""
    return BadNode(
        node=node,
        reason=f"{raised.exception} of {job.entry.id}{why}",
        task=job.entry.id,
        time=raised.time,
        expires=raised.time + (SECONDS[grade] if expires is None else expires),
        source="coordinator",
        grade=grade,
        chosen=expires is not None,
    )


# DEPENDENT_JOB -----------------------------------------------------------------------------------------


def _by_dependents(job: _Job) -> StepEnded:
    step = job.own.step
    kind = (step.resource, step.operation)
    if kind == (ResourceKind.FILESYSTEM, Operation.REPLACE):
        replace = job.arguments(args.FilesystemReplace)
        if len(replace.filesystem) > 1:
            # The failed job finds a file system with room; its choice reaches dependents when its recovery is
            # done.
            return job.ended(
                OwnStepOutcome.CONTINUE, "dependents follow the job's own choice", signal=replace.signal
            )
        rule = PathMap().with_rule(replace.defaultpath, replace.filesystem[0])
        change = Configuration(path_map=rule)
        return job.ended(OwnStepOutcome.CONTINUE, dependents=change, signal=replace.signal)
    if kind == (ResourceKind.NODE, Operation.REMOVE):
        remove = job.arguments(args.NodeRemove)
        node = remove.node or job.own.suspect
        if not node:
            return job.ended(OwnStepOutcome.CONTINUE, "which node is to blame is not known from the evidence")
        bad = _bad_node(job, node, remove.expires)
        change = Configuration(excluded_nodes=(node,))
        return job.ended(
            OwnStepOutcome.CONTINUE, f"dependents avoid {node}", dependents=change, bad_nodes=(bad,)
        )
    if kind == (ResourceKind.JOB, Operation.REPLACE):
        change = changed(Configuration(), job.arguments(args.JobReplace))
        # Dependents that run now began before this recovery: they are ended and started again.
        change = msgspec.structs.replace(change, restart=job.recovery.time)
        return job.ended(OwnStepOutcome.CONTINUE, "dependents run changed", dependents=change)
    if kind == (ResourceKind.JOB, Operation.REMOVE):
        return job.ended(
            OwnStepOutcome.CONTINUE, "dependents are skipped", dependents=Configuration(skip=True)
        )
    change_one = filesystem.add if step.operation == Operation.ADD else filesystem.remove
    others = {}
    for task in dependents(job.state, job.entry.id):
        result = change_one(job.arguments(args.FilesystemChange), context_of(job.state.tasks[task]))
        if result.configuration is not None:
            others[task] = result.configuration
    return job.ended(OwnStepOutcome.CONTINUE, f"{len(others)} dependents changed", others=others)


_ENTITIES: dict[Entity, Callable[[_Job], StepEnded]] = {
    Entity.WMS: _by_manager,
    Entity.SCHEDULER: _by_scheduler,
    Entity.DEPENDENT_JOB: _by_dependents,
}


# Jobs --------------------------------------------------------------------------------------------------


def look_at_jobs(
    ports: Ports, rjms: str, looks: Sequence[LookAtJob], environment: Mapping[str, str]
) -> list[JobSeen]:
    """Query the scheduler about jobs with one call. A missing answer is reported as such (``unseen``).

    Queries fit a requeued job's number of nodes to those that are up, also after a requeue by the scheduler
    or the user; with ``start`` they lift the job's hold. Both may be needed long after the requeue: when the
    scheduler gives up the lost node of the old run.

    Args:
        ports: schedulers and workflow managers.
        rjms: the scheduler's name.
        looks: the queries.
        environment: variables that name the cluster.
    """
    try:
        scheduler = ports.scheduler(rjms, environment)
        records = scheduler.jobs(list(dict.fromkeys(look.job_id for look in looks)))
    except UsageError as error:
        if len(looks) > 1:
            # One of the ids is invalid: a query for each job separates it from the others.
            return [seen for look in looks for seen in look_at_jobs(ports, rjms, [look], environment)]
        return [_unseen(look, error) for look in looks]
    except WheslError as error:
        return [_unseen(look, error) for look in looks]
    return [_seen(scheduler, look, records.get(look.job_id)) for look in looks]


def _seen(scheduler: Scheduler, look: LookAtJob, record: JobRecord | None) -> JobSeen:
    try:
        if record is not None and record.restarts:
            if any(look.sizes) and isinstance(scheduler, ChangesLimits):
                scheduler.fit_waiting(record, look.used, look.sizes)
            if look.start and isinstance(scheduler, LiftsHold):
                scheduler.lift_hold(record)
        down = _down(scheduler, record) if record is not None else ()
    except WheslError as error:
        return _unseen(look, error)
    return JobSeen(task=look.task, job_id=look.job_id, record=record, down=down)


def _down(scheduler: Scheduler, record: JobRecord) -> tuple[str, ...]:
    """Return the nodes that a completed job may have lost: nodes that are down and outside the job."""
    if record.state is not JobState.COMPLETED or not record.nodes:
        return ()
    gone = (node.name for node in scheduler.nodes() if node.state is NodeState.DOWN)
    return tuple(sorted(set(gone) - set(record.nodes)))


def _unseen(look: LookAtJob, error: WheslError) -> JobSeen:
    return JobSeen(task=look.task, job_id=look.job_id, unseen=error.message)


def carry_out(command: Order, ports: Ports, environment: Mapping[str, str]) -> Event:
    """Carry out an order for a job's scheduler and return how it ended; errors of the port become results.

    Args:
        command: the order.
        ports: schedulers and workflow managers.
        environment: variables that name the cluster.
    """
    try:
        return ORDERS[type(command)](ports.scheduler(command.rjms, environment), command)
    except _LATER as error:
        return not_done(command, OrderStatus.LATER, error.message)
    except WheslError as error:
        return not_done(command, OrderStatus.REFUSED, error.message)


def not_done(command: Order, outcome: OrderStatus, reason: str) -> Event:
    """Return the event for an order that was not carried out.

    Args:
        command: the order.
        outcome: refused, or to be tried again later.
        reason: why, for people.
    """
    if isinstance(command, AllowRequeue):
        return RequeueAllowed(task=command.task, outcome=outcome, reason=reason)
    if isinstance(command, CancelJob):
        return JobCancelled(task=command.task, job_id=command.job_id, outcome=outcome, reason=reason)
    return RequeueDone(token=command.token, task=command.task, outcome=outcome, reason=reason)


def _ask_requeue(scheduler: Scheduler, command: AskRequeue) -> Event:
    """Query how often a job was restarted, before it is requeued."""
    restarts = _known(scheduler, command.job_id).restarts
    return RequeueBegun(token=command.token, task=command.task, restarts=restarts)


def _requeue(scheduler: Scheduler, command: Requeue) -> Event:
    """Requeue a job, unless a higher count of restarts shows that the order was carried out before."""
    job_id, restarts = command.job_id, command.restarts
    record = _known(scheduler, job_id)
    if _runs_again(record, restarts):
        return RequeueDone(
            token=command.token, task=command.task, outcome=OrderStatus.DONE, reason="it was done before"
        )
    if record.state is JobState.COMPLETED:
        raise RefusedError("the job has completed")
    blocked = ""
    try:
        if command.withdrawn and isinstance(scheduler, AllowsRequeue):
            scheduler.allow_requeue(job_id)
    except TransientError as error:
        # The requeue may have been allowed before, so it is tried nevertheless. Without slurmdbd, Slurm
        # accepts no change of a job that a lost node has left.
        blocked = f"; {error.message}"
    limits = Limits(time=command.time, memory=command.memory, avoid=command.avoid, sizes=command.sizes)
    asked = command.time is not None or command.memory is not None
    if asked and not isinstance(scheduler, ChangesLimits):
        raise RefusedError(f"{scheduler.name} gives a job that runs again neither more time nor more memory")
    kept = ""
    try:
        if isinstance(scheduler, ChangesLimits):
            kept = scheduler.requeue_with(job_id, limits)
        else:
            scheduler.requeue(job_id)
    except RefusedError as error:
        # An earlier coordinator may have sent the same requeue before it was killed.
        if not _runs_again(scheduler.jobs([job_id]).get(job_id), restarts):
            raise RefusedError(f"{error.message}{blocked}", hint=error.hint) from error
    return RequeueDone(token=command.token, task=command.task, outcome=OrderStatus.DONE, reason=kept)


def _known(scheduler: Scheduler, job_id: str) -> JobRecord:
    record = scheduler.jobs([job_id]).get(job_id)
    if record is None:
        raise RefusedError("the scheduler does not know the job")
    return record


def _runs_again(record: JobRecord | None, restarts: int) -> bool:
    return record is not None and (record.restarts > restarts or record.state is JobState.PENDING)


def _allow_requeue(scheduler: Scheduler, command: AllowRequeue) -> Event:
    """Allow a requeue where the scheduler needs a permission; other schedulers need no call."""
    if isinstance(scheduler, AllowsRequeue):
        try:
            scheduler.allow_requeue(command.job_id)
        except TransientError as error:
            raise RefusedError(
                error.message
            ) from error  # best effort: only a call without an answer is repeated
    return RequeueAllowed(task=command.task, outcome=OrderStatus.DONE)


def _cancel(scheduler: Scheduler, command: CancelJob) -> Event:
    """Cancel a job that has no isolator any more."""
    scheduler.cancel(command.job_id)
    return JobCancelled(task=command.task, job_id=command.job_id, outcome=OrderStatus.DONE)


Order = AskRequeue | Requeue | AllowRequeue | CancelJob
ORDERS: dict[type[Command], Callable[[Scheduler, Any], Event]] = {
    AskRequeue: _ask_requeue,
    Requeue: _requeue,
    AllowRequeue: _allow_requeue,
    CancelJob: _cancel,
}
