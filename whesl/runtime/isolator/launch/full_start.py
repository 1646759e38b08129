"""From ``whesl exec``'s options to a running isolator: identity, streams, rules, attach or start."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from whesl.files import decode_errors, file_retry, standard_streams
from whesl.files.non_utf8_text import carried, reachable
from whesl.language.rules_file import load_rules
from whesl.language.spec import Spec
from whesl.managers.resource import current_allocation, manager_table, withheld
from whesl.managers.resource.port import Allocation, AllocationInfo
from whesl.model import home as places
from whesl.model.errors import UsageError, WheslError
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.launch import (
    first_attempt,
    isolator_start,
    setup_json,
    short_task_without_isolator,
    signal_delivery,
    stale_lock,
)
from whesl.runtime.isolator.launch.setup_json import Request
from whesl.runtime.isolator.nodes import allocation_share
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.taskdir import Job, Result, TaskDir
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.job_leader_identity import gone
from whesl.runtime.locking.takeover_lock import HeldError, Owner
from whesl.runtime.wire.keys import home
from whesl.runtime.wire.private_directory import need_room

_AGAIN = 0.1  # seconds between two looks for the result of a faster call
_FASTER = 10.0  # limit in seconds for the result of a faster call to appear


class AlreadyRunError(WheslError):
    """Another job runs this task now."""

    exit_code = 75


def prepare(request: Request) -> dict[str, Any] | int:
    """Check options and rules, then start an isolator or find the living one.

    Args:
        request: the user's options.

    Returns the keeper's fields, or the exit status of a task that has ended under the same claim.

    Raises WheslError for wrong rules and options, before any process was started.
    """
    standard_streams.open_standard_streams()
    here = home()
    spec = _rules(request, here)
    # Slurm is asked now, on behalf of all processes started from here: later it would leave out lost nodes.
    os.environ.update(withheld(os.environ))
    allocation = current_allocation(os.environ)
    info = allocation.describe()
    if request.inner == manager_table.INSTANCE:
        from whesl.managers.resource.flux import nested_allocation

        nested_allocation.wanted(request.inner, info, os.environ)
    setup = setup_of(request, spec, info, here)
    directory = TaskDir(Path(setup_json.task_dir(request, setup.task.id, str(here))))
    directory.make()
    streams = setup_json.streams()
    deadline = time.monotonic() + _FASTER
    told: dict[str, Any] | None = None
    script = b""
    while True:
        found = _earlier(directory, setup, info, request)
        if isinstance(found, int):
            return found
        if isinstance(found, Owner):
            pid, runner, gate, child, claim = found.pid, 0, 0, False, found.claim
            break
        if told is None:
            need_room(str(directory.path))
            told, script = setup_json.job(request, msgspec.to_builtins(found), streams, str(directory.path))
        job = msgspec.convert({**told, "setup": msgspec.to_builtins(found)}, Job)
        try:
            pid, runner, gate = _start(job, directory, allocation, info, script)
        except HeldError as error:
            # Another call was faster; the next look finds its isolator.
            if time.monotonic() > deadline:
                raise AlreadyRunError(f"this task is run by {error.owner}") from error
            time.sleep(_AGAIN)
            continue
        child, claim = True, found.claim
        break
    return {
        "gate": gate,
        "task_dir": str(directory.path),
        "python": sys.executable,
        "claim": claim,
        "isolator": pid,
        "child": child,
        "runner": runner,
        **setup_json.passed_on(request, streams, msgspec.to_builtins(setup)),
    }


def _rules(request: Request, here: Path) -> Spec | None:
    """Return the rules with their paths expanded in the task's environment. Raises UsageError."""
    spec = load_rules(request.rules, places.rules_cache(here), any_job=not (request.step or request.name))
    if spec is None:
        return None
    from whesl.language.path_expansion import expanded  # imported here since only rules have paths to expand

    return expanded(spec, os.environ)[0]


def _start(
    job: Job, directory: TaskDir, allocation: Allocation, info: AllocationInfo, script: bytes
) -> tuple[int, int, int]:
    """Start the isolator, and where possible the first attempt before the isolator loads.

    ``script`` is the content of a script from standard input. No file is written before the task's lock is
    held, since another call's isolator reads the files of that call.

    Returns the process numbers of the isolator and of the attempt's runner (0: the isolator starts it), and
    the pipe's end by which the keeper lets the isolator load (``short_task_without_isolator.gate``).
    Raises HeldError when another call was faster.
    """
    lock = directory.lock(job.setup)
    old = decode_errors.load(directory.job_file, Job)
    if old is not None and (old.setup.claim, old.setup.salt) == (job.setup.claim, job.setup.salt):
        # An earlier call may have started the first attempt, and died before the attempt was recorded.
        setup = msgspec.structs.replace(job.setup, account=old.setup.account, taken=old.setup.taken)
        job = msgspec.structs.replace(job, first=old.first, setup=setup)
    else:
        settled = allocation_share.settle(msgspec.to_builtins(job.setup), str(home()), str(directory.path))
        if settled:
            settled["taken"] = tuple(settled["taken"])
            job = msgspec.structs.replace(job, setup=msgspec.structs.replace(job.setup, **settled))
    begins = first_attempt.possible(job, directory, info)
    if begins:
        job = msgspec.structs.replace(job, first=first_attempt.beginning(job, directory))
    if script:
        file_retry.replace(setup_json.given_script(str(directory.path)), script, mode=0o700)
    signal_delivery.hold_signals()
    file_retry.replace(directory.job_file, msgspec.json.encode(job))
    file_retry.remove(directory.result_file)
    gate = os.pipe()
    # The isolator starts first, so that the lock names it from the beginning, and waits at the gate.
    pid = isolator_start.start_isolator(sys.executable, str(directory.path), lock, gate)
    with contextlib.suppress(OSError):  # the isolator signs the lock itself
        takeover_lock.sign(lock, taskdir.holder_of(job.setup, pid))
    runner = first_attempt.begin(job, directory, allocation) if begins else 0
    return pid, runner, short_task_without_isolator.gate(gate, msgspec.to_builtins(job), started=bool(runner))


