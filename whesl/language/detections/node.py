"""``NODE DOWN`` and ``NODE DRAINED``: the state of a node of the task."""

from __future__ import annotations

from enum import Enum
from typing import Any

from whesl.language.detections.base import DetectionCheck, Detector, Form, Found, Kind
from whesl.language.pattern_and_stream_records import Span
from whesl.model.evidence import Evidence
from whesl.model.states import NodeState


class NodeCondition(str, Enum):
    """The state of a node that raises the detection."""

    DOWN = "DOWN"
    DRAINED = "DRAINED"


_STATES = {NodeCondition.DOWN: NodeState.DOWN, NodeCondition.DRAINED: NodeState.DRAINED}


class NodeDetection(Kind, frozen=True, kw_only=True, tag="node"):
    """A node of the task is down, or is being drained."""

    alternatives = ("node",)
    written = ("NODE DOWN or NODE DRAINED",)
    of_nodes = True

    condition: NodeCondition
    span: Span

    @classmethod
    def checked(cls, form: Form, check: DetectionCheck, span: Span) -> NodeDetection:
        return NodeDetection(condition=NodeCondition(form.keywords[1].text), span=span)

    def sentence(self) -> str:
        if self.sees_lost_nodes():
            return "a node of the job is lost"
        return "a node of the job is being taken out of service"

    def sees_lost_nodes(self) -> bool:
        return self.condition is NodeCondition.DOWN

    def detector(self, exception: str, node: str) -> _Nodes:
        return _Nodes(exception, node, self)


class _Nodes(Detector[NodeDetection]):
    def __init__(self, exception: str, node: str, detection: NodeDetection) -> None:
        super().__init__(exception, node, detection)
        self.raised: set[str] = set()  # nodes that raised the exception and have not recovered since

    def node_is(self, name: str, state: NodeState, reason: str, now: float) -> Found:
        if state is NodeState.UP:
            self.raised.discard(name)
        if state is not _STATES[self.detection.condition] or name in self.raised:
            return ()
        self.raised.add(name)
        detail = f"{name} is {state.value}" + (f": {reason}" if reason else "")
        return (Evidence(kind="node", time=now, node=name, detail=detail),)

    def snapshot(self, observed: float) -> dict[str, Any]:
        return {"raised": sorted(self.raised)}

    def restore(self, state: dict[str, Any], observed: float) -> None:
        self.raised = set(state["raised"])
