"""The state of a log's follower in a file, so that a restart loses nothing."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from whesl.files import file_retry
from whesl.files.decode_errors import FOREIGN, UNDECODABLE
from whesl.model.errors import UsageError
from whesl.prediction.log_chains.chain_matcher import Half
from whesl.prediction.log_chains.chains_file import Chain
from whesl.prediction.log_chains.lines import Header
from whesl.prediction.log_chains.log_stream_predictor import ChainStream
from whesl.runtime.detect.tail import Tailer

_EVERY = 5.0  # seconds between two writes; bytes read since the last write are read again after a kill
_MOST = 256 << 20  # largest size of the file in bytes


class _State(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file. ``log``: state of the tailer; ``chains``: digest; ``form``: of lines, "" if unknown."""

    version: int
    chains: str
    log: tuple[dict[str, Any], ...]
    form: str
    halves: tuple[Half, ...]


class Memory:
    """A follower's state in a file.

    A file that is damaged, or belongs to another log or other chains, is reported and replaced.

    Args:
        path: the file, which may not exist yet.
        chains: the chains that the follower searches for.
        stream: the stream in which the follower searches.
        trouble: called with a problem in a sentence for people.
    """

    def __init__(
        self, path: Path, chains: Sequence[Chain], stream: ChainStream, trouble: Callable[[str], None]
    ) -> None:
        self._path, self._stream, self._trouble = path, stream, trouble
        steps = [(chain.window, chain.steps) for chain in chains]
        self._chains = hashlib.sha256(msgspec.json.encode(steps)).hexdigest()
        self._saved, self._failed = float("-inf"), False

    def begin(self, tailer: Tailer, log: str, *, whole: bool) -> None:
        """Follow a log from its saved position, else from its end, or from its begin if ``whole``.

        Args:
            tailer: the tailer that follows the log.
            log: the log's path.
            whole: whether a log without a saved position is read from its begin.
        """
        state = self._read()
        if state is not None:
            try:
                if [one["path"] for one in state.log] != [log]:
                    raise UsageError(f"it is of another log than {log}")
                tailer.restore(state.log)
                if state.form and self._stream.header is None:
                    self._stream.header = Header(state.form)
                if state.chains == self._chains:
                    self._stream.machine.recall(state.halves)
                elif state.halves:
                    self._trouble(f"{self._path}: the chains are others now: what was half seen is forgotten")
                return
            except (*FOREIGN, UsageError) as error:
                self._trouble(f"{self._path} cannot be used, and is written anew: {error}")
        tailer.follow(log, 0 if whole else None)

    def save(self, tailer: Tailer, *, now: bool = False) -> None:
        """Save the state, if the last save is some seconds old.

        Args:
            tailer: the tailer that follows the log.
            now: whether to save even if the last save is recent.
        """
        if not now and time.monotonic() < self._saved + _EVERY:
            return
        self._saved = time.monotonic()
        states = tailer.state()
        # The position is that of the begin of an unfinished line, so that a restart reads the line whole.
        again = {str(one["path"]): max(0, int(one["offset"]) - self._stream.torn) for one in states}
        header = self._stream.header
        data = msgspec.json.encode(
            _State(
                version=1,
                chains=self._chains,
                log=tuple(tailer.state(again)),
                form=header.form if header is not None else "",
                halves=tuple(self._stream.machine.halves()),
            )
        )
        try:
            file_retry.replace(self._path, data, durable=True, limit=file_retry.BRIEF)
        except OSError as error:
            if not self._failed:
                self._trouble(f"cannot write {self._path}: {error.strerror or error}; the log is followed on")
            self._failed = True
        else:
            self._failed = False

    def _read(self) -> _State | None:
        try:
            if self._path.stat().st_size > _MOST:
                raise UsageError(f"it has more than {_MOST} bytes")
            state = msgspec.json.decode(self._path.read_bytes(), type=_State)
            if state.version != 1:
                raise UsageError(f"its version is {state.version}, not 1")
        except FileNotFoundError:
            return None
        except OSError as error:
            self._trouble(f"cannot read {self._path}: {error.strerror or error}")
        except (*UNDECODABLE, UsageError) as error:
            self._trouble(f"{self._path} cannot be used, and is written anew: {error}")
        else:
            return state
        return None
