"""Placement policies pass the contract that policies of others have to pass; so do those of the examples."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path

import pytest

from whesl.placement.policies.fcfs import Fcfs
from whesl.placement.policies.port import Policy
from whesl.testing.contracts import PolicyContract

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "lab"


def shortest_first() -> Policy:
    made: Policy = runpy.run_path(str(EXAMPLES / "shortest_first.py"))["ShortestFirst"]()
    return made


POLICIES: dict[str, Callable[[], Policy]] = {
    "fcfs": Fcfs,
    "shortest first": shortest_first,
}


@pytest.mark.parametrize("name", POLICIES, scope="class")
class TestPolicies(PolicyContract):
    @pytest.fixture
    def policy(self, name: str) -> Policy:
        return POLICIES[name]()
