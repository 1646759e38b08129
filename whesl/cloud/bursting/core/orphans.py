"""Finds orphaned instances from the states that Slurm reports for their nodes. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from whesl.cloud.providers.port import Instance

# Slurm's states in which no job can be on a CLOUD node, however long its instance is paid for:
# slurm.conf(5) and sinfo(1), "NODE STATE CODES".
_OFF = ("powered_down", "powering_down", "power_down", "down", "~", "%", "!")
_COMING = ("powering_up", "power_up", "#")


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """By instance token, the time of the first look that saw its node unused (seconds since the epoch)."""

    unused: dict[str, float] = {}


def unused(raw_state: str | None) -> bool:
    """Return whether Slurm surely does not use a node; ``raw_state`` is None where Slurm has no such node."""
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
    """Return the new memory and the instances whose nodes were unused at every look for ``grace`` seconds.

    Args:
        memory: the result of the previous look.
        instances: the provider's live instances.
        states: Slurm's states by node, from a look that succeeded.
        nodes: node names by instance token.
        now: seconds since the epoch.
        grace: seconds for which a node has to be unused before its instance is ended.
    """
    since: dict[str, float] = {}
    found = []
    for instance in instances:
        node = nodes.get(instance.token, "")
        if instance.gone or not unused(states.get(node)):
            continue
        since[instance.token] = memory.unused.get(instance.token, now)
        # A single look never ends an instance, because its node may still be booting.
        if instance.token in memory.unused and now - since[instance.token] >= grace:
            found.append(instance)
    return Memory(unused=since), found
