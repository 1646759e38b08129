"""Reliable delivery over a network that loses, repeats and reorders: numbers, repeats, acknowledgements.

Pure: the time is an argument, in seconds of one clock. The sender (``Outbox``) delivers at least once and the
receiver (``Inbox``) accepts at most once, which makes exactly once for each pair of incarnations. Order is
not restored: state machines do not move backwards on a late message.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from whesl.runtime.wire.messages import WIRE_VERSION, AnyMessage, Envelope

FIRST_RETRY = 0.5
LAST_RETRY = 10.0
# The most waiting messages, enough for a day without a coordinator; beyond that the oldest reports are
# dropped.
CAPACITY = 10_000
WINDOW = 4096
SENDERS = 20_000


def new_incarnation() -> str:
    """Return a unique name for one start of a sender, whose message numbers begin at 1."""
    return uuid.uuid4().hex


class _Waiting(msgspec.Struct):
    envelope: Envelope
    due: float
    retry: float
    expendable: bool


class Outbox:
    """The sender's side for one receiver: numbers messages and repeats them until acknowledged.

    Args:
        sender: the sender's name on envelopes.
        incarnation: the name of this start of the sender.
        first: seconds until the first repetition; each further wait is twice as long.
        last: the longest wait, seconds.
        capacity: messages kept; when there are more, the oldest expendable one is dropped.

    ``dropped`` counts messages that were given up for lack of capacity.
    """

    # Slots save memory: a coordinator has an outbox for each of ten thousand isolators.
    __slots__ = (
        "_capacity",
        "_first",
        "_last",
        "_number",
        "_waiting",
        "dropped",
        "incarnation",
        "sender",
    )

    def __init__(
        self,
        sender: str,
        incarnation: str,
        *,
        first: float = FIRST_RETRY,
        last: float = LAST_RETRY,
        capacity: int = CAPACITY,
    ) -> None:
        self.sender = sender
        self.incarnation = incarnation
        self.dropped = 0
        self._first = first
        self._last = last
        self._capacity = capacity
        self._number = 0
        self._waiting: dict[int, _Waiting] = {}

    def post(
        self, message: AnyMessage, now: float, *, reliable: bool = True, expendable: bool = False
    ) -> Envelope:
        """Return the envelope to send now.

        Args:
            message: the message.
            now: seconds of the clock.
            reliable: number the message and repeat it until it is acknowledged; else its number is 0.
            expendable: the message may be dropped when too many messages wait.
        """
        if not reliable:
            return Envelope(WIRE_VERSION, self.sender, self.incarnation, 0, message)
        self._number += 1
        envelope = Envelope(WIRE_VERSION, self.sender, self.incarnation, self._number, message)
        self._waiting[self._number] = _Waiting(envelope, now + self._first, self._first, expendable)
        if len(self._waiting) > self._capacity:
            victim = next((n for n, waiting in self._waiting.items() if waiting.expendable), None)
            if victim is not None:
                del self._waiting[victim]
                self.dropped += 1
        return self._stamped(envelope)

    def acknowledged(self, number: int) -> None:
        """Forget a message that has arrived; unknown numbers are no error."""
        self._waiting.pop(number, None)

    def due(self, now: float) -> list[Envelope]:
        """Return the messages to repeat now, in order, and schedule their next repetition."""
        late = [waiting for waiting in self._waiting.values() if waiting.due <= now]
        for waiting in late:
            waiting.retry = min(waiting.retry * 2, self._last)
            waiting.due = now + waiting.retry
        return [self._stamped(waiting.envelope) for waiting in late]

    def hurry(self, now: float) -> None:
        """Make all waiting messages due now; called when the receiver is in reach again."""
        for waiting in self._waiting.values():
            waiting.due = now
            waiting.retry = self._first

    def waiting(self) -> list[Envelope]:
        """Return the unacknowledged messages in order, for a receiver that reads all of them at once."""
        return [
            msgspec.structs.replace(waiting.envelope, floor=number)
            for number, waiting in self._waiting.items()
        ]

    def next_deadline(self) -> float | None:
        """Return when the next repetition is due, None when nothing waits."""
        return min((waiting.due for waiting in self._waiting.values()), default=None)

    def __len__(self) -> int:
        return len(self._waiting)

    def _stamped(self, envelope: Envelope) -> Envelope:
        """Return the envelope with the lowest number that still waits, so that receivers can forget."""
        return msgspec.structs.replace(envelope, floor=next(iter(self._waiting), envelope.number))


# One sender's name and incarnation, the number up to which all messages were seen, and seen numbers above it.
Remembered = tuple[str, str, int, tuple[int, ...]]


class _Stream(msgspec.Struct):
    below: int = 0  # every number up to this one was seen
    above: set[int] | None = None  # None instead of an empty set, which takes 200 bytes


class Inbox:
    """The receiver's side: distinguishes new messages from repeated ones, in bounded memory.

    Args:
        window: how far numbers may run ahead of the lowest missing one.
        senders: the most (sender, incarnation) pairs to remember; the longest silent pair is dropped first.
    """

    def __init__(self, *, window: int = WINDOW, senders: int = SENDERS) -> None:
        self._window = window
        self._senders = senders
        self._streams: OrderedDict[tuple[str, str], _Stream] = OrderedDict()

    def seen(self, envelope: Envelope) -> bool:
        """Whether a message is a repetition. Messages without a number never are."""
        stream = self._streams.get((envelope.sender, envelope.incarnation))
        if stream is None or envelope.number == 0:
            return False
        return envelope.number <= stream.below or envelope.number in (stream.above or ())

    def acceptable(self, envelope: Envelope) -> bool:
        """Whether a message's number can be remembered.

        Others must not be acknowledged, so they are repeated.
        """
        stream = self._streams.get((envelope.sender, envelope.incarnation))
        below = max(0 if stream is None else stream.below, envelope.floor - 1)
        return 0 <= envelope.number <= below + self._window

    def remember(self, envelope: Envelope) -> None:
        """Note that a message has been taken in."""
        self.note(envelope.sender, envelope.incarnation, envelope.number, envelope.floor)

    def note(self, sender: str, incarnation: str, number: int, floor: int) -> None:
        """Note that a message has been taken in, by the fields of its envelope.

        Args:
            sender: the sender's name.
            incarnation: the sender's incarnation.
            number: the message's number.
            floor: the lowest number that the sender still repeats.
        """
        if number == 0:
            return
        key = (sender, incarnation)
        stream = self._streams.get(key)
        if stream is None:
            stream = self._streams[key] = _Stream()
        else:
            self._streams.move_to_end(key)
        above = stream.above or set()
        if floor - 1 > stream.below:
            stream.below = floor - 1
            above = {each for each in above if each > stream.below}
        if number > stream.below:
            above.add(number)
        while stream.below + 1 in above:
            stream.below += 1
            above.remove(stream.below)
        stream.above = above or None
        while len(self._streams) > self._senders:
            self._streams.popitem(last=False)

    def memory(self) -> list[Remembered]:
        """Return what is remembered, the longest silent sender first, to be kept for ``restore``."""
        return [
            (sender, incarnation, stream.below, tuple(sorted(stream.above or ())))
            for (sender, incarnation), stream in self._streams.items()
        ]

    def restore(self, memory: Iterable[Remembered]) -> None:
        """Replace the memory by one that ``memory`` returned."""
        self._streams = OrderedDict(
            ((sender, incarnation), _Stream(below, set(above) or None))
            for sender, incarnation, below, above in memory
        )

    def accept(self, envelope: Envelope) -> bool:
        """Take a message in: True exactly once for each number."""
        if self.seen(envelope) or not self.acceptable(envelope):
            return False
        self.remember(envelope)
        return True
