"""What a job was given: nodes, which of them the task uses, and which are spare."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class NodeSet(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of one allocation, split in use, spare and lost.

    ``active`` is what a task is told of: in the allocation's order (``in_order``). ``spares`` come in the
    order in which they are taken. ``swapped`` records which spare took whose place, so that a launcher that
    names the old node is corrected. ``components``: the nodes of each component of a heterogeneous job, which
    replace nodes of their own component only; () for any other job.
    """

    active: tuple[str, ...]
    spares: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    swapped: dict[str, str] = {}
    components: tuple[tuple[str, ...], ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every node of the allocation."""
        return (*self.active, *self.spares, *self.lost)

    def replace(self, suspect: str, *, avoid: frozenset[str] = frozenset()) -> NodeSet:
        """Return the set with the first suitable spare in the suspect's place.

        Args:
            suspect: name of a node in use, which counts as lost afterwards.
            avoid: names of the nodes that are not taken, although they are spare.

        Raises:
            LookupError: no spare is suitable: all are in ``avoid`` or of another component, or none is left.
            KeyError: the suspect is not in use.
        """
        if suspect not in self.active:
            raise KeyError(suspect)
        avoid |= self.elsewhere(suspect)
        spare = next((node for node in self.spares if node not in avoid), None)
        if spare is None:
            raise LookupError(suspect)
        swapped = {old: spare if new == suspect else new for old, new in self.swapped.items()}
        return msgspec.structs.replace(
            self,
            active=tuple(spare if node == suspect else node for node in self.active),
            spares=tuple(node for node in self.spares if node != spare),
            lost=(*self.lost, suspect),
            swapped={**swapped, suspect: spare},
        )

    def elsewhere(self, node: str) -> frozenset[str]:
        """Return the nodes of the components that do not have a node."""
        return frozenset(other for part in self.components if node not in part for other in part)

    def in_order(self, allocation: Sequence[str]) -> NodeSet:
        """Return the set with the nodes in use in the allocation's order; strangers come last.

        Launchers of Slurm and Flux put ranks on the nodes of a step in that order, whatever order the nodes
        are named in (``srun --nodelist``, measured with Slurm 22.05.8). A task that takes the first
        name of a list as the host of rank 0 finds it there only when the list is in the same order.

        Args:
            allocation: the nodes as the resource manager lists them.
        """
        place = {node: number for number, node in enumerate(allocation)}
        active = sorted(self.active, key=lambda node: place.get(node, len(place)))
        return msgspec.structs.replace(self, active=tuple(active))

    def remove(self, suspect: str) -> NodeSet:
        """Return the set without a node, whatever its part was. Raises KeyError for a stranger."""
        if suspect not in self.all:
            raise KeyError(suspect)
        return msgspec.structs.replace(
            self,
            active=tuple(node for node in self.active if node != suspect),
            spares=tuple(node for node in self.spares if node != suspect),
            lost=(*(node for node in self.lost if node != suspect), suspect),
        )

    def add(self, count: int = 1) -> NodeSet:
        """Return the set with ``count`` spares taken into use. Raises LookupError when there are fewer."""
        if count > len(self.spares):
            raise LookupError(count)
        return msgspec.structs.replace(
            self, active=(*self.active, *self.spares[:count]), spares=self.spares[count:]
        )
