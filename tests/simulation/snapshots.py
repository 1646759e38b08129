"""The coordinator's snapshots on the virtual clock: of any moment, finished later or never, or damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.journals import of_daemons, rebuild
from tests.simulation.world import InvariantError
from whesl.runtime.coordinator.core.journal_replay import Replay
from whesl.runtime.coordinator.core.state import Settings, State
from whesl.runtime.coordinator.storage import snapshots
from whesl.runtime.coordinator.storage.snapshots import Kept, Reader
from whesl.runtime.journal.snapshot import Piece, SnapshotError

if TYPE_CHECKING:
    from tests.simulation.coordinator import Coordinator
    from tests.simulation.world import World

_TAKEN = 0.1  # the chance at each beat
_DAMAGED = 0.2
_LONGEST = 6.0  # seconds until it has its name
_KEPT = 2


class Shelf:
    """What a coordinator's directory has beside the journal.

    Args:
        world: the world.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._chance = world.chance("snapshots")
        self._whole: list[tuple[int, list[Piece]]] = []  # how many records it stands for, and what is in it

    def look(self, coordinator: Coordinator) -> None:
        """Begin a snapshot now and then; it is of the state as it is now, whenever it is finished."""
        if self._chance.random() < _TAKEN:
            kept = Kept(state=coordinator.state.durable(), inbox=coordinator.server.inbox.memory())
            count = len(coordinator.place.records)
            self._world.after(_LONGEST * self._chance.random(), self._finish, coordinator, count, kept)

    def _finish(self, coordinator: Coordinator, count: int, kept: Kept) -> None:
        if coordinator.dead:
            return  # killed before it had its name: nothing is left of it
        pieces = list(snapshots.pieces(kept))
        if self._chance.random() < _DAMAGED:
            pieces.pop()
        self._whole = [*self._whole, (count, pieces)][-_KEPT:]

    def begin(self, settings: Settings) -> tuple[int, Kept]:
        """Return for how many records the newest readable one stands, and what is in it."""
        for count, pieces in reversed(self._whole):
            reader = Reader()
            for word, content in pieces:
                reader.take(word, content)
            try:
                return count, reader.kept(settings)
            except SnapshotError:
                continue
        return 0, Kept(state=State(settings=settings))


def replayed(
    kept: Kept, count: int, records: list[tuple[str, dict[str, Any], float]], settings: Settings
) -> State:
    """Return the state of a snapshot and the records after it, which has to be that of all records."""
    replay = Replay(settings, kept.state)
    for record, time in of_daemons(records[count:]):
        replay.take(record, time)
    state = replay.state()
    if count and state != rebuild(records, settings):
        raise InvariantError("the journal rebuilds the state", f"not with a snapshot of {count} records")
    return state
