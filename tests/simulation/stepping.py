"""Recovery steps on the virtual machine: the product's own for nodes and jobs; file systems are modelled."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path
from typing import IO, Any

import msgspec

from tests.simulation.rulebook import OLD
from whesl.language.spec import ResourceKind
from whesl.model.configuration_changes import Configuration
from whesl.model.outcomes import StepOutcome
from whesl.model.pathmap import PathMap
from whesl.runtime.isolator.core.recovery import recovery_decision
from whesl.runtime.isolator.core.state import State
from whesl.runtime.journal.records import isolator_records as records
from whesl.runtime.journal.records.recovery_plan_step import PlanStep
from whesl.runtime.operations.job import CommandResult
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult
from whesl.runtime.operations.recovery_step_execution import execute


class _Ports:
    """Commands succeed; nothing is on disk."""

    directory = Path("/nowhere")
    log: IO[Any] | int = subprocess.DEVNULL

    def run(
        self, command: tuple[str, ...], environment: dict[str, str], workdir: str, timeout: float
    ) -> CommandResult:
        """See the ports of operations."""
        return CommandResult(status=0)


def carry_out(
    state: State, index: int, chance: random.Random, failing: float, busy: frozenset[str] = frozenset()
) -> records.StepDone:
    """Return what comes of a step of the isolator's, as ``isolator.effects.task_recovery_steps`` does.

    Args:
        state: with the recovery under way.
        index: of the step.
        chance: of this isolator.
        failing: how often a step goes wrong in some way.
        busy: nodes that another task of the allocation uses.
    """
    recovery = state.recovery
    assert recovery is not None
    step = recovery.steps[index]
    if failing and chance.random() < failing:
        outcome = chance.choice(("fail", "escalate", "pause", "fail"))
        return records.StepDone(
            ordinal=recovery.ordinal,
            index=index,
            outcome=StepOutcome(outcome),
            note="as chance would have it",
        )
    context = msgspec.structs.replace(recovery_decision.context(state), busy=tuple(sorted(busy)))
    try:
        result = (
            _replace(step, context)
            if step.resource == ResourceKind.FILESYSTEM
            else execute(step, context, _Ports())
        )
    except RecoveryError as error:
        return records.StepDone(
            ordinal=recovery.ordinal,
            index=index,
            outcome=StepOutcome.FAIL,
            reason=error.reason,
            note=error.message,
        )
    return records.StepDone(
        ordinal=recovery.ordinal,
        index=index,
        outcome=StepOutcome(result.outcome.value),
        configuration=result.configuration,
        dependents=result.dependents,
        nodes=result.nodes,
        bad_nodes=result.bad_nodes,
        signal=result.signal,
        reason=result.reason,
        note=result.note,
    )


def _replace(step: PlanStep, context: Context) -> StepResult:
    """FILESYSTEM.REPLACE: the first root that is not the present one."""
    present = context.configuration
    now = present.path_map.path(OLD)
    root = next((root for root in step.arguments["filesystem"] if root != now), None)
    if root is None:
        raise RecoveryError("no file system can take the place")
    changed = present.path_map.with_rule(OLD, root)
    return StepResult(
        configuration=msgspec.structs.replace(present, version=present.version + 1, path_map=changed),
        dependents=Configuration(path_map=PathMap().with_rule(OLD, root)),
        signal=10,
    )
