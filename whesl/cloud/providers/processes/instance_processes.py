"""What runs on an instance that is processes: found by the marks of its node and by its own, and killed."""

from __future__ import annotations

import os
import signal
import time

from whesl.managers.resource.embedded import daemons, process_lookup
from whesl.managers.resource.embedded.cluster_directory import Cluster
from whesl.model.errors import TransientError

# In the environment of an instance's first process, and of all that is started from there.
MARK = "WHESL_CLOUD_INSTANCE"
PATIENCE, PAUSE = 10.0, 0.05


def kill(cluster: Cluster, node: str, instance: str, spared: set[int]) -> None:
    """Kill all that runs on an instance, also what its start had begun when it was cut off.

    A node's daemon that is on its way up is not known to be the node's yet: only the instance's mark tells.
    While a program is being replaced by another one (execve) nothing does, so two looks are needed.

    Args:
        cluster: the cluster that the instances are nodes of.
        node: the instance's.
        instance: its directory, which is the mark.
        spared: process ids that are left alone, beside the caller's own.

    Raises:
        TransientError: something does not die.
    """
    limit, quiet = time.monotonic() + PATIENCE, 0
    while quiet < 2:
        process_lookup.crash(cluster.path, node, daemons.node_pid(cluster, node))
        left = _marked(instance) - spared - {os.getpid()}
        for pid in left:
            process_lookup.send(pid, signal.SIGKILL)
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
