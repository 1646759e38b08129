"""The exceptions that scenarios choose from, drawn as plain records and made into a specification."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from whesl.language.detections.external_and_counted import CountDetection, PredictedDetection
from whesl.language.detections.kinds import Detection
from whesl.language.detections.log import LogDetection
from whesl.language.detections.node import NodeCondition, NodeDetection
from whesl.language.detections.timers import HangDetection
from whesl.language.pattern_and_stream_records import Pattern, Source, Span, Stream
from whesl.language.spec import (
    Entity,
    ExceptionSpec,
    Level,
    Operation,
    OperationDeclaration,
    Otherwise,
    RecoveryStep,
    ResourceDeclaration,
    ResourceKind,
    Spec,
)

SPAN = Span(line=1, column=1, end_line=1, end_column=2)
OLD = "/scratch"
ROOTS = ("/s1", "/s2", "/s3")
_STDOUT = Source(stream=Stream.STDOUT)
# (entity, resource, operation, arguments)
_Step = tuple[str, str, str, dict[str, Any]]
_RESTART: _Step = ("JOB", "JOB", "REPLACE", {})
_ADD: _Step = ("JOB", "JOB", "ADD", {"command": ["true"]})
_MOVE = {"filesystem": list(ROOTS), "defaultpath": OLD}
_MOVE_ONE = {"filesystem": ROOTS[0], "defaultpath": OLD}
# Name: how it is seen, and the choices of steps.
RULES: dict[str, tuple[str, tuple[tuple[_Step, ...], ...]]] = {
    "CRASH": ("log", ((_RESTART,), (_ADD, _RESTART, _ADD))),
    "DISK": (
        "log",
        (
            (("JOB", "FILESYSTEM", "REPLACE", _MOVE),),
            (
                ("JOB", "FILESYSTEM", "REPLACE", _MOVE),
                ("DEPENDENT_JOB", "JOB", "REPLACE", {"environment": {"A": "1"}}),
            ),
            (
                ("WMS", "FILESYSTEM", "REPLACE", _MOVE_ONE),
                ("JOB", "FILESYSTEM", "REPLACE", _MOVE_ONE),
                ("DEPENDENT_JOB", "FILESYSTEM", "REPLACE", _MOVE_ONE),
            ),
        ),
    ),
    "HANG": ("hang", ((_RESTART,), (_ADD,))),
    "NODEDOWN": ("node", ((("JOB", "NODE", "REPLACE", {}),), (("JOB", "NODE", "REMOVE", {"min_nodes": 1}),))),
    "AGAIN": (
        "log",
        (
            (("SCHEDULER", "JOB", "REPLACE", {"environment": {"B": "1"}}),),
            (("SCHEDULER", "NODE", "REPLACE", {}),),
        ),
    ),
    "SKIP": ("log", ((("JOB", "JOB", "REMOVE", {"reason": "not needed"}),),)),
    "STORM": ("count", ((("SCHEDULER", "NODE", "REMOVE", {"node": "x1"}), _RESTART), (_ADD, _RESTART))),
}

# Of worlds in which somebody predicts failures; a draw of its own keeps all other worlds as they were.
PREDICTED: dict[str, tuple[str, tuple[tuple[_Step, ...], ...]]] = {
    "DYING": (
        "predicted",
        (
            (("JOB", "NODE", "REPLACE", {}),),
            (("JOB", "JOB", "CHECKPOINT", {"timeout": 60.0}), ("JOB", "NODE", "REPLACE", {})),
            (("JOB", "JOB", "CHECKPOINT", {"timeout": 60.0}),),
        ),
    ),
}
_ALL = RULES | PREDICTED


def draw_rule(rng: random.Random, name: str, chosen: Sequence[str]) -> dict[str, Any]:
    """Return an exception as a plain record.

    Args:
        rng: the seed's.
        name: from ``RULES``.
        chosen: all names that this specification has.
    """
    seen, choices = _ALL[name]
    steps = rng.choice(choices)
    outside = any(step[0] != "JOB" for step in steps)
    others = [other for other in chosen if other != name]
    counted = [other for other in chosen if _ALL[other][0] == "log" and other != name]
    if seen == "count" and not counted:
        seen = "log"
    return {
        "name": name,
        "seen": seen,
        "counts": (rng.choice(counted), rng.choice((2, 3))) if seen == "count" else None,
        "level": "WORKFLOW_LEVEL" if outside else rng.choice(("JOB_LEVEL", "JOB_LEVEL", "WORKFLOW_LEVEL")),
        "steps": steps,
        "limit": rng.choice((0, 1, 2, 3, 3, 5)),
        "within": rng.choice((None, None, 40.0)),
        "backoff": rng.choice((0.0, 0.0, 4.0)),
        "otherwise": rng.choice(("FAIL", "PAUSE", "ESCALATE", "ESCALATE")),
        "escalate_to": rng.choice((None, None, *others)),
    }


def specification(rules: Sequence[dict[str, Any]]) -> Spec:
    """Return the specification of drawn exceptions."""
    declared = tuple(OperationDeclaration(operation=operation) for operation in Operation)
    return Spec(
        file="rules.esl",
        entities=tuple(Entity),
        levels=tuple(Level),
        resources=tuple(ResourceDeclaration(resource=kind, operations=declared) for kind in ResourceKind),
        exceptions=tuple(_exception(rule) for rule in rules),
    )


def _exception(rule: dict[str, Any]) -> ExceptionSpec:
    detection: Detection
    if rule["seen"] == "node":
        detection = NodeDetection(condition=NodeCondition.DOWN, span=SPAN)
    elif rule["seen"] == "hang":
        detection = HangDetection(pattern=Pattern(text="cycle"), source=_STDOUT, timeout=10.0, span=SPAN)
    elif rule["seen"] == "predicted":
        detection = PredictedDetection(span=SPAN)
    elif rule["seen"] == "count":
        detection = CountDetection(exception=rule["counts"][0], times=rule["counts"][1], span=SPAN)
    else:
        detection = LogDetection(patterns=(Pattern(text=rule["name"]),), source=_STDOUT, span=SPAN)
    return ExceptionSpec(
        name=rule["name"],
        level=Level(rule["level"]),
        jobs=("*",),
        detections=(detection,),
        steps=tuple(
            RecoveryStep(
                entity=Entity(entity),
                resource=ResourceKind(resource),
                operation=Operation(operation),
                arguments=arguments,
                before_failure=rule["seen"] == "predicted" and resource == "NODE",
                span=SPAN,
            )
            for entity, resource, operation, arguments in rule["steps"]
        ),
        limit=rule["limit"],
        limit_within=rule["within"],
        backoff=rule["backoff"],
        otherwise=Otherwise(rule["otherwise"]),
        escalate_to=rule["escalate_to"],
        span=SPAN,
    )
