"""The first attempt, started by ``whesl exec`` itself before its isolator has loaded.

The isolator loads for some tenths of a second. Token and nodes are derived from the setup, so the isolator's
core derives the same ones, and its shell finds the running attempt by the token. Before the start, job.json
says that there may be such an attempt, and how long its files were; the task's lock is held from then on, and
handed over, so no other call can start the same task.
"""

from __future__ import annotations

import os
from subprocess import Popen
from typing import TYPE_CHECKING

import msgspec

from whesl.files import file_retry
from whesl.managers.resource import manager_table
from whesl.managers.resource.port import Allocation, AllocationInfo
from whesl.model.configuration_changes import Configuration
from whesl.runtime.isolator.core.task_setup import AttemptPlan, split, token
from whesl.runtime.isolator.launch.attempt import Attempt
from whesl.runtime.isolator.launch.attempt_starter import Starter
from whesl.runtime.isolator.observe import attempt_output_destination
from whesl.runtime.isolator.task.taskdir import First, Job, TaskDir

if TYPE_CHECKING:
    from whesl.runtime.isolator.launch.runner_start import Spawn

NUMBER = 1


def possible(job: Job, directory: TaskDir, info: AllocationInfo) -> bool:
    """Whether the first attempt needs no coordinator or Flux instance, and no attempt has ever begun.

    Args:
        job: the task.
        directory: the task's directory.
        info: the resource manager's description of the allocation.
    """
    setup = job.setup
    if setup.coordinator or not (setup.rjms == manager_table.HOST or manager_table.manager(setup.rjms).early):
        return False  # a coordinator may change the command, and an instance has to be started first
    if manager_table.may_hold_flux(setup.rjms, job.inner):
        from whesl.managers.resource.flux import nested_allocation

        if nested_allocation.wanted(job.inner, info, os.environ):
            return False
    return not file_retry.exists(directory.journal) and not file_retry.exists(directory.attempt(NUMBER))


def beginning(job: Job, directory: TaskDir) -> First:
    """Return the state of the attempt's files before its start.

    Args:
        job: the task.
        directory: the task's directory.
    """
    return attempt_output_destination.beginning(directory, job, NUMBER, Configuration())


def begin(job: Job, directory: TaskDir, allocation: Allocation, spawn: Spawn = Popen) -> int:
    """Start the attempt, and return the process number of its runner.

    Returns 0 when the attempt could not be started: the isolator tries again, and reports the reason.

    Args:
        job: the task.
        directory: the task's directory.
        allocation: the allocation of the resource manager.
        spawn: starts the runner's process.
    """
    # Only the process that makes the directory starts the attempt: any other leaves the start to the
    # isolator, which first looks for a running attempt.
    try:
        file_retry.retried(lambda: directory.attempt(NUMBER).mkdir(mode=0o700))
    except OSError:
        return 0
    command = AttemptPlan(
        attempt=NUMBER,
        token=token(job.setup, NUMBER),
        configuration=Configuration(),
        nodes=split(job.setup),
    )
    starter = Starter(directory, msgspec.structs.replace(job, first=None), allocation, spawn)
    started = starter.start(command)
    return started.pid if isinstance(started, Attempt) else 0
