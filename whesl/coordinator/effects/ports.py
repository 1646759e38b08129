"""What the coordinator needs of the world, and where it finds it: schedulers and workflow managers by name.

Both are looked up when they are needed first: who uses the embedded resource manager needs no Slurm.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from whesl.esl.spec import RecoveryStep
from whesl.model.configuration import Configuration
from whesl.model.evidence import Raised
from whesl.model.workflow import Workflow
from whesl.rjms import clusters
from whesl.rjms.port import JobRecord, Scheduler


class WorkflowSteps(Protocol):
    """The part of a workflow manager (``whesl.workflows.port.WorkflowManager``) that recovers."""

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        """Carry out a step of the entity WMS, idempotently, and return the configuration it leads to."""
        ...


@runtime_checkable
class ExcludesNodes(Protocol):
    """A scheduler that can keep a waiting job off nodes; others are asked without it."""

    def exclude(self, job_id: str, nodes: Sequence[str]) -> bool:
        """Keep a job off nodes from its next start on. False when that could not be done."""
        ...


@runtime_checkable
class AllowsRequeue(Protocol):
    """A scheduler that has to be told beforehand that a job may be run again."""

    def allow_requeue(self, job_id: str, allowed: bool) -> None:
        """Allow it, or take that back. Raises as the scheduler's other calls do."""
        ...


@runtime_checkable
class LiftsHold(Protocol):
    """A scheduler that makes a job wait before it runs again."""

    def lift_hold(self, record: JobRecord) -> None:
        """Let a job start now that waits only because it was requeued; any other is left alone."""
        ...


class Ports(Protocol):
    """Finds schedulers and workflow managers."""

    def scheduler(self, name: str, environment: Mapping[str, str]) -> Scheduler:
        """Return a scheduler by name; ``environment`` says which cluster, where there are several.

        Raises WheslError for an unknown one.
        """
        ...

    def manager(self, name: str) -> WorkflowSteps:
        """Return a workflow manager by name. Raises WheslError for an unknown one."""
        ...


class InstalledPorts:
    """The schedulers and workflow managers that are built in or installed.

    One scheduler is kept for each cluster: an adapter may hold a process that answers its questions.
    """

    def __init__(self) -> None:
        self._schedulers: dict[tuple[str, tuple[tuple[str, str], ...]], Scheduler] = {}
        self._lock = threading.Lock()

    def scheduler(self, name: str, environment: Mapping[str, str]) -> Scheduler:
        """See Ports."""
        key = (name, tuple(sorted(environment.items())))
        with self._lock:
            if key not in self._schedulers:
                self._schedulers[key] = self._made(name, environment)
            return self._schedulers[key]

    @staticmethod
    def _made(name: str, environment: Mapping[str, str]) -> Scheduler:
        from whesl import rjms

        options: dict[str, Any] = {}
        if name == "local" and environment.get("WHESL_LOCAL"):
            options = {"directory": environment["WHESL_LOCAL"]}
        elif name in ("slurm", "flux"):
            options = {"environ": clusters.asking(os.environ, environment)}
            if name == "slurm":
                options["cluster"] = environment.get(clusters.CLUSTER_NAME, "")
        return rjms.scheduler(name, **options)

    def manager(self, name: str) -> WorkflowSteps:
        """See Ports."""
        from whesl import workflows

        return workflows.manager(name)
