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
from whesl.managers.resource.lost_replies import look_again
from whesl.managers.resource.pbs import records, states
from whesl.managers.resource.pbs.command import TIMEOUT, DeniedError, NoSuchJobError, PbsCommands, failure
from whesl.managers.resource.pbs.submission import submission
from whesl.managers.resource.port import JobRecord, JobRequest, NodeRecord
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError
from whesl.model.states import JobState, NodeState

_ID = re.compile(r"\d+(?:\[\d*\])?(?:\.[\w.-]+)?")
# How many jobs one qstat is asked for.
_MANY = 500
_NOTHING = '""'
# Seconds for which a job's start is waited for before it is deleted, and between two looks.
_STARTS, _POLL = 20.0, 0.5


class PbsScheduler:
    """The outside face of the port for PBS.

    Args:
        environ: environment of the commands (PATH, PBS_CONF_FILE, PBS_SERVER); this process's by default.
        timeout: seconds after which a command counts as unanswered.
        settle: seconds for which a submission without a reply is looked for before it counts as not made.
        sleep: waits between these looks.
    """

    name = "pbs"

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
        settle: float = 20.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._commands = PbsCommands(environ, timeout=timeout)
        self._settle = settle
        self._sleep = sleep

    @classmethod
    def of_cluster(cls, cluster: Mapping[str, str]) -> PbsScheduler:
        """Return that of a certain server; see the port."""
        return cls(cluster_environment.asking(os.environ, cluster))

    # Jobs ---------------------------------------------------------------------------------------------

    def submit(self, request: JobRequest) -> str:
        """Submit once; see the port. Raises TransientError when it was surely not accepted."""
        submission(request, "/")  # what PBS cannot be asked for is said before anything is asked
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
            reply = self._commands.run(qsub, *options, *words, environ=request.environment, cwd=workdir)
        except RefusedError as error:
            if request.partition and "queue" in error.message.lower():
                raise RefusedError(f"{error.message}: partition {request.partition}") from None
            raise
        job_id = reply.strip()
        if not _ID.fullmatch(job_id):
            raise CouldNotObserveError(f"qsub printed no job id: {reply[:80]!r}")
        return job_id

    def _chosen(self, request: JobRequest) -> tuple[str, ...]:
        """Return the nodes for a job that may not get some: those that could run it, idle ones first."""
        if not request.exclude:
            return ()
        text = self._commands.run("pbsnodes", "-a", "-v", "-F", "json")
        fit = [
            node
            for node in records.nodes(text)
            if node.state is NodeState.UP and node.name not in request.exclude
        ]
        fit.sort(key=lambda node: node.raw_state != "free")
        if len(fit) < request.nodes:
            raise RefusedError(
                f"PBS has {len(fit)} nodes in service beside {', '.join(request.exclude)}, "
                f"and {request.nodes} are asked for",
                hint="ask for fewer nodes, or exclude fewer",
            )
        return tuple(node.name for node in fit[: request.nodes])

    def try_request(self, request: JobRequest) -> None:
        """Submit a job that is held, and delete it; see the port. PBS has no way to ask."""
        with contextlib.suppress(NoSuchJobError):
            self._commands.run("qdel", "-x", self._submit(request, "-h"))

    def find(self, token: str) -> JobRecord | None:
        """Return a token's job, of this user's that PBS knows, ended ones for as long as it keeps them.

        Where a site keeps no history (job_history_enable) a job is unknown once it has ended.
        """
        listed = self._commands.run("qselect", "-x", "-u", getpass.getuser()).split()
        found = [record for record in self.jobs(listed).values() if record.token == token]
        # The newest, should another client ever have submitted twice; one that has not ended before others.
        return max(found, key=lambda record: (not record.state.ended, record.submitted), default=None)

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return the records of jobs, by the ids that were asked for; of an array (``12[]``) its own."""
        if bad := [job_id for job_id in ids if not _ID.fullmatch(job_id)]:
            raise UsageError(f"not a PBS job id: {bad[0]!r}")
        found: dict[str, JobRecord] = {}
        for start in range(0, len(ids), _MANY):
            part = ids[start : start + _MANY]
            known = self._told(part)
            # A number alone stands for a job of the default server.
            short = {job.partition(".")[0]: job for job in known}
            for job in part:
                name = job if job in known else short.get(job, "")
                if name:
                    record = records.job_record(name, known[name])
                    found[job] = msgspec.structs.replace(record, id=job)
        return self._with_batch_host_checked(found)

    def _told(self, ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return what qstat tells. It ends with an error when it does not know one of the jobs."""
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
        """Mark running jobs whose first node is down."""
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
        """Delete a job, or send a signal to its processes.

        One that is just being started is deleted once it runs: the execution daemon forgets a job that is
        deleted in between, and starts its script all the same (seen with 23.06).
        """
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
        """Run the same job again under the same id. Refused for one that may not be run again (qsub -r n)."""
        record = self.jobs([job_id]).get(job_id)
        if record is None:
            raise NoSuchJobError(f"PBS does not know job {job_id}")
        if record.state is JobState.PENDING:
            return
        # A first node that is lost does not answer: the server alone puts the job back into its queue.
        force = ("-W", "force") if record.batch_host_lost else ()
        try:
            self._commands.run("qrerun", *force, job_id)
        except RefusedError as error:
            if "not rerunable" in error.message.lower() or "rerun" in error.message.lower():
                hint = "submit it with -r y"
                raise RefusedError(f"job {job_id} may not run again: {error.message}", hint=hint) from None
            raise

    def allow_requeue(self, job_id: str) -> None:
        """Allow that a job is run again (``PbsAllocation.forbid_requeue``)."""
        self._commands.run("qalter", "-r", "y", job_id)

    def annotate(self, job_id: str, comment: str) -> None:
        """Write a job's comment. PBS lets operators and managers write one, and writes its own over it."""
        # A comma begins the next attribute, and quotes stand around values (qalter(1B)).
        text = " ".join(comment.split()).translate({ord(","): ";", ord('"'): "'"})
        self._commands.run("qalter", "-W", f"comment={text or _NOTHING}", job_id)

    # Nodes --------------------------------------------------------------------------------------------

    def nodes(self) -> list[NodeRecord]:
        """Return all nodes, by their hosts' names."""
        return records.nodes(self._commands.run("pbsnodes", "-a", "-v", "-F", "json"))

    def free_nodes(self, partition: str) -> int:
        """Return how many nodes have no job and take one; a partition is a queue. See the port."""
        if partition:
            listed = records.parsed(self._commands.run("qstat", "-Q", "-f", "-F", "json"), "Queue")
            if partition not in listed:
                known = ", ".join(sorted(listed)) or "none"
                raise RefusedError(f"PBS has no queue {partition}", hint=f"known: {known}")
        return records.free(self._commands.run("pbsnodes", "-a", "-v", "-F", "json"), partition)

    def mark_node(self, node: str, reason: str) -> bool:
        """Take a node offline."""
        text = " ".join(reason.split()).replace('"', "'") or "whesl"
        return self._change_node(node, "set node {} state += offline", 'set node {} comment = "' + text + '"')

    def unmark_node(self, node: str) -> bool:
        """Take the mark from a node; one that is down stays down."""
        return self._change_node(node, "set node {} state -= offline", "unset node {} comment")

    def _change_node(self, node: str, *changes: str) -> bool:
        """Change a node with all its virtual nodes, by qmgr(8B). ``{}`` in a change stands for them."""
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
