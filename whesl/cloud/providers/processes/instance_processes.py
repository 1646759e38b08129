"""Finds and kills the processes of an instance, by the marks of its node and its own mark."""

from __future__ import annotations

import os
import signal
import time

from whesl.managers.resource import command_call
from whesl.managers.resource.embedded import daemons, process_lookup
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.model.errors import TransientError

# Variable in the environment of an instance's first process and of all its descendants.
MARK = "WHESL_CLOUD_INSTANCE"
PATIENCE, PAUSE = 10.0, 0.05


def kill(cluster: Cluster, node: str, instance: str, spared: set[int]) -> None:
    """Kill all processes of an instance, including those of an interrupted start.

    A starting daemon of the node does not have the node's mark yet, only the instance's mark. During execve a
    process shows neither mark, so two looks are needed.

    Args:
        cluster: the cluster whose nodes the instances are.
        node: name of the instance's node.
        instance: the instance's directory, which is its mark.
        spared: ids of processes that are not killed, besides the caller's own.

    Raises:
        TransientError: some process does not die.
    """
    limit, quiet = time.monotonic() + PATIENCE, 0
    while quiet < 2:
        process_lookup.crash(cluster.path, node, daemons.node_pid(cluster, node))
        left = _marked(instance) - spared - {os.getpid()}
        for pid in left:
            command_call.send(pid, signal.SIGKILL)
        quiet = 0 if left else quiet + 1
        if time.monotonic() > limit:
            raise TransientError(f"processes of the instance {instance} do not die")
        time.sleep(PAUSE)


def _marked(instance: str) -> set[int]:
    everything = process_lookup.all_processes()
    return {
        pid
        for pid, process in everything.items()
        if process.state not in "ZX"
        and process_lookup.variables(process.thread, (MARK,)).get(MARK) == instance
    }
