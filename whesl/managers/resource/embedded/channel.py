"""Connections that carry one JSON message a line, for event loops and for blocking calls."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from whesl.files.decode_errors import UNDECODABLE
from whesl.files.non_utf8_text import carried, original
from whesl.managers.resource.embedded.protocol import AnyMessage
from whesl.managers.resource.embedded.scheduler.actions import Message
from whesl.model.errors import CouldNotObserveError

if TYPE_CHECKING:
    from selectors import BaseSelector

M = TypeVar("M", bound=Message)
MAX_LINE = 64 * 1024 * 1024
NO_SOCKET = 0.3  # seconds of retries while the socket's file does not exist
CHUNK = 256 * 1024
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyMessage)
_CREDENTIALS = struct.Struct("3i")


class ChannelClosedError(Exception):
    """The other side closed the connection or sent bytes that are no message. Caught in this package."""


class Channel:
    """One non-blocking connection.

    Args:
        connection: a connected Unix socket.

    Raises ChannelClosedError when the process on the other side belongs to another user, except root.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.socket = connection
        self._incoming = bytearray()
        self._scanned = 0
        self.outgoing = bytearray()
        self.closed = False
        packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        self.pid, uid, _ = _CREDENTIALS.unpack(packed)
        if uid not in (os.getuid(), 0):
            self.close()
            raise ChannelClosedError

    def fileno(self) -> int:
        """Return the descriptor, for selectors."""
        return self.socket.fileno()

    def send(self, message: Message) -> None:
        """Queue a message; ``flush`` sends it."""
        try:
            encoded = _encoder.encode(message)
        except UnicodeEncodeError:  # a path, a word or a variable is no UTF-8: ``restored`` turns it back
            encoded = _encoder.encode(_changed(msgspec.to_builtins(message), carried))
        self.outgoing += encoded
        self.outgoing += b"\n"

    def flush(self) -> None:
        """Send queued bytes as far as the socket accepts them now. Raises ChannelClosedError."""
        while self.outgoing:
            try:
                sent = self.socket.send(self.outgoing)
            except BlockingIOError:
                return
            except OSError as error:
                raise ChannelClosedError from error
            del self.outgoing[:sent]

    def receive(self) -> list[AnyMessage]:
        """Return the messages that have arrived. Raises ChannelClosedError when the connection has ended."""
        try:
            data = self.socket.recv(CHUNK)
        except BlockingIOError:
            return []
        except OSError as error:
            raise ChannelClosedError from error
        if not data:
            raise ChannelClosedError
        self._incoming += data
        return list(self._lines())

    def _lines(self) -> Iterator[AnyMessage]:
        while (end := self._incoming.find(b"\n", self._scanned)) >= 0:
            line = bytes(self._incoming[:end])
            del self._incoming[: end + 1]
            self._scanned = 0
            try:
                yield _decoder.decode(line)
            except UNDECODABLE as error:
                raise ChannelClosedError from error
        self._scanned = len(self._incoming)
        if len(self._incoming) > MAX_LINE:
            raise ChannelClosedError

    def close(self) -> None:
        """Close the connection; closing twice is no error."""
        self.closed = True
        with contextlib.suppress(OSError):
            self.socket.close()


def watch_writing(selector: BaseSelector, channel: Channel) -> None:
    """Let a selector report a connection as writable for as long as unsent bytes are queued.

    Args:
        selector: has the connection registered.
        channel: the connection.
    """
    from selectors import EVENT_READ, EVENT_WRITE  # most commands never need this module

    key = selector.get_key(channel)
    events = EVENT_READ | (EVENT_WRITE if channel.outgoing else 0)
    if key.events != events:
        selector.modify(channel, events, key.data)


class Directory:
    """A directory of Unix sockets, opened through a descriptor, so that its path may exceed 107 bytes."""

    def __init__(self, path: str) -> None:
        self.path = path

    @contextlib.contextmanager
    def _short(self, name: str) -> Iterator[str]:
        descriptor = os.open(self.path, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{descriptor}/{name}"
        finally:
            os.close(descriptor)

    def listen(self, name: str) -> socket.socket:
        """Return a listening socket; a leftover socket file of that name is replaced."""
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with self._short(name) as path:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108  # pathlib slows each command's start
            listener.bind(path)
            os.chmod(path, 0o600)  # noqa: PTH101  # pathlib slows each command's start
        listener.listen(512)
        listener.setblocking(False)
        return listener

    def remove(self, name: str) -> None:
        """Remove a socket on which no process listens any more."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(self.path, name))  # noqa: PTH108, PTH118  # pathlib slows each command's start

    def connect(self, name: str) -> Channel:
        """Return a connection to a socket. Raises OSError or ChannelClosedError when no process listens."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.setblocking(False)
        try:
            with self._short(name) as path:
                connection.connect(path)
            return Channel(connection)
        except BaseException:
            connection.close()
            raise

    def connect_patiently(self, name: str, patience: float) -> Channel:
        """Connect, with retries for ``patience`` seconds. Raises CouldNotObserveError.

        A missing socket file means that no server is being restarted: retries then end after NO_SOCKET s.

        Args:
            name: the socket's file name.
            patience: seconds of retries.
        """
        begun = time.monotonic()
        while True:
            try:
                return self.connect(name)
            except (OSError, ChannelClosedError) as error:
                missing = isinstance(error, FileNotFoundError)
                waited = time.monotonic() - begun
                if waited >= min(patience, NO_SOCKET) if missing else waited >= patience:
                    raise CouldNotObserveError(
                        f"the local resource manager does not answer ({self.path})",
                        hint="whesl local start",
                    ) from None
            time.sleep(0.05)


def restored(message: M) -> M:
    """Return a message with the words that its sender had, for a process that is to be started."""
    return msgspec.convert(_changed(msgspec.to_builtins(message), original), type(message))


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with each text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {_changed(key, change): _changed(each, change) for key, each in value.items()}
    return [_changed(each, change) for each in value] if isinstance(value, (list, tuple)) else value


def ask(channel: Channel, message: Message, timeout: float) -> AnyMessage:
    """Send a message and wait for one answer.

    Args:
        channel: a connection on which no other answer is due.
        message: the question.
        timeout: seconds to wait for the answer.

    Raises CouldNotObserveError when no answer arrives in time.
    """
    channel.send(message)
    deadline = time.monotonic() + timeout
    try:
        while True:
            channel.flush()
            left = deadline - time.monotonic()
            writing = [channel] if channel.outgoing else []
            readable, _, _ = select.select([channel], writing, [], max(0.0, left))
            if readable and (messages := channel.receive()):
                return messages[0]
            if left <= 0:
                break
    except ChannelClosedError:
        pass
    raise CouldNotObserveError(
        "the local resource manager did not answer", hint="look again; `whesl local start` restarts it"
    )
