"""What throw-away clusters for tests have in common: a life as long as a block, commands, patience."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar, TypeVar

from whesl.model.errors import WheslError
from whesl.testing.waiting import BUSY, looks

_Bed = TypeVar("_Bed", bound="Bed")


class Bed(ABC):
    """One cluster; a context manager.

    Args:
        directory: where everything of it lives.
    """

    error: ClassVar[type[WheslError]]

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __enter__(self: _Bed) -> _Bed:
        try:
            self.start()
        except BaseException:  # also a timeout or an interrupt of the test session: nothing may stay behind
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def start(self, timeout: float = 60.0) -> None:
        """Start the cluster and return when it can be used; raises the bed's error."""

    @abstractmethod
    def stop(self) -> None:
        """End every process of the cluster and remove its directory."""

    @property
    @abstractmethod
    def outside(self) -> dict[str, str]:
        """The environment of a login node: commands reach this cluster, and no job is around."""

    @abstractmethod
    def _trouble(self) -> str:
        """Return which daemon has ended, with its log; empty while all is well."""

    @abstractmethod
    def log(self) -> str:
        """Return the end of what may say why something takes so long."""

    def run(
        self, *command: str, timeout: float = 60.0, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command against this cluster and return its result, whatever its status."""
        return subprocess.run(
            command,
            env={**self.outside, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            cwd=self.directory,
        )

    @contextlib.contextmanager
    def start_command(self, *command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a command against this cluster in the background; it is killed at the end."""
        process = subprocess.Popen(
            command,
            env={**self.outside, **environment},
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait()

    def script(self, text: str) -> Path:
        """Write a batch script's text to a file, for bash where it does not name its interpreter.

        Slurm 25.05 starts scripts with SIGCHLD blocked: dash, which is ``sh`` here, would wait for ever.
        """
        path = self.directory / f"job-{secrets.token_hex(4)}.sh"
        path.write_text(text if text.startswith("#!") else "#!/bin/bash\n" + textwrap.dedent(text))
        path.chmod(0o755)
        return path

    def wait_for(self, condition: Callable[[], object], what: str, timeout: float = 60.0) -> None:
        """Return when the condition holds. Raises the bed's error when it takes too long (``until``)."""
        for _ in looks(timeout):
            if condition():
                return
            if trouble := self._trouble():
                raise self.error(f"waiting for: {what}: {trouble}")
        raise self.error(f"not within {BUSY * timeout:g} s: {what}\n{self.log()}")
