"""NODE.REPLACE, REMOVE, ADD: the nodes of the allocation that a task uses. Pure.

A step may be carried out twice: a node that is out already stays out. Without a spare a step fails, and the
exception's ELSE decides what follows: only ESCALATE may requeue the job. A batch host that is suspected and
alive leaves the launcher's node set like any other node; the script stays on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from whesl.language.compiler.operation_signatures import NodeAdd, NodeRemove, NodeReplace, NodeSuspected
from whesl.model.allocation_nodes import NodeSet
from whesl.model.bad_node_expiry import SECONDS, told
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import StepOutcome
from whesl.model.workflow import BadNode, Grade
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult
from whesl.runtime.operations.spare_choice import avoided, in_order, unusable
from whesl.runtime.operations.suspect_node import grade_of, match_node

SPARES_EXHAUSTED = "spares-exhausted"
_UNKNOWN = {"restart": StepOutcome.CONTINUE, "fail": StepOutcome.FAIL, "pause": StepOutcome.PAUSE}


def replace(step: PlanStep, arguments: NodeReplace, context: Context) -> StepResult:
    """Replace the suspected node by a spare node.

    Args:
        step: the step.
        arguments: the operation's arguments.
        context: the task's data.
    """
    node = _suspect(step, arguments, context)
    if not node:
        return _unknown(step, arguments)
    if node in context.nodes.lost:
        return StepResult(note=f"{node} is out of use already")
    bad = _bad_node(step, arguments, node)
    if node in context.nodes.spares:
        return _changed(context, context.nodes.remove(node), bad, f"spare {node} is no longer considered")
    now = step.raised.time
    nodes = msgspec.structs.replace(context.nodes, spares=in_order(context, now))
    try:
        nodes = nodes.replace(node, avoid=unusable(context))
    except LookupError:
        busy = dict.fromkeys(context.busy, "used by another task")
        busy |= dict.fromkeys(context.nodes.elsewhere(node), "of another component")
        there = ", ".join(f"{spare} is {busy.get(spare, 'silent')}" for spare in context.nodes.spares)
        there = there or "there is none"
        because = step.because or "as specified"
        return _exhausted(f"{node} is to be replaced ({because}), but no usable spare is left: {there}", bad)
    took = nodes.swapped[node]
    stays = "; the script itself stays on it" if node == context.batch_host else ""
    why = f"{_predicted(context, took)}{_although(context, [took], now)}{stays}"
    return _changed(context, nodes, bad, f"{node} replaced by {took}{why}")


def remove(step: PlanStep, arguments: NodeRemove, context: Context) -> StepResult:
    """Remove the suspected node from the nodes in use, of which at least ``min_nodes`` have to remain.

    Args:
        step: the step.
        arguments: the operation's arguments.
        context: the task's data.
    """
    node = _suspect(step, arguments, context)
    if not node:
        return _unknown(step, arguments)
    if node in context.nodes.lost:
        return StepResult(note=f"{node} is out of use already")
    bad = _bad_node(step, arguments, node)
    if context.nodes.components:
        kept = "the components of a heterogeneous job keep their nodes"
        return _exhausted(f"{node} is to be removed, but {kept}", bad)
    nodes = context.nodes.remove(node)
    if len(nodes.active) < max(arguments.min_nodes, 1):
        left = f"{len(nodes.active)} nodes would be left, fewer than {arguments.min_nodes}"
        return _exhausted(f"without {node} {left}", bad)
    return _changed(context, nodes, bad, f"{node} removed, {len(nodes.active)} nodes left in use")


def add(step: PlanStep, arguments: NodeAdd, context: Context) -> StepResult:
    """Take spare nodes into use that are not known as bad.

    Args:
        step: the step.
        arguments: the operation's arguments.
        context: the task's data.
    """
    now = step.raised.time
    spares = in_order(context, now)
    usable = len(spares) - len(unusable(context) & set(spares))
    if usable < arguments.count:
        return _exhausted(f"{arguments.count} more nodes are wanted, {usable} usable spares are left")
    nodes = msgspec.structs.replace(context.nodes, spares=spares).add(arguments.count)
    took = spares[: arguments.count]
    return StepResult(
        nodes=nodes,
        configuration=_configuration(context, nodes),
        note=f"{', '.join(took)} taken into use{_although(context, took, now)}",
    )


def _exhausted(note: str, *bad: BadNode) -> StepResult:
    return StepResult(outcome=StepOutcome.FAIL, reason=SPARES_EXHAUSTED, note=note, bad_nodes=bad)


def _although(context: Context, took: Sequence[str], now: float) -> str:
    """Return a sentence on taken nodes that should be avoided, with the reason; "" without such nodes."""
    said = []
    for node in took:
        known = [bad for bad in context.bad_nodes if bad.expires > now and match_node(bad.node, [node])]
        if known:
            said.append(told(known[-1], now))
        elif node in avoided(context, now):
            said.append(f"{node} (excluded by an earlier recovery)")
    return f", as no other spare is left: {', '.join(said)}" if said else ""


def _predicted(context: Context, took: str) -> str:
    """Return a text on a spare's predicted failure probability beside the others'.

    "" without a prediction.
    """
    if took not in context.predicted:
        return ""
    others = [node for node in context.nodes.spares if node != took and node in context.predicted]
    beside = "".join(f", {node} {context.predicted[node]:.2g}" for node in others[:3])
    return f" (fails in the time left with probability {context.predicted[took]:.2g}{beside})"


def _suspect(step: PlanStep, arguments: NodeSuspected, context: Context) -> str:
    if not arguments.node:
        return step.suspect
    node = match_node(arguments.node, context.nodes.all)
    if not node:
        raise RecoveryError(
            f"{step.name}: {arguments.node} is not a node of this allocation "
            f"({', '.join(context.nodes.all) or 'which has none'})"
        )
    return node


def _unknown(step: PlanStep, arguments: NodeSuspected) -> StepResult:
    said = step.because or "unknown: the evidence names no node of the allocation"
    return StepResult(
        outcome=_UNKNOWN[arguments.unknown],
        note=f"suspect {said}; as specified: {arguments.unknown}"
        + (" on the same nodes" if arguments.unknown == "restart" else ""),
    )


def _bad_node(step: PlanStep, arguments: NodeSuspected, node: str) -> BadNode:
    because = step.because if not arguments.node else "named by the specification"
    grade = grade_of(step.level) if not arguments.node else Grade.BLAMED
    lasts = SECONDS[grade] if arguments.expires is None else arguments.expires
    return BadNode(
        node=node,
        reason=f"{step.raised.exception}: {because or 'suspected'}",
        task=step.raised.task,
        time=step.raised.time,
        expires=step.raised.time + lasts,
        grade=grade,
        chosen=arguments.expires is not None,
    )


def _changed(context: Context, nodes: NodeSet, bad: BadNode, note: str) -> StepResult:
    return StepResult(
        nodes=nodes, configuration=_configuration(context, nodes, bad.node), bad_nodes=(bad,), note=note
    )


def _configuration(context: Context, nodes: NodeSet, bad: str = "") -> Configuration:
    present = context.configuration
    excluded = present.excluded_nodes
    if bad and bad not in excluded:
        excluded = (*excluded, bad)
    count = len(nodes.active) if len(nodes.active) != len(context.nodes.active) else present.nodes
    return msgspec.structs.replace(present, version=present.version + 1, excluded_nodes=excluded, nodes=count)
