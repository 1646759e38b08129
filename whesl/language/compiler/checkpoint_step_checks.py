"""Checks of JOB.CHECKPOINT: its entity, its order among the steps, its absence after a prediction."""

from __future__ import annotations

from collections.abc import Iterable

from whesl.language.compiler import syntax
from whesl.language.diagnostics import Findings
from whesl.language.spec import Entity, Operation, ResourceKind

_CHECKPOINT = (ResourceKind.JOB.value, Operation.CHECKPOINT.value)
_LOSING = frozenset({"NODE.REPLACE", "NODE.REMOVE", "NODE.ADD", "JOB.REPLACE", "JOB.ADD"})


def check(
    findings: Findings, detected: Iterable[syntax.Detected], recovered: Iterable[syntax.Recovered]
) -> None:
    """Find checkpoints that come too late or have a wrong entity, and predictions whose recovery loses work.

    Args:
        findings: the collection that errors and warnings are added to.
        detected: all detections of the watched exceptions.
        recovered: all recovery steps, in the order of the file.
    """
    steps: dict[str, list[syntax.Recovered]] = {}
    for step in recovered:
        steps.setdefault(step.exception.text, []).append(step)
    for own in steps.values():
        _places(findings, own)
    for statement in detected:
        if statement.form.kind != "predicted":
            continue
        own = steps.get(statement.exception.text, [])
        if any(_is_checkpoint(step) or step.before is not None for step in own):
            continue
        for step in own:
            if f"{step.resource.text}.{step.operation.text}" in _LOSING:
                _loses(findings, step)
                break


def _places(findings: Findings, steps: list[syntax.Recovered]) -> None:
    others = [step for step in steps if not _is_checkpoint(step) and step.entity.text == Entity.JOB.value]
    for step in steps:
        if not _is_checkpoint(step):
            continue
        if step.entity.text != Entity.JOB.value:
            message = f"the running job is asked for a checkpoint by JOB, not by {step.entity.text}"
            _add(findings, message, step.entity, "write JOB JOB.CHECKPOINT")
        elif any(other.start < step.start for other in others):
            message = "JOB.CHECKPOINT comes after a step for which the program was ended"
            _add(findings, message, step.operation, "put it before the other steps of JOB")


def _add(findings: Findings, message: str, word: syntax.Word, hint: str) -> None:
    findings.add("ESL049", message, word, hint=hint)


def _loses(findings: Findings, step: syntax.Recovered) -> None:
    name = f"{step.resource.text}.{step.operation.text}"
    findings.warn(
        "ESL078",
        f"{name} ends the program before the predicted failure: what it computed since its last checkpoint"
        " is lost",
        step.operation,
        hint=f"write {name} BEFORE FAILURE"
        if name == "NODE.REPLACE"
        else f"put EXCEPTION RECOVERY STEP {step.exception.text[:40]} JOB JOB.CHECKPOINT before it",
    )


def _is_checkpoint(step: syntax.Recovered) -> bool:
    return (step.resource.text, step.operation.text) == _CHECKPOINT
