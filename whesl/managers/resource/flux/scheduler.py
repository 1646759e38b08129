"""Flux from outside: one submission per token, look-ups, marks on nodes.

A job is submitted as ``flux batch`` does it, so it becomes a Flux instance of its own. The token is in the
user's part of the jobspec (``attributes.user``, RFC 14), which nothing changes after the submission.
"""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from whesl.managers.resource import cluster_environment
from whesl.managers.resource.flux import flux_command_output
from whesl.managers.resource.flux.bridge_client import TIMEOUT, Bridge, FluxRefusedError
from whesl.managers.resource.flux.exec_steps import idset
from whesl.managers.resource.lost_replies import look_again
from whesl.managers.resource.port import JobRecord, JobRequest, NodeRecord
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError, WheslError

# How far back jobs that have ended are searched for a token.
LOOKBACK_DAYS = 30
# Up to so many nodes, each talks to the job's first node alone, so that no lost node takes others with it
# (flux-broker-attributes(7), tbon.topo; kary:32 by default). Above, that would be too much for it.
FLAT = 256
# Time after which the loss of a node without power is noticed in the job (tcp(7), TCP_USER_TIMEOUT; 20 s by
# default in flux-core 0.88).
CONNECTION_TIMEOUT = "5s"
_DENIED = (errno.EPERM, errno.EACCES)
# Variables of an enclosing job, which would be taken for the new job's own.
_OUTER = ("FLUX_JOB_", "FLUX_TASK_", "FLUX_KVS_NAMESPACE", "FLUX_ENCLOSING_ID", "FLUX_PROXY_REMOTE", "PMI_")


class FluxScheduler:
    """The outside face of the port for Flux.

    Args:
        environ: environment of the submitter; FLUX_URI and PATH in it choose the instance and the program.
        timeout: seconds after which Flux counts as not answering.
        settle: seconds for which a submission without a reply is looked for before it counts as not made.
        sleep: waits between these looks.
    """

    name = "flux"

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
        settle: float = 10.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        self._bridge = Bridge(self._environ, timeout=timeout)
        self._settle = settle
        self._sleep = sleep

    @classmethod
    def of_cluster(cls, cluster: Mapping[str, str]) -> FluxScheduler:
        """Return that of a certain instance; see the port."""
        return cls(cluster_environment.asking(os.environ, cluster))

    @classmethod
    def enclosing(cls) -> FluxScheduler:
        """Return that of the instance of which the instance of this process is a job; see the port.

        That of this process itself, where that is a job of no other one or does not say.
        """
        found = ""
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            found = subprocess.run(
                ["flux", "getattr", "parent-uri"],
                capture_output=True, text=True, timeout=TIMEOUT, check=True,
            ).stdout.strip()  # fmt: skip
        return cls({**os.environ, "FLUX_URI": found} if found else None)

    def close(self) -> None:
        """End the process through which Flux is spoken to."""
        self._bridge.close()

    # Jobs ---------------------------------------------------------------------------------------------

    def submit(self, request: JobRequest) -> str:
        """Submit once; see the port. Raises TransientError when it was surely not accepted."""
        job = submission(request, self._environ)
        if (known := self.find(request.token)) is not None:
            return known.id
        try:
            return str(self._bridge.call("submit", **job))
        except CouldNotObserveError as error:
            return self._look_again(request.token, error)

    def try_request(self, request: JobRequest) -> None:
        """Submit a job that is held, and cancel it; see the port.

        Flux has no way to ask: its queues and the site's validators answer a submission alone. A job of
        urgency 0 never starts.
        """
        job = submission(request, self._environ)
        known_as = str(self._bridge.call("submit", held=True, **job))
        self.cancel(known_as)

    def _look_again(self, token: str, cause: WheslError) -> str:
        """Return the id of a job whose submission got no reply; never submits."""
        return look_again(lambda: self.find(token), cause, "Flux", self._settle, self._sleep)

    def find(self, token: str) -> JobRecord | None:
        """Return a token's job, of this user's that have not ended or ended within 30 days.

        Flux itself forgets ended jobs where the site purges them (flux-config-job-manager(5)).
        """
        since = time.time() - LOOKBACK_DAYS * 86400
        found = list(self.jobs(self._bridge.call("find", token=token, since=since)).values())
        # The newest job, in case another client has submitted twice; jobs that have not ended come first.
        return max(found, key=lambda record: (not record.state.ended, record.submitted), default=None)

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the records of jobs, by the ids that were asked for."""
        if not ids:
            return {}
        found = self._bridge.call("jobs", ids=list(ids))
        names, lost = self._hosts()
        return {job: flux_command_output.job_record(info, names, lost) for job, info in found.items()}

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        """Cancel a job, or send it a signal. Its instance passes a signal on as flux-broker(1) says."""
        try:
            self._bridge.call("cancel", job=job_id, signal=signal or 0)
        except FluxRefusedError as error:
            if error.code in _DENIED:
                raise
            record = self.jobs([job_id]).get(job_id)
            if record is not None and not record.state.ended:
                raise  # the job is unknown or has ended: there is nothing to do

    def requeue(self, job_id: str) -> None:
        """Refuse: Flux never runs the same job again. Raises RefusedError."""
        if job_id not in self.jobs([job_id]):
            raise RefusedError(f"flux does not know job {job_id}")
        raise RefusedError(
            f"flux cannot run job {job_id} again under the same id",
            hint="submit it again; the workflow manager may do so by itself",
        )

    def annotate(self, job_id: str, comment: str) -> None:
        """Write a comment as the job's memo ``whesl`` (flux-job(1)); an empty one takes it away."""
        text = " ".join(comment.split())
        self._bridge.call("memo", job=job_id, memo={"whesl": text or None})

    # Nodes --------------------------------------------------------------------------------------------

    def nodes(self) -> list[NodeRecord]:
        """Return all nodes of the instance."""
        status = self._bridge.call("status")
        names = _names(status)
        states = flux_command_output.node_states(status, names)
        found = []
        for rank, name in names.items():
            words = [word for word in ("online", "offline", "torpid", "exclude") if rank in status[word]]
            drained = status["drained"].get(str(rank))
            raw = ",".join([*words, *(["drained"] if drained is not None else [])])
            found.append(NodeRecord(name=name, state=states[name], raw_state=raw, reason=drained or ""))
        return found

    def free_nodes(self, partition: str) -> int:
        """Return how many nodes of a queue have no job; see the port."""
        answer = self._bridge.call("resources")
        return len(flux_command_output.free_ranks(answer["seen"], answer["configuration"], partition))

    def mark_node(self, node: str, reason: str) -> bool:
        """Drain a node; the reason of one that is drained already is left as it is."""
        return self._change("drain", node, reason=" ".join(reason.split()) or "whesl")

    def unmark_node(self, node: str) -> bool:
        """Take the drain mark from a node."""
        return self._change("undrain", node)

    def _change(self, operation: str, node: str, **fields: Any) -> bool:
        status = self._bridge.call("status")
        rank = next((rank for rank, name in _names(status).items() if name == node), None)
        if rank is None:
            raise RefusedError(f"flux: there is no node {node}")
        if (str(rank) in status["drained"]) is (operation == "drain"):
            return True
        try:
            self._bridge.call(operation, targets=idset([rank]), **fields)
        except FluxRefusedError as error:
            if error.code in _DENIED:
                return False
            raise
        return True

    def _hosts(self) -> tuple[dict[int, str], set[int]]:
        """Return names by rank, and the ranks that are offline."""
        status = self._bridge.call("status")
        return _names(status), set(status["offline"])