def setup_of(request: Request, spec: Spec | None, info: AllocationInfo, here: Path) -> Setup:
    """Return the isolator's setup. Raises UsageError.

    Args:
        request: the user's options.
        spec: the rules.
        info: the resource manager's description of the allocation.
        here: the WHESL home.
    """
    described = msgspec.convert(setup_json.setup(request, None, info, str(here)), Setup)
    return msgspec.structs.replace(described, spec=spec)


def _earlier(directory: TaskDir, setup: Setup, info: AllocationInfo, request: Request) -> Setup | Owner | int:
    """Return the owner of a living isolator, the status of an ended task, or the setup to start with."""
    old = decode_errors.load(directory.job_file, Job)
    owner = stale_lock.present(directory, setup, info)
    if owner is not None:
        found = _attach(directory, owner, old, info)
        _refuse_another(old, request, setup.task.id, "runs here")
        return found
    if old is None:
        return setup
    if old.setup.claim == setup.claim and old.setup.leader != setup.leader and gone(old.setup.leader):
        _put_aside(directory)  # the earlier job was another one with the same id
        return setup
    if _earlier_run(old.setup, setup, info):
        before = old.setup.earlier + directory.newest_attempt()
        setup = msgspec.structs.replace(setup, earlier=before)
    result = decode_errors.load(directory.result_file, Result)
    # A manager calls a command again in the same job when it tries a task again; a job's script runs once.
    of_script = bool(request.script_word) or request.script is not None
    if of_script and result is not None and result.claim == setup.claim:
        _refuse_another(old, request, setup.task.id, "has ended in this job")
        if not request.quiet:
            told = f"whesl: {setup.task.id} has ended in this job with status {result.code}: not run again\n"
            sys.stderr.write(told)
        return result.code
    if result is not None:
        _put_aside(directory)
        return setup
    same_job = (old.setup.rjms, old.setup.job_id, old.setup.own_node) == (
        info.rjms,
        info.job_id,
        info.batch_host,
    )
    restarted = info.rjms != manager_table.HOST and setup.workflow != setup_json.WITHOUT_WORKFLOW
    claim = setup.claim if restarted or not same_job else old.setup.claim
    # Generated names differ between calls, and processes of an earlier call are found only by the old name.
    task = setup.task if request.step or request.name else old.setup.task
    # The journal is continued, and with it the count of attempts.
    return msgspec.structs.replace(
        setup, task=task, claim=claim, salt=old.setup.salt, earlier=old.setup.earlier
    )


def _earlier_run(old: Setup, setup: Setup, info: AllocationInfo) -> bool:
    """Whether a task was begun by an earlier run of the same job, which was requeued."""
    same_job = bool(info.job_id) and (old.rjms, old.job_id) == (info.rjms, info.job_id)
    return same_job and info.restart_count > 0 and old.leader != setup.leader


def _attach(directory: TaskDir, owner: Owner, old: Job | None, info: AllocationInfo) -> Owner:
    if owner.host == os.uname().nodename and old is not None and old.setup.job_id == info.job_id:
        return owner
    raise AlreadyRunError(
        f"this task is run by an isolator on {owner.host or 'another node'} (claim {owner.claim})",
        hint=f"cancel that job first, or choose another name; the task's record is {directory.path}",
    )


def _refuse_another(old: Job | None, request: Request, task: str, what: str) -> None:
    """Raise UsageError when a call gives another command for the name of a known task.

    Args:
        old: the known task of that name.
        request: the user's options.
        task: the task's name.
        what: the state of the known task, for the message.
    """
    content = setup_json.script_content(request.script) if request.script is not None else b""
    same = old is not None and (
        (old.command, 0) if request.script is None else (old.command[old.script + 1 :], old.checksum)
    ) == (tuple(map(carried, request.command)), setup_json.checksum(content))
    if old is None or not same or old.workdir != reachable(str(Path.cwd())):
        raise UsageError(
            f"a task {task} {what}, with another command or in another directory",
            hint="give each task a name of its own: --instance NAME, or another --step",
        )


def _put_aside(directory: TaskDir) -> None:
    """Move an earlier run's directory aside, and make an empty one."""
    number = 1
    while file_retry.exists(aside := directory.path.with_name(f"{directory.path.name}.{number}")):
        number += 1
    try:
        file_retry.retried(lambda: directory.path.rename(aside))
    except FileNotFoundError:
        # A rename may have succeeded although the file system reported an error.
        if not file_retry.exists(aside):
            raise
    directory.make()
