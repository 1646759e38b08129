"""Carries out the steps of a recovery by the operations, with the task's full context."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.managers.resource import manager_table
from whesl.managers.resource.port import Allocation
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import CouldNotObserveError
from whesl.model.outcomes import StepOutcome
from whesl.runtime.isolator.core.events_and_commands import ClaimNodes, NodesClaimed
from whesl.runtime.isolator.core.recovery import recovery_decision
from whesl.runtime.isolator.core.state import State
from whesl.runtime.isolator.launch.attempt_command import written
from whesl.runtime.isolator.nodes import node_claims
from whesl.runtime.isolator.task import taskdir
from whesl.runtime.isolator.task.taskdir import Job, TaskDir
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult
from whesl.runtime.operations.relocation.named_and_open_files import named_paths

LOG = logging.getLogger(__name__)
_PLACEMENT = "WHESL_PLACEMENT"  # environment variable with the path of the table of nodes' risks
_DAY = 86400.0  # seconds assumed to be left of a job whose time limit is not known


class Steps:
    """Runs recovery steps; blocks, so it is called in the worker thread.

    Args:
        directory: the task's directory.
        job: the task as the user wrote it.
        allocation: the allocation of the resource manager.
        environment: the environment from which the task's is made.
        clock: the isolator's clock.
    """

    def __init__(
        self,
        directory: TaskDir,
        job: Job,
        allocation: Allocation,
        environment: Mapping[str, str],
        clock: Callable[[], float],
    ) -> None:
        self._directory = directory
        self._job = job
        self._allocation = allocation
        self._environment = written(environment)
        self._clock = clock

    def run(self, state: State, index: int) -> records.StepDone:
        """Run one step of the recovery under way and return its result.

        Args:
            state: the state with the recovery.
            index: the step's index in the recovery.
        """
        # Imported here since most tasks need no steps, and each first attempt would wait for the import.
        from whesl.runtime.isolator.effects import job_growth
        from whesl.runtime.operations.recovery_step_execution import HostPorts, execute

        recovery = state.recovery
        assert recovery is not None
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        log = file_retry.retried(lambda: os.open(self._directory.log, append, 0o600))
        try:
            step = recovery.steps[index]
            ports = HostPorts(self._directory.path, log)
            result = self._claimed(state, lambda context: execute(step, context, ports))
            result = job_growth.grow(self._directory, self._job, self._allocation, step, result)
        except RecoveryError as error:
            LOG.warning("%s", error)
            return records.StepDone(
                ordinal=recovery.ordinal,
                index=index,
                outcome=StepOutcome.FAIL,
                reason=error.reason,
                note=str(error.message),
            )
        except msgspec.ValidationError as error:
            return records.StepDone(
                ordinal=recovery.ordinal, index=index, outcome=StepOutcome.FAIL, note=f"not a step: {error}"
            )
        finally:
            file_retry.close(log)
        return records.StepDone(ordinal=recovery.ordinal, index=index, **msgspec.structs.asdict(result))

    def _claimed(self, state: State, run: Callable[[Context], StepResult]) -> StepResult:
        """Run a step and claim its nodes; repeat both where another task was faster to claim a node."""
        context, present = self._context(state), state.nodes.active
        busy = frozenset(self.claim(ClaimNodes(nodes=present, shared=present)).used)
        while True:
            result = run(msgspec.structs.replace(context, busy=tuple(sorted(busy))))
            wanted = result.nodes.active if result.nodes is not None else present
            claimed = self.claim(ClaimNodes(nodes=wanted))
            if busy.issuperset(claimed.refused):
                return result
            busy |= frozenset(claimed.used)

    def claim(self, command: ClaimNodes) -> NodesClaimed:
        """Claim the nodes of the next attempt; without an account, all nodes are the task's own."""
        account, task, nodes = self._job.setup.account, str(self._directory.path), command.nodes
        refused = used = frozenset[str]()
        if self._job.setup.claims(nodes):
            # After an error, the nodes count as the task's own, as without an account.
            with contextlib.suppress(OSError):
                refused, used = node_claims.exchange(account, task, nodes, frozenset(command.shared))
        return NodesClaimed(nodes=nodes, refused=tuple(sorted(refused)), used=tuple(sorted(used)))

    def _context(self, state: State) -> Context:
        job = self._job
        return msgspec.structs.replace(
            recovery_decision.context(state),
            workspace=job.workdir,
            command=job.command,
            script=os.fsdecode(taskdir.script_of(job)),
            environment=self._environment,
            predicted=self._predicted(state.nodes.spares),
            set_ahead=time.time() - self._clock(),
        )

    def _predicted(self, nodes: tuple[str, ...]) -> dict[str, float]:
        """Return each spare's probability of failure in the job's remaining time, {} when not known."""
        path = self._environment.get(_PLACEMENT, "")
        if not path or len(nodes) < 2:  # a choice needs two nodes
            return {}
        now = time.time()
        ends = manager_table.told(self._environment, manager_table.END)
        left = max(float(ends) - now, 0.0) if ends.isascii() and ends.isdigit() else _DAY
        try:
            from whesl.placement.site import (
                spare_failure_risk,  # imported here: a slow import, and few tasks have a table of risks
            )

            return spare_failure_risk.risks(Path(path), nodes, now, left)
        except CouldNotObserveError as error:
            LOG.warning("spares are taken in their order: %s", error.message)
            return {}


def task_paths(job: Job, configuration: Configuration, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paths below moved roots that a task names, which have to exist before the task starts.

    Args:
        job: the task as the user wrote it.
        configuration: the task's present configuration.
        environment: the environment from which the task's is made.
    """
    prefixes = [rule.old for rule in configuration.path_map.rules]
    command = configuration.command if configuration.command is not None else job.command
    workdir = configuration.workdir or job.workdir
    values = {**written(environment), **configuration.environment}
    return named_paths(command, os.fsdecode(taskdir.script_of(job)), values, workdir, prefixes)
