"""A job of another resource manager with a Flux instance inside, as one allocation behind the port.

The outer resource manager provides the job's id, nodes and time limit, and runs WHESL's own steps: a Flux job
ends as a whole with its first lost node, while WHESL's processes on the other nodes have to go on. Flux runs
the task's own steps (``whesl.managers.resource.launcher_shims``) and reports changes of nodes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import select
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from whesl.managers.resource.command_call import captured
from whesl.managers.resource.flux.nested_instance import Instance, find_flux, started
from whesl.managers.resource.launcher_shims.flux_instance_files import DIRECTORY, START_LIMIT
from whesl.managers.resource.launcher_shims.flux_node_swap import INSTANCE
from whesl.managers.resource.launcher_shims.nodes_in_use import HET_SIZE
from whesl.managers.resource.port import (
    Allocation,
    AllocationInfo,
    ForbidsRequeue,
    JobException,
    NodeEvent,
    Step,
    StepRequest,
    Suspendable,
    Suspended,
    TakesRemarks,
)
from whesl.model.errors import UsageError, WheslError
from whesl.model.states import NodeState

LOG = logging.getLogger(__name__)
# Type of the JobException that reports the end of the instance itself.
ENDED = "instance"
# Seconds that the cancellation of an attempt's jobs may take.
CANCEL_LIMIT = 5.0
# Seconds that loading the scheduler module may take; it usually takes two.
PLACE_LIMIT = 60.0
_ALIVE = "depend,priority,sched,run"
# A program that connects to Flux before the instance has started retries for about START_LIMIT: the first
# seven delays are two seconds together, all others two seconds each.
_PATIENCE = {"FLUX_LOCAL_CONNECTOR_RETRY_COUNT": str(7 + round(START_LIMIT / 2))}


class Witness(Protocol):
    """The instance's own view of its nodes: a part of the port's inside face."""

    def node_states(self) -> dict[str, NodeState]:
        """See the port."""

    def gone(self, node: str) -> bool | None:
        """See the port."""

    def watch(self) -> int:
        """See the port."""

    def events(self) -> list[NodeEvent | JobException]:
        """See the port."""

    def close(self) -> None:
        """Release all resources."""


class InnerFlux:
    """The inside face of the port for a job with a Flux instance inside; also sends events.

    Args:
        outer: the allocation of the resource manager that granted the job.
        instance: the Flux instance, begun already.
        environ: the job's environment.
        witness: makes the instance's view of its nodes from an environment and the instance's URI.
    """

    def __init__(
        self,
        outer: Allocation,
        instance: Instance,
        environ: Mapping[str, str],
        witness: Callable[[Mapping[str, str], str], Witness],
    ) -> None:
        self.name = outer.name
        self._outer = outer
        self._instance = instance
        self._environ = dict(environ)
        self._make = witness
        self._witness: Witness | None = None
        self._said: deque[JobException] = deque()
        self._readable = select.epoll()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._readable.register(self._wake, select.EPOLLIN)
        self._closing = False
        self._thread = threading.Thread(target=self._follow, name="inner-flux", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the instance, within bounded time."""
        self._closing = True
        self._instance.end()
        if self._witness is not None:
            with contextlib.suppress(WheslError):
                self._witness.close()

    # The instance's life -----------------------------------------------------------------------------

    def _follow(self) -> None:
        """Wait for the instance's start, listen to it, and notice its end."""
        began = time.monotonic()
        reason = self._instance.wait_ready()
        if self._closing:
            return
        if reason:
            LOG.warning("no Flux inside this job: %s; steps are %s's own", reason, self.name)
            self._instance.give_up(reason)
            return
        LOG.info("Flux inside this job is ready after %.2f s", time.monotonic() - began)
        try:
            witness = self._make(self._environ, self._instance.uri)
            self._readable.register(witness.watch(), select.EPOLLIN)
            self._witness = witness
        except (WheslError, OSError) as error:
            LOG.warning("Flux inside this job does not tell its news: %s", error)
        self._place()
        self._instance.wait_end()
        if self._closing:
            return
        reason = "the Flux instance inside the job has ended"
        LOG.warning("%s; steps are %s's own from now on", reason, self.name)
        self._witness = None
        self._instance.give_up(reason)
        job = self._outer.describe().job_id
        self._said.append(JobException(job_id=job, type=ENDED, severity=0, note=reason, time=time.time()))
        os.eventfd_write(self._wake, 1)

    def _place(self) -> None:
        """Let the instance place the task's steps by predictions, when the job has a file of these."""
        predictions = self._environ.get("WHESL_PLACEMENT", "")
        if not predictions:
            return
        # A separate process does this: the modules that it loads would stay in the isolator.
        command = [sys.executable, "-m", "whesl", "placement", "load", "--flux", "--act", predictions]
        try:
            done = self._run(command, PLACE_LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            LOG.warning("Flux inside this job places steps alone: %s", error)
            return
        said = (done.stderr if done.returncode else done.stdout).strip().splitlines() or [""]
        LOG.log(logging.WARNING if done.returncode else logging.INFO, "Flux inside this job: %s", said[0])

    def end_jobs(self) -> bool:
        """Cancel all waiting and running jobs of the instance; return whether there were any."""
        if not self._instance.ready:
            return False
        command = ["flux", "job", "raiseall", "-f", "--severity=0", f"--states={_ALIVE}"]
        try:
            done = self._run([*command, "cancel", "the attempt is over"], CANCEL_LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            LOG.warning("the attempt's Flux jobs could not be cancelled: %s", error)
            return False
        # Flux prints "flux-job: raised exception on 2 jobs" or "Command matched 0 jobs".
        return " 0 jobs" not in done.stdout + done.stderr

    def _run(self, command: list[str], limit: float) -> subprocess.CompletedProcess[str]:
        """Run a command against the instance, for at most ``limit`` seconds."""
        return captured(command, {**self._environ, "FLUX_URI": self._instance.uri}, limit)

    # Calls for the outer manager ----------------------------------------------------------------------

    def describe(self) -> AllocationInfo:
        """Return the job's allocation."""
        return self._outer.describe()

    def launch(self, request: StepRequest) -> Step:
        """Start one of WHESL's steps."""
        return self._outer.launch(request)

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to one of WHESL's steps, which run outside the instance.

        Args:
            step: a step from ``launch``, so one of the outer resource manager.
            signum: the signal's number.

        Raises the errors of the outer allocation's ``signal``.
        """
        self._outer.signal(step, signum)

    def release(self, node: str) -> bool:
        """Give a lost node back to the outer resource manager; return False when that is not possible."""
        return self._outer.release(node)

    def forbid_requeue(self) -> None:
        """Forbid the outer resource manager to run the job again by itself."""
        if isinstance(self._outer, ForbidsRequeue):
            self._outer.forbid_requeue()

    def remark(self, task: str, text: str) -> None:
        """Write a line about a task into the outer resource manager's record of the job.

        Args:
            task: the task's id.
            text: the line, which begins with the task's id; dropped where the outer one keeps no comments.
        """
        if isinstance(self._outer, TakesRemarks):
            self._outer.remark(task, text)

    # Both -------------------------------------------------------------------------------------------

    def node_states(self) -> dict[str, NodeState]:
        """Return the outer resource manager's states of the nodes, and DOWN for a node that Flux has lost.

        On a node without its Flux broker, no step of the task can start any more. An outer manager that does
        not answer is an error; a Flux instance that does not answer is ignored.
        """
        states = self._outer.node_states()
        witness = self._witness
        if witness is not None:
            with contextlib.suppress(WheslError):
                for node, state in witness.node_states().items():
                    if state is NodeState.DOWN and node in states:
                        states[node] = state
        return states

    def gone(self, node: str) -> bool | None:
        """Return whether the outer manager's daemon or Flux's broker on a node has ended; None: unknown."""
        found = [witness.gone(node) for witness in (self._outer, self._witness) if witness is not None]
        return True if True in found else False if False in found else None

    def suspended(self) -> Suspended:
        """Return whether the outer resource manager has suspended the job."""
        return self._outer.suspended() if isinstance(self._outer, Suspendable) else Suspended()

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return the outer manager's variables for the nodes in use, and the instance's address.

        Args:
            active: the nodes in use, in the order of ranks.
            base: the environment of the script, for the outer manager's variables.

        The address is left out where the instance could not be started, or has ended. Until the instance is
        ready, a further variable lets ``flux`` wait for it.
        """
        found = self._outer.launch_environment(active, base)
        if self._instance.failed:
            return found
        uri = self._instance.uri
        found |= {DIRECTORY: str(self._instance.directory), INSTANCE: uri, "FLUX_URI": uri}
        return found if self._instance.ready else {**found, **_PATIENCE}

    # Events -------------------------------------------------------------------------------------------

    def watch(self) -> int:
        """Return a descriptor that is readable when there are events."""
        return self._readable.fileno()

    def events(self) -> list[NodeEvent | JobException]:
        """Return the events since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        found: list[NodeEvent | JobException] = []
        while self._said:
            found.append(self._said.popleft())
        witness = self._witness
        return [*found, *(witness.events() if witness is not None else ())]

    def raise_exception(self, kind: str, severity: int, note: str, *, once: bool = False) -> bool:
        """Return False: the instance is no job of Flux.

        Args:
            kind: the exception's type.
            severity: 0 (ends the job) to 7.
            note: one line for people.
            once: not used.
        """
        return False


def around(
    outer: Allocation, mode: str, directory: Path, claim: str, environ: Mapping[str, str]
) -> Allocation:
    """Return an allocation with Flux inside where that is wanted and possible, else ``outer`` itself.

    Args:
        outer: the allocation of the resource manager that granted the job.
        mode: one of ``whesl.managers.resource.manager_table.INNER``; ``auto`` wants Flux in a Slurm job of
            several nodes with ``flux`` on PATH.
        directory: directory for the instance's files.
        claim: identifies this start of the job's script.
        environ: the job's environment.
    """
    if not wanted(mode, outer.describe(), environ):
        return outer
    instance = started(directory, outer, claim, environ)
    if isinstance(instance, str):
        LOG.warning("no Flux inside this job: %s; steps are %s's own", instance, outer.name)
        return outer
    return InnerFlux(outer, instance, environ, _witness)


def wanted(mode: str, info: AllocationInfo, environ: Mapping[str, str]) -> bool:
    """Whether to start a Flux instance inside a job. Raises UsageError when it is demanded but impossible.

    Args:
        mode: one of ``whesl.managers.resource.manager_table.INNER``.
        info: the job's allocation.
        environ: the job's environment.
    """
    if mode == "slurm" or info.rjms == "flux":
        return False
    if mode == "flux":
        if info.rjms != "slurm":
            raise UsageError(
                f"--inner flux needs a job of Slurm, and this is one of {info.rjms}", hint="leave it out"
            )
        if environ.get(HET_SIZE):
            raise UsageError(
                "--inner flux: a heterogeneous job has no Flux instance inside", hint="leave it out"
            )
        if find_flux(environ) is None:
            raise UsageError(
                "--inner flux: there is no flux on PATH here", hint="load Flux's module, or use --inner auto"
            )
        return True
    several = info.rjms == "slurm" and len(info.nodes) > 1 and not environ.get(HET_SIZE)
    return several and find_flux(environ) is not None


def _witness(environ: Mapping[str, str], uri: str) -> Witness:
    from whesl.managers.resource.flux.allocation import FluxAllocation

    return FluxAllocation(environ, uri=uri)
