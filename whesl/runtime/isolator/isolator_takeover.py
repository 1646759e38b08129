"""The isolator's node is lost: an isolator on another node of the same job takes the task over.

Where a job outlives lost nodes, the resource manager ends neither the job nor its agents with the job's
script. So an agent that hears nothing of the isolator any more starts a successor
(``node_agent.isolator_takeover_start``), which waits here until the resource manager calls the isolator's
node down. Silence alone is no loss. Of several successors the one that gets the task's lock takes over: it
names its own node in ``job.json``, and goes on as a restarted isolator does, with the loss of the earlier
node as its first event. The job's script is gone, so the successor also ends the job. It does so, too, where
it cannot take the task over, as from a script that has other commands: such a job would run on for nothing.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import time
from enum import Enum

import msgspec

from whesl.files import decode_errors, file_retry
from whesl.managers.resource import current_allocation
from whesl.managers.resource.job_without_script import OutlivesScript
from whesl.managers.resource.port import Allocation
from whesl.model.errors import WheslError
from whesl.model.states import NodeState
from whesl.runtime.isolator.core.recovery import recovery_decision
from whesl.runtime.isolator.core.recovery.escalation_to_coordinator import EXIT_TEMPORARY
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.launch.setup_json import given_script
from whesl.runtime.isolator.task.lock_lost import LockLostError
from whesl.runtime.isolator.task.taskdir import Job, Result, TaskDir
from whesl.runtime.locking.takeover_lock import HeldError

LOG = logging.getLogger(__name__)
ASK_EVERY = 5.0  # seconds between two questions to the resource manager
# Seconds for which a job is left to the coordinator that runs it again.
REQUEUE_PATIENCE = 120.0


class Variables(msgspec.Struct, frozen=True, kw_only=True):
    """The resource manager's variables in the environment of the job's script."""

    values: dict[str, str]


class Course(str, Enum):
    """What a successor does next."""

    WAIT = "wait"
    LEAVE = "leave"
    TAKE = "take"


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a successor sees.

    ``heard``: the isolator's node has answered its agent again. ``keeps``: the node that has the task, by
    ``job.json``. ``ended``: the task has a result. ``state``: of the silent node by the resource manager;
    UNKNOWN where it could not be asked.
    """

    heard: bool = False
    keeps: str
    ended: bool = False
    state: NodeState = NodeState.UNKNOWN


def course(look: Look, own: str, lost: str) -> Course:
    """Return what a successor does next.

    Args:
        look: what it sees.
        own: its node.
        lost: the node from which it may take the task over.
    """
    if look.keeps == own:
        return Course.TAKE  # this node's isolator was killed after it had taken over
    if look.heard or look.ended or look.keeps != lost:
        return Course.LEAVE
    return Course.TAKE if look.state.unusable else Course.WAIT


def moves(job: Job, allocation: Allocation, keeper: int) -> bool:
    """Whether another node may take the task over: rules act on lost nodes, and it is the job's whole script.

    Args:
        job: the task.
        allocation: the resource manager inside the job.
        keeper: the process number of this isolator's keeper; 0 for none, as after a takeover.
    """
    setup = job.setup
    acts = bool(recovery_decision.of_lost_nodes(State(setup=setup)))
    whole = bool(job.script) and job.batch == keeper
    able = isinstance(allocation, OutlivesScript) and not setup.components and len(setup.nodes) > 1
    return setup.kept and acts and whole and able and not setup.observe


def prepared(directory: TaskDir, job: Job, allocation: Allocation, keeper: int) -> Job:
    """Write down the script and its variables, where another host may take the task over.

    Args:
        directory, job: the task's directory and job.
        allocation, keeper: as for ``moves``.

    Returns the job, with ``setup.moves`` if so.
    """
    if not moves(job, allocation, keeper):
        return job
    assert isinstance(allocation, OutlivesScript)
    try:
        if not job.moved_from:
            script = file_retry.content(job.command[job.script]) or b""
            file_retry.replace(given_script(str(directory.path)), script)
            variables = Variables(values=allocation.script_variables())
            file_retry.replace(directory.variables, msgspec.json.encode(variables))
    except OSError as error:
        LOG.warning("no other node can take the task over: %s", file_retry.told(error))
        return job
    return msgspec.structs.replace(job, setup=msgspec.structs.replace(job.setup, moves=True))


