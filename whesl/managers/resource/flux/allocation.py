"""Flux from inside: steps on chosen nodes, the nodes' states, and Flux's events.

An allocation is either the user's own instance (a batch script's, or one of ``flux start``), whose nodes are
its brokers, or a task of a job in an instance that runs other jobs, too. A node's name is its host in the
instance's resources, or ``host.RANK`` where one machine has several brokers.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal as signals
import stat
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from whesl.managers.resource import command_call, flux_instance_owner
from whesl.managers.resource.flux import flux_command_output
from whesl.managers.resource.flux.bridge_client import IDLE, TIMEOUT, Bridge
from whesl.managers.resource.flux.exec_steps import STEP, FluxStep, signal_command, step_command
from whesl.managers.resource.job_step_process import start
from whesl.managers.resource.launcher_shims.flux_node_swap import INSTANCE, PLAIN, RANKS, told_ranks
from whesl.managers.resource.launcher_shims.nodes_in_use import HIDDEN_NODES, JOB, told
from whesl.managers.resource.port import AllocationInfo, JobException, NodeEvent, Step, StepPlace, StepRequest
from whesl.model.errors import CouldNotObserveError, UsageError, WheslError
from whesl.model.states import NodeState

# Seconds that ``FluxAllocation.gone`` waits for an answer.
LOOK = 0.1
# Seconds since a job's end within which a lost node counts as a part of the job's place.
LATELY = 30.0


class FluxAllocation:
    """The inside face of the port for Flux, which also sends events.

    Args:
        environ: the environment of the batch script or task, as Flux gave it.
        uri: the instance's address; empty takes FLUX_URI from ``environ``.
        timeout: seconds after which Flux counts as not answering.
    """

    name = "flux"

    def __init__(self, environ: Mapping[str, str], *, uri: str = "", timeout: float = TIMEOUT) -> None:
        self._environ = {**environ, **({"FLUX_URI": uri} if uri else {})}
        if not self._environ.get("FLUX_URI"):
            raise UsageError("FLUX_URI is not set", hint="is this inside a Flux instance?")
        self._bridge = Bridge(self._environ, timeout=timeout, idle=IDLE)
        # The job's id with an ASCII ``f``, which file names and logs need; Flux accepts both forms.
        self._task_of = (
            "" if uri else environ.get("FLUX_JOB_ID", "").replace("\N{LATIN SMALL LETTER F WITH HOOK}", "f")
        )
        self._lock = threading.Lock()
        self._names: dict[int, str] = {}
        self._info: AllocationInfo | None = None
        self._above = False
        self._plain = False
        self._background: list[subprocess.Popen[bytes]] = []
        self._states: dict[int, NodeState] = {}
        self._drained: set[int] = set()

    @staticmethod
    def present(environ: Mapping[str, str]) -> bool:
        """Whether a process with this environment runs inside a Flux job or its user's own instance.

        False for another user's instance (such as the system's), for an instance reached through
        flux-proxy(1), and for a FLUX_URI whose instance is on another host, in another job, or has ended.
        """
        uri = environ.get("FLUX_URI", "")
        if not uri.startswith("local://") or environ.get("FLUX_PROXY_REMOTE"):
            return False
        task = bool(environ.get("FLUX_JOB_ID"))
        path = uri.removeprefix("local://")
        try:
            found = os.stat(path)  # noqa: PTH116 - no path is made of it
            if not stat.S_ISSOCK(found.st_mode) or not (task or found.st_uid == os.geteuid()):
                return False
            return not flux_instance_owner.of_another_job(environ, flux_instance_owner.broker(uri))
        except OSError:
            return False

    def close(self) -> None:
        """End the bridge process that talks to Flux."""
        self._bridge.close()

    def describe(self) -> AllocationInfo:
        """Return the job's allocation; Flux is asked once, since the allocation does not change."""
        with self._lock:
            if self._info is None:
                self._info = self._ask()
            return self._info

    def _ask(self) -> AllocationInfo:
        found = self._bridge.call("instance")
        try:
            names = flux_command_output.names_by_rank(found["hosts"])
            here = int(found["rank"])
            owner = str(found["security.owner"]) == str(found["uid"])
            job = str(found["job"])
        except (KeyError, TypeError, ValueError):
            raise CouldNotObserveError(f"flux: not an instance: {str(found)[:200]}") from None
        tasks: int | None = None
        if self._task_of:
            job = self._task_of
            record = self._own_record()
            tasks = int(record.get("ntasks") or 0) or None
            ranks = flux_command_output.ranks_of(record.get("ranks"))
            # Brokers start steps for their instance's owner only; another user has only this process's node.
            names = {rank: name for rank, name in names.items() if (rank in ranks if owner else rank == here)}
        elif here in names:
            names = {here: names[here], **names}
        if not names:
            raise CouldNotObserveError("flux: the allocation has no nodes", hint="see `flux resource list`")
        self._names = names
        self._above = not self._task_of
        self._plain = found.get("plain") is True
        nodes = tuple(names.values())
        return AllocationInfo(
            rjms=self.name,
            job_id=job,
            nodes=nodes,
            batch_host=names.get(here, nodes[0]),
            tasks=tasks,
        )

    def _own_record(self) -> dict[str, Any]:
        found = self._bridge.call("jobs", ids=[self._task_of]).get(self._task_of)
        if not isinstance(found, dict):
            raise CouldNotObserveError(f"flux: the instance does not know job {self._task_of}")
        return found

    def _ranks(self) -> dict[str, int]:
        self.describe()
        return {name: rank for rank, name in self._names.items()}

    # Steps --------------------------------------------------------------------------------------------

    def launch(self, request: StepRequest) -> FluxStep:
        """Start a step through the brokers of its nodes (``flux exec``). Raises RefusedError, UsageError."""
        ranks = self._ranks()
        step = secrets.token_hex(8)
        command = step_command(request, ranks)
        process = start(command, {**self._environ, **request.environment, STEP: step}, "flux")
        return FluxStep(process, step, tuple(ranks[node] for node in request.nodes))

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to the step's processes on every living node; SIGKILL also goes to its ``flux exec``.

        Returns before the signal has arrived, since a silent node that is not yet lost delays the command.

        Args:
            step: a step from ``launch``; an ended one gets SIGKILL alone, for processes that outlived it.
            signum: the signal's number.

        Raises UsageError for a step of another resource manager, RefusedError when flux cannot be started.
        """
        if not isinstance(step, FluxStep):
            raise UsageError(f"not a step of Flux: {step!r}")
        self._background = [process for process in self._background if process.poll() is None]
        if step.poll() is not None and signum != signals.SIGKILL:
            return
        if signum == signals.SIGKILL:
            # ``flux exec`` is killed first, so that it starts no process while the nodes are searched.
            command_call.send_group(step.pid, signals.SIGKILL)
        self._background.append(start(signal_command(step, signum), self._environ, "flux"))

    def step_places(self) -> list[StepPlace]:
        """Return the places of the instance's jobs, also of those that the loss of a node ended lately.

        Flux ends such a job before it tells of the node. WHESL's own steps are no jobs of Flux.
        """
        self.describe()
        return [
            StepPlace(
                0,
                tuple(self._names[rank] for rank in place["ranks"] if rank in self._names),
                place["attempt"],
            )
            for place in self._bridge.call("places", since=time.time() - LATELY)
        ]

    # Nodes --------------------------------------------------------------------------------------------

    def node_states(self) -> dict[str, NodeState]:
        """Return the nodes' states in the view of Flux's resource service."""
        self.describe()
        return flux_command_output.node_states(self._bridge.call("status"), self._names)

    def gone(self, node: str) -> bool | None:
        """Return whether the node's broker has ended, which shows when its parent broker cannot send to it.

        False when the broker has answered, None when nothing is known.
        A node that is cut off counts as ended once the kernel has given up the connection
        (``tbon.tcp_user_timeout``), long after an agent's lease.
        """
        rank = next((rank for rank, name in self._names.items() if name == node), None)
        if rank is None or not self._bridge.alive:
            return None
        try:
            gone = self._bridge.call("gone", within=LOOK, rank=rank)["gone"]
        except (WheslError, KeyError, TypeError):
            return None
        return gone if isinstance(gone, bool) else None

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return the variables for WHESL's shim of ``flux``; Flux itself has none that hide nodes.

        Args:
            active: the nodes in use; the shim keeps steps off the allocation's other nodes.
            base: not used: the variables depend on the instance alone.
        """
        ranks, used = self._ranks(), frozenset(active)
        return {
            INSTANCE: self._environ["FLUX_URI"],
            RANKS: told_ranks(ranks),
            HIDDEN_NODES: told(node for node in ranks if node not in used),
            PLAIN: "1" if self._plain else "",
            # FLUX_URI tells whose job it is.
            JOB: "",
        }

    def release(self, node: str) -> bool:
        """Return False: Flux takes no node from a job that runs."""
        return False

    # Events ---------------------------------------------------------------------------------------------

    def watch(self) -> int:
        """Begin to listen for events; return a descriptor that is readable when there are some.

        Raises CouldNotObserveError.
        """
        self.describe()
        return self._bridge.watch(sorted(self._names), self._task_of)

    def events(self) -> list[NodeEvent | JobException]:
        """Return the events since the last call."""
        found: list[NodeEvent | JobException] = []
        for event in self._bridge.events():
            # A damaged message is dropped: ``node_states`` shows the same changes.
            with contextlib.suppress(KeyError, TypeError, ValueError):
                found += self._node_events(event) if event["event"] == "node" else [self._exception(event)]
        return found

    def _node_events(self, event: Mapping[str, Any]) -> list[NodeEvent]:
        change, found = str(event["change"]), []
        for rank in event["ranks"]:
            if rank not in self._names:
                continue
            if change in ("drain", "undrain"):
                (self._drained.add if change == "drain" else self._drained.discard)(rank)
            old = self._states.get(rank, NodeState.UP)
            new = flux_command_output.changed(old, change, rank in self._drained)
            self._states[rank] = new
            if new is not old:
                reason = str(event.get("reason") or change)
                found.append(
                    NodeEvent(node=self._names[rank], state=new, reason=reason, time=float(event["time"]))
                )
        return found

    def _exception(self, event: Mapping[str, Any]) -> JobException:
        note = str(event.get("note") or "")
        job, attempt = str(event["job"]), event.get("attempt")
        return JobException(
            job_id=job,
            type=str(event["type"]),
            severity=int(event["severity"]),
            note=note,
            time=float(event["time"]),
            nodes=flux_command_output.nodes_in(note, self._names),
            # An exception on the allocation's own job concerns no single attempt: all attempts run in it.
            attempt=attempt if isinstance(attempt, str) and job != self._task_of else None,
        )

    def raise_exception(self, kind: str, severity: int, note: str, *, once: bool = False) -> bool:
        """Raise an exception on this allocation's job; return False for an instance that is no job.

        Args:
            kind: the exception's type (Flux RFC 21).
            severity: 0 (Flux ends the job) to 7.
            note: one line for people, which ``flux job eventlog`` shows.
            once: do nothing where the job's eventlog already has an exception of this kind and note.

        Raises the port's errors.
        """
        job = self.describe().job_id
        if not job:
            return False
        above = self._above
        self._bridge.call("raise", job=job, type=kind, severity=severity, note=note, above=above, once=once)
        return True
