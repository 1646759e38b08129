"""Schedulers and workflow managers by name, as the coordinator finds them.

Both are loaded when they are first needed: with the embedded resource manager, no Slurm is needed.
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
    """The part of a workflow manager (``whesl.managers.workflow.port.WorkflowManager``) that recovers."""

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        """Carry out a step of the entity WMS, idempotently, and return the configuration it leads to."""
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
                self._schedulers[key] = resource.scheduler_of(name, environment)
            return self._schedulers[key]

    def manager(self, name: str) -> WorkflowSteps:
        """See Ports."""
        from whesl.managers import workflow as workflows

        return workflows.manager(name)
