"""A network of its own for each node of a test cluster: one namespace a node, all on one bridge."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import subprocess
from collections.abc import Sequence

from tests.equipment.install_slurm import PATH, SlurmBedError

# For Open MPI with several nodes on one host and few CPUs. Ranks would also connect over the bridges of other
# clusters on this host, and wait for ever when one of them ends: LAMMPS stood still so.
OPEN_MPI = {
    "OMPI_MCA_btl": "tcp,self",
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_btl_tcp_if_include": "lo",
}


class NodeNetwork:
    """The networks of one cluster. Needs root.

    Args:
        tag: a short word that no other cluster has; in the names of all devices.
        nodes: the nodes' names, of three characters at most (a device's name has fifteen).
    """

    def __init__(self, tag: str, nodes: Sequence[str]) -> None:
        self._tag = tag
        self._nodes = tuple(nodes)
        self.subnet = ""  # first three numbers of the addresses while it is up; the host has .254

    def space(self, node: str) -> str:
        """Return the name of a node's network namespace."""
        return f"{self._tag}-{node}"

    def up(self) -> None:
        """Make the networks. Raises SlurmBedError."""
        taken = _ip("-4", "-o", "addr", "show")
        # By chance, since another session's cluster may be starting at the same moment.
        nets = (f"10.{100 + secrets.randbelow(100)}.{secrets.randbelow(250)}" for _ in range(100))
        self.subnet = next(net for net in nets if f" {net}." not in taken)
        bridge = f"b{self._tag}"
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{self.subnet}.254/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for index, node in enumerate(self._nodes):
            space = self.space(node)
            _ip("netns", "add", space)
            _ip("link", "add", self._cable(node), "type", "veth", "peer", "name", "eth0", "netns", space)
            _ip("link", "set", self._cable(node), "master", bridge, "up")
            _ip("-n", space, "addr", "add", f"{self.subnet}.{index + 1}/24", "dev", "eth0")
            _ip("-n", space, "link", "set", "eth0", "up")
            _ip("-n", space, "link", "set", "lo", "up")

    def down(self) -> None:
        """Remove the networks, also those of a start that failed half-way."""
        if not self.subnet:
            return
        for node in self._nodes:
            # A cable goes with its namespace too, but later.
            with contextlib.suppress(SlurmBedError):
                _ip("link", "del", self._cable(node))
            with contextlib.suppress(SlurmBedError):
                _ip("netns", "del", self.space(node))
        with contextlib.suppress(SlurmBedError):
            _ip("link", "del", f"b{self._tag}")
        self.subnet = ""

    def cut(self, node: str) -> None:
        """Cut a node off."""
        _ip("link", "set", self._cable(node), "down")

    def heal(self, node: str) -> None:
        """Connect a node again."""
        _ip("link", "set", self._cable(node), "up")

    def drop(self, node: str) -> None:
        """Lose what a node sends to the host, without a word: it goes to a station that is not there."""
        neighbour = (f"{self.subnet}.254", "lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent")
        _ip("-n", self.space(node), "neigh", "replace", *neighbour)

    def pass_on(self, node: str) -> None:
        """Lose nothing any more."""
        _ip("-n", self.space(node), "neigh", "del", f"{self.subnet}.254", "dev", "eth0")

    def _cable(self, node: str) -> str:
        return f"v{self._tag}{node}"


def _ip(*arguments: str) -> str:
    command = [shutil.which("ip", path=PATH) or "ip", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise SlurmBedError(f"ip {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout
