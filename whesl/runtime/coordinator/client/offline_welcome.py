"""The welcome of an absent coordinator to a task that starts: read from its journal and its spool.

``python -m whesl.runtime.coordinator.client.offline_welcome`` takes a registration on standard input (JSON)
and prints the welcome. Isolators call it when the coordinator does not answer: a dependent that started
without its ancestors' path map would look for their files in the old place.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from whesl.model import home as places
from whesl.model.errors import TransientError, WheslError
from whesl.runtime.coordinator.client.journal_state import known_state
from whesl.runtime.coordinator.core import state_machine
from whesl.runtime.coordinator.core.dependents_and_names import identify
from whesl.runtime.coordinator.core.events_and_commands import Arrived
from whesl.runtime.coordinator.core.state import State
from whesl.runtime.wire.keys import home
from whesl.runtime.wire.messages import AnyMessage, Register, Welcome
from whesl.runtime.wire.spool import collect

PEER = "(absent)"


def answer(state: State, left: Iterable[tuple[str, AnyMessage]], register: Register, now: float) -> Welcome:
    """Return the welcome that a coordinator with this state would send. Pure; it decides nothing.

    The welcome never refuses a task: only the coordinator, which may know more, can say that another claim
    owns it. The configuration keeps the journal's version: the coordinator alone assigns higher versions.

    Args:
        state: the coordinator's state as its journal describes it.
        left: messages that isolators have left in the spool, each with its sender.
        register: the registration of the task that starts.
        now: seconds since the epoch.
    """
    before = state.tasks.get(identify(state, register))
    for peer, message in (*left, (PEER, register)):
        state, _ = state_machine.step(state, Arrived(peer=peer, message=message), now)
    entry = state.tasks[identify(state, register)]
    return Welcome(
        task=register.task,
        admitted=True,
        configuration=msgspec.structs.replace(
            entry.configuration, version=before.configuration.version if before else 0
        ),
        bad_nodes=tuple(bad for bad in state.bad_nodes.values() if bad.expires > now),
        heartbeat=state.settings.heartbeat,
    )


def read(place: Path, register: Register, now: float) -> Welcome:
    """Return the welcome that the journal and spool of a WHESL home give to a registration.

    Raises TransientError when there is no journal, or it cannot be read to its end.

    Args:
        place: the WHESL home.
        register: the registration of the task that starts.
        now: seconds since the epoch.
    """
    if not places.coordinator_journal(place).exists():
        raise TransientError("the coordinator has no journal")
    left, _ = collect(place)
    known = known_state(place)
    if known.damage:
        raise TransientError(f"the coordinator's journal: {known.damage}")
    messages = [(each.peer, envelope.message) for each in left for envelope in each.envelopes]
    return answer(known.state, messages, register, now)


def main() -> int:
    """Answer the registration on standard input."""
    try:
        register = msgspec.json.decode(sys.stdin.buffer.read(), type=Register)
        sys.stdout.buffer.write(msgspec.json.encode(read(home(), register, time.time())))
    except (msgspec.DecodeError, WheslError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
