"""Slurm from inside a job: steps on chosen nodes, their signals, and the nodes' states."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal as signals
import subprocess
import tempfile
from collections.abc import Collection, Mapping, Sequence

from whesl.managers.resource import hostlist
from whesl.managers.resource.port import AllocationInfo, Step, StepPlace, StepRequest, Suspended
from whesl.managers.resource.slurm import kept_output, slurm_command_output
from whesl.managers.resource.slurm.attempt_environment import (
    components,
    for_nodes,
    for_own_step,
    job_of,
    nodes_of,
    own_node,
)
from whesl.managers.resource.slurm.command import TIMEOUT, DeniedError, SlurmCommands
from whesl.managers.resource.slurm.releases import Ability, controller_release
from whesl.managers.resource.slurm.scheduler import accounting_kept, cluster_settings, requeues_preempted
from whesl.managers.resource.slurm.slurm_command_output import RunningStep
from whesl.managers.resource.slurm.slurmd_probe import Slurmds
from whesl.managers.resource.slurm.srun_steps import OWN_STEP, SlurmStep, step_command
from whesl.managers.resource.step_process import start
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError
from whesl.model.states import NodeState


class SlurmAllocation:
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
        self._commands = SlurmCommands(environ, timeout=timeout)
        self._left: dict[str, NodeState] = {}  # nodes that have left the job
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
        )

    def launch(self, request: StepRequest) -> SlurmStep:
        """Start a step with srun.

        ``--overlap`` lets it start while another step holds the same CPUs; a step with a lost node keeps
        them until Slurm has declared that node down. Raises RefusedError when srun cannot be started.
        """
        self.slurmds.learn()
        name = f"{OWN_STEP}{secrets.token_hex(6)}"
        environ = for_own_step({**self._environ, **request.environment})
        command = step_command(request, name, self._components)
        return SlurmStep(start(command, {**environ, "SLURM_JOB_ID": self._job_id}, "srun"), name)

    def signal(self, step: Step, signum: int) -> None:
        """Send a signal to the step's tasks on every node that lives, and SIGKILL to its srun as well.

        Returns before it has arrived: for a node that is silent but not yet down, scancel waits for ten
        seconds.
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
            # Its srun would wait for a lost node until Slurm gives that up. Dead, it can create no step any
            # more, so a step that the first look missed is there at the second.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(step.pid, signals.SIGKILL)
            if not found and unseen is None:
                self._cancel(step, signum)
        elif not found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(step.pid, signum)
        if unseen is not None:
            raise unseen

    def _cancel(self, step: SlurmStep, signum: int) -> bool:
        """Start scancel for a step; False when Slurm has no such step."""
        text = self._commands.run(
            "squeue", "-h", "-s", "-j", self._job_id, "-O", slurm_command_output.STEP_FORMAT
        )
        step_id = slurm_command_output.steps(text).get(step.name)
        if step_id is None:
            return False
        self._end([step_id], signum)
        return True

    def _end(self, steps: Sequence[str], signum: int) -> None:
        command = ["scancel", f"--signal={signum}", *steps]
        self._background.append(start(command, self._commands.environ, "scancel"))

    def end_steps_of(self, launchers: Collection[int]) -> frozenset[str]:
        """Have Slurm end the steps that these processes of this node have started, and return their ids."""
        self._reap()
        steps = frozenset(
            step.id for step in self._running_steps() if step.pid in launchers and self._started_here(step)
        )
        if steps:
            self._end(sorted(steps), signals.SIGKILL)
        return steps

    def step_places(self) -> list[StepPlace]:
        """Return where the job's steps run; those of a node that Slurm has called down are gone."""
        return [
            StepPlace(step.pid if self._started_here(step) else 0, step.nodes)
            for step in self._running_steps()
            if not step.name.startswith(OWN_STEP)
        ]

    def _running_steps(self) -> list[RunningStep]:
        shown = self._commands.run("scontrol", "-o", "show", "step", self._job_id)
        return slurm_command_output.running_steps(shown)

    def _started_here(self, step: RunningStep) -> bool:
        here = {self._environ.get("SLURMD_NODENAME", ""), os.uname().nodename.split(".")[0]}
        return step.host.split(".")[0] in here

    def _reap(self) -> None:
        self._background = [process for process in self._background if process.poll() is None]

    def node_states(self) -> dict[str, NodeState]:
        """Return Slurm's view of the nodes.

        One that Slurm took from the job is DOWN for the job; one that is well and not the job's any more was
        given back by its owner (``scontrol update JobId=... NumNodes=``), and is RELEASED. A lost node that
        comes back is not the job's either: it stays what it was called first. Where Slurm shows nobody the
        nodes' states (PrivateData=nodes), those of the job are UNKNOWN.
        """
        self.slurmds.learn()
        wanted = hostlist.compress(self._nodes)
        try:
            text = self._commands.run(
                "sinfo", "-a", "-h", "-N", "-n", wanted, "-O", slurm_command_output.NODE_FORMAT
            )
        except DeniedError:
            text = ""
        seen = {node.name: node.state for node in slurm_command_output.nodes(text)}
        try:
            kept = self._kept()
        except CouldNotObserveError:
            # A job that is being ended has no nodes any more; which of its nodes are lost is seen all the
            # same.
            if not seen:
                raise
            kept = self._nodes
        for node in self._nodes:
            well = seen.get(node) in (NodeState.UP, NodeState.DRAINED)
            if node not in kept:
                self._left.setdefault(node, NodeState.RELEASED if well else NodeState.DOWN)
        return {node: self._left.get(node) or seen.get(node, NodeState.UNKNOWN) for node in self._nodes}

    def suspended(self) -> Suspended:
        """Return for how long Slurm suspended the job (``scontrol suspend``, gang scheduling, preemption)."""
        shown = ("scontrol", "-o", "show", "job", self._job)
        return slurm_command_output.suspension(
            self._commands.run(*shown, environ={"SLURM_TIME_FORMAT": "%s"})
        )

    def forbid_requeue(self) -> None:
        """Withdraw the ``sbatch --requeue`` for which WHESL alone has asked.

        Not where Slurm allows it to every job (JobRequeue): the script may count on that. Nor where Slurm
        requeues what it preempts: it would cancel the job instead.
        """
        settings = cluster_settings(self._commands)
        partition = self._environ.get("SLURM_JOB_PARTITION", "")
        if settings.get("JobRequeue") != "0" or requeues_preempted(self._commands, settings, partition):
            return
        self._commands.run("scontrol", "update", f"JobId={self._job}", "Requeue=0")

    def remark(self, task: str, text: str) -> None:
        """Add a line on a task to the job's comment; the token and the owner's own text stay."""
        told = self._commands.run("squeue", "-h", "-j", self._job, "-o", "%k").split("\n")[0]
        comment = slurm_command_output.remarked("" if told == "(null)" else told, task, text)
        if comment:
            self._commands.run("scontrol", "update", f"JobId={self._job}", f"Comment={comment}")

    def truncated_output(self) -> tuple[str, ...]:
        """Return the output files that Slurm truncates should it run the job again by itself."""
        shown = self._commands.run("scontrol", "-o", "show", "job", self._job)
        words = dict(word.partition("=")[::2] for word in shown.split())
        # A job of ``whesl run`` has a token in its comment; Slurm appends to its output.
        if words.get("Requeue") != "1" or slurm_command_output.token_of(words.get("Comment", "")):
            return ()
        return kept_output.truncated(self._commands, self._job)

    def _changeable_after(self) -> bool:
        """Whether Slurm takes changes to a job after a node has left it."""
        settings = cluster_settings(self._commands)
        return accounting_kept(settings) or Ability.CHANGES_AFTER_RESIZE.of(controller_release(settings))

    def _kept(self) -> tuple[str, ...]:
        """Return the nodes that Slurm still counts to the job; the script's variables are never updated."""
        text = self._commands.run("squeue", "-h", "-j", self._job, "-o", "%N")
        try:
            kept = hostlist.expand(",".join(text.split()))
        except ValueError as error:
            raise CouldNotObserveError(f"squeue printed no node list: {error}") from None
        if not kept:
            raise CouldNotObserveError(f"squeue names no nodes of job {self._job}")
        return kept

    def _listening(self) -> dict[str, tuple[str, int]]:
        """Return where slurmctld reaches the nodes' slurmds."""
        wanted = hostlist.compress(self._nodes)
        text = self._commands.run(
            "sinfo", "-a", "-h", "-N", "-n", wanted, "-O", slurm_command_output.ADDRESS_FORMAT
        )
        return slurm_command_output.addresses(text)

    def gone(self, node: str) -> bool | None:
        """Whether the node's slurmd has ended: its port accepted connections once, and now refuses them.

        This alone does not say that the node is dead: slurmd may be restarted or killed while slurmstepd and
        the tasks live on. It is the second witness only, for a node whose agent's connection closed and
        did not come back. What has to come together for a wrong answer of both:

        * slurmd is restarted (an update, a new configuration): agents stay connected, and it is not looked
        at.
        * The agent is killed alone (want of memory): its other half starts it again, it reconnects, and
          slurmd accepts. Both halves killed: slurmd still accepts.
        * The node is cut off: no answer, or "no route", which is None.
        * A firewall that refuses with TCP resets starts on a living node: resets may close the agent's
          connection and refuse slurmd's port. This, and the death of both halves of the agent in the very
          moments in which slurmd is restarted, is what is left; the caller looks twice, and has the agent
          end the old attempt when it comes back.
        * slurmd and everything else of the node is being killed, the tasks last (a shutdown): the same two
          looks cover what comes between, since a kill of all processes takes milliseconds.
        """
        return self.slurmds.ended(node)

    def launch_environment(self, active: Sequence[str], base: Mapping[str, str]) -> dict[str, str]:
        """Return Slurm's variables for the nodes in use; spares and lost nodes do not appear."""
        return for_nodes(active, {**self._environ, **base})

    def release(self, node: str) -> bool:
        """Shrink the job by a node, as its owner may.

        Only where the job stays changeable after a resize, by slurmdbd or Slurm's release: neither a comment
        nor a requeue would be possible any more. Never the batch host, which the job's script runs on, nor a
        node of a heterogeneous job.
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
            # scontrol leaves a script with the new variables in its working directory.
            with tempfile.TemporaryDirectory(prefix="whesl-resize-") as directory:
                change = f"NodeList={hostlist.compress(rest)}"
                self._commands.run("scontrol", "update", f"JobId={self._job}", change, cwd=directory)
            self._left[node] = NodeState.DOWN  # only lost nodes are given back
        except (CouldNotObserveError, RefusedError, TransientError):
            return False
        return True


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
