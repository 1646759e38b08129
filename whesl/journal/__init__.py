"""The append-only event journal: history and live stream, one writer and many readers."""

from whesl.journal.consumer import CAUGHT_UP, CaughtUp, JournalConsumer
from whesl.journal.steady_clock import Clock
from whesl.journal.store import Damage, Journal, JournalError, Record

__all__ = ["CAUGHT_UP", "CaughtUp", "Clock", "Damage", "Journal", "JournalConsumer", "JournalError", "Record"]
