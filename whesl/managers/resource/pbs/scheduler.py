"""PBS from outside: one submission per token, look-ups, requeue under the same id, marks on nodes."""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import signal as signals
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from whesl.managers.resource import cluster_environment
from whesl.managers.resource.command_call import Through
from whesl.managers.resource.lost_replies import look_again
from whesl.managers.resource.pbs import records, states
from whesl.managers.resource.pbs.command import TIMEOUT, DeniedError, NoSuchJobError, PbsCommands, failure
from whesl.managers.resource.pbs.submission import submission
from whesl.managers.resource.port import (
    AllowsRequeue,
    ChoosesCluster,
    CountsFree,
    JobRecord,
    JobRequest,
    NodeRecord,
    Scheduler,
    TriesRequests,
)
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError
from whesl.model.states import JobState, NodeState

_ID = re.compile(r"\d+(?:\[\d*\])?(?:\.[\w.-]+)?")
# The most jobs in one qstat query.
_MANY = 500
# Seconds to wait for the end of a job's start before its deletion, and seconds between two looks.
_STARTS, _POLL = 20.0, 0.5


class PbsScheduler(AllowsRequeue, ChoosesCluster, CountsFree, TriesRequests, Scheduler):
    """The outside face of the port for PBS.

    Args:
        environ: environment of the commands (PATH, PBS_CONF_FILE, PBS_SERVER); this process's by default.
        timeout: seconds after which a command counts as unanswered.
        settle: seconds of looking for the job of a submission without a reply, before it counts as not
            submitted.
        sleep: called with the seconds between two looks.
        through: runs the commands on another host (``PbsCommands``).
    """

    name = "pbs"

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
        settle: float = 20.0,
        sleep: Callable[[float], None] = time.sleep,
        through: Through | None = None,
    ) -> None:
        self._commands = PbsCommands(environ, timeout=timeout, through=through)
        self._through = through
        self._settle = settle
        self._sleep = sleep

    @classmethod
    def of_cluster(cls, cluster: Mapping[str, str]) -> PbsScheduler:
        return cls(cluster_environment.asking(os.environ, cluster))

    # Jobs ---------------------------------------------------------------------------------------------

    def submit(self, request: JobRequest) -> str:
        """Submit a job once; see the port. Raises TransientError when the job was surely not accepted."""
        submission(request, "/")  # raises UsageError for an impossible request before the first query
        if (known := self.find(request.token)) is not None:
            return known.id
        try:
            return self._submit(request)
        except CouldNotObserveError as error:
            return look_again(lambda: self.find(request.token), error, "PBS", self._settle, self._sleep)

    def _submit(self, request: JobRequest, *options: str) -> str:
        workdir = request.workdir or os.getcwd()  # noqa: PTH109  # a text is wanted
        qsub, *words = submission(request, workdir, self._chosen(request))
        try:
            reply = self._commands.run(
                qsub,
                *options,
                *words,
                environ=request.environment,
                cwd=None if self._through else workdir,
            )
        except RefusedError as error:
            if request.partition and "queue" in error.message.lower():
                raise RefusedError(f"{error.message}: partition {request.partition}") from None
            raise
        job_id = reply.strip()
        if not _ID.fullmatch(job_id):
            raise CouldNotObserveError(f"qsub printed no job id: {reply[:80]!r}")
        return job_id

    def _chosen(self, request: JobRequest) -> tuple[str, ...]:
        """Return nodes for a job that excludes some nodes: nodes in service, free ones first."""
        if not request.exclude:
            return ()
        excluded = request.exclude
        fit = [node for node in self.nodes() if node.state is NodeState.UP and node.name not in excluded]
        fit.sort(key=lambda node: node.raw_state != "free")
        if len(fit) < request.nodes:
            raise RefusedError(
                f"PBS has {len(fit)} nodes in service beside {', '.join(request.exclude)}, "
                f"and {request.nodes} are asked for",
                hint="ask for fewer nodes, or exclude fewer",
            )
        return tuple(node.name for node in fit[: request.nodes])

    def try_request(self, request: JobRequest) -> None:
        # PBS has no check without submission: the job is submitted in a held state, and deleted.
        with contextlib.suppress(NoSuchJobError):
            self._commands.run("qdel", "-x", self._submit(request, "-h"))

    def find(self, token: str) -> JobRecord | None:
        """Return a token's job among this user's jobs, including ended jobs in PBS's history.

        Where a site keeps no history (job_history_enable), a job is unknown once it has ended.
        """
        # This host's user may have another name on the commands' host.
        user = self._commands.run("id", "-un").strip() if self._through else getpass.getuser()
        listed = self._commands.run("qselect", "-x", "-u", user).split()
        found = [record for record in self.jobs(listed).values() if record.token == token]
        # Another client may have submitted the token twice: the newest job counts, and living ones first.
        return max(found, key=lambda record: (not record.state.ended, record.submitted), default=None)

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return jobs' records by the given ids; for an array's id (``12[]``) the array's own record."""
        if bad := [job_id for job_id in ids if not _ID.fullmatch(job_id)]:
            raise UsageError(f"not a PBS job id: {bad[0]!r}")
        found: dict[str, JobRecord] = {}
        for start in range(0, len(ids), _MANY):
            part = ids[start : start + _MANY]
            known = self._told(part)
            # An id without a server's name stands for a job of the default server.
            short = {job.partition(".")[0]: job for job in known}
            for job in part:
                name = job if job in known else short.get(job, "")
                if name:
                    record = records.job_record(name, known[name])
                    found[job] = msgspec.structs.replace(record, id=job)
        return self._with_batch_host_checked(found)

    def _told(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the jobs' attributes by qstat, which ends with an error when one of the jobs is unknown."""
        status, output, errors = self._commands.told(
            "qstat", "-x", "-f", "-F", "dsv", "-D", records.SEPARATOR, *ids
        )
        if status != 0:
            for line in filter(str.strip, errors.splitlines()):
                error = failure("qstat", status, line)
                if not isinstance(error, NoSuchJobError):
                    raise error
            if not errors.strip():
                raise failure("qstat", status, "")
        return records.listed(output)

    def _with_batch_host_checked(self, found: dict[str, JobRecord]) -> dict[str, JobRecord]:
        """Set ``batch_host_lost`` of jobs whose first node is down."""
        if not any(record.state is JobState.RUNNING and record.batch_host for record in found.values()):
            return found
        down = {node.name for node in self.nodes() if node.state is NodeState.DOWN}
        return {
            job: msgspec.structs.replace(record, batch_host_lost=True)
            if record.batch_host in down and not record.state.ended
            else record
            for job, record in found.items()
        }

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        # A job that is just being started is deleted only when it runs: an execution daemon forgets a job
        # that is deleted meanwhile, but still starts its script (seen with 23.06).
        with contextlib.suppress(NoSuchJobError):
            if signal is None:
                deadline = time.monotonic() + _STARTS
                while self._starts(job_id) and time.monotonic() < deadline:
                    self._sleep(_POLL)
                self._delete(job_id)
            else:
                self._commands.run("qsig", "-s", signals.Signals(signal).name, job_id)

    def _delete(self, job_id: str) -> None:
        try:
            self._commands.run("qdel", job_id)
        except TransientError:
            record = self.jobs([job_id]).get(job_id)
            if record is not None and not record.state.ended and record.state is not JobState.COMPLETING:
                raise

    def _starts(self, job_id: str) -> bool:
        told = next(iter(self._told([job_id]).values()), {})
        return records.number(told.get("substate")) == states.STARTS

    def requeue(self, job_id: str) -> None:
        """Run the same job again under the same id. PBS refuses a requeue of a job with ``qsub -r n``."""
        record = self.jobs([job_id]).get(job_id)
        if record is None:
            raise NoSuchJobError(f"PBS does not know job {job_id}")
        if record.state is JobState.PENDING:
            return
        # A lost first node does not answer: with "force", the server requeues the job without that node.
        force = ("-W", "force") if record.batch_host_lost else ()
        try:
            self._commands.run("qrerun", *force, job_id)
        except RefusedError as error:
            if "not rerunable" in error.message.lower() or "rerun" in error.message.lower():
                hint = "submit it with -r y"
                raise RefusedError(f"job {job_id} may not run again: {error.message}", hint=hint) from None
            raise

    def allow_requeue(self, job_id: str) -> None:
        """Allow requeues of a job again, which ``PbsAllocation.forbid_requeue`` has forbidden."""
        self._commands.run("qalter", "-r", "y", job_id)

    # Nodes --------------------------------------------------------------------------------------------

    def nodes(self) -> list[NodeRecord]:
        """Return all nodes, by their hosts' names."""
        return records.nodes(self._commands.run("pbsnodes", "-a", "-v", "-F", "json"))

    def free_nodes(self, partition: str) -> int:
        # The port's partition is a queue of PBS.
        if partition:
            listed = records.parsed(self._commands.run("qstat", "-Q", "-f", "-F", "json"), "Queue")
            if partition not in listed:
                known = ", ".join(sorted(listed)) or "none"
                raise RefusedError(f"PBS has no queue {partition}", hint=f"known: {known}")
        return records.free(self._commands.run("pbsnodes", "-a", "-v", "-F", "json"), partition)

    def mark_node(self, node: str, reason: str) -> bool:
        text = " ".join(reason.split()).replace('"', "'") or "whesl"
        return self._change_node(node, "set node {} state += offline", 'set node {} comment = "' + text + '"')

    def unmark_node(self, node: str) -> bool:
        """Take the offline mark from a node; a node that is down stays down."""
        return self._change_node(node, "set node {} state -= offline", "unset node {} comment")

    def _change_node(self, node: str, *changes: str) -> bool:
        """Change all virtual nodes of a node by qmgr(8B); ``{}`` in a change stands for their names."""
        known = records.parsed(self._commands.run("pbsnodes", "-a", "-v", "-F", "json"), "nodes")
        vnodes = [name for name, told in known.items() if records.host_of(name, told) == node]
        if not vnodes:
            raise RefusedError(f"PBS has no node {node}")
        try:
            for change in changes:
                self._commands.run("qmgr", "-c", change.replace("{}", ",".join(vnodes), 1))
        except DeniedError:
            return False
        return True
