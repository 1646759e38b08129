"""Slurm from inside a job: steps on chosen nodes, their signals, and the nodes' states."""

from __future__ import annotations

import logging
import os
import secrets
import signal as signals
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence

from whesl.managers.resource import command_call
from whesl.managers.resource.job_growth_port import Grows, Growth
from whesl.managers.resource.job_step_process import start
from whesl.managers.resource.port import (
    Allocation,
    AllocationInfo,
    ForbidsRequeue,
    LocatesSteps,
    Step,
    StepHolder,
    StepPlace,
    StepRequest,
    Suspendable,
    Suspended,
    TakesRemarks,
    TellsReasons,
    TruncatesOutput,
)
from whesl.managers.resource.slurm import job_completion, job_growth, kept_output, slurm_command_output
from whesl.managers.resource.slurm.command import TIMEOUT, DeniedError, SlurmCommands
from whesl.managers.resource.slurm.job_variables_of_nodes_in_use import (
    components,
    for_nodes,
    for_own_step,
    job_of,
    nodes_of,
    of_script,
    own_node,
)
from whesl.managers.resource.slurm.releases import Ability, controller_release
from whesl.managers.resource.slurm.scheduler import accounting_kept, cluster_settings, requeues_preempted
from whesl.managers.resource.slurm.slurm_command_output import RunningStep
from whesl.managers.resource.slurm.slurmd_probe import Slurmds
from whesl.managers.resource.slurm.srun_job_steps import OWN_STEP, SlurmStep, step_command
from whesl.model import hostlist
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError, WheslError
from whesl.model.states import NodeState

LOG = logging.getLogger(__name__)


