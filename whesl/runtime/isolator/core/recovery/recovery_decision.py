"""The specification's decision on an exception of the task: counting, budget, plan. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whesl.language.spec import Entity, ExceptionSpec
from whesl.model.evidence import Detected, Evidence, Raised, explain, grouped, shortened
from whesl.model.outcomes import Action
from whesl.model.recovery_criterion import Reach
from whesl.runtime.detect.exception_transformation import Transformed, is_counted, is_its_end, transform
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.core.transition_context import Transition
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_limits import Course, course
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, make_plan
from whesl.runtime.wire.messages import RecoveryRequest

_LINE = 160
_ABOUT_NODES = frozenset({"node", "heartbeat", "job-exception", "external", "predicted"})


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A recovery's steps, or why there are none."""

    steps: tuple[PlanStep, ...] = ()
    error: str = ""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The action for an exception: recover after ``backoff`` s, or fail, pause or escalate."""

    action: Action
    reason: str = ""
    steps: tuple[PlanStep, ...] = ()
    backoff: float = 0.0


def covers(state: State, name: str) -> bool:
    """Whether the specification has an exception of this name for the task.

    Args:
        state: the task's state.
        name: the exception's name.
    """
    return name in names(state)


def names(state: State) -> tuple[str, ...]:
    """Return the exceptions that the specification has for this task."""
    return tuple(exception.name for exception in state.setup.exceptions())


def of_lost_nodes(state: State) -> str:
    """Return the task's first exception that a node's loss raises, an empty string for none."""
    for exception in state.setup.exceptions():
        if any(detection.sees_lost_nodes() for detection in exception.detections):
            return exception.name
    return ""


def nodes_of(evidence: tuple[Evidence, ...]) -> tuple[str, ...]:
    """Return the nodes that evidence is about; the node of a log line is only where the line was read."""
    return tuple(item.node for item in evidence if item.node and item.kind in _ABOUT_NODES)


def needs_coordinator(spec: ExceptionSpec) -> bool:
    """Whether an exception's rule has steps of other entities than the job."""
    return any(step.entity is not Entity.JOB for step in spec.steps)


def request(state: State, raised: Raised) -> RecoveryRequest:
    """Return the request to the coordinator for its part of the recovery from an exception.

    Args:
        state: the task's state.
        raised: the occurrence of the exception; the request counts the earlier ones of the same name.
    """
    return RecoveryRequest(raised=raised, claim=state.setup.claim, earlier=_earlier(state, raised))


def _earlier(state: State, raised: Raised) -> int:
    """Return how often the task has raised an exception before, also in earlier runs of its job."""
    return sum(item.exception == raised.exception and item.ordinal < raised.ordinal for item in state.raised)


def planned(state: State, raised: Raised, *, silent: tuple[str, ...] = ()) -> Planned:
    """Return the steps that the isolator itself takes.

    Args:
        state: the task's state.
        raised: the exception.
        silent: nodes that do not answer, besides the nodes known to be down.
    """
    spec = state.setup.spec
    assert spec is not None
    try:
        present = msgspec.structs.replace(context(state, silent=silent), recoveries=_earlier(state, raised))
        return Planned(steps=make_plan(spec, raised, present))
    except RecoveryError as error:
        return Planned(error=error.message)


def context(state: State, *, silent: tuple[str, ...] = ()) -> Context:
    """Return the planner's view of the task; the shell adds the facts that only it can see.

    Args:
        state: the task's state.
        silent: nodes that do not answer, besides the nodes known to be down.
    """
    setup = state.setup
    return Context(
        task=setup.task,
        workspace=setup.task.workspace,
        nodes=state.nodes,
        batch_host=setup.own_node,
        silent=tuple(dict.fromkeys((*state.down, *silent))),
        bad_nodes=state.bad_nodes,
        configuration=msgspec.structs.replace(state.configuration, path_map=state.ran),
        attempt=state.attempt,
        first_started=state.first_started,
        attempt_started=state.attempt_started,
        attempt_ended=state.attempt_ended,
        open_files=state.recovery.open_files if state.recovery else (),
    )


def decide(state: State, spec: ExceptionSpec, raised: Raised, now: float) -> Decision:
    """Return the action for an exception: its budget decides first, then whether its steps are possible.

    Args:
        state: the task's state.
        spec: the exception's specification.
        raised: the occurrence of the exception.
        now: seconds since the epoch.
    """
    instead = Action(spec.otherwise.value.lower())
    counted = state.setup.spec is not None and is_counted(state.setup.spec, state.setup.task, spec.name)
    if not spec.steps and not counted:
        return Decision(action=instead, reason="the rules have no step for it")
    plan = planned(state, raised)
    before = (item for item in state.raised if item.ordinal < raised.ordinal)
    went = course((*before, raised)) if spec.without_progress else Course()
    wait = state.budget.decide(spec, raised.ordinal, now, went.advanced)
    if wait is None:
        return Decision(action=instead, reason=_spent(state, spec, went), steps=plan.steps)
    if went.again:
        reason = f"budget-spent: no restart mends what came again at the same place: {went.again}"
        return Decision(action=instead, reason=reason, steps=plan.steps)
    if plan.error:
        return Decision(action=instead, reason=plan.error)
    if not state.setup.coordinator and needs_coordinator(spec):
        reason = "it needs steps of the coordinator, and this task runs without one"
        return Decision(action=instead, reason=reason, steps=plan.steps)
    return Decision(action=Action.RECOVER, steps=plan.steps, backoff=wait)


