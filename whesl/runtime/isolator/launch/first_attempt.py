"""The first attempt, started by ``whesl exec`` itself before its isolator has loaded.

Loading takes the isolator some tenths of a second, and a program need not wait for it: nothing about a
first attempt is known to the isolator alone. Token and nodes follow from the setup
(``task_setup.token``, ``task_setup.split``), so its core, which writes the attempt down as
always, comes to the same ones, and its shell finds by the token what runs already
(``attempt_starter.Starter``). Before the start, job.json says that there may be such an attempt and how
long its files were; the task's lock is held from then on, and handed over, so no other call can start the
same task.
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
    from whesl.runtime.isolator.launch.attempt_runner import Spawn

NUMBER = 1


def possible(job: Job, directory: TaskDir, info: AllocationInfo) -> bool:
    """Whether everything about the first attempt is known now, and nothing of the task has ever begun.

    Args:
        job: the task.
        directory: the task's.
        info: what the resource manager gave.
    """
    setup = job.setup
    if setup.coordinator or not (setup.rjms == manager_table.HOST or manager_table.manager(setup.rjms).early):
        return False  # the coordinator's welcome may change what is run; an instance has to be there first
    if manager_table.may_hold_flux(setup.rjms, job.inner):
        from whesl.managers.resource.flux import nested_allocation

        if nested_allocation.wanted(job.inner, info, os.environ):
            return False
    return not file_retry.exists(directory.journal) and not file_retry.exists(directory.attempt(NUMBER))


def beginning(job: Job, directory: TaskDir) -> First:
    """Return where the attempt's output begins."""
    return attempt_output_destination.beginning(directory, job, NUMBER, Configuration())


def begin(job: Job, directory: TaskDir, allocation: Allocation, spawn: Spawn = Popen) -> int:
    """Start the attempt, and return the process number of its runner, which ``spawn`` starts.

    Returns 0 when it could not be started: the isolator tries again, and says why.
    """
    # Only this process makes the directory: who finds it there leaves the start to the isolator, which looks
    # first.
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
