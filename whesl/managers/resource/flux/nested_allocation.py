"""A job of another resource manager with a Flux instance inside: both together behind the port.

The job stays the outer's: its id, its nodes, its time limit, and WHESL's steps. Those are never Flux's, since
a job of Flux ends as a whole with the first node that it loses, and what kills and watches on the other nodes
must not. Flux runs the task's own steps (``whesl.managers.resource.launcher_shims``) and is the witness of
what happens to nodes.
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

from whesl.managers.resource.flux.nested_instance import Instance, find_flux, started
from whesl.managers.resource.launcher_shims.flux_node_swap import INSTANCE
from whesl.managers.resource.launcher_shims.instance import DIRECTORY
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
# The type of the exception that is raised when the instance itself has ended.
ENDED = "instance"
# Seconds for cancelling the jobs of an attempt.
CANCEL_LIMIT = 5.0
# Seconds for loading the scheduler module, which takes two.
PLACE_LIMIT = 60.0
_ALIVE = "depend,priority,sched,run"
# A program that speaks to Flux by itself may come before the instance has started (about 8 s of tries).
_PATIENCE = {"FLUX_LOCAL_CONNECTOR_RETRY_COUNT": "10"}


class Witness(Protocol):
    """The instance's own view of its nodes: a part of the port's inside face."""

    def node_states(self) -> dict[str, NodeState]:
        """As in the port."""
        ...

    def gone(self, node: str) -> bool | None:
        """As in the port."""
        ...

    def watch(self) -> int:
        """As in the port."""
        ...

    def events(self) -> list[NodeEvent | JobException]:
        """As in the port."""
        ...

    def close(self) -> None:
        """Give everything back."""
        ...


class InnerFlux:
    """The inside face of the port for a job with an instance in it; also sends events.

    Args:
        outer: the allocation of the resource manager that granted the job.
        instance: begun already.
        environ: the job's environment.
        witness: makes the instance's own view of itself from an environment and its URI.
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
        """End the instance; bounded."""
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
        """Let the instance place the task's steps by predictions, where the job has some."""
        predictions = self._environ.get("WHESL_PLACEMENT", "")
        if not predictions:
            return
        # A process of its own does it: the modules that it loads would stay in the isolator.
        command = [sys.executable, "-m", "whesl", "placement", "load", "--flux", "--act", predictions]
        try:
            done = self._run(command, PLACE_LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            LOG.warning("Flux inside this job places steps alone: %s", error)
            return
        said = (done.stderr if done.returncode else done.stdout).strip().splitlines() or [""]
        LOG.log(logging.WARNING if done.returncode else logging.INFO, "Flux inside this job: %s", said[0])

    def end_jobs(self) -> bool:
        """Cancel all jobs of the instance, those that wait first of all; return whether there were any."""
        if not self._instance.ready:
            return False
        command = ["flux", "job", "raiseall", "-f", "--severity=0", f"--states={_ALIVE}"]
        try:
            done = self._run([*command, "cancel", "the attempt is over"], CANCEL_LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            LOG.warning("the attempt's Flux jobs could not be cancelled: %s", error)
            return False
        # "flux-job: raised exception on 2 jobs", or "Command matched 0 jobs".
        return " 0 jobs" not in done.stdout + done.stderr

    def _run(self, command: list[str], limit: float) -> subprocess.CompletedProcess[str]:
        """Run a command against the instance, for at most ``limit`` seconds."""
        return subprocess.run(
            command,
            env={**self._environ, "FLUX_URI": self._instance.uri},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            check=False,
        )

    # Calls for the outer manager
    # ------------------------------------------------------------------------------------

    def describe(self) -> AllocationInfo:
        """Return the job's allocation."""
        return self._outer.describe()

    def launch(self, request: StepRequest) -> Step:
        """Start one of WHESL's steps."""
        return self._outer.launch(request)

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to one of WHESL's steps."""
        self._outer.signal(step, signum)

    def release(self, node: str) -> bool:
        """Give a lost node back, where the owner may."""
        return self._outer.release(node)

    def forbid_requeue(self) -> None:
        """Tell the outer resource manager, whose job it is."""
        if isinstance(self._outer, ForbidsRequeue):
            self._outer.forbid_requeue()

    def remark(self, task: str, text: str) -> None:
        """Tell the outer resource manager, whose job it is."""
        if isinstance(self._outer, TakesRemarks):
            self._outer.remark(task, text)

    # Both -------------------------------------------------------------------------------------------

    def node_states(self) -> dict[str, NodeState]:
        """Return the view of the resource manager, and DOWN for a node that Flux has lost.

        On a node without its broker no step of the task can start any more. Silence of the outer manager is
        an error; Flux's is not, since the outer manager knows as much without it.
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
        """Return whether the node's own daemon has surely ended, the resource manager's or Flux's."""
        found = [witness.gone(node) for witness in (self._outer, self._witness) if witness is not None]
        return True if True in found else False if False in found else None

    def suspended(self) -> Suspended:
        """Return whether the outer resource manager has suspended the job."""
        return self._outer.suspended() if isinstance(self._outer, Suspendable) else Suspended()

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return the variables for the nodes in use, and where the instance is."""
        found = self._outer.launch_environment(active, base)
        if self._instance.failed:
            return found
        uri = self._instance.uri
        found |= {DIRECTORY: str(self._instance.directory), INSTANCE: uri, "FLUX_URI": uri}
        return found if self._instance.ready else {**found, **_PATIENCE}

    # Events -------------------------------------------------------------------------------------------

    def watch(self) -> int:
        """Return a descriptor that is readable when there is news; see the port."""
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
        """Return False: the instance is no job of Flux."""
        return False


def around(
    outer: Allocation, mode: str, directory: Path, claim: str, environ: Mapping[str, str]
) -> Allocation:
    """Return the allocation with Flux inside where that is wanted and can be, else the allocation itself.

    Args:
        outer: what the resource manager gave.
        mode: one of ``whesl.managers.resource.manager_table.INNER``; ``auto``: where ``flux`` is found and a
            node can be lost without the job.
        directory: for the instance's files.
        claim: which start of the job's script this is.
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
    """Whether an instance is to be started. Raises UsageError for ``flux`` where there can be none."""
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
