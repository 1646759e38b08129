"""The fast path of ``whesl exec``: in the usual case, the program starts soon after the interpreter.

docs/design/launch.md says which case that is. In every other case, and after any error, ``full_start`` does
all the work: the fast path has then started no process and read no input. Standard library only.

As in ``full_start``, job.json is on disk before any process is started, under the task's lock, which the
isolator inherits.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from types import SimpleNamespace

from whesl.files import file_retry, standard_streams
from whesl.files.hanging_file_system import SilentError
from whesl.files.non_utf8_text import original
from whesl.language import rules_cache, shipped_policy
from whesl.managers.resource import allocation_from_environment, launcher_shims, manager_table
from whesl.model import home as places
from whesl.model.errors import WheslError
from whesl.runtime.detect import old_files
from whesl.runtime.isolator.core import attempt_token_prefix, node_division
from whesl.runtime.isolator.launch import (
    isolator_start,
    program_runner,
    runner_start,
    setup_json,
    signal_delivery,
)
from whesl.runtime.isolator.nodes import allocation_share
from whesl.runtime.locking import takeover_lock
from whesl.runtime.wire.private_directory import make_home, make_private, need_room

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_ATTEMPT = "attempt-1"


def prepare(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Start the task and its isolator, and return the keeper's fields.

    Args:
        options: the options of ``whesl exec`` by their keys.

    Returns None in any case but the usual one, with nothing done that ``full_start`` would not do again.
    Raises UsageError for a script that cannot be read; HomeError for a home that does not answer; OSError.
    """
    try:
        task = _described(setup_json.Request(**options))
    except (WheslError, UnicodeError) as error:
        if isinstance(error.__cause__, SilentError):
            raise  # ``full_start`` would wait as long for the same home
        return None
    if task is None:
        return None
    try:
        job, script = setup_json.job(task.request, task.setup, setup_json.streams(), task.path)
        if script:
            file_retry.replace(setup_json.given_script(task.path), script, mode=0o700)
        return _start(task, job)
    finally:
        file_retry.close(task.lock)


def _described(request: setup_json.Request) -> SimpleNamespace | None:
    """Return a task's description without its streams, with its lock held; None in an unusual case."""
    standard_streams.open_standard_streams()
    here = _home()
    if here is None or len(request.rules) > 1 or request.inner == manager_table.INSTANCE:
        return None
    # Raises UnicodeError for text that is not UTF-8, which ``full_start`` refuses.
    said = (*request.command, *(str(value) for value in vars(request).values()), os.getcwd())  # noqa: PTH109
    "\0".join(said).encode()
    make_home(here)
    given = allocation_from_environment.given(os.environ)
    if given is None:
        return None
    spec = None
    warnings: list[str] = []
    if request.rules:
        spec, warnings = _rules(here, request)
        if spec is None or (warnings and request.strict):
            return None
    setup = setup_json.setup(request, spec, given, here)
    path = setup_json.task_dir(request, setup["task"]["id"], here)
    if any(file_retry.exists(f"{path}/{trace}") for trace in ("job.json", "journal.db", _ATTEMPT)):
        return None
    with contextlib.suppress(OSError):
        if not file_retry.retried(lambda: os.listdir(path)):  # noqa: PTH208
            file_retry.retried(lambda: os.chmod(path, 0o700))  # noqa: PTH101
    make_private(path)
    need_room(path)
    with contextlib.suppress(OSError, WheslError):
        lock = takeover_lock.take(f"{path}/lock", _owner(setup))
        if not file_retry.exists(f"{path}/job.json"):
            setup |= allocation_share.settle(setup, here, path)
            if warnings and not request.quiet:
                sys.stderr.write("".join(f"whesl: {each}\n" for each in warnings))
            return SimpleNamespace(request=request, given=given, setup=setup, path=path, lock=lock)
        takeover_lock.release(lock)
    return None


def _owner(setup: dict[str, Any], pid: int | None = None) -> takeover_lock.Owner:
    job = f"{setup['rjms']}:{setup['job_id']}" if setup["job_id"] else ""
    return takeover_lock.owned(setup["claim"], job, setup["restarts"], pid)


