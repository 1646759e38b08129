"""Schedulers and workflow managers by name, as the coordinator finds them.

Each is loaded at its first use: with the embedded resource manager, the adapter of Slurm is never loaded.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Protocol

from whesl.language.spec import RecoveryStep
from whesl.managers import resource
from whesl.managers.resource.port import Scheduler
from whesl.model.configuration_changes import Configuration
from whesl.model.evidence import Raised
from whesl.model.workflow import Workflow


class WorkflowSteps(Protocol):
    """The recovery steps that a workflow manager performs (``managers.workflow.port.WorkflowManager``)."""

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        """Carry out a step of the entity WMS, idempotently, and return the task's resulting configuration.

        Args:
            workflow: the workflow.
            step: the step.
            raised: the exception with its evidence.
            configuration: the task's configuration before the step.
        """


class Ports(Protocol):
    """Finds schedulers and workflow managers."""

    def scheduler(self, name: str, environment: Mapping[str, str]) -> Scheduler:
        """Return a scheduler by name.

        Raises WheslError for an unknown one.

        Args:
            name: the resource manager's name.
            environment: variables that name the cluster, where the manager has several.
        """

    def manager(self, name: str) -> WorkflowSteps:
        """Return a workflow manager by name. Raises WheslError for an unknown one."""


class InstalledPorts(Ports):
    """The schedulers and workflow managers that are built in or installed.

    One scheduler is kept for each cluster: an adapter may hold a process that answers its questions.
    """

    def __init__(self) -> None:
        self._schedulers: dict[tuple[str, tuple[tuple[str, str], ...]], Scheduler] = {}
        self._lock = threading.Lock()

    def scheduler(self, name: str, environment: Mapping[str, str]) -> Scheduler:
        key = (name, tuple(sorted(environment.items())))
        with self._lock:
            if key not in self._schedulers:
                self._schedulers[key] = resource.scheduler_of(name, environment)
            return self._schedulers[key]

    def manager(self, name: str) -> WorkflowSteps:
        from whesl.managers import workflow as workflows

        return workflows.manager(name)
