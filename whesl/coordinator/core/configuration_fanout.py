"""Who has to be told a new configuration: thousands at once, told a few at a time beside other work. Pure.

One exception may change all tasks of a workflow. Ten thousand messages take some tenths of a second, in which
nobody else would be answered: so the core asks for all of them with one command, and the shell works it off
in slices. What is left is forgotten by a kill: a start tells every running task its configuration again.
"""

from __future__ import annotations

from itertools import islice

from whesl.coordinator.core.events import Send, Tell
from whesl.coordinator.core.state import State
from whesl.wire.messages import Reconfigure


class WaitingPeers:
    """The peers that wait to be told, in the order in which they were named.

    Each is told the configuration that its task has *then*; one that has been replaced meanwhile, or whose
    task has ended, is passed over: a successor was told when it registered.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[str, int]] = {}  # task and signal by peer

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, state: State, command: Tell) -> None:
        """Put tasks in line. One that waits already keeps its place, and an earlier change's signal.

        Args:
            state: in which the tasks' present peers are known.
            command: whom to tell.
        """
        for task in command.tasks:
            entry = state.tasks.get(task)
            if entry is not None and entry.peer:
                _, before = self._waiting.get(entry.peer, (task, 0))
                self._waiting[entry.peer] = (task, command.signal or before)

    def take(self, state: State, most: int) -> list[Send]:
        """Return the messages to the next peers in line, which are out of it then.

        Args:
            state: the present one.
            most: how many peers.
        """
        found = (self.before(state, peer) for peer in list(islice(self._waiting, most)))
        return [send for send in found if send is not None]

    def before(self, state: State, peer: str) -> Send | None:
        """Return what has to be said to a peer before anything newer is; None when it does not wait."""
        task, signal = self._waiting.pop(peer, ("", 0))
        entry = state.tasks.get(task)
        if entry is None or entry.peer != peer or not entry.live:
            return None
        message = Reconfigure(task=entry.alias or entry.id, configuration=entry.configuration, signal=signal)
        return Send(peer=peer, message=message)