def _home() -> str | None:
    named = places.chosen()
    return None if named.startswith("~") else setup_json.absolute(named)


def _rules(here: str, request: setup_json.Request) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the rules and their warnings; None where ``full_start`` has to load the rules."""
    path, name, content = shipped_policy.place(request.rules[0]), request.step or request.name, None
    with contextlib.suppress(OSError):
        content = file_retry.content(path, file_retry.BRIEF)
    # The path as pathlib prints it, by which the cache knows it.
    plain = "/".join(part for part in path.split("/") if part not in ("", "."))
    plain = f"/{plain}" if path.startswith("/") else plain
    known = rules_cache.recall(f"{here}/cache", plain, content) if content is not None else None
    # ``full_start`` finds handlers, expands paths, and reports missing ones.
    if known is None or any("/" in handler for handler in _handlers(known["spec"])) or _varies(known["spec"]):
        return None, []
    jobs = [job for exception in known["spec"]["exceptions"] for job in exception["jobs"]]
    if name and not request.workflow and not any(job == name or set("*?[") & set(job) for job in jobs):
        return None, []
    for exception in () if name else known["spec"]["exceptions"]:
        exception["jobs"] = ["*"]
    return known["spec"], known["warnings"]


def _handlers(spec: dict[str, Any]) -> list[str]:
    return [each.get("handler") or "" for one in spec["resources"] for each in one["operations"]]


def _varies(spec: dict[str, Any]) -> bool:
    """Whether a path may contain a home, a variable or a glob, or is watched but missing."""
    for exception in spec["exceptions"]:
        for detection in exception["detections"]:
            disk, file = detection.get("path") or "", (detection.get("source") or {}).get("path") or ""
            promise = detection.get("promise") or {}
            promised = f"{promise.get('path')}{promise.get('than')}"
            if set("~$*?[") & set(disk + file) or set("~$") & set(promised):
                return True
            watched = (disk, os.path.dirname(file))  # noqa: PTH120
            if any(place and not file_retry.exists(place) for place in watched):
                return True
        for step in exception["steps"]:
            for value in step.get("arguments", {}).values():
                texts = value if isinstance(value, list) else [value]
                if any(_is_variable(text) for text in texts if isinstance(text, str)):
                    return True
    return False


def _is_variable(text: str) -> bool:
    """Whether a text names a home or a variable; names of captures are lower-case and in braces."""
    after = text.split("$")[1:]
    return text.startswith("~") or any(part[:1].isalpha() or part[1:2].isupper() for part in after)


def _start(task: SimpleNamespace, job: dict[str, Any]) -> dict[str, Any]:
    """Write job.json, start the isolator, and start the first attempt where no coordinator is asked."""
    path = task.path
    begins = not task.setup["coordinator"] and not _wants_instance(task)
    outputs = [job[name]["path"] or f"{path}/{_ATTEMPT}/{name}" for name in ("stdout", "stderr")]
    if job["joined"]:
        outputs[1] = outputs[0]
    if begins:
        named = _read_files(job)
        sizes = {file: file_retry.size(file) for file in (*outputs, *named)}
        job["first"] = {"sizes": sizes, "before": old_files.positions(named), "began": time.time()}
    started = 0
    signal_delivery.hold_signals()
    file_retry.replace(f"{path}/job.json", json.dumps(job).encode())
    file_retry.remove(f"{path}/result.json")
    gate = os.pipe()
    # The isolator starts first, so that the lock names it from the beginning, and waits at the gate.
    pid = isolator_start.start_isolator(sys.executable, path, task.lock, gate)
    with contextlib.suppress(OSError):  # the isolator signs the lock itself
        takeover_lock.sign(task.lock, _owner(task.setup, pid))
    if begins:
        # After an error, the isolator tries again and reports the reason.
        with contextlib.suppress(OSError):
            started = _begin(task, job, outputs)
    from whesl.runtime.isolator.launch import (
        short_task_without_isolator,  # imported only now that the program runs
    )

    return {
        "gate": short_task_without_isolator.gate(gate, job, started=bool(started)),
        "task_dir": path,
        "python": sys.executable,
        "claim": task.setup["claim"],
        "isolator": pid,
        "child": True,
        "runner": started,
        **setup_json.passed_on(task.request, job, task.setup),
    }


def _wants_instance(task: SimpleNamespace) -> bool:
    """Whether a Flux instance is to be started in the job
    (``whesl.managers.resource.flux.nested_allocation.wanted``)."""
    if not manager_table.may_hold_flux(task.given.rjms, task.request.inner) or len(task.given.nodes) < 2:
        return False
    if task.setup["components"]:
        return False
    from shutil import which

    return (
        which(manager_table.BUILT_IN[manager_table.INSTANCE].command, path=os.environ.get("PATH", os.defpath))
        is not None
    )


def _read_files(job: dict[str, Any]) -> list[str]:
    """Return the files that the rules search besides the task's streams."""
    spec = job["setup"]["spec"]
    sources = [
        detection.get("source") or {}
        for exception in (spec["exceptions"] if spec else ())
        for detection in exception["detections"]
    ]
    named = [source["path"] for source in sources if source.get("stream") == "file" and source.get("path")]
    return [
        setup_json.absolute(file if file.startswith("/") else f"{job['workdir']}/{file}") for file in named
    ]


