"""One cluster's directory: its layout, and the connection to its server."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from typing import TypeVar

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.managers.resource.embedded.channel import Channel, Directory, ask
from whesl.managers.resource.embedded.protocol import AnyMessage, Failed
from whesl.managers.resource.embedded.scheduler.actions import Message
from whesl.managers.resource.embedded.scheduler.job_and_node_records import Settings
from whesl.model import home as places
from whesl.model.errors import CouldNotObserveError, RefusedError, TransientError, UsageError

DEFAULT_NAME = "default"
SERVER = "server"
PATIENCE = 5.0  # seconds to wait for a server that is being restarted
TIMEOUT = 30.0
_Answer = TypeVar("_Answer", bound=Message)


class Cluster:
    """A cluster's directory and the connection to its server. The directory contains:

    ``settings.json``, ``state.db``, ``lock``, ``log``, ``bin/`` (commands), ``sockets/``,
    ``spool/<job>/`` (script, environment), ``nodes/<node>/`` (``pid``, ``log``, ``storage/``).
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self.sockets = Directory(self.join("sockets"))

    def join(self, *names: str) -> str:
        """Return a path below the directory."""
        return os.path.join(self.path, *names)  # noqa: PTH118  # pathlib slows each command's start

    @classmethod
    def of(cls, environ: Mapping[str, str], name: str | None = None) -> Cluster:
        """Return the cluster called ``name``; None takes WHESL_LOCAL's, or the default one in WHESL_HOME.

        Args:
            environ: variables with WHESL_LOCAL and WHESL_HOME.
            name: a cluster's name below WHESL_HOME.
        """
        chosen = environ.get("WHESL_LOCAL", "")
        if name is not None or not chosen:
            home = places.chosen(environ)
            chosen = os.path.join(home, "local", name or DEFAULT_NAME)  # noqa: PTH118
        return cls(chosen)

    def settings(self) -> Settings:
        """Return the cluster's settings. Raises CouldNotObserveError when the directory has no cluster."""
        try:
            content = file_retry.retried(self._settings_file)
            return msgspec.json.decode(content, type=Settings)
        except FileNotFoundError:
            raise CouldNotObserveError(
                f"there is no local cluster in {self.path}", hint="whesl local start"
            ) from None
        except (OSError, *UNDECODABLE) as error:
            raise CouldNotObserveError(f"{self.join('settings.json')} cannot be read: {error}") from None

    def _settings_file(self) -> bytes:
        with open(self.join("settings.json"), "rb") as file:  # noqa: PTH123  # pathlib slows each command's start
            return file.read()

    def prepare(self) -> None:
        """Create the directories.

        Raises RefusedError when other users can enter the cluster's, UsageError when one cannot be created.
        """
        try:
            # ``makedirs`` applies its mode to the last directory only; WHESL_HOME is two levels up.
            above = os.path.dirname(self.path)  # noqa: PTH120
            for place in (os.path.dirname(above), above):  # noqa: PTH120
                os.makedirs(place, mode=0o700, exist_ok=True)  # noqa: PTH103
            for name in ("", "sockets", "spool", "nodes", "bin"):
                os.makedirs(self.join(name), mode=0o700, exist_ok=True)  # noqa: PTH103
            found = os.stat(self.path)  # noqa: PTH116
        except OSError as error:
            raise UsageError(f"no cluster can be kept in {self.path}: {error.strerror}") from None
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise RefusedError(
                f"{self.path} is open to other users",
                hint=f"chmod 700 {self.path}, or choose another directory",
            )

    def connect(self, patience: float = PATIENCE) -> Channel:
        """Connect to the server. Raises CouldNotObserveError when it does not accept in ``patience`` s."""
        return self.sockets.connect_patiently(SERVER, patience)

    def call(self, message: Message, *, patience: float = PATIENCE, timeout: float = TIMEOUT) -> AnyMessage:
        """Send the server one request and return its answer.

        Args:
            message: the request.
            patience: seconds to wait for a connection.
            timeout: seconds to wait for the answer.

        Raises CouldNotObserveError without an answer, RefusedError or TransientError as the server says.
        """
        channel = self.connect(patience)
        try:
            answer = ask(channel, message, timeout)
        finally:
            channel.close()
        if isinstance(answer, Failed):
            raise (TransientError if answer.transient else RefusedError)(answer.text)
        return answer

    def ask(
        self,
        message: Message,
        kind: type[_Answer],
        *,
        patience: float = PATIENCE,
        timeout: float = TIMEOUT,
    ) -> _Answer:
        """Return the server's answer. Raises as ``call``; CouldNotObserveError for another type of answer.

        Args:
            message: the request.
            kind: the type of the answer.
            patience: seconds to wait for a connection.
            timeout: seconds to wait for the answer.
        """
        answer = self.call(message, patience=patience, timeout=timeout)
        if not isinstance(answer, kind):
            raise CouldNotObserveError(f"the local resource manager answered {type(answer).__name__}")
        return answer