def _spent(state: State, spec: ExceptionSpec, went: Course) -> str:
    """Return the reason text for an exception whose budget is spent."""
    within = f" within {spec.limit_within:g} s" if spec.limit_within else ""
    reason = f"budget-spent: {spec.limit} {'recovery' if spec.limit == 1 else 'recoveries'}{within}"
    if spec.without_progress:
        return f"{reason} without progress: the task has not got further than {went.furthest}"
    if further := sum(use.ordinal in state.recovered for use in state.budget.uses.get(spec.name, ())):
        reason += f", {further} of which went on past what had failed"
    return reason


def raised(state: State, found: Detected, became: Transformed, now: float) -> Raised:
    """Return the next exception of a task.

    Args:
        state: the task's state before the exception.
        found: the detection.
        became: the exception to which counting transformed the detected one.
        now: seconds since the epoch.
    """
    evidence = found.evidence
    if became.detail:
        evidence = (*evidence, Evidence(kind="count", time=now, detail=became.detail))
    return Raised(
        exception=became.exception,
        task=state.setup.task.id,
        attempt=state.attempt,
        ordinal=state.ordinal + 1,
        time=now,
        evidence=evidence,
        transformed_from=became.origins,
        reached=reached(state, now),
        cause=state.cause,
    )


def reached(state: State, now: float) -> Reach:
    """Return the progress of the present attempt, or the progress that it had when it ended.

    Args:
        state: the task's state.
        now: seconds since the epoch.
    """
    began = state.attempt_started
    ran = max((state.attempt_ended or now) - began, 0.0) if began else 0.0
    return msgspec.structs.replace(state.reached or Reach(), seconds=ran)


def why(raised: Raised) -> str:
    """Return the kind and text of the last evidence of an exception, shortened."""
    if not raised.evidence:
        return "no evidence"
    last = raised.evidence[-1]
    what = shortened(explain(last.kind, last.line, last.detail), _LINE) or last.pattern
    return f"{last.kind}: {what}" if what else last.kind


def with_evidence(raised: Raised, reason: str) -> str:
    """Return why a task goes no further: the exception, the end of its recovery, and the evidence.

    Args:
        raised: the exception.
        reason: why its recovery ended.
    """
    seen = why(raised)
    told = seen.partition(": ")[2] or seen
    return f"{raised.exception}: {reason}" + ("" if told in reason else f" ({seen})")


def transformed(state: State, found: Detected, now: float) -> Transformed:
    """Return the exception to which counting transforms a detected one, and the exceptions in between.

    Args:
        state: the task's state with the exceptions counted so far.
        found: the detection.
        now: seconds since the epoch.
    """
    spec = state.setup.spec
    assert spec is not None
    return transform(spec, state.setup.task, state.history, found.exception, now)


def settled(state: State) -> frozenset[str]:
    """Return the exceptions that are ignored when the present attempt raises them again.

    These are exceptions already reported in observe mode, and exceptions that wait for a checkpoint, unless
    another exception counts them.
    """
    spec, task = state.setup.spec, state.setup.task
    told = {*state.observed, *(asked.raised.exception for asked in state.asked)}
    return frozenset(name for name in told if spec is not None and not is_counted(spec, task, name))


def observe(transition: Transition, found: Sequence[Detected]) -> None:
    """Observe mode: report once per attempt and exception the action that a recovery would take.

    Repeated exceptions are still counted, since the n-th one may be transformed to a higher exception.

    Args:
        transition: the present transition.
        found: the detections in the present attempt, in order; each is only recorded.
    """
    setup, history = transition.state.setup, transition.state.history
    if setup.spec is None:
        return  # without rules there are no detections
    counted = []
    for item in found:
        state = transition.state
        before = (raised for raised in state.raised if raised.attempt == state.attempt)
        if is_its_end(
            item, {name for other in before for name in (other.exception, *other.transformed_from)}
        ):
            transition.drop(item)
            continue
        became = transform(setup.spec, setup.task, history, item.exception, transition.now)
        if became.exception not in state.observed:
            _observe(transition, item, became)
        elif became.history != history:
            counted.append(item)
        history = became.history
    for item in grouped(counted):
        transition.drop(item, history=history)


def _observe(transition: Transition, found: Detected, became: Transformed) -> None:
    entry = raised(transition.state, found, became, transition.now)
    transition.record(records.Raised(raised=entry, history=became.history))
    decision = decide(transition.state, transition.rule(entry.exception), entry, transition.now)
    transition.record(
        records.Observed(
            exception=entry.exception,
            ordinal=entry.ordinal,
            action=decision.action,
            reason=decision.reason,
            steps=decision.steps,
        )
    )
    transition.say(f"observed {entry.exception} ({why(entry)}): would {decision.action}; nothing was touched")
