"""Conversion of the options of sbatch and srun to a job's specification."""

from __future__ import annotations

import getpass
import os
import re
import signal
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from whesl.managers.resource.embedded.commands import options
from whesl.managers.resource.embedded.environment import cleaned
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Dependency, JobSpec
from whesl.model.errors import UsageError

# Prefix of a comment that carries a submission token (whesl.managers.resource.slurm.slurm_command_output); a
# job with a known token is not queued again.
MARK = "whesl:"
_KINDS = ("after", "afterany", "afterok", "afternotok")
_MAX_ARRAY = 10_000
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


def specification(found: Iterable[tuple[str, str]], environ: Mapping[str, str], **fixed: Any) -> JobSpec:
    """Return the specification of the job that command-line options ask for.

    Args:
        found: pairs of option name and value; a later pair overrides an earlier one of its name.
        environ: the caller's environment.
        **fixed: fields of the specification that the command decides.

    Raises UsageError.
    """
    fields: dict[str, Any] = {
        "name": "",
        "user": environ.get("USER") or getpass.getuser(),
        "uid": os.getuid(),
        "gid": os.getgid(),
        "submit_host": socket.gethostname(),
        "token": environ.get("WHESL_SUBMIT_TOKEN", ""),
        "nodes": None,
        "workdir": os.getcwd(),  # noqa: PTH109  # pathlib slows each command's start
    }
    for name, value in found:
        fields |= _field(name, value)
    if fields["nodes"] is None and fields.get("tasks") is None:
        fields["nodes"] = max(1, len(fields.get("nodelist", ())))
    first = fields.get("comment", "").split(maxsplit=1)[:1]
    if first and first[0].startswith(MARK) and not fields["token"]:
        fields["token"] = first[0].removeprefix(MARK)
    fields["workdir"] = os.path.abspath(fields["workdir"])  # noqa: PTH100
    fields |= {name: value for name, value in fixed.items() if not (name == "name" and fields["name"])}
    return JobSpec(**fields)


def _no_kill(value: str) -> bool:
    if value not in ("", "set", "off", "no"):
        raise UsageError("Invalid --no-kill specification")
    return value in ("", "set")


def _appends(value: str) -> bool:
    if value[:1] not in ("a", "t"):
        raise UsageError(f"Invalid --open-mode specification: {value}")
    return value.startswith("a")


def _field(name: str, value: str) -> dict[str, Any]:
    """Return the fields that one option sets."""
    if name in ("dependency", "array"):
        return (dependencies if name == "dependency" else array)(value)
    if name not in _FIELDS:
        return {}
    field, read = _FIELDS[name]
    return {field: read(value)}


def step_fields(name: str, value: str) -> dict[str, Any]:
    """Return the fields of a step that an option of srun sets. Raises UsageError.

    Args:
        name: the option's long name.
        value: the option's value.
    """
    if name not in ("nodes", "ntasks", "cpus-per-task", "ntasks-per-node", "nodelist", "exclude"):
        return {}
    return _field(name, value)


def dependencies(text: str) -> dict[str, Any]:
    """Read a ``--dependency``: parts like ``afterok:1:2``, joined by ``,`` (all) or ``?`` (any).

    Raises UsageError.
    """
    found = []
    for part in re.split(r"[,?]", text):
        kind, _, jobs = part.partition(":")
        ids = [job.split("+")[0].split("_")[0] for job in jobs.split(":")]
        if kind not in _KINDS or not all(map(options.is_number, ids)):
            raise UsageError(f"Invalid dependency specification: {text}")
        found += [Dependency(kind=kind, job=int(job)) for job in ids]
    return {"dependencies": tuple(found), "any_dependency": "?" in text}


def array(text: str) -> dict[str, Any]:
    """Read a value of ``--array`` such as ``1-10:2,15%4``. Raises UsageError."""
    indexes, _, limit = text.partition("%")
    tasks: dict[int, None] = {}
    for part in indexes.split(","):
        match = _RANGE.fullmatch(part)
        if match is None or (limit and not options.is_number(limit)):
            raise UsageError(f"Invalid job array specification: {text}")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or not step or (last - first) // step >= _MAX_ARRAY:
            raise UsageError(f"Invalid job array specification: {text}")
        tasks.update(dict.fromkeys(range(first, last + 1, step)))
    return {"array": tuple(sorted(tasks)), "array_limit": int(limit or 0)}


def warning(text: str) -> tuple[int, float, bool]:
    """Read a value of ``--signal``: ``[B:]SIGNAL[@SECONDS]``. Raises UsageError.

    Returns the signal's number, seconds before the time limit, and whether only the batch shell gets it.
    """
    where, colon, rest = text.rpartition(":")
    name, _, ahead = rest.partition("@")
    if (colon and where not in ("B", "R", "BR", "RB")) or (ahead and not options.is_number(ahead)):
        raise UsageError(f"Invalid --signal specification: {text}")
    return signal_number(name), float(ahead or 60), "B" in where


def signal_number(name: str) -> int:
    """Return the number of a signal, from a number or a name with or without SIG. Raises UsageError."""
    if options.is_number(name) and 0 < int(name) < signal.NSIG:
        return int(name)
    try:
        return signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"].value
    except KeyError:
        raise UsageError(f"Unknown job signal: {name}") from None


def exported(choice: str | None, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a value of ``--export`` selects.

    Args:
        choice: ALL, NONE, or names and NAME=VALUE with commas between; None means ALL.
        environ: the caller's environment.
    """
    everything = cleaned(environ)
    if choice is None or choice == "ALL":
        return everything
    keep = {"HOME", "USER", "LOGNAME", "SHELL", "PATH", "WHESL_HOME"}
    words = [] if choice in ("NONE", "NIL") else choice.split(",")
    base = everything if "ALL" in words else {k: v for k, v in everything.items() if k in keep}
    for word in words:
        name, equals, value = word.partition("=")
        if equals:
            base[name] = value
        elif name in environ:
            base[name] = environ[name]
    return base


# For each option with one field in the specification: the field, and the reader of the option's value.
_FIELDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "account": ("account", str),
    "begin": ("begin", lambda value: options.begin_time(value, time.time())),
    "chdir": ("workdir", str),
    "comment": ("comment", str),
    "cpus-per-task": ("cpus_per_task", partial(options.count, option="--cpus-per-task")),
    "error": ("error", str),
    "exclude": ("exclude", options.node_names),
    "exclusive": ("exclusive", lambda _: True),
    "hold": ("hold", lambda _: True),
    "input": ("input", str),
    "job-name": ("name", str),
    "kill-on-invalid-dep": ("kill_invalid_dependency", lambda value: value == "yes"),
    "no-kill": ("no_kill", _no_kill),
    "no-requeue": ("requeue", lambda _: False),
    "nodefile": ("nodelist", lambda value: options.node_names(value if "/" in value else f"./{value}")),
    "nodelist": ("nodelist", options.node_names),
    "nodes": ("nodes", options.node_count),
    "ntasks": ("tasks", partial(options.count, option="--ntasks")),
    "ntasks-per-node": ("tasks_per_node", partial(options.count, option="--ntasks-per-node")),
    "open-mode": ("append", _appends),
    "output": ("output", str),
    "partition": ("partition", str),
    "requeue": ("requeue", lambda _: True),
    "signal": ("warning", warning),
    "time": ("time_limit", options.seconds),
}
