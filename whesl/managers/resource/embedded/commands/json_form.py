"""``--json`` of squeue and sinfo: Slurm 22.05's form (v0.0.38), or the data_parser's when asked for.

Since 23.02 ``--json=v0.0.40`` chooses a plugin's form, where numbers that may be missing are objects
and states are lists. Both are offered, so that readers of either can be tried here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from whesl.managers.resource.embedded.commands import formats
from whesl.managers.resource.embedded.environment import file_name
from whesl.managers.resource.embedded.protocol import NodeView
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Job, Settings
from whesl.managers.resource.hostlist import compress
from whesl.model.errors import UsageError

VERSIONS = {"": 38, "list": 38, "v0.0.38": 38, "v0.0.39": 39, "v0.0.40": 40}


def jobs(found: list[Job], settings: Settings, *, version: str) -> str:
    """Return jobs as JSON text. Raises UsageError for a version that is not known."""
    newer = _version(version) > 38
    return _document("jobs", [_job(job, settings, newer) for job in found], _version(version))


def nodes(found: list[NodeView], settings: Settings, *, version: str) -> str:
    """Return nodes as JSON text. Raises UsageError for a version that is not known."""
    newer = _version(version) > 38
    return _document("nodes", [_node(view, settings, newer) for view in found], _version(version))


def _version(text: str) -> int:
    try:
        return VERSIONS[text]
    except KeyError:
        raise UsageError(f"Unknown data_parser plugin: {text}") from None


def _document(kind: str, records: list[dict[str, Any]], version: int) -> str:
    plugin = {"type": f"openapi/v0.0.{version}", "name": f"Slurm OpenAPI v0.0.{version}"}
    release = {"version": {"major": 22, "micro": 8, "minor": 5}, "release": "22.05.8"}
    document: dict[str, Any] = {"meta": {"plugin": plugin, "Slurm": release}, "errors": [], kind: records}
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _number(value: float | None, newer: bool) -> Any:
    if not newer:
        return None if value is None else int(value)
    return {"set": value is not None, "infinite": False, "number": int(value or 0)}


def _job(job: Job, settings: Settings, newer: bool) -> dict[str, Any]:
    spec = job.spec
    output = spec.output or ("slurm-%A_%a.out" if job.array_task is not None else "slurm-%j.out")
    standard_output = file_name(output, job, node=job.batch_host)
    code: Any = job.exit_code << 8 | job.exit_signal
    if newer:
        code = {
            "status": ["SIGNALED" if job.exit_signal else "ERROR" if job.exit_code else "SUCCESS"],
            "return_code": _number(job.exit_code, True),
            "signal": {"id": _number(job.exit_signal or None, True), "name": ""},
        }
    minutes = None if job.time_limit is None else job.time_limit // 60
    return {
        "account": spec.account,
        "admin_comment": "",
        "array_job_id": _number(job.array_job, newer),
        "array_task_id": _number(job.array_task, newer),
        "batch_flag": not spec.interactive,
        "batch_host": job.batch_host,
        "cluster": settings.name,
        "command": spec.command,
        "comment": job.comment,
        "cpus": _number(formats.cpu_count(job), newer),
        "cpus_per_task": _number(spec.cpus_per_task, newer),
        "current_working_directory": spec.workdir,
        "dependency": formats.dependency(job),
        "eligible_time": _number(max(job.eligible, job.begin), newer),
        "end_time": _number(formats.end_time(job), newer),
        "excluded_nodes": compress(spec.exclude),
        "exit_code": code,
        "features": "",
        "group_id": spec.gid,
        "hold": job.held,
        "job_id": job.id,
        "job_resources": {
            "nodes": compress(job.nodes),
            "allocated_cores": formats.cpu_count(job),
            "allocated_hosts": len(job.nodes),
        },
        "job_state": [job.state.value] if newer else job.state.value,
        "name": spec.name,
        "nodes": formats.node_list(job),
        "node_count": _number(formats.node_count(job), newer),
        "partition": job.partition,
        "prefer": "",
        "priority": _number(0 if job.held else 2**32 - 65536 - job.id, newer),
        "required_nodes": compress(spec.nodelist),
        "requeue": job.requeue,
        "restart_cnt": job.restarts,
        "shared": ["none"] if newer else None,
        "standard_error": file_name(spec.error, job, node=job.batch_host) if spec.error else standard_output,
        "standard_input": spec.input or "/dev/null",
        "standard_output": standard_output,
        "start_time": _number(job.started, newer),
        "state_description": "",
        "state_reason": job.reason,
        "submit_time": _number(job.submitted, newer),
        "tasks": _number(spec.tasks or sum(share.tasks for share in job.shares), newer),
        "time_limit": {"set": minutes is not None, "infinite": minutes is None, "number": int(minutes or 0)}
        if newer
        else _number(minutes, False),
        "user_id": spec.uid,
        "user_name": spec.user,
    }


def _node(view: NodeView, settings: Settings, newer: bool) -> dict[str, Any]:
    flags = (["DRAIN"] if view.drain else []) + ([] if view.responds else ["NOT_RESPONDING"])
    base = "idle" if view.base == "completing" else view.base
    if view.base == "completing":
        flags.append("COMPLETING")
    return {
        "name": view.name,
        "hostname": view.name,
        "address": "127.0.0.1",
        "state": [base.upper(), *flags] if newer else base,
        "state_flags": flags,
        "cpus": view.cpus,
        "alloc_cpus": view.allocated,
        "idle_cpus": view.cpus - view.allocated,
        "partitions": [part.name for part in settings.partitions if view.name in part.nodes],
        "reason": view.reason,
        "reason_changed_at": _number(view.reason_time, newer),
        "reason_set_by_user": view.reason_user or None,
        "comment": "",
        "extra": "",
        "slurmd_start_time": _number(view.booted, newer),
        "boot_time": _number(view.booted, newer),
    }
