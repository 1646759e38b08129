"""Guests of instances: their user data really runs, in a session here, and they can shut themselves down."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import psutil

from whesl.testing.processes import running

MARK = "WHESL_STRICT_GUEST"
_STUB = """\
#!/bin/sh
exec curl -s -o /dev/null "{endpoint}/guest/${mark}/down"
"""
# systemd-run is not there in a guest, so that the user data takes its other way.
_ABSENT = "#!/bin/sh\nexit 1\n"


class Guests:
    """The guests of all instances.

    Args:
        directory: for their files.
        endpoint: where a guest says that it shuts down.
    """

    def __init__(self, directory: Path, endpoint: str) -> None:
        self._directory = directory
        self._bin = directory / "bin"
        self._bin.mkdir(parents=True)
        stub = _STUB.format(endpoint=endpoint, mark=MARK)
        for name, text in (("shutdown", stub), ("poweroff", stub), ("systemd-run", _ABSENT)):
            (self._bin / name).write_text(text)
            (self._bin / name).chmod(0o755)

    def boot(self, known_as: str, user_data: str) -> None:
        """Run an instance's user data, given in base64."""
        place = self._directory / known_as
        place.mkdir()
        script = base64.b64decode(user_data).decode().replace("/run/whesl", f"{place}/whesl")
        (place / "user-data").write_text(script)
        path = f"{self._bin}:{os.environ['PATH']}"
        with (place / "console").open("ab") as console:
            subprocess.Popen(
                ["/bin/sh", str(place / "user-data")],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                cwd=place,
                env={**os.environ, "PATH": path, MARK: known_as},
                start_new_session=True,
            )

    def end(self, known_as: str) -> None:
        """Kill all that runs in a guest."""
        _kill(lambda mark: mark == known_as)

    def end_all(self) -> None:
        """Kill all that runs in any guest of this directory."""
        known = {path.name for path in self._directory.iterdir()}
        _kill(lambda mark: mark in known)


def _kill(wanted: Callable[[str], bool]) -> None:
    for process in running():
        try:
            mark = process.environ().get(MARK)
            if mark is not None and wanted(mark) and process.pid != os.getpid():
                process.send_signal(signal.SIGKILL)
        except psutil.Error:
            continue  # gone meanwhile, or another user's
