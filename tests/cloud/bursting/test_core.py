"""Which instances are orphans."""

from __future__ import annotations

import pytest

from whesl.cloud.bursting.core.orphans import Memory, orphans, unused
from whesl.cloud.providers.port import Instance, InstanceState


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("idle~", True),
        ("idle%", True),
        ("down~", True),
        ("down*", True),
        ("IDLE+CLOUD+POWERED_DOWN", True),
        ("idle#", False),
        ("alloc#", False),
        ("idle", False),
        ("mixed", False),
        ("allocated", False),
        ("drained", False),
        ("IDLE+CLOUD+POWERING_UP", False),
        (None, True),
    ],
)
def test_states(state: str | None, expected: bool) -> None:
    assert unused(state) is expected


def test_one_look_ends_nothing() -> None:
    """Nor do two within the grace; a node that was used between them begins anew."""
    instance = Instance(id="i", token="t", workflow="w", kind="k", state=InstanceState.RUNNING)
    nodes = {"t": "b1"}
    memory, found = orphans(Memory(), [instance], {"b1": "idle~"}, nodes, 1000.0, 60.0)
    assert not found
    memory, found = orphans(memory, [instance], {"b1": "idle~"}, nodes, 1050.0, 60.0)
    assert not found
    memory, found = orphans(memory, [instance], {"b1": "idle"}, nodes, 1055.0, 60.0)
    assert not found and not memory.unused
    memory, found = orphans(memory, [instance], {"b1": "idle~"}, nodes, 1060.0, 60.0)
    assert not found
    _, found = orphans(memory, [instance], {"b1": "idle~"}, nodes, 1120.0, 60.0)
    assert [one.id for one in found] == ["i"]
