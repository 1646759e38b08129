"""Which node is blamed: each wording with its sample and near miss, specificity, ambiguity, host names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.operations.builders import NODES, evidence
from whesl.model.allocation_nodes import NodeSet
from whesl.runtime.operations.suspect_node import WORDINGS, Wording, find_suspect, match_node


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: wording.source)
def test_each_wording(wording: Wording) -> None:
    assert find_suspect([evidence(wording.sample)], NODES).node == "n02"
    assert wording.source in find_suspect([evidence(wording.sample)], NODES).because
    assert find_suspect([evidence(wording.near_miss)], NODES).node == ""


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: wording.source)
def test_a_stranger_s_node_is_never_blamed(wording: Wording) -> None:
    assert find_suspect([evidence(wording.sample.replace("n02", "x99"))], NODES).node == ""


def test_a_node_failure_overrules_its_killed_siblings() -> None:
    lines = [
        evidence("srun: error: n01: task 0: Killed"),
        evidence("srun: error: Node failure on n03"),
        evidence("[n02:77] *** An error occurred in MPI_Recv"),
    ]
    assert find_suspect(lines, NODES).node == "n03"


def test_a_node_on_which_the_program_cannot_run_is_the_suspect_of_a_hang() -> None:
    hang = evidence(kind="hang", node="n01", detail="no line for 600 s")
    stuck = evidence(kind="stuck", node="n02", detail="stopped (state T): app (17)")
    found = find_suspect([hang, stuck], NODES)
    assert found.node == "n02" and "stopped" in found.because
    assert find_suspect([hang, stuck, evidence("srun: error: n01: task 0: Killed")], NODES).node == "n02"
    # What waits on all nodes waits for something that is on none of them.
    everywhere = evidence(kind="stuck", node="n01", detail="waiting inside the kernel (state D): app (18)")
    assert find_suspect([hang, stuck, everywhere], NODES).node == ""


def test_a_silent_node_overrules_all_text() -> None:
    assert find_suspect([evidence("srun: error: Node failure on n03")], NODES, silent=["n01"]).node == "n01"
    lost = evidence(kind="heartbeat", node="n02")
    assert find_suspect([evidence("Peer host: n01"), lost], NODES).node == "n02"


def test_nodes_that_are_lost_together_are_each_to_blame() -> None:
    """One of them is the answer to this exception: the one that it was raised for."""
    second, first = evidence(kind="heartbeat", node="n02"), evidence(kind="node", node="n01")
    assert find_suspect([second, first], NODES, silent=["n01", "n02"]).node == "n02"
    assert find_suspect([evidence("killed")], NODES, silent=["n02", "n01"]).node == "n02"


def test_the_node_of_the_script_may_be_lost_after_another_one_has_taken_its_place() -> None:
    """With ``unknown: fail`` such a task failed, though another node had taken its script over."""
    nodes = NodeSet(active=("n02", "n04"), lost=("n01", "n03"))
    assert find_suspect([evidence(kind="node", node="n01")], nodes).node == "n01"
    assert find_suspect([evidence("srun: error: Node failure on n01")], nodes).node == ""
    other = [evidence(kind="node", node="n01"), evidence("srun: error: n02: task 0: Killed")]
    assert find_suspect(other, nodes).node == "n02"


def test_a_silent_spare_is_not_to_blame() -> None:
    assert find_suspect([evidence("killed")], NODES, silent=["n04"]).node == ""


def test_the_node_that_a_job_exception_names() -> None:
    named = evidence(kind="job-exception", node="n02", detail="exec: node failure on n02 (rank 1)")
    assert find_suspect([named], NODES).node == "n02"
    assert find_suspect([named, evidence("[n01:7] *** Process received signal ***")], NODES).node == "n02"
    assert find_suspect([named], NODES, silent=["n01"]).node == "n01"


def test_the_user_s_capture() -> None:
    assert find_suspect([evidence("x", captures={"host": "n03.cluster.local"})], NODES).node == "n03"
    assert find_suspect([evidence("x", captures={"node": "login1"})], NODES).node == ""


def test_ambiguous_is_unknown_and_says_so() -> None:
    found = find_suspect([evidence("srun: error: n[02-03]: tasks 1-2: Killed")], NODES)
    assert found.node == ""
    assert "n02" in found.because and "n03" in found.because
    assert "unknown" in find_suspect([evidence("nothing")], NODES).because


def test_evidence_of_a_node_that_was_swapped_out_is_stale() -> None:
    swapped = NODES.replace("n02")
    assert find_suspect([evidence("srun: error: Node failure on n02")], swapped).node == ""


def test_the_node_that_tells_is_not_the_node_that_failed() -> None:
    assert find_suspect([evidence("CG solver diverged", node="n01")], NODES).node == ""


@pytest.mark.parametrize(
    ("name", "known", "node"),
    [
        ("n02", ["n01", "n02"], "n02"),
        ("N02.Example.ORG.", ["n01", "n02"], "n02"),
        ("n02", ["n02.example.org"], "n02.example.org"),
        ("n02", ["n02.a", "n02.b"], ""),
        ("n02.c", ["n02.a"], ""),
        ("10.0.0.2", ["10.0.0.1"], ""),
        ("10.0.0.1", ["10.0.0.1"], "10.0.0.1"),
        ("", ["n01"], ""),
    ],
)
def test_host_names(name: str, known: list[str], node: str) -> None:
    assert match_node(name, known) == node


@pytest.mark.parametrize(
    ("text", "node"),
    [("n[01-02]", ""), ("n[02,7]", "n02"), ("x[3-1]", ""), ("x[1-99999999]", ""), ("x[-]", "")],
)
def test_host_lists(text: str, node: str) -> None:
    """One list may name many nodes; one that is no list names none."""
    assert find_suspect([evidence(f"srun: error: Node failure on {text}")], NODES).node == node


@given(st.text(max_size=300), st.lists(st.sampled_from(["n01", "n02", "n03", "n04"]), max_size=5))
def test_any_text_gives_an_answer_from_the_allocation(text: str, hosts: list[str]) -> None:
    nodes = NodeSet(active=("n01", "n02"), spares=("n03",), lost=("n04",))
    assert find_suspect([evidence(text)], nodes, hosts).node in ("", "n01", "n02", "n03")
