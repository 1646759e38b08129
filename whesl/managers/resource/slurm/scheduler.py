"""Slurm from outside: one submission per token, look-ups, requeue under the same id, marks on nodes."""

from __future__ import annotations

import contextlib
import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from whesl.managers.resource import cluster_environment
from whesl.managers.resource.command_call import Through
from whesl.managers.resource.lost_replies import look_again
from whesl.managers.resource.manager_table import CLUSTER_NAME
from whesl.managers.resource.port import (
    AllowsRequeue,
    ChangesLimits,
    ChoosesCluster,
    CountsFree,
    JobRecord,
    JobRequest,
    Limits,
    NodeRecord,
    RequeuesLost,
    Scheduler,
    TriesRequests,
)
from whesl.managers.resource.slurm import kept_output, next_run, slurm_command_output, states
from whesl.managers.resource.slurm.command import TIMEOUT, DeniedError, NoSuchJobError, SlurmCommands
from whesl.managers.resource.slurm.pyslurm_client import Bindings
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError, WheslError
from whesl.model.states import JobState, NodeState

# How many days accounting is searched back for a token: longer than a workflow with its queue waits lasts.
LOOKBACK_DAYS = 30
# How many jobs are asked for by one command: Linux takes 131,072 bytes of an argument (execve(2)).
_AT_ONCE = 4000
_POLL = 0.5
# slurmctld's reasons for a job that waits for nodes which do not come by themselves (job_scheduler.c).
_NODES_DOWN = re.compile(r"\bDOWN\b|_DOWN|^ReqNodeNotAvail")
# slurmctld's reason for holding a job whose prolog or launch failed on a node.
_LAUNCH_FAILED = "launch failed requeued held"
# How many restarts a job with such a hold may have and still be released.
_LAUNCHES = 3
# How many looks in a row must find a requeued job without a hold: the first may come before Slurm sets it.
_STEADY = 3
# _REVOKED: seconds after a run's end within which the next run must not start. _SOON: seconds of a start
# delay that count as no hold.
_REVOKED, _SOON = 2, 10


