"""Turns a ``flux run`` from ``srun_to_flux`` into a job specification. Pure.

``flux run``, a Python program, takes several times as long as its submission. ``flux job submit`` and ``flux
job attach``, which do the same together, are programs in C. Only the options that ``srun_to_flux`` writes are
known here. The form is RFC 25 of Flux (version 1), as ``flux run --dry-run`` of 0.88.0 prints it.
"""

from __future__ import annotations

TYPE_CHECKING = False  # typing and collections.abc cost milliseconds at every start of a launcher
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_LIMITS = ("cpu", "fsize", "data", "stack", "core", "nofile", "as", "rss", "nproc")


def jobspec(
    words: Sequence[str], environ: Mapping[str, str], cwd: str, limits: Mapping[str, int]
) -> tuple[dict[str, Any], list[str]] | None:
    """Return the specification and the options of ``flux job attach``; None where ``flux run`` is needed.

    Args:
        words: the arguments of ``flux run`` from ``srun_to_flux``.
        environ: the script's environment.
        cwd: the job's working directory.
        limits: the job's soft resource limits by name (``core_limits``); -1 for unlimited.
    """
    split = words.index("--")
    given: dict[str, list[str]] = {}
    for word in words[:split]:
        name, _, value = word.removeprefix("--").partition("=")
        given.setdefault(name, []).append(value)
    known = {name: values[-1] for name, values in given.items()}
    nodes, tasks = int(known["nodes"]), int(known["ntasks"])
    operator, _, operand = known.get("requires", "").partition(":")
    if tasks % nodes or operator not in ("rank", "host") or len(given["requires"]) != 1:
        return None
    within = [{"type": "core", "count": int(known.get("cores-per-task", "1"))}]
    if "gpus-per-task" in known:
        within.append({"type": "gpu", "count": int(known["gpus-per-task"])})
    slot = {"type": "slot", "count": tasks // nodes, "with": within, "label": "task"}
    node: dict[str, Any] = {"type": "node", "count": nodes, "with": [slot]}
    if "exclusive" in known:
        node["exclusive"] = True
    variables, expanded = _environment(given.get("env", ()), environ)
    options: dict[str, Any] = {"rlimit": dict(limits), "env-expand": expanded}
    for text in given.get("setopt", ()):
        _set(options, text)
    if "unbuffered" in known:
        for stream in ("stdout", "stderr"):
            _set(options, f"output.{stream}.buffer.type=none")
        _set(options, "input.batch-timeout=0.0")
    if "taskmap" in known:
        options["taskmap"] = {"scheme": known["taskmap"], "value": ""}
    system: dict[str, Any] = {
        "duration": float(known.get("time-limit", "0s").removesuffix("s")),
        "environment": variables,
        "cwd": known.get("cwd", cwd),
        "shell": {"options": options},
        "constraints": {"ranks" if operator == "rank" else "hostlist": [operand]},
    }
    if "job-name" in known:
        system["job"] = {"name": known["job-name"]}
    task = {"command": list(words[split + 1 :]), "slot": "task", "count": {"per_slot": 1}}
    specification = {"resources": [node], "tasks": [task], "attributes": {"system": system}, "version": 1}
    return specification, [f"--{name}" for name in ("label-io", "unbuffered") if name in known]


def _environment(rules: Sequence[str], environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the job's environment, and the variables whose values the job shell fills in for each task."""
    variables, expanded = dict(environ), {}
    for rule in rules:
        name, equals, value = rule.partition("=")
        if equals and "{{" in value:
            variables.pop(name, None)
            expanded[name] = value
        elif equals:
            variables[name] = value.replace("$$", "$")
    return variables, expanded


def _set(options: dict[str, Any], text: str) -> None:
    """Set a shell option ``PATH=VALUE`` as ``flux run --setopt`` does."""
    path, equals, value = text.partition("=")
    *above, name = path.split(".")
    for part in above:
        options = options.setdefault(part, {})
    try:
        options[name] = float(value) if equals else 1
    except ValueError:
        options[name] = value


def core_limits() -> dict[str, int]:
    """Return this process's soft limits of the resources whose limits ``flux run`` passes on."""
    import resource

    return {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[0] for name in _LIMITS}
