"""The user's other clusters: ``clusters.toml`` in WHESL_HOME, with a table for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from whesl.files import toml
from whesl.managers.resource.manager_table import BUILT_IN, manager
from whesl.managers.resource.port import Demands
from whesl.model.errors import UsageError

FILE = "clusters.toml"
_HINT = "docs/cloud/handover.md has the file with all its keys"
_Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=366 * 86400.0)]


class Cluster(Demands, frozen=True, kw_only=True):
    """Settings of one other cluster.

    Attributes:
        manager: the cluster's resource manager: ``slurm``, ``flux`` or ``pbs``.
        store: ``ssh://user@host:port/directory``, shared by its login node and its nodes.
        ssh_options: more options of ssh, one argument each.
        setup: shell commands that the other cluster runs before each command, such as ``module load
            slurm``; a job inherits their environment.
        partition: the partition or queue.
        account, qos, constraint, gres, memory, exclusive: the fields of ``Demands`` with these names.
        poll: seconds between two looks at a job.
        lease: seconds without a look after which a job on the other cluster ends itself.
        patience: seconds for which calls to a silent cluster are repeated.
    """

    store: str
    manager: str = "slurm"
    ssh_options: tuple[str, ...] = ()
    setup: str = ""
    partition: str = ""
    poll: _Seconds = 10.0
    lease: _Seconds = 3600.0
    patience: _Seconds = 3600.0


def load(path: Path, name: str) -> Cluster:
    """Return the settings of one cluster.

    Args:
        path: the ``clusters.toml`` file.
        name: the cluster's name, which is its table's.

    Raises UsageError where the file has no such table, or the table is wrong.
    """
    document = toml.load(path, _HINT)
    if name not in document.values:
        known = ", ".join(document.values) or "none"
        raise UsageError(f"{path} has no cluster {name}; known are: {known}", hint=_HINT)
    cluster = document.row(Cluster, document.values[name], name)
    if cluster is not None and urlsplit(cluster.store).scheme != "ssh":
        document.wrong(f"store is {cluster.store!r}: ssh://user@host/directory is needed", name, 0, "store")
    if cluster is not None and not manager(cluster.manager).ends_itself:
        able = ", ".join(name for name, one in BUILT_IN.items() if one.ends_itself)
        document.wrong(f"manager is {cluster.manager!r}: {able} can be reached by ssh", name, 0, "manager")
    if cluster is not None and cluster.lease < 3 * cluster.poll:
        document.wrong("lease has to be three times poll at least", name, 0, "lease")
    document.check()
    assert cluster is not None
    return cluster
