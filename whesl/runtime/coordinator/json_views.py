"""Views of the coordinator's state for people, as JSON builtins. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from whesl.model.states import TaskState
from whesl.model.workflow import Workflow
from whesl.runtime.coordinator.core.state import State, TaskEntry, WorkflowEntry

_NAMED = 5  # the most tasks that a sentence names
_AT_WORK = (TaskState.RUNNING, TaskState.RECOVERING)


def status_view(state: State, workflow: str = "") -> dict[str, Any]:
    """Return the present workflows and their tasks.

    Args:
        state: the coordinator's state.
        workflow: the id of the only workflow to return, '' for all.

    Returns ``{"workflows": [{"id", "name", "wms", "root", "rjms", "observe", "time", "tasks": [...]}]}`` in
    the order of registration; tasks of no registered workflow stand under a workflow without name and root.
    """
    flows = {entry.workflow.id: _flow(entry) for entry in state.workflows.values()}
    for task in state.tasks.values():
        if task.workflow not in flows:
            stranger = Workflow(id=task.workflow, name="", wms="", root="")
            flows[task.workflow] = _flow(
                WorkflowEntry(workflow=stranger, rjms=task.rjms, time=task.state_time)
            )
        flows[task.workflow]["tasks"].append(task_view(task))
    return {"workflows": [flow for key, flow in flows.items() if workflow in ("", key)]}


def _flow(entry: WorkflowEntry) -> dict[str, Any]:
    return {
        "id": entry.workflow.id,
        "name": entry.workflow.name,
        "wms": entry.workflow.wms,
        "root": entry.workflow.root,
        "rjms": entry.rjms,
        "observe": entry.observe,
        "time": entry.time,
        "tasks": [],
    }


def task_view(task: TaskEntry) -> dict[str, Any]:
    """Return a task's row of the status."""
    return {
        "id": task.id,
        "step": task.step,
        "instance": task.instance,
        "state": task.state.value,
        "since": task.state_time,
        "started": task.started,
        "ended": task.state_time if task.state.final else 0.0,
        "attempt": task.attempt,
        "job_id": task.job_id,
        "rjms": task.rjms,
        "nodes": list(task.nodes),
        "exceptions": task.exceptions,
        "recovered": task.recovered,
        "exception": task.exception,
        "exception_time": task.exception_time,
        "exit_code": task.exit_code,
        # A running task shows no reason: the stored reason may belong to an earlier state.
        "reason": "" if task.state in _AT_WORK else task.reason,
        "trouble": task.trouble,
        "configuration_version": task.configuration.version,
        "path_map": [[rule.old, rule.new] for rule in task.configuration.path_map.rules],
    }


def unreachable(state: State) -> list[dict[str, Any]]:
    """Return the resource managers that did not answer the last query about jobs.

    Each is ``{"rjms", "why", "tasks"}``, with the tasks whose jobs the query was about.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for task, why in state.volatile.unseen.items():
        entry = state.tasks.get(task)
        if entry is not None and entry.live:
            found.setdefault((entry.rjms, why), []).append(task)
    return [{"rjms": rjms, "why": why, "tasks": tasks} for (rjms, why), tasks in found.items()]


def unreachable_managers(health: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each resource manager that does not answer queries about jobs.

    Args:
        health: as ``health_view`` returns it.
    """
    lines = []
    for each in health.get("unreachable", ()):
        tasks = each["tasks"]
        more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
        about = f"{', '.join(tasks[:_NAMED])}{more}"
        lines.append(f"{each['rjms']} cannot be asked about the jobs of {about}: {each['why']}")
    return lines


def nodes_view(state: State, now: float) -> dict[str, Any]:
    """Return the bad nodes whose records have not expired.

    Args:
        state: the coordinator's state.
        now: seconds since the epoch.
    """
    nodes = sorted(state.bad_nodes.values(), key=lambda bad: bad.node)
    return {"nodes": [msgspec.to_builtins(bad) for bad in nodes if bad.expires > now]}


def health_view(state: State, counters: dict[str, int], waiting: int) -> dict[str, Any]:
    """Return the daemon's health: counts of workflows, tasks, recoveries, and messages.

    Args:
        state: the coordinator's state.
        counters: counts of dropped messages, by reason.
        waiting: the number of messages without an acknowledgement.
    """
    return {
        "workflows": len(state.workflows),
        "tasks": len(state.tasks),
        "live": len(state.live),
        "open_recoveries": sum(recovery.open for recovery in state.recoveries.values()),
        "unacknowledged": waiting,
        "unreachable": unreachable(state),
        "counters": counters,
    }
