"""Predictions of a node's failure from two readings of its counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whesl.model.evidence import PredictedFailure
from whesl.placement.site.node_counters import Reading, changes

# Prediction for a risen counter: seconds until the node fails, and the probability. Chosen, not measured.
SAYS = {
    "memory uncorrected": (120.0, 0.5),
    "memory corrected": (3600.0, 0.05),
    "file system errors": (300.0, 0.3),
    "disk errors": (600.0, 0.2),
    "disk failing": (3600.0, 0.5),
    "disk offline": (60.0, 0.5),
    "array degraded": (3600.0, 0.2),
    "temperature critical": (120.0, 0.3),
    "link down": (60.0, 0.3),
    "link errors": (600.0, 0.1),
}


def predicted(
    before: Reading | None, now: Reading, says: Mapping[str, tuple[float, float]] = SAYS
) -> Iterator[PredictedFailure]:
    """Yield a prediction for each counter that has risen between two readings of a node.

    Args:
        before: the earlier reading; None where there is none, so that only states count.
        now: the later reading.
        says: the lead in seconds and the probability by the kind of counter; 0 leaves a kind out.
    """
    for change in changes(filter(None, (before, now))):
        lead, confidence = says.get(change.kind, (0.0, 0.0))
        if change.time == now.time and lead > 0 and confidence > 0:
            yield PredictedFailure(
                node=now.node,
                time=now.time,
                lead=lead,
                confidence=confidence,
                evidence=f"{change.kind} {change.detail}",
                source="health",
            )
