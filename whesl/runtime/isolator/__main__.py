"""The isolator's process: ``python -m whesl.runtime.isolator --task-dir DIRECTORY [--lock DESCRIPTOR]``."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from whesl import take_own_name
from whesl.files import decode_errors, file_retry
from whesl.managers.resource import current_allocation, manager_table
from whesl.managers.resource.port import Closing
from whesl.managers.resource.single_host import HostAllocation
from whesl.model.errors import WheslError
from whesl.runtime.isolator import shutdown
from whesl.runtime.isolator.daemon import Daemon
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.lock_lost import LockLostError
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import HeldError
from whesl.runtime.locking.takeover_watch import Guard

if TYPE_CHECKING:
    from whesl.managers.resource.port import Allocation
    from whesl.runtime.wire.client import CoordinatorClient

EXIT_LOCKED = 73


def _client(job: Job) -> CoordinatorClient | None:
    """Return the connection to the coordinator; without a coordinator, load no client code."""
    if not job.setup.coordinator:
        return None
    from whesl.runtime.wire.client import CoordinatorClient
    from whesl.runtime.wire.keys import home

    return CoordinatorClient(home(), job.setup.task.id)


def _allocation(job: Job, directory: TaskDir) -> Allocation:
    """Return the job's allocation, with a Flux instance inside the job where one is wanted and possible."""
    if job.setup.rjms == manager_table.HOST:  # the task runs on this host alone, even inside a job
        return HostAllocation(os.environ)
    outer = current_allocation(os.environ)
    if not manager_table.may_hold_flux(job.setup.rjms, job.inner):
        return outer
    from whesl.managers.resource.flux.nested_allocation import around

    return around(outer, job.inner, directory.path / manager_table.INSTANCE, job.setup.claim, os.environ)


def main(arguments: list[str]) -> int:
    """Supervise one task until it is over, and return its exit status.

    Args:
        arguments: ``--task-dir`` and the directory; ``--lock`` and its descriptor, where the caller holds
            the lock; ``--keeper`` and the process number of the keeper that has started this process;
            ``--succeed`` on a node that may take the task over (``isolator_takeover``).
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    logging.raiseExceptions = False  # a log line that cannot be written raises nothing
    try:
        return _look_after(arguments)
    except OSError as error:
        # The files may be within reach later: the keeper starts another isolator, which retries.
        logging.error("the task's files cannot be reached: %s", file_retry.told(error))
        return os.EX_IOERR


def _look_after(arguments: list[str]) -> int:
    directory = TaskDir(Path(arguments[arguments.index("--task-dir") + 1]))
    job = decode_errors.load(directory.job_file, Job)
    if job is None:
        logging.error("%s is missing or not readable", directory.job_file)
        return 70
    try:
        if "--succeed" in arguments:
            # Imported here since few tasks have a successor.
            from whesl.runtime.isolator import isolator_takeover

            if (taken := isolator_takeover.take_over(directory)) is None:
                return 0
            job, lock = taken
        elif "--lock" in arguments:
            lock = int(arguments[arguments.index("--lock") + 1])
            os.set_inheritable(lock, False)
        else:
            lock = directory.lock(job.setup)
        takeover_lock.sign(lock, taskdir.holder_of(job.setup))
        guard = Guard(directory.lock_file, lock)
    except HeldError as error:
        logging.error("another isolator looks after this task: %s", error)
        return EXIT_LOCKED
    except WheslError as error:
        logging.error("%s", error)
        return 70
    if guard.look():
        logging.error("the lock of this task was taken over before this isolator had loaded")
        return LockLostError.exit_code
    for grown in job.grown:
        os.environ.update(grown.variables)
    try:
        allocation = _allocation(job, directory)
        try:
            keeper = int(arguments[arguments.index("--keeper") + 1]) if "--keeper" in arguments else 0
            if job.setup.kept:
                from whesl.runtime.isolator import isolator_takeover

                job = isolator_takeover.prepared(directory, job, allocation, keeper)
            finish = Daemon(directory, job, allocation, _client(job), guard, keeper).run()
            shutdown.part_from_output(directory, job)
        finally:
            if isinstance(allocation, Closing):
                allocation.close()
    except WheslError as error:
        logging.error("%s", error)
        return error.exit_code
    finally:
        takeover_lock.release(lock)
    if job.moved_from:
        isolator_takeover.end_job(allocation, finish.code)
    return finish.code


if __name__ == "__main__":
    take_own_name()
    status = main(sys.argv[1:])
    logging.shutdown()
    # All files are closed. An orderly exit of the interpreter would delay the caller by 20 ms.
    os._exit(status)
