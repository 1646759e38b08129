"""The append-only event journal: history and live stream, one writer and many readers.

Names are loaded at their first use: a keeper that writes a whole journal loads ``table`` and nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the import of typing takes milliseconds
if TYPE_CHECKING:
    from whesl.runtime.journal.consumer import CAUGHT_UP as CAUGHT_UP
    from whesl.runtime.journal.consumer import CaughtUp as CaughtUp
    from whesl.runtime.journal.consumer import JournalConsumer as JournalConsumer
    from whesl.runtime.journal.steady_clock import Clock as Clock
    from whesl.runtime.journal.store import Damage as Damage
    from whesl.runtime.journal.store import Journal as Journal
    from whesl.runtime.journal.store import JournalError as JournalError
    from whesl.runtime.journal.store import Record as Record

_PLACES = {
    "CAUGHT_UP": "consumer",
    "CaughtUp": "consumer",
    "Clock": "steady_clock",
    "Damage": "store",
    "Journal": "store",
    "JournalConsumer": "consumer",
    "JournalError": "store",
    "Record": "store",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f"whesl.runtime.journal.{_PLACES[name]}"), name)
    globals()[name] = found
    return found
