"""The job gets further nodes for a recovery without a usable spare.

Agents, leases and launchers' variables are made for the job's nodes at the start of an isolator. So the
isolator writes down what has changed, and ends: its keeper starts another one, which takes the recovery up at
the same step, with the new nodes as spares.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from typing import NoReturn

import msgspec

from whesl.files import decode_errors, file_retry
from whesl.managers.resource.job_growth_port import Grows, Growth
from whesl.managers.resource.port import Allocation
from whesl.model.errors import WheslError
from whesl.runtime.isolator.core.task_setup import token_prefix
from whesl.runtime.isolator.task.taskdir import Grown, Job, TaskDir
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.node_agent.fencing import attempt_processes
from whesl.runtime.node_agent.messages import LinkFile
from whesl.runtime.operations.node import SPARES_EXHAUSTED
from whesl.runtime.operations.recovery_plan import StepResult

LOG = logging.getLogger(__name__)


def told(job: Job, step: PlanStep, result: StepResult) -> StepResult:
    """Return a step's result, with the nodes that the job has got for the step.

    Args:
        job: the task, with the nodes that earlier isolators got for its steps.
        step: the step that has been carried out.
        result: its result; the notes on the nodes are added to its note.
    """
    notes = [grown.note for grown in job.grown if grown.step == step.id]
    return msgspec.structs.replace(result, note="; ".join((result.note, *notes)))


def wanted(job: Job, step: PlanStep, result: StepResult) -> float:
    """Return for how many seconds further nodes are waited for, 0 for none: once for each step.

    Args:
        job: the task.
        step: a step that has been carried out.
        result: its result.
    """
    again = any(grown.step == step.id for grown in job.grown)
    exhausted = step.handler is None and result.reason == SPARES_EXHAUSTED
    return float(step.arguments.get("wait", 0)) if exhausted and not again else 0.0


def grow(
    directory: TaskDir, job: Job, allocation: Allocation, step: PlanStep, result: StepResult
) -> StepResult:
    """Get further nodes and end this process; return the step's result where there are none.

    Args:
        directory, job: the task.
        allocation: the resource manager inside the job.
        step: the step without a usable spare.
        result: its result.
    """
    wait = wanted(job, step, result)
    if not wait:
        return told(job, step, result)
    count = int(step.arguments.get("count", 1))
    name = f"whesl-{token_prefix(job.setup)}{step.raised.ordinal}-{step.id.rpartition('.')[2]}"
    LOG.info("%s; %d more nodes are asked for, and waited for %g s", result.note, count, wait)
    try:
        if not isinstance(allocation, Grows):
            raise WheslError(f"{allocation.name} gives a running job no further nodes")
        growth = allocation.grow(count, name, wait)
    except WheslError as error:
        return msgspec.structs.replace(result, note=f"{result.note}; {error.message}")
    return _start_again(directory, job, growth, step.id)


def _start_again(directory: TaskDir, job: Job, growth: Growth, step: str) -> NoReturn:
    LOG.info("%s: this isolator ends, and another one begins with these nodes", growth.note)
    grown = Grown(step=step, variables=growth.variables, note=growth.note)
    setup = msgspec.structs.replace(job.setup, nodes=growth.nodes)
    larger = msgspec.structs.replace(job, setup=setup, grown=(*job.grown, grown))
    file_retry.replace(directory.job_file, msgspec.json.encode(larger))
    # The responder's table has the earlier nodes. Without it, the next isolator starts another one.
    link = decode_errors.load(directory.link, LinkFile)
    carrier = link.responder if link is not None else None
    if carrier is not None and attempt_processes.alive(carrier.pid, carrier.started):
        with contextlib.suppress(ProcessLookupError):
            os.kill(carrier.pid, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("killed")