def _names(status: Mapping[str, Any]) -> dict[int, str]:
    return flux_command_output.names_by_rank(status["hosts"])


def submission(request: JobRequest, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what the bridge's ``submit`` takes, for a request by a submitter with this environment.

    The options are those that a job needs to outlive every node but its first, which users would otherwise
    have to find: no end at a lost shell (``exit-timeout``), no node that routes for others (``tbon.topo``),
    a dead connection noticed within seconds. Output is appended, and is not held back. Raises UsageError.
    """
    if request.time_limit is not None and request.time_limit <= 0:
        raise UsageError(f"a time limit has to be above zero: {request.time_limit:g} minutes")
    if request.tasks is not None and request.tasks < request.nodes:
        raise UsageError(f"{request.tasks} tasks cannot use {request.nodes} nodes")
    if unknown := request.demands.besides("account", "exclusive"):
        raise UsageError(
            f"Flux is not asked for {', '.join(unknown)}",
            hint="leave it out: a job gets whole nodes, and account names its bank",
        )
    try:
        script = Path(request.script).read_text()
    except (OSError, ValueError) as error:
        raise UsageError(f"the script cannot be read: {request.script}: {error}") from None
    if not script.startswith("#!"):
        raise UsageError(f"the script does not begin with #!: {request.script}")
    inherited = {name: value for name, value in environ.items() if not name.startswith(_OUTER)}
    return {
        "script": script,
        "name": request.name or Path(request.script).name,
        "arguments": list(request.arguments),
        "nodes": request.nodes,
        "tasks": request.tasks,
        "workdir": request.workdir or str(Path.cwd()),
        "environment": {**inherited, **request.environment},
        "seconds": 0.0 if request.time_limit is None else request.time_limit * 60,
        "output": request.output or "flux-{{id}}.out",
        "error": request.error,
        "queue": request.partition,
        "bank": request.demands.account,
        "exclude": list(request.exclude),
        "after_ok": list(request.after_ok),
        "broker_options": ["-Stbon.topo=kary:0"] if request.nodes <= FLAT else [],
        "configuration": {"tbon": {"tcp_user_timeout": CONNECTION_TIMEOUT}},
        "shell_options": {"exit-timeout": "none", "output.mode": "append", "output.batch-timeout": 0.01},
        "attributes": {"user.whesl.token": request.token},
    }
