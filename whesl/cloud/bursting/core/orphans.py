"""Which instances are orphans: pure, from what Slurm says of their nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from whesl.cloud.providers.port import Instance

# Slurm's states in which no job can be on a CLOUD node, however long its instance is paid for:
# slurm.conf(5) and sinfo(1), "NODE STATE CODES".
_OFF = ("powered_down", "powering_down", "power_down", "down", "~", "%", "!")
_COMING = ("powering_up", "power_up", "#")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Since when the reaper has seen each node without use, in seconds since the epoch."""

    unused: dict[str, float] = {}


def unused(raw_state: str | None) -> bool:
    """Whether Slurm surely does not use a node; None for a node that it does not have."""
    if raw_state is None:
        return True
    state = raw_state.lower()
    return not any(word in state for word in _COMING) and any(word in state for word in _OFF)


def orphans(
    memory: Memory,
    instances: Sequence[Instance],
    states: Mapping[str, str],
    nodes: Mapping[str, str],
    now: float,
    grace: float,
) -> tuple[Memory, list[Instance]]:
    """Return the instances to end: their nodes were without use at each look for so many seconds.

    Args:
        memory: of the looks before.
        instances: that live, by the provider.
        states: Slurm's states by node; it has answered.
        nodes: the node of each instance, by token.
        now: seconds since the epoch.
        grace: seconds.
    """
    since: dict[str, float] = {}
    found = []
    for instance in instances:
        node = nodes.get(instance.token, "")
        if instance.gone or not unused(states.get(node)):
            continue
        since[instance.token] = memory.unused.get(instance.token, now)
        # One look is none: a node may be on its way up.
        if instance.token in memory.unused and now - since[instance.token] >= grace:
            found.append(instance)
    return Memory(unused=since), found
