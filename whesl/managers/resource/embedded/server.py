"""The server of one cluster: ``python -m whesl.managers.resource.embedded.server DIRECTORY``.

Each round of its event loop passes events to the core, stores the changed records, and only then sends
messages. A server that is killed and restarted continues from the stored records; nodes and running steps do
not need it meanwhile.
"""

from __future__ import annotations

import contextlib
import selectors
import signal
import sys
import time

from whesl.files import file_retry
from whesl.managers.resource.embedded.channel import Channel, ChannelClosedError, watch_writing
from whesl.managers.resource.embedded.cluster_directory import SERVER, Cluster
from whesl.managers.resource.embedded.request_handler import Service
from whesl.managers.resource.embedded.scheduler.state_machine import Ranking
from whesl.managers.resource.embedded.store import Store
from whesl.model.errors import RefusedError, WheslError
from whesl.runtime.locking import takeover_lock
from whesl.runtime.locking.takeover_lock import HeldError

STEP = 2.0  # seconds by which a wait may exceed its timeout before the nodes' silence is excused


class Server:
    """The server's event loop.

    Args:
        cluster: the cluster, prepared with settings.
        rank: sorts nodes into the order in which jobs take them; None keeps the partition's order.

    Raises RefusedError when another server holds the cluster's lock.
    """

    def __init__(self, cluster: Cluster, rank: Ranking | None = None) -> None:
        try:
            self._lock = takeover_lock.take(cluster.join("lock"), takeover_lock.owned())
        except HeldError:
            raise RefusedError(f"a server for {cluster.path} runs already") from None
        self._store = Store(cluster.join("state.db"))
        self._service = Service(cluster, self._store, self._close)
        self._service.core.rank = rank
        self._selector = selectors.DefaultSelector()
        self._sockets = cluster.sockets
        self._listener = cluster.sockets.listen(SERVER)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._channels: set[Channel] = set()

    def run(self) -> None:
        """Serve until a Shutdown message arrives or the cluster's directory is deleted."""
        wake = 0.0
        while not self._service.stopping:
            before = time.time()
            timeout = max(0.0, min(wake - before, 60.0))
            ready = self._selector.select(timeout)
            now = time.time()
            if not before - STEP <= now <= before + timeout + STEP:
                # This process was stopped, or the clock was set: the nodes' silence does not count.
                self._service.core.excuse_silence(now)
            for key, _ in ready:
                if key.fileobj is self._listener:
                    self._accept()
                elif isinstance(key.data, Channel):
                    self._receive(key.data, now)
            if file_retry.gone(self._sockets.path):
                return  # the cluster's directory was deleted
            # Messages are read before ``advance``, so that signs of life that waited in sockets count.
            wake = min(self._service.core.advance(now), self._service.check_owners(now))
            self._service.commit()
            self._flush(now)
        self._listener.close()
        self._sockets.remove(SERVER)
        self._store.close()

    def _accept(self) -> None:
        with contextlib.suppress(BlockingIOError, ChannelClosedError):
            while True:
                connection, _ = self._listener.accept()
                channel = Channel(connection)
                self._channels.add(channel)
                self._selector.register(channel, selectors.EVENT_READ, channel)

    def _receive(self, channel: Channel, now: float) -> None:
        if channel.closed:
            return
        try:
            for message in channel.receive():
                if not channel.closed:
                    self._service.handle(channel, message, now)
        except ChannelClosedError:
            self._lose(channel, now)

    def _flush(self, now: float) -> None:
        lost = []
        for channel in self._channels:
            waited = bool(channel.outgoing)
            if not waited:
                continue
            try:
                channel.flush()
            except ChannelClosedError:
                lost.append(channel)
                continue
            watch_writing(self._selector, channel)
        for channel in lost:
            self._lose(channel, now)
        if lost:
            self._service.commit()

    def _lose(self, channel: Channel, now: float) -> None:
        self._close(channel)
        self._service.forget(channel, now)

    def _close(self, channel: Channel) -> None:
        if not channel.closed:
            self._selector.unregister(channel)
            self._channels.discard(channel)
            with contextlib.suppress(ChannelClosedError):
                channel.flush()
            channel.close()


def main(arguments: list[str], rank: Ranking | None = None) -> int:
    """Run a cluster's server, print an error that ends it, and return its exit status.

    Args:
        arguments: the cluster's directory, as the only item.
        rank: sorts nodes into the order in which jobs take them; None keeps the partition's order.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        Server(Cluster(arguments[0]), rank).run()
    except WheslError as error:
        sys.stderr.write(f"whesl.managers.resource.embedded.server: {error}\n")
        return error.exit_code
    except OSError as error:
        sys.stderr.write(f"whesl.managers.resource.embedded.server: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
