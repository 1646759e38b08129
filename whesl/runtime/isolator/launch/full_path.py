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
from whesl.files.other_bytes import carried, reachable
from whesl.language.rules_file import load_rules
from whesl.language.spec import Spec
from whesl.managers.resource import current_allocation, manager_table, withheld
from whesl.managers.resource.port import Allocation, AllocationInfo
from whesl.model import home as places
from whesl.model.errors import UsageError, WheslError
from whesl.runtime.isolator.core.task_setup import Setup
from whesl.runtime.isolator.launch import (
    first_attempt,
    keeper,
    setup_json,
    short_task,
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

_AGAIN = 0.1  # seconds between two looks at a call that was faster
_FASTER = 10.0  # seconds after which the result of a faster call has to be seen


class AlreadyRunError(WheslError):
    """Another job runs this task now."""

    exit_code = 75


def prepare(request: Request) -> dict[str, Any] | int:
    """Check everything, then start an isolator or find the one that lives.

    Args:
        request: what the user asked for.

    Returns what the keeper is to be told, or the exit status of a task that has ended under the same claim.

    Raises WheslError for wrong rules and options, before anything was started.
    """
    standard_streams.open_standard_streams()
    here = home()
    spec = _rules(request, here)
    # Asked now, for all that is started from here: later Slurm would leave out a node that it has lost
    # meanwhile.
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
            told, script = setup_json.job(request, msgspec.to_builtins(found), streams, str(directory.path))
        job = msgspec.convert({**told, "setup": msgspec.to_builtins(found)}, Job)
        try:
            pid, runner, gate = _start(job, directory, allocation, info, script)
        except HeldError as error:
            # Another call was faster; the next look tells which.
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
    """Return the rules with their paths as they are here, in the task's environment. Raises UsageError."""
    spec = load_rules(request.rules, places.rules_cache(here), any_job=not (request.step or request.name))
    if spec is None:
        return None
    from whesl.language.path_expansion import expanded  # only here: without rules nothing is to be expanded

    return expanded(spec, os.environ)[0]


def _start(
    job: Job, directory: TaskDir, allocation: Allocation, info: AllocationInfo, script: bytes
) -> tuple[int, int, int]:
    """Start the isolator, and before it the first attempt where that is possible.

    ``script`` is one that came by standard input. Nothing is written before the task's lock is held: what
    another call has written down is what its isolator reads.

    Returns the process numbers of the isolator and of the attempt's runner (0: the isolator starts it), and
    what the keeper needs to let the isolator load (``short_task.gate``).
    Raises HeldError when another call was faster.
    """
    lock = directory.lock(job.setup)
    old = decode_errors.load(directory.job_file, Job)
    if old is not None and (old.setup.claim, old.setup.salt) == (job.setup.claim, job.setup.salt):
        # An earlier call may have started processes, and have died before it could write that down.
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
    with signal_delivery.signals_kept():
        file_retry.replace(directory.job_file, msgspec.json.encode(job))
        file_retry.remove(directory.result_file)
        gate = os.pipe()
        # The isolator is started first, so that the lock names it from the beginning; it waits at the gate.
        pid = keeper.start_isolator(sys.executable, str(directory.path), lock, gate)
        with contextlib.suppress(OSError):  # the isolator signs it itself
            takeover_lock.sign(lock, taskdir.holder_of(job.setup, pid))
        runner = first_attempt.begin(job, directory, allocation) if begins else 0
    return pid, runner, short_task.gate(gate, msgspec.to_builtins(job), started=bool(runner))


def setup_of(request: Request, spec: Spec | None, info: AllocationInfo, here: Path) -> Setup:
    """Return what the isolator is told. Raises UsageError.

    Args:
        request: what the user asked for.
        spec: the rules.
        info: what the resource manager gave.
        here: the WHESL home.
    """
    described = msgspec.convert(setup_json.setup(request, None, info, str(here)), Setup)
    return msgspec.structs.replace(described, spec=spec)


def _earlier(directory: TaskDir, setup: Setup, info: AllocationInfo, request: Request) -> Setup | Owner | int:
    """Look at what an earlier call left: a living isolator, an end, an unfinished task, or nothing."""
    old = decode_errors.load(directory.job_file, Job)
    owner = stale_lock.present(directory, setup, info)
    if owner is not None:
        found = _attach(directory, owner, old, info)
        _refuse_another(old, request, setup.task.id, "runs here")
        return found
    if old is None:
        return setup
    if old.setup.claim == setup.claim and old.setup.leader != setup.leader and gone(old.setup.leader):
        _put_aside(directory)  # the job was another one, of the same id
        return setup
    if _earlier_run(old.setup, setup, info):
        before = old.setup.earlier + directory.newest_attempt()
        setup = msgspec.structs.replace(setup, earlier=before)
    result = decode_errors.load(directory.result_file, Result)
    if result is not None and result.claim == setup.claim:
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
    # A generated name is another one at each call: what an earlier call has started would not be found by it.
    task = setup.task if request.step or request.name else old.setup.task
    # The journal goes on, and with it the count of attempts.
    return msgspec.structs.replace(
        setup, task=task, claim=claim, salt=old.setup.salt, earlier=old.setup.earlier
    )


def _earlier_run(old: Setup, setup: Setup, info: AllocationInfo) -> bool:
    """Whether a task was begun by an earlier run of the very job that now runs again."""
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
    """Raise UsageError when a call means another task than the one of its name: it would never be run.

    Args:
        old: the task of that name.
        request: what the user asked for.
        task: the name.
        what: what that task does.
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
    """Keep an earlier run's record beside the new one."""
    number = 1
    while file_retry.exists(aside := directory.path.with_name(f"{directory.path.name}.{number}")):
        number += 1
    try:
        file_retry.retried(lambda: directory.path.rename(aside))
    except FileNotFoundError:
        if not file_retry.exists(aside):  # a call may have renamed the file although it reported a failure
            raise
    directory.make()