def _begin(task: SimpleNamespace, job: dict[str, Any], outputs: list[str]) -> int:
    """Start the first attempt, and return its runner's process number. Raises OSError."""
    path, setup = task.path, task.setup
    place = f"{path}/{_ATTEMPT}"
    # Only the process that makes the directory starts the attempt: any other leaves the start to the
    # isolator, which first looks for a running attempt.
    file_retry.retried(lambda: os.mkdir(place, 0o700))  # noqa: PTH102
    active, _ = node_division.of_first_attempt(setup)
    file_retry.replace(f"{path}/reconfigure.json", UNCHANGED)
    file_retry.replace(f"{path}/hosts", "".join(f"{node}\n" for node in active).encode())
    environment = {**os.environ, **_launchers(task, active)}
    environment |= runner_start.told(
        task=setup["task"]["id"],
        workflow=setup["workflow"],
        restarts=setup["earlier"],
        token=f"{attempt_token_prefix.token_prefix(setup['salt'], setup['task']['id'])}1",
        active=active,
        swapped="{}",
        lost=(),
        hosts=f"{path}/hosts",
        reconfigure=f"{path}/reconfigure.json",
    )
    if task.given.rjms != manager_table.HOST:
        environment |= launcher_shims.in_front(f"{path}/bin", environment)
    file_retry.replace(f"{place}/claim", setup["claim"].encode())
    file_retry.replace(f"{place}/status", program_runner.STATUS_PENDING)
    return runner_start.start(
        runner_start.with_checkpoints(tuple(map(original, job["command"])), job["checkpoints"]),
        status=f"{place}/status",
        stdin=job["stdin"],
        stdin_offset=job["stdin_offset"],
        stdout=outputs[0],
        stderr=outputs[1],
        workdir=job["workdir"],
        environment=environment,
        descriptors=job["descriptors"],
    ).pid


# The JSON of an unchanged ``Configuration``.
UNCHANGED = (
    b'{"version":0,"path_map":{"rules":[]},"environment":{},"command":null,"append":null,"nodes":null,'
    b'"time_limit":null,"memory":null,"workdir":null,"excluded_nodes":[],"skip":false,"restart":0.0,'
    b'"failed":[]}'
)


def _launchers(task: SimpleNamespace, active: tuple[str, ...]) -> dict[str, str]:
    """Install the launchers' shims, and return the variables for the resource manager's launchers."""
    if task.given.rjms == manager_table.HOST:
        return {}
    launcher_shims.install(f"{task.path}/bin", path=os.environ.get("PATH"))
    return allocation_from_environment.launch_environment(active, os.environ)
