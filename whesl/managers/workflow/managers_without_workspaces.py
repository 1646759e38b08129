"""What managers have in common that create no workspaces for their tasks."""

from __future__ import annotations

from whesl.language.spec import Operation, RecoveryStep, ResourceKind
from whesl.managers.workflow.port import RunPlan, WorkflowManager
from whesl.model.configuration_changes import Configuration
from whesl.model.errors import RefusedError
from whesl.model.evidence import Raised
from whesl.model.workflow import Workflow


class WithoutWorkspaces(WorkflowManager):
    """Two methods of the port; a manager whose jobs name their tasks has its own ``submits``."""

    name = ""

    def submits(self, plan: RunPlan) -> frozenset[str]:
        """Return no tasks: the manager's jobs do not name their tasks before they run."""
        return frozenset()

    def apply(
        self, workflow: Workflow, step: RecoveryStep, raised: Raised, configuration: Configuration
    ) -> Configuration:
        """Carry out a WMS step; FILESYSTEM.REPLACE changes nothing: no workspaces are still to be created.

        Args:
            workflow: not used.
            step: the recovery step.
            raised: not used.
            configuration: the task's configuration, which is returned unchanged.

        Raises RefusedError for any other step.
        """
        if step.resource != ResourceKind.FILESYSTEM or step.operation != Operation.REPLACE:
            raise RefusedError(f"{self.name.capitalize()} knows no WMS step {step.resource}.{step.operation}")
        return configuration