class SlurmAllocation(
    ForbidsRequeue,
    Grows,
    LocatesSteps,
    StepHolder,
    Suspendable,
    TakesRemarks,
    TellsReasons,
    TruncatesOutput,
    Allocation,
):
    """The inside face of the port for Slurm.

    Args:
        environ: the job's environment as Slurm gave it to the batch script.
        timeout: seconds after which a command counts as unanswered.
    """

    name = "slurm"

    def __init__(self, environ: Mapping[str, str], *, timeout: float = TIMEOUT) -> None:
        self._environ = dict(environ)
        self._job_id = environ.get("SLURM_JOB_ID", "")
        if not self._job_id.isdecimal():
            raise UsageError(f"SLURM_JOB_ID is not a job's id: {self._job_id!r}")
        self._job = job_of(environ)
        self._nodes = nodes_of(environ)
        self._components = components(environ)
        # Each component of a heterogeneous job has a part of a step, under its own job id.
        names = [f"SLURM_JOB_ID_HET_GROUP_{number}" for number in range(len(self._components))]
        self._job_ids = tuple(environ[name] for name in names if name in environ) or (self._job_id,)
        self._commands = SlurmCommands(environ, timeout=timeout)
        self._left: dict[str, NodeState] = {}  # nodes that have left the job
        self._reasons: dict[str, str] = {}
        self._background: list[subprocess.Popen[bytes]] = []
        self.slurmds = Slurmds(self._listening)

    def describe(self) -> AllocationInfo:
        """Return the job's allocation from its environment; needs no slurmctld."""
        return AllocationInfo(
            rjms=self.name,
            job_id=self._job,
            nodes=self._nodes,
            batch_host=own_node(self._environ, self._nodes, os.uname().nodename),
            restart_count=_number(self._environ.get("SLURM_RESTART_COUNT")) or 0,
            tasks=_number(self._environ.get("SLURM_NTASKS")),
            components=self._components,
        )

    def launch(self, request: StepRequest) -> SlurmStep:
        """Start a step with srun.

        ``--overlap`` lets the step start while another step holds the same CPUs: a step with a lost node
        holds its CPUs until Slurm has declared that node down. Raises RefusedError when srun cannot be
        started.
        """
        self.slurmds.learn()
        name = f"{OWN_STEP}{secrets.token_hex(6)}"
        environ = for_own_step({**self._environ, **request.environment})
        command = step_command(request, name, self._components)
        return SlurmStep(start(command, {**environ, "SLURM_JOB_ID": self._job_id}, "srun"), name)

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to the step's tasks on every node that lives; SIGKILL goes to the step's srun, too.

        Returns before the signal has arrived: scancel waits ten seconds for a node that is silent but not yet
        down.

        Args:
            step: a step from ``launch``; where Slurm does not know it yet, the signal goes to its srun.
            signum: the signal's number; to an ended srun's step, only SIGKILL is sent.

        Raises UsageError for a step of another resource manager, and the port's errors; before
        CouldNotObserveError, the signal has gone to the step's srun.
        """
        if not isinstance(step, SlurmStep):
            raise UsageError(f"not a step of Slurm: {step!r}")
        self._reap()
        if step.poll() is not None and signum != signals.SIGKILL:
            return
        unseen: CouldNotObserveError | None = None
        try:
            found = self._cancel(step, signum)
        except CouldNotObserveError as error:
            found, unseen = False, error
        if signum == signals.SIGKILL:
            # A living srun would wait for a lost node until Slurm gives the node up. A dead srun creates no
            # further step, so the second look finds a step that the first look came too early for.
            command_call.send_group(step.pid, signals.SIGKILL)
            if not found and unseen is None:
                self._cancel(step, signum)
        elif not found:
            command_call.send(step.pid, signum)
        if unseen is not None:
            raise unseen

    def _cancel(self, step: SlurmStep, signum: int) -> bool:
        """Start scancel for a step; False when Slurm has no such step."""
        jobs = ",".join(self._job_ids)
        text = self._commands.run("squeue", "-h", "-s", "-j", jobs, "-O", slurm_command_output.STEP_FORMAT)
        ids = slurm_command_output.steps(text).get(step.name, [])
        if ids:
            self._end(ids, signum)
        return bool(ids)

    def _end(self, steps: Sequence[str], signum: int) -> None:
        command = ["scancel", f"--signal={signum}", *steps]
        self._background.append(start(command, self._commands.environ, "scancel"))

    def end_steps_of(self, launchers: Collection[int]) -> frozenset[str]:
        """Let Slurm end the steps that given processes of this node have started; return the steps' ids."""
        self._reap()
        steps = frozenset(
            step.id for step in self._running_steps() if step.pid in launchers and self._started_here(step)
        )
        if steps:
            self._end(sorted(steps), signals.SIGKILL)
        return steps

    def step_places(self) -> list[StepPlace]:
        """Return the places of the job's steps; Slurm lists no steps of a node that it has declared down."""
        return [
            StepPlace(step.pid if self._started_here(step) else 0, step.nodes)
            for step in self._running_steps()
            if not step.name.startswith(OWN_STEP)
        ]

    def _running_steps(self) -> list[RunningStep]:
        shown = [self._commands.run("scontrol", "-o", "show", "step", job) for job in self._job_ids]
        return slurm_command_output.running_steps("\n".join(shown))

    def _started_here(self, step: RunningStep) -> bool:
        here = {self._environ.get("SLURMD_NODENAME", ""), os.uname().nodename.split(".")[0]}
        return step.host.split(".")[0] in here

    def _reap(self) -> None:
        self._background = [process for process in self._background if process.poll() is None]

    def node_states(self) -> dict[str, NodeState]:
        """Return the states of the job's nodes, as Slurm sees them.

        A failed node that has left the job is DOWN. A healthy node that has left the job was given back by
        the job's owner (``scontrol update JobId=... NumNodes=``), and is RELEASED. A node that has left the
        job keeps its first state, even when it comes back. Where Slurm hides nodes' states
        (PrivateData=nodes), the job's nodes are UNKNOWN.
        """
        self.slurmds.learn()
        wanted = hostlist.compress(self._nodes)
        try:
            text = self._commands.run(
                "sinfo", "-a", "-h", "-N", "-n", wanted, "-O", slurm_command_output.NODE_FORMAT
            )
        except DeniedError:
            text = ""
        records = slurm_command_output.nodes(text)
        seen = {node.name: node.state for node in records}
        self._reasons = {node.name: node.reason for node in records if node.reason}
        try:
            kept = self._kept()
        except CouldNotObserveError:
            # squeue lists no nodes for a job that is being ended; sinfo still shows which nodes are lost.
            if not seen:
                raise
            kept = self._nodes
        present = frozenset(kept)
        for node in self._nodes:
            well = seen.get(node) in (NodeState.UP, NodeState.DRAINED)
            if node not in present:
                self._left.setdefault(node, NodeState.RELEASED if well else NodeState.DOWN)
        return {node: self._left.get(node) or seen.get(node, NodeState.UNKNOWN) for node in self._nodes}

    def reasons(self) -> Mapping[str, str]:
        """Return Slurm's reasons for the nodes' states: an administrator's, a health check's or its own."""
        return self._reasons

    def suspended(self) -> Suspended:
        """Return the job's suspension by Slurm (``scontrol suspend``, gang scheduling, preemption)."""
        shown = ("scontrol", "-o", "show", "job", self._job)
        return slurm_command_output.suspension(
            self._commands.run(*shown, environ={"SLURM_TIME_FORMAT": "%s"})
        )

    def forbid_requeue(self) -> None:
        """Forbid requeues of the job by Slurm, where only WHESL's own ``sbatch --requeue`` allows them.

        Does nothing where every job may be requeued (JobRequeue), because the script may count on that, nor
        where Slurm requeues preempted jobs, because Slurm would cancel the preempted job instead.
        """
        settings = cluster_settings(self._commands)
        partition = self._environ.get("SLURM_JOB_PARTITION", "")
        if settings.get("JobRequeue") != "0" or requeues_preempted(self._commands, settings, partition):
            return
        self._commands.run("scontrol", "update", f"JobId={self._job}", "Requeue=0")

    def remark(self, task: str, text: str) -> None:
        told = self._commands.run("squeue", "-h", "-j", self._job, "-o", "%k").split("\n")[0]
        comment = slurm_command_output.remarked("" if told == "(null)" else told, task, text)
        if comment:
            self._commands.run("scontrol", "update", f"JobId={self._job}", f"Comment={comment}")

    def script_variables(self) -> dict[str, str]:
        """Return the variables of Slurm in the script's environment (``OutlivesScript``)."""
        return of_script(self._environ)

    def script_environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return this step's environment as the script would have it on this node."""
        own = of_script(self._environ)
        others = {name: value for name, value in self._environ.items() if name not in own}
        return {**others, **variables, "SLURMD_NODENAME": self.describe().batch_host}

    def end_job(self, status: int) -> None:
        """End the job as its script would; cancel it where Slurm's library is missing."""
        ending = (sys.executable, "-m", job_completion.__name__, self._job_id, str(status))
        try:
            self._commands.run(*ending)
        except WheslError as error:
            LOG.warning(
                "job %s is cancelled, since it could not be ended with its status: %s", self._job, error
            )
            self._commands.run("scancel", self._job)

    def truncated_output(self) -> tuple[str, ...]:
        """Return the output files that Slurm truncates at a requeue by itself."""
        shown = self._commands.run("scontrol", "-o", "show", "job", self._job)
        words = dict(word.partition("=")[::2] for word in shown.split())
        # A job of ``whesl run`` has a token in its comment, and appends to its output files.
        if words.get("Requeue") != "1" or slurm_command_output.token_of(words.get("Comment", "")):
            return ()
        return kept_output.truncated(self._commands, self._job)

    def _changeable_after(self) -> bool:
        """Whether Slurm accepts changes to a job that a node has left."""
        settings = cluster_settings(self._commands)
        return accounting_kept(settings) or Ability.CHANGES_AFTER_RESIZE.of(controller_release(settings))

    def _kept(self) -> tuple[str, ...]:
        """Return the running job's present nodes by squeue; the script's variables keep nodes that have left.

        A job that is to run again has none: Slurm takes a change of its nodes for what its next run demands.
        """
        text = self._commands.run("squeue", "-h", "-t", "RUNNING,SUSPENDED", "-j", self._job, "-o", "%N")
        try:
            kept = hostlist.expand(",".join(text.split()))
        except ValueError as error:
            raise CouldNotObserveError(f"squeue printed no node list: {error}") from None
        if not kept:
            raise CouldNotObserveError(f"squeue names no nodes of job {self._job}")
        return kept

    def grow(self, count: int, name: str, wait: float) -> Growth:
        """Get further nodes by a second job that is merged into this one (``Grows``).

        Args:
            count: the number of further nodes.
            name: the second job's name, by which a repeated call finds the job of an interrupted one.
            wait: seconds that salloc waits for the nodes at most.

        Raises RefusedError with the reason where Slurm's settings rule that out, for a heterogeneous job, and
        where no nodes came within the time; the port's other errors.
        """
        if self._components:
            raise RefusedError("a heterogeneous job gets no further nodes")
        if why := job_growth.refusal(cluster_settings(self._commands), changeable=self._changeable_after()):
            raise RefusedError(why)
        return job_growth.grow(self._commands, self._job_id, self._nodes, count, name, wait, self._kept)

    def _listening(self) -> dict[str, tuple[str, int]]:
        """Return the addresses and ports at which slurmctld reaches the slurmds of the job's nodes."""
        wanted = hostlist.compress(self._nodes)
        text = self._commands.run(
            "sinfo", "-a", "-h", "-N", "-n", wanted, "-O", slurm_command_output.ADDRESS_FORMAT
        )
        return slurm_command_output.addresses(text)

    def gone(self, node: str) -> bool | None:
        """Whether the node's slurmd has ended: its port accepted connections once, and now refuses them.

        An ended slurmd alone does not prove that the node is dead: slurmd may be restarted or killed while
        slurmstepd and the tasks live on. This method is the second witness, for a node whose agent's
        connection
        closed and did not come back. Events on a living node, and what the two witnesses make of them:

        * slurmd is restarted (an update, a new configuration): agents stay connected, so nobody asks here.
        * The agent alone is killed (out of memory): its other half starts it again, the agent reconnects, and
          slurmd accepts connections. With both halves killed, slurmd still accepts connections.
        * The node is cut off: the connection gets no answer or "no route", and this method returns None.
        * A firewall that refuses with TCP resets is started: resets may close the agent's connection and
          refuse slurmd's port, so both witnesses err. They also err when both halves of the agent die in the
          moment of a restart of slurmd. Against both, the caller looks twice, and the agent ends the old
          attempt when it comes back.
        * All processes of the node are killed, the tasks last (a shutdown): the caller's second look comes
          after the tasks' end, because a kill of all processes takes milliseconds.
        """
        return self.slurmds.ended(node)

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        return for_nodes(active, {**self._environ, **base})

    def release(self, node: str) -> bool:
        """Shrink the job by a lost node, which a job's owner may do; False where the node stays with the job.

        A node stays where Slurm would accept no changes to the shrunk job, neither a comment nor a requeue
        (no slurmdbd, and an older release). The batch host, on which the job's script runs, and nodes of
        heterogeneous jobs stay, too.
        """
        if self._components:
            return False
        try:
            kept = self._kept()
            if node not in kept:
                return True
            rest = [name for name in kept if name != node]
            if not rest or node == self.describe().batch_host or not self._changeable_after():
                return False
            # scontrol writes a script with the new variables into its working directory.
            with tempfile.TemporaryDirectory(prefix="whesl-resize-") as directory:
                change = f"NodeList={hostlist.compress(rest)}"
                self._commands.run("scontrol", "update", f"JobId={self._job}", change, cwd=directory)
            self._left[node] = NodeState.DOWN  # only lost nodes are given back
        except (CouldNotObserveError, RefusedError, TransientError):
            return False
        return True


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
