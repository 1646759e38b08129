"""The user's WHESL home, and the CURVE keys that keep other users out.

``WHESL_HOME/keys`` has two key pairs: one identifies the coordinator to its clients, the other admits the
user's own processes to the coordinator. Both are made at their first use, on any machine, since login and
compute nodes share ``WHESL_HOME``. Links inside one allocation have separate keys (``LinkKeys``).
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import UNDECODABLE
from whesl.model import home as places
from whesl.runtime.wire.private_directory import HomeError, make_home, make_private


class KeyPair(msgspec.Struct, frozen=True):
    """A CURVE key pair in Z85 text (40 characters each; https://rfc.zeromq.org/spec/26/)."""

    public: str
    secret: str

    @classmethod
    def generate(cls) -> KeyPair:
        """Return a new pair."""
        import zmq  # a slow import, which ``private_directory`` does not need

        public, secret = zmq.curve_keypair()
        return cls(public.decode(), secret.decode())

    def __repr__(self) -> str:
        return f"KeyPair(public={self.public!r})"


class LinkKeys(msgspec.Struct, frozen=True):
    """The ephemeral keys of one link: the server's pair, and one pair that all clients of the link share."""

    server: KeyPair
    client: KeyPair

    @classmethod
    def generate(cls) -> LinkKeys:
        """Return new pairs."""
        return cls(KeyPair.generate(), KeyPair.generate())


class UserKeys(msgspec.Struct, frozen=True):
    """The user's lasting keys: ``coordinator`` of the server, ``client`` of every process of the user."""

    coordinator: KeyPair
    client: KeyPair


def home() -> Path:
    """Return the directory that ``WHESL_HOME`` names (default ``~/.whesl``), made private at first use.

    Raises HomeError when it is not the caller's own or open to anybody else, or does not answer.
    """
    path = Path(places.chosen()).expanduser().absolute()
    make_home(str(path))
    return path


def private_directory(path: Path) -> Path:
    """Return ``path`` after making it, or checking that it is the user's and private (``make_private``).

    Raises HomeError.
    """
    make_private(str(path.absolute()))
    return path


def user_keys(directory: Path) -> UserKeys:
    """Return the keys below a WHESL home, made at first use. Two processes at once get the same.

    Args:
        directory: the WHESL home, as ``home()`` returns it.

    Raises HomeError when the directories are not private or a key file is not readable.
    """
    private_directory(directory)
    keys = private_directory(places.keys(directory))
    return UserKeys(_pair(keys / "coordinator"), _pair(keys / "client"))


def _pair(directory: Path) -> KeyPair:
    """Return the key pair in a directory; make the pair if it does not exist.

    The pair is written to a temporary directory, which is then renamed. A rename onto a directory that is not
    empty fails, so one of two makers wins, and no process sees half a pair.
    """
    try:
        return file_retry.retried(lambda: _kept(directory))
    except OSError as error:
        raise HomeError(
            f"the key pair {directory} cannot be read or made: {file_retry.told(error)}",
            hint="check room and quota of the file system; "
            f"else remove {directory} while nothing of WHESL runs: it is made anew",
        ) from error


def _kept(directory: Path) -> KeyPair:
    if not file_retry.exists(directory):
        import shutil
        import tempfile

        making = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
        try:
            content = msgspec.json.encode(KeyPair.generate())
            file_retry.replace(making / "pair.json", content, durable=True)
            with contextlib.suppress(OSError):  # another process was first; its pair is read below
                file_retry.retried(lambda: making.rename(directory))
        finally:
            shutil.rmtree(making, ignore_errors=True)
    private_directory(directory)
    file = directory / "pair.json"
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as opened:
            found = os.fstat(opened.fileno())
            mode = stat.S_IMODE(found.st_mode)
            if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
                raise HomeError(
                    f"the key file {file} is not a file of yours (it belongs to uid {found.st_uid})",
                    hint=f"remove {directory} while nothing of WHESL runs; it is made anew",
                )
            if mode & 0o077:
                raise HomeError(
                    f"the key file {file} is open to others (mode {mode:04o})", hint=f"chmod 600 {file}"
                )
            return msgspec.json.decode(opened.read(), type=KeyPair)
    except UNDECODABLE as error:
        raise HomeError(
            f"the key file {file} is damaged",
            hint=f"remove {directory} while nothing of WHESL runs; it is made anew",
        ) from error
