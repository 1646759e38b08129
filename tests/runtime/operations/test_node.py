"""NODE operations on node sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.operations.builders import NODES, NOW, advance, context, evidence, step
from whesl.model.allocation_nodes import NodeSet
from whesl.model.evidence import Evidence
from whesl.model.outcomes import StepOutcome
from whesl.model.workflow import BadNode
from whesl.runtime.operations.recovery_plan import Context, RecoveryError, StepResult
from whesl.runtime.operations.recovery_step_execution import HostPorts, execute

FAILED = evidence("srun: error: Node failure on n02")


def run(
    name: str, arguments: dict[str, object], *items: Evidence, given: Context | None = None
) -> StepResult:
    given = given or context()
    return execute(step(name, arguments, *items, given=given), given, HostPorts(Path("/nonexistent")))


def bad(node: str, expires: float = NOW + 100) -> BadNode:
    return BadNode(node=node, reason="r", task="t", time=NOW, expires=expires)


def test_a_spare_takes_the_suspect_s_place() -> None:
    result = run("NODE.REPLACE", {"expires": 60}, FAILED)
    assert result.outcome is StepOutcome.CONTINUE
    assert result.nodes is not None
    assert result.nodes.active == ("n01", "n04", "n03")
    assert result.nodes.swapped == {"n02": "n04"}
    assert [(b.node, b.expires) for b in result.bad_nodes] == [("n02", NOW + 60)]
    assert result.configuration is not None
    assert result.configuration.excluded_nodes == ("n02",)
    assert result.configuration.version == 1


def test_a_bad_or_silent_spare_is_passed_over() -> None:
    given = context(bad_nodes=(bad("n04.cluster.org"),))
    result = run("NODE.REPLACE", {}, FAILED, given=given)
    assert result.nodes is not None and result.nodes.active == ("n01", "n05", "n03")
    result = run("NODE.REPLACE", {}, FAILED, given=context(silent=("n04",)))
    assert result.nodes is not None and result.nodes.active == ("n01", "n05", "n03")


def test_a_bad_node_s_memory_expires() -> None:
    result = run("NODE.REPLACE", {}, FAILED, given=context(bad_nodes=(bad("n04", NOW - 1),)))
    assert result.nodes is not None and "n04" in result.nodes.active


def test_without_a_usable_spare_the_exception_s_else_applies_and_the_node_is_remembered() -> None:
    given = context(nodes=NodeSet(active=("n01", "n02"), spares=("n04",)), silent=("n04",))
    result = run("NODE.REPLACE", {}, FAILED, given=given)
    assert (result.outcome, result.reason) == (StepOutcome.FAIL, "spares-exhausted")
    assert result.nodes is None
    assert [b.node for b in result.bad_nodes] == ["n02"]


@pytest.mark.parametrize(
    ("unknown", "outcome"),
    [("restart", StepOutcome.CONTINUE), ("fail", StepOutcome.FAIL), ("pause", StepOutcome.PAUSE)],
)
@pytest.mark.parametrize("name", ["NODE.REPLACE", "NODE.REMOVE"])
def test_an_unknown_suspect_is_said_and_specified(name: str, unknown: str, outcome: StepOutcome) -> None:
    result = run(name, {"unknown": unknown}, evidence("no idea"))
    assert result.outcome is outcome
    assert result.nodes is None and result.bad_nodes == ()
    assert "unknown" in result.note


def test_the_default_is_a_restart_on_the_same_nodes() -> None:
    result = run("NODE.REPLACE", {}, evidence("no idea"))
    assert result.outcome is StepOutcome.CONTINUE
    assert "same nodes" in result.note


def test_a_named_node_overrules_the_evidence_and_has_to_exist() -> None:
    result = run("NODE.REPLACE", {"node": "n03"}, FAILED)
    assert result.nodes is not None and result.nodes.swapped == {"n03": "n04"}
    with pytest.raises(RecoveryError, match="x9 is not a node"):
        run("NODE.REPLACE", {"node": "x9"}, FAILED)


def test_a_suspected_batch_host_leaves_the_node_set_and_keeps_the_script() -> None:
    result = run("NODE.REPLACE", {"node": "n01"}, given=context(batch_host="n01"))
    assert result.nodes is not None and "n01" not in result.nodes.active
    assert "script itself stays" in result.note


def test_a_suspected_spare_is_taken_out() -> None:
    result = run("NODE.REPLACE", {"node": "n04"})
    assert result.nodes is not None
    assert result.nodes.active == NODES.active
    assert result.nodes.spares == ("n05",)


def test_twice_is_once() -> None:
    given = context()
    made = step("NODE.REPLACE", {}, FAILED, given=given)
    ports = HostPorts(Path("/nonexistent"))
    first = execute(made, given, ports)
    assert execute(made, given, ports) == first
    again = execute(made, advance(given, first), ports)
    assert again.nodes is None and again.bad_nodes == ()


def test_remove_keeps_a_minimum() -> None:
    result = run("NODE.REMOVE", {"min_nodes": 2}, FAILED)
    assert result.nodes is not None and result.nodes.active == ("n01", "n03")
    assert result.configuration is not None and result.configuration.nodes == 2
    result = run("NODE.REMOVE", {"min_nodes": 3}, FAILED)
    assert (result.outcome, result.reason, result.nodes) == (StepOutcome.FAIL, "spares-exhausted", None)
    one = context(nodes=NodeSet(active=("n02",)))
    assert run("NODE.REMOVE", {}, FAILED, given=one).outcome is StepOutcome.FAIL


def test_add_takes_good_spares() -> None:
    result = run("NODE.ADD", {"count": 1}, given=context(bad_nodes=(bad("n04"),)))
    assert result.nodes is not None
    assert result.nodes.active == ("n01", "n02", "n03", "n05")
    assert result.nodes.spares == ("n04",)
    result = run("NODE.ADD", {"count": 2}, given=context(bad_nodes=(bad("n04"),)))
    assert result.nodes is not None and result.nodes.spares == ()
    assert result.note == "n05, n04 taken into use, as no other spare is left: n04 (r; 2 min more)"
    result = run("NODE.ADD", {"count": 2}, given=context(silent=("n04",)))
    assert (result.outcome, result.reason) == (StepOutcome.FAIL, "spares-exhausted")