def take_over(directory: TaskDir, heard: int = 0) -> tuple[Job, int] | None:
    """Wait until this node may take the task over; return the job and the task's lock, None where it may not.

    The process gets the environment of the job's script. It ends a job whose script cannot go on.

    Args:
        directory: the task's directory.
        heard: a descriptor that becomes readable when the isolator's node has answered its agent.

    Raises WheslError, OSError.
    """
    # The agent ignores the signals that are meant for the task.
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(signum, signal.SIG_DFL)
    variables = decode_errors.load(directory.variables, Variables)
    step = current_allocation(os.environ)
    if not isinstance(step, OutlivesScript):
        return None
    if variables is not None:
        told = step.script_environment(variables.values)
        os.environ.clear()
        os.environ.update(told)
    allocation = current_allocation(os.environ)
    own, lost = allocation.describe().batch_host, ""
    LOG.info("%s: the isolator's node is silent; asking whether it is lost", own)
    while True:
        job = decode_errors.load(directory.job_file, Job)
        if job is None:
            return None
        lost = lost or job.setup.own_node
        result = decode_errors.load(directory.result_file, Result)
        look = Look(
            heard=bool(select.select([heard], [], [], 0)[0]),
            keeps=job.setup.own_node,
            ended=result is not None and result.claim == job.setup.claim,
            state=_state(allocation, lost),
        )
        following = course(look, own, lost)
        if following is Course.LEAVE:
            LOG.info("%s does not take the task over", own)
            return None
        if following is Course.TAKE:
            break
        select.select([heard], [], [], ASK_EVERY)
    if variables is None:
        if lost == allocation.describe().nodes[0]:
            LOG.warning("the job's script is lost with %s: the job is ended, unless it runs again", lost)
            end_job(allocation, EXIT_TEMPORARY)
        return None
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return _locked(directory, job, own)


def _state(allocation: Allocation, node: str) -> NodeState:
    try:
        return allocation.node_states().get(node, NodeState.UNKNOWN)
    except WheslError as error:
        LOG.info("%s could not be observed: %s", node, error)
        return NodeState.UNKNOWN


def _locked(directory: TaskDir, job: Job, own: str) -> tuple[Job, int] | None:
    """Take the task's lock, and name this node in ``job.json``; None where another process was faster.

    Only an owner on the lost node is dead: on any other it is a faster successor, which ``job.json`` does not
    name yet.
    """
    setup = job.setup
    owner = directory.owner()
    try:
        if owner is not None:
            dead = owner.host.partition(".")[0] == setup.own_node.partition(".")[0] and not owner.here
            if not dead or not directory.break_lock(owner, setup):
                return None
        lock = directory.lock(setup)
    except HeldError:
        return None
    if job.setup.own_node == own:
        return job, lock
    now = decode_errors.load(directory.job_file, Job)
    if now is None or now.setup.own_node != setup.own_node:
        os.close(lock)
        return None
    LOG.info("%s takes the task over from %s, which is lost", own, setup.own_node)
    nodes = tuple(node for node in setup.nodes if node != setup.own_node)
    command = list(job.command)
    command[job.script] = given_script(str(directory.path))
    moved = msgspec.structs.replace(
        job,
        setup=msgspec.structs.replace(setup, own_node=own, nodes=nodes),
        command=tuple(command),
        batch=0,
        first=None,
        moved_from=setup.own_node,
    )
    # Agents of the lost node's isolator do not find this one: it starts others.
    directory.link.unlink(missing_ok=True)
    file_retry.replace(directory.job_file, msgspec.json.encode(moved))
    return moved, lock


def end_job(allocation: Allocation, code: int) -> None:
    """End the job, whose script is lost, after the task's end.

    Args:
        allocation: the resource manager inside the job.
        code: the isolator's exit status.
    """
    if code == LockLostError.exit_code or not isinstance(allocation, OutlivesScript):
        return
    if code == EXIT_TEMPORARY:
        time.sleep(REQUEUE_PATIENCE)
    try:
        allocation.end_job(code)
    except WheslError as error:
        LOG.error("the job could not be ended, and ends at its time limit: %s", error)