class SlurmScheduler(
    AllowsRequeue, ChangesLimits, ChoosesCluster, CountsFree, RequeuesLost, TriesRequests, Scheduler
):
    """The outside face of the port for Slurm.

    Args:
        environ: environment of the commands (PATH, SLURM_CONF); this process's own by default.
        timeout: seconds after which a command counts as unanswered.
        settle: seconds of looking for the job of a submission without a reply, before it counts as not
            submitted. A busy slurmctld still accepts requests from its socket after sbatch has given up.
        sleep: called with the seconds between two looks.
        cluster: the ClusterName that the commands have to speak to; '' for any cluster.
        through: runs the commands on another host (``SlurmCommands``).
    """

    name = "slurm"

    def __init__(
        self,
        environ: Mapping[str, str] | None = None,
        *,
        timeout: float = TIMEOUT,
        settle: float = 20.0,
        sleep: Callable[[float], None] = time.sleep,
        cluster: str = "",
        through: Through | None = None,
    ) -> None:
        self._commands = SlurmCommands(environ, timeout=timeout, cluster=cluster, through=through)
        self._bindings = None if through else Bindings(self._commands)
        # This host's user id may be another user's on the commands' host; without a name, sacct shows the
        # caller's own jobs.
        self._own = () if through else ("-u", str(os.getuid()))
        self._settle = settle
        self._sleep = sleep
        self._has_accounting: bool | None = None

    @classmethod
    def of_cluster(cls, cluster: Mapping[str, str]) -> SlurmScheduler:
        return cls(cluster_environment.asking(os.environ, cluster), cluster=cluster.get(CLUSTER_NAME, ""))

    def submit(self, request: JobRequest) -> str:
        """Submit a job once; see the port. Raises TransientError when the job was surely not accepted."""
        if not re.fullmatch(r"[^\s'\"\\\x00-\x1f]+", request.token):
            raise UsageError(f"a submission token has no blanks and no quotes: {request.token!r}")
        if (known := self.find(request.token)) is not None:
            return known.id
        try:
            reply = self._commands.run(*submission(request), environ=request.environment)
        except CouldNotObserveError as error:
            return self._look_again(request.token, error)
        job_id = reply.strip().split(";")[0]
        if job_id.isdecimal():
            return job_id
        return self._look_again(
            request.token, CouldNotObserveError(f"sbatch printed no job id: {reply[:80]!r}")
        )

    def try_request(self, request: JobRequest) -> None:
        # ``sbatch --test-only`` also refuses jobs that no node could run now.
        sbatch, *rest = submission(request)
        self._commands.run(sbatch, "--test-only", *rest, environ=request.environment)

    def free_nodes(self, partition: str) -> int:
        # A drained, powered down, reserved or silent node has another state than idle, or one with a suffix.
        lines = self._commands.run("sinfo", "-a", "-h", "-N", "-o", "%P|%N|%T").splitlines()
        rows = [line.strip().split("|") for line in lines if line.count("|") == 2]
        names = sorted({name.rstrip("*") for name, _, _ in rows})
        if partition and not set(partition.split(",")) <= set(names):
            raise RefusedError(
                f"Slurm has no partition {partition} with nodes", hint=f"known: {', '.join(names) or 'none'}"
            )
        chosen = set(partition.split(","))
        return len(
            {
                node
                for name, node, state in rows
                if state == "idle" and (name.rstrip("*") in chosen if partition else name.endswith("*"))
            }
        )

    def _look_again(self, token: str, cause: WheslError) -> str:
        """Return the id of a job whose submission got no reply; never submits."""
        return look_again(lambda: self.find(token), cause, "Slurm", self._settle, self._sleep)

    def find(self, token: str) -> JobRecord | None:
        """Return a token's job: squeue knows a job until MinJobAge after its end, accounting for 30 days."""
        queued = self._commands.run(
            "squeue", "-h", "-r", "--me", "-t", "all", "-O", slurm_command_output.JOB_FORMAT
        )
        # Another client may have submitted the token twice: the newest job counts, and living ones first.
        found = [record for record in slurm_command_output.jobs(queued) if record.token == token]
        if not found:
            since = ("-S", f"now-{LOOKBACK_DAYS}days", *self._own)
            found = [record for record in self._accounted(*since) if record.token == token]
        if not found:
            return None
        best = max(found, key=lambda record: (not record.state.ended, record.submitted))
        return self._with_batch_host_checked([best])[0]

    def jobs(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        """Return jobs' records by id; for an array's id (``12``) those of its elements (``12_1``, ...)."""
        if not ids:
            return {}
        if bad := [job_id for job_id in ids if not re.fullmatch(r"\d+(_\d+)?", job_id)]:
            raise UsageError(f"not a Slurm job id: {bad[0]!r}")
        found: dict[str, JobRecord] = {}
        for first in range(0, len(ids), _AT_ONCE):
            found |= self._known(ids[first : first + _AT_ONCE])
        return found

    def _known(self, ids: Sequence[str]) -> dict[str, JobRecord]:
        seen = (self._bindings and self._bindings.living(ids)) or self._queued(ids)
        found = {record.id: record for record in self._with_batch_host_checked(seen)}
        # An array's id is answered by its elements.
        answered = {*found, *(name.partition("_")[0] for name in found)}
        if forgotten := [job_id for job_id in ids if job_id not in answered]:
            for record in self._accounted("-j", ",".join(forgotten)):
                found.setdefault(record.id, record)
        return found

    def _queued(self, ids: Sequence[str]) -> list[JobRecord]:
        query = (
            "squeue",
            "-h",
            "-r",
            "-t",
            "all",
            "-j",
            ",".join(ids),
            "-O",
            slurm_command_output.JOB_FORMAT,
        )
        try:
            return slurm_command_output.jobs(self._commands.run(*query), ids)
        except NoSuchJobError:
            return []

    def nodes(self) -> list[NodeRecord]:
        """Return all nodes, also of hidden partitions. Raises DeniedError with PrivateData=nodes."""
        return slurm_command_output.nodes(
            self._commands.run("sinfo", "-a", "-h", "-N", "-O", slurm_command_output.NODE_FORMAT)
        )

    def cancel(self, job_id: str, signal: int | None = None) -> None:
        options = () if signal is None else (f"--signal={signal}", "--batch")
        with contextlib.suppress(NoSuchJobError):
            self._commands.run("scancel", *options, job_id)

    def requeue(self, job_id: str) -> None:
        """Run the same job again under the same id, without Slurm's two minutes' hold of requeued jobs."""
        self.requeue_with(job_id, Limits())

    def requeue_with(self, job_id: str, limits: Limits) -> str:
        # A user may raise a job's time and memory only while the job is pending: after its old run is over,
        # and before the hold of the requeued job is lifted. A pending job gets the limits without a requeue.
        # The job's output files are copied where Slurm may truncate them (``kept_output``). A refusal of
        # another number of nodes is not told.
        record = self.jobs([job_id]).get(job_id)
        if record is None:
            raise NoSuchJobError(f"Slurm does not know job {job_id}")
        kept_off, size = self._next_run(job_id, record.nodes, limits)
        if record.state is not JobState.PENDING:
            kept = kept_output.keep(self._commands, record)
            try:
                self._commands.run("scontrol", "requeue", job_id)
            except RefusedError as error:
                if "pending execution" not in error.message:
                    kept_output.forget(kept)
                    if "disabled" in error.message:
                        message = f"job {job_id} may not run again (Requeue=0)"
                        raise RefusedError(message, hint="submit it with --requeue") from None
                    raise
        # The requeue is done: should the next changes fail, the job starts by itself after two minutes.
        changes = [f"TimeLimit={math.ceil(limits.time)}"] if limits.time is not None else []
        changes += [f"MinMemoryNode={limits.memory}"] if limits.memory is not None else []
        changes += [f"ExcNodeList={kept_off}"] if kept_off else []
        refused = self._change_waiting(job_id, changes) if changes else ""
        if size:
            self._resize(job_id, size)
        self._lift_hold(job_id)
        return refused

    def fit_waiting(self, record: JobRecord, used: Sequence[str], sizes: tuple[int, int]) -> None:
        # Slurm may call the nodes of the last run down long after the requeue. It is asked no more of a job
        # that waits for another reason, since each look calls this.
        if record.state is JobState.PENDING and _NODES_DOWN.search(record.reason):
            _, size = self._next_run(record.id, used, Limits(sizes=sizes))
            if size:
                self._resize(record.id, size)

    def _next_run(self, job_id: str, used: Sequence[str], limits: Limits) -> tuple[str, int]:
        """Return the ExcNodeList and the number of nodes of a job's next run (``next_run.asks``)."""
        if not (limits.avoid or any(limits.sizes)):
            return "", 0
        try:
            job = self._commands.run("squeue", "-h", "-j", job_id, "-o", next_run.JOB_FORMAT)
            words = ("-h", "-N", "-p", next_run.partition(job), "-O", next_run.NODE_FORMAT)
            nodes = self._commands.run("sinfo", *words)
            return next_run.asks(job, nodes, used, limits.avoid, limits.sizes)
        except (CouldNotObserveError, TransientError, RefusedError):
            return "", 0

    def _resize(self, job_id: str, nodes: int) -> None:
        """Change a waiting job's number of nodes, and of processors and tasks with it; best effort.

        Slurm tells the old run's numbers until that run is over (job_mgr.c, _pack_default_job_details). The
        end of a run with a lost node comes late: when Slurm calls the node down (``fit_waiting``).
        """
        look = ("squeue", "-h", "-j", job_id, "-O", next_run.SIZE_FORMAT)
        deadline = time.monotonic() + self._settle
        with contextlib.suppress(CouldNotObserveError, TransientError, RefusedError):
            while (record := self.jobs([job_id]).get(job_id)) and record.state is JobState.COMPLETING:
                if time.monotonic() >= deadline:
                    return
                self._sleep(_POLL)
            before = self._commands.run(*look)
            if before.split(slurm_command_output.SEPARATOR)[0] == str(nodes):
                return
            if not self._change_waiting(job_id, [f"NumNodes={nodes}"]):
                more = next_run.size_changes(before, self._commands.run(*look), nodes)
                if more:
                    self._change_waiting(job_id, more)

    def _change_waiting(self, job_id: str, changes: Sequence[str]) -> str:
        """Change a job whose old run may not be over yet; return the reason of a refusal, "" on success."""
        deadline = time.monotonic() + self._settle
        while True:
            try:
                self._commands.run("scontrol", "update", f"JobId={job_id}", *changes)
            except (CouldNotObserveError, TransientError, RefusedError) as error:
                if time.monotonic() >= deadline:
                    return f"it runs again as it was submitted: {error.message}"
                self._sleep(_POLL)
            else:
                return ""

    def requeue_lost(self, job_id: str) -> bool:
        """Requeue a job that was submitted with --requeue; False where requeues have been forbidden since."""
        try:
            self._commands.run("scontrol", "requeue", job_id)
        except RefusedError as error:
            if "disabled" in error.message:
                return False
            raise
        return True

    def allow_requeue(self, job_id: str) -> None:
        """Allow requeues of a job again, which ``SlurmAllocation.forbid_requeue`` has forbidden.

        Has to be called before a lost node has left the job, because Slurm may accept no change to the job
        after that (``releases``). Does nothing where Slurm allows requeues of every job (JobRequeue): only
        the job's user forbids them there.
        """
        if cluster_settings(self._commands).get("JobRequeue") == "0":
            self._update_job(job_id, "Requeue=1")

    def lift_hold(self, record: JobRecord) -> None:
        """Let a job start soon that waits only because it was requeued.

        Slurm holds a job for good when its prolog or launch fails on a node, and drains that node. Such a job
        is released, up to ``_LAUNCHES`` restarts.
        """
        if record.state is not JobState.PENDING or not record.restarts:
            return
        with contextlib.suppress(CouldNotObserveError, TransientError, RefusedError):
            if record.reason.startswith(_LAUNCH_FAILED) and record.restarts <= _LAUNCHES:
                self._commands.run("scontrol", "release", record.id)
            elif record.reason.startswith("BeginTime"):
                self._lift(record.id)

    def _lift_hold(self, job_id: str) -> None:
        """Let a requeued job start soon, and verify that Slurm keeps the change.

        Slurm sets the hold when the old run has ended, and forgets a start time that has passed by then. With
        a dead batch host, the old run ends only when Slurm has noticed the death, after this call's time: one
        of the coordinator's later looks lifts the hold then (``lift_hold``). Failed queries and changes are
        repeated; without success the job waits its two minutes.
        """
        deadline = time.monotonic() + self._settle / 2
        free = 0
        while free < _STEADY and time.monotonic() < deadline:
            with contextlib.suppress(CouldNotObserveError, TransientError, RefusedError):
                record = self.jobs([job_id]).get(job_id)
                if record is None or record.state not in (JobState.PENDING, JobState.COMPLETING):
                    return
                held = record.state is JobState.COMPLETING or self._lift(job_id)
                free = 0 if held else free + 1
            self._sleep(_POLL)
        if free < _STEADY:
            with contextlib.suppress(CouldNotObserveError, TransientError, RefusedError):
                self._update_job(job_id, "StartTime=now")

    def _lift(self, job_id: str) -> bool:
        """Let a job that Slurm holds start in two seconds; False when Slurm does not hold the job any more.

        The delay is needed because the end of a run revokes the credentials of that second: a run that starts
        in the same second is killed as "non-startable: Job credential revoked" (seen with 22.05.8).
        """
        text = self._commands.run(
            "squeue", "-h", "-j", job_id, "-O", f"EligibleTime:{slurm_command_output.SEPARATOR}"
        )
        due = text.strip().rstrip(slurm_command_output.SEPARATOR)
        if not due.isdecimal() or int(due) <= time.time() + _SOON:
            return False
        self._update_job(job_id, f"StartTime=now+{_REVOKED}")
        return True

    def mark_node(self, node: str, reason: str) -> bool:
        # With ReturnToService=2, a living node would undo ``down`` at once, so it is drained.
        return self._update_node(node, "State=DRAIN", f"Reason={' '.join(reason.split()) or 'whesl'}")

    def unmark_node(self, node: str) -> bool:
        """Undrain a node; a node that is down stays down."""
        return self._update_node(node, "State=UNDRAIN", f"Reason={states.UNDRAINED}")

    def _update_node(self, node: str, *changes: str) -> bool:
        try:
            self._commands.run("scontrol", "update", f"NodeName={node}", *changes)
        except DeniedError:
            return False
        return True

    def _update_job(self, job_id: str, change: str) -> None:
        self._commands.run("scontrol", "update", f"JobId={job_id}", change)

    def _with_batch_host_checked(self, found: list[JobRecord]) -> list[JobRecord]:
        """Set ``batch_host_lost`` of jobs whose batch host is down, but still in their node list."""
        running = {r.batch_host for r in found if r.state is JobState.RUNNING and r.batch_host}
        if not running:
            return found
        hosts = ",".join(sorted(running))
        try:
            text = self._commands.run(
                "sinfo", "-a", "-h", "-N", "-n", hosts, "-O", slurm_command_output.NODE_FORMAT
            )
        except DeniedError:  # PrivateData=nodes: squeue's records of the jobs have to suffice
            return found
        down = {node.name for node in slurm_command_output.nodes(text) if node.state is NodeState.DOWN}
        return [
            msgspec.structs.replace(r, batch_host_lost=True)
            if r.batch_host in down and not r.state.ended
            else r
            for r in found
        ]

    def _accounted(self, *selection: str) -> list[JobRecord]:
        """Return jobs' records from accounting; no records where the site has no accounting."""
        if self._has_accounting is None:
            self._has_accounting = accounting_kept(cluster_settings(self._commands))
        if not self._has_accounting:
            return []
        form = (
            f"--delimiter={slurm_command_output.SEPARATOR}",
            f"--format={slurm_command_output.ACCOUNTING_FORMAT}",
        )
        return slurm_command_output.accounted(
            self._commands.run("sacct", "-n", "-p", "-X", *form, *selection)
        )


def accounting_kept(settings: Mapping[str, str]) -> bool:
    """Whether a cluster with the given settings has slurmdbd."""
    kind = settings.get("AccountingStorageType")
    if kind is None:
        raise CouldNotObserveError("scontrol show config names no AccountingStorageType")
    return kind == "accounting_storage/slurmdbd"


def requeues_preempted(commands: SlurmCommands, settings: Mapping[str, str], partition: str) -> bool:
    """Whether Slurm may preempt a job of a partition by requeueing it (slurm.conf(5), PreemptMode).

    Slurm cancels preempted jobs that may not be requeued.

    Args:
        commands: the cluster's commands.
        settings: the cluster's settings (``cluster_settings``).
        partition: the job's partition; empty where it is unknown.
    """
    if settings.get("PreemptType", "preempt/none") in ("preempt/none", "(null)"):
        return False
    modes = settings.get("PreemptMode", "")
    if partition:
        with contextlib.suppress(RefusedError):  # refused with PrivateData=partitions
            shown = commands.run("scontrol", "-o", "show", "partition", partition)
            own = re.search(r"\bPreemptMode=(\S+)", shown)
            modes += f",{own[1]}" if own else ""
    return "REQUEUE" in modes.split(",")


def cluster_settings(commands: SlurmCommands) -> dict[str, str]:
    """Return the settings of ``scontrol show config``."""
    return slurm_command_output.settings(commands.run("scontrol", "show", "config"))


def submission(request: JobRequest) -> list[str]:
    """Return the sbatch command for a request.

    ``--no-kill`` keeps the allocation when a node is lost. ``--open-mode=append`` keeps the first run's
    output at a requeue under the same id.
    """
    options: dict[str, object] = {
        "comment": slurm_command_output.comment_for(request.token),
        "nodes": request.nodes,
        "ntasks": request.tasks,
        "job-name": request.name,
        "chdir": request.workdir,
        "partition": request.partition,
        "time": None if request.time_limit is None else _minutes(request.time_limit),
        "output": request.output,
        "error": request.error,
        "exclude": ",".join(request.exclude),
        "dependency": "afterok:" + ":".join(request.after_ok) if request.after_ok else "",
        "open-mode": "append",
        "export": "ALL",
        "account": request.demands.account,
        "qos": request.demands.qos,
        "constraint": request.demands.constraint,
        "gres": request.demands.gres,
        "mem": request.demands.memory,
    }
    switches = ["--parsable", "--no-kill", "--requeue" if request.requeue else "--no-requeue"]
    if request.demands.exclusive:
        switches.append("--exclusive")
    if request.after_ok:
        # Without this option, a job that depends on a failed job stays in the queue for ever.
        switches.append("--kill-on-invalid-dep=yes")
    given = [f"--{name}={value}" for name, value in options.items() if value not in (None, "")]
    return ["sbatch", *switches, *given, request.script, *request.arguments]


def _minutes(limit: float) -> str:
    minutes, seconds = divmod(max(1, round(limit * 60)), 60)
    return f"{minutes}:{seconds:02d}"
