"""Flux from outside: one submission per token, look-ups, marks on nodes.

A job is submitted as by ``flux batch``, so that it becomes a Flux instance of its own. The submission token
is in the user's part of the jobspec (``attributes.user``, RFC 14), which never changes after the submission.
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

from whesl.managers.resource import cluster_environment, command_call
from whesl.managers.resource.command_call import Through
from whesl.managers.resource.flux import flux_command_output
from whesl.managers.resource.flux.bridge_client import (
    PROGRAM,
    TIMEOUT,
    Bridge,
    FluxRefusedError,
    portable_program,
)
from whesl.managers.resource.flux.exec_steps import idset
from whesl.managers.resource.lost_replies import look_again
from whesl.managers.resource.port import JobRecord, JobRequest, NodeRecord
from whesl.managers.resource.request_script import script_text
from whesl.model.errors import CouldNotObserveError, RefusedError, UsageError, WheslError

# Days after its end for which a job can be found by its token.
LOOKBACK_DAYS = 30
# The most nodes of a job whose brokers are all children of the first node's, so that a lost node cuts off no
# others (flux-broker-attributes(7), tbon.topo; kary:32 by default). More would overload the first node.
FLAT = 256
# Time after which a job notices that a node has lost power (tcp(7), TCP_USER_TIMEOUT; by default 20 s in
# flux-core 0.88).
CONNECTION_TIMEOUT = "5s"
_DENIED = (errno.EPERM, errno.EACCES)
# Prefixes of an enclosing job's variables, which a new job must not inherit.
_OUTER = ("FLUX_JOB_", "FLUX_TASK_", "FLUX_KVS_NAMESPACE", "FLUX_ENCLOSING_ID", "FLUX_PROXY_REMOTE", "PMI_")


class FluxScheduler:
    """The outside face of the port for Flux.

    Args:
        environ: the submitter's environment; its FLUX_URI and PATH choose the instance and the ``flux``
            command.
        timeout: seconds after which Flux counts as not answering.
        settle: seconds of searching for a submission without a reply before it counts as not made.
        sleep: waits between two searches, for a number of seconds.
        through: runs Flux's commands on another host, whose environment the jobs then have.
    """

    name = "flux"

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
        settle: float = 10.0,
        sleep: Callable[[float], None] = time.sleep,
        through: Through | None = None,
    ) -> None:
        self._environ = dict(os.environ if environ is None else environ)
        program = PROGRAM if through is None else through(portable_program())
        self._bridge = Bridge(self._environ, timeout=timeout, program=program)
        self._settle = settle
        self._sleep = sleep
        self._through = through

    @classmethod
    def of_cluster(cls, cluster: Mapping[str, str]) -> FluxScheduler:
        """Return the scheduler of the instance that the variables in ``cluster`` name."""
        return cls(cluster_environment.asking(os.environ, cluster))

    @classmethod
    def enclosing(cls) -> FluxScheduler:
        """Return the scheduler of the instance that encloses the instance of this process.

        Without an enclosing instance, or when Flux does not answer, return that of this process's instance.
        """
        found = ""
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            found = subprocess.run(
                ["flux", "getattr", "parent-uri"],
                capture_output=True, text=True, timeout=TIMEOUT, check=True,
            ).stdout.strip()  # fmt: skip
        return cls({**os.environ, "FLUX_URI": found} if found else None)

    def close(self) -> None:
        """End the bridge process that talks to Flux."""
        self._bridge.close()

    # Jobs ---------------------------------------------------------------------------------------------

    def submit(self, request: JobRequest) -> str:
        """Submit a job, unless its token is known; return its id.

        Raises TransientError when the job was surely not accepted.
        """
        job = submission(request, self._submitters())
        if (known := self.find(request.token)) is not None:
            return known.id
        try:
            return str(self._bridge.call("submit", **job))
        except CouldNotObserveError as error:
            return self._look_again(request.token, error)

    def try_request(self, request: JobRequest) -> None:
        """Submit a job that is held, and cancel it; raise RefusedError when Flux refuses it.

        Flux has no dry run: its queues and the site's validators judge only real submissions. A job of
        urgency 0 never starts.
        """
        job = submission(request, self._submitters())
        known_as = str(self._bridge.call("submit", held=True, **job))
        self.cancel(known_as)

    def _submitters(self) -> Mapping[str, str]:
        """Return the environment that jobs get. Raises CouldNotObserveError."""
        if self._through is None:
            return self._environ
        told = command_call.call(
            ["env", "-0"],
            self._environ,
            timeout=TIMEOUT,
            silent="does ssh answer?",
            missing="install ssh",
            through=self._through,
        )
        return dict(line.split("=", 1) for line in told.stdout.split("\0") if "=" in line)

    def _look_again(self, token: str, cause: WheslError) -> str:
        """Return the id of a job whose submission got no reply; never submits."""
        return look_again(lambda: self.find(token), cause, "Flux", self._settle, self._sleep)

    def find(self, token: str) -> JobRecord | None:
        """Return this user's job with a token, unless it ended more than LOOKBACK_DAYS days ago.

        Flux itself forgets ended jobs where the site purges them (flux-config-job-manager(5)).
        """
        since = time.time() - LOOKBACK_DAYS * 86400
        found = list(self.jobs(self._bridge.call("find", token=token, since=since)).values())
        # Two clients may have submitted the token: take the newest job that has not ended, else the newest.
        return max(found, key=lambda record: (not record.state.ended, record.submitted), default=None)

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the records of jobs, by the ids in ``ids``."""
        if not ids:
            return {}
        found = self._bridge.call("jobs", ids=list(ids))
        names, lost = self._hosts()
        return {job: flux_command_output.job_record(info, names, lost) for job, info in found.items()}

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        """Cancel a job, or send it a signal, which the job's instance passes on (flux-broker(1)).

        Args:
            job_id: the job's id, in any form of Flux's; an unknown job counts as ended.
            signal: a signal's number; None ends the job for good.

        Raises RefusedError for another user's job, and where Flux refuses although the job has not ended.
        """
        try:
            self._bridge.call("cancel", job=job_id, signal=signal or 0)
        except FluxRefusedError as error:
            if error.code in _DENIED:
                raise
            record = self.jobs([job_id]).get(job_id)
            if record is not None and not record.state.ended:
                raise  # only for a job that has not ended

    def requeue(self, job_id: str) -> None:
        """Raise RefusedError, since Flux cannot run the same job again."""
        if job_id not in self.jobs([job_id]):
            raise RefusedError(f"flux does not know job {job_id}")
        raise RefusedError(
            f"flux cannot run job {job_id} again under the same id",
            hint="submit it again; the workflow manager may do so by itself",
        )

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
        """Return the number of nodes of a queue that are up and have no job."""
        answer = self._bridge.call("resources")
        return len(flux_command_output.free_ranks(answer["seen"], answer["configuration"], partition))

    def mark_node(self, node: str, reason: str) -> bool:
        """Drain a node; a node that is drained already keeps its reason.

        Args:
            node: the node's name; Flux drains the broker of that name.
            reason: a text for the administrator, made one line; "whesl" stands in place of an empty one.

        Returns False when this user lacks the right. Raises RefusedError for an unknown node.
        """
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
        """Return node names by rank, and the ranks that are offline."""
        status = self._bridge.call("status")
        return _names(status), set(status["offline"])


def _names(status: Mapping[str, Any]) -> dict[int, str]:
    return flux_command_output.names_by_rank(status["hosts"])


def submission(request: JobRequest, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of the bridge's operation ``submit`` for a request.

    With these options a job survives the loss of every node but its first: a lost shell does not end the job
    (``exit-timeout``), no node routes for others (``tbon.topo``), and a dead connection is noticed within
    seconds. Output is appended to its file without a delay.

    Args:
        request: the job.
        environ: the submitter's environment.

    Raises UsageError.
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
    script = script_text(request)
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
