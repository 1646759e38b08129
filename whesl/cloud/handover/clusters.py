"""The clusters that a user has besides this one: ``clusters.toml`` in WHESL_HOME, a table for each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from whesl.files import toml
from whesl.managers.resource.port import Demands
from whesl.model.errors import UsageError

FILE = "clusters.toml"
_HINT = "docs/cloud/handover.md has the file with all its keys"
_Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=366 * 86400.0)]


class Cluster(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One other cluster, with Slurm.

    Attributes:
        store: ``ssh://user@host:port/directory``, shared by its login node and its nodes.
        ssh_options: more options of ssh, one argument each.
        setup: shell commands that are run there before each command, such as ``module load slurm``.
        partition: as sbatch takes it, like those of ``demands``.
        account, qos, constraint, gres, memory, exclusive: as of ``Demands``.
        poll: seconds between two looks.
        lease: seconds after which the job there ends itself when nobody has looked at it.
        patience: seconds for which a cluster that does not answer is asked again.
    """

    store: str
    ssh_options: tuple[str, ...] = ()
    setup: str = ""
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    gres: str = ""
    memory: str = ""
    exclusive: bool = False
    poll: _Seconds = 10.0
    lease: _Seconds = 3600.0
    patience: _Seconds = 3600.0

    @property
    def demands(self) -> Demands:
        """What each job asks for besides its partition."""
        return Demands(**{name: getattr(self, name) for name in Demands.__struct_fields__})


def load(path: Path, name: str) -> Cluster:
    """Return a cluster of the file.

    Args:
        path: the file.
        name: of its table.

    Raises UsageError where there is none of this name, or the table is wrong.
    """
    document = toml.load(path, _HINT)
    if name not in document.values:
        known = ", ".join(document.values) or "none"
        raise UsageError(f"{path} has no cluster {name}; known are: {known}", hint=_HINT)
    cluster = document.row(Cluster, document.values[name], name)
    if cluster is not None and urlsplit(cluster.store).scheme != "ssh":
        document.wrong(f"store is {cluster.store!r}: ssh://user@host/directory is needed", name, 0, "store")
    if cluster is not None and cluster.lease < 3 * cluster.poll:
        document.wrong("lease has to be three times poll at least", name, 0, "lease")
    document.check()
    assert cluster is not None
    return cluster
