"""The specification of a batch job, where Flux's own Python cannot make it. Pure; standard library only.

Form: RFC 14 and 25 (version 1), 37 (files), as flux-core 0.88.0's ``JobspecV1.from_batch_command`` makes it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# A regular file's mode, with its permissions.
_FILE = 0o100000


def batch_jobspec(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the specification of a job as ``scheduler.submission`` describes it."""
    slots, nodes = job["tasks"] or job["nodes"], job["nodes"]
    slot = {
        "type": "slot",
        "count": -(-slots // nodes),
        "with": [{"type": "core", "count": 1}],
        "label": "task",
    }
    node: dict[str, Any] = {"type": "node", "count": nodes, "with": [slot]}
    if job["tasks"] is None:
        node["exclusive"] = True
    options: dict[str, Any] = {"per-resource": {"type": "node"}, "mpi": "none", "exit-timeout": "none"}
    for stream, path in (("stdout", job["output"]), ("stderr", job["error"])):
        if path:
            _set(options, f"output.{stream}", {"type": "file", "path": path})
    for name, value in job["shell_options"].items():
        _set(options, name, value)
    files = {
        "conf.json": {"mode": _FILE | 0o600, "data": job["configuration"]},
        "script": {"mode": _FILE | 0o700, "data": job["script"], "encoding": "utf-8"},
    }
    system: dict[str, Any] = {
        "duration": job["seconds"],
        "environment": job["environment"],
        "cwd": job["workdir"],
        "job": {"name": job["name"]},
        "shell": {"options": options},
        "files": files,
    }
    if job["after_ok"]:
        system["dependencies"] = [{"scheme": "afterok", "value": other} for other in job["after_ok"]]
    if job["queue"]:
        system["queue"] = job["queue"]
    if job["exclude"]:
        system["constraints"] = {"not": [{"hostlist": [",".join(job["exclude"])]}]}
    attributes: dict[str, Any] = {"system": system}
    for name, value in job["attributes"].items():
        _set(attributes, name, value)
    broker = ["flux", "broker", *job["broker_options"], "-c{{tmpdir}}/conf.json"]
    task = {
        "command": [*broker, "{{tmpdir}}/script", *job["arguments"]],
        "slot": "task",
        "count": {"total": slots} if slots % nodes else {"per_slot": 1},
    }
    return {"resources": [node], "tasks": [task], "attributes": attributes, "version": 1}


def _set(tree: dict[str, Any], path: str, value: Any) -> None:
    *above, name = path.split(".")
    for part in above:
        tree = tree.setdefault(part, {})
    tree[name] = value
