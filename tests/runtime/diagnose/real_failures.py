"""Programs that really fail: killed, starved of memory, disk or files, without libraries, with wrong input.

Each is a shell script of ``real_failures.toml``, run in a directory of its own. What it prints, and its exit
status where that is not 0, is the log.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import msgspec

_TABLE = Path(__file__).with_suffix(".toml")
_TIMEOUT = 120  # seconds
_END = 'status=$?\n[ $status = 0 ] || echo "exit status $status"\nexit $status'
_PREAMBLE = (
    'set -o pipefail; exec 2>&1\nfor n in $(seq 1 20); do echo "step $n of 1000, residual 1.$n"; done\n'
)


class Failure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One program that fails.

    Attributes:
        script: run by bash.
        classes: what it may be called; the first is meant.
        says: words, one of which stands in the decisive line.
        needs: programs without which it cannot be tried.
        files: what lies in its directory.
        root: whether it has to mount something.
    """

    script: str
    classes: tuple[str, ...]
    says: tuple[str, ...]
    needs: tuple[str, ...] = ()
    files: dict[str, str] = {}
    root: bool = False

    def missing(self) -> str:
        """Return why it cannot be tried here, '' when it can."""
        lacking = [program for program in self.needs if shutil.which(program) is None]
        if lacking:
            return f"{', '.join(lacking)} not installed"
        return "it has to mount a file system as root" if self.root and os.geteuid() != 0 else ""

    def log(self, folder: Path) -> str:
        """Let it fail and return what it printed.

        Args:
            folder: empty; the program runs there.
        """
        for name, content in self.files.items():
            (folder / name).write_text(content)
        script = f"{_PREAMBLE}{self.script}\n{_END}"
        command = ["bash", "-c", script]
        if self.root:
            command = ["unshare", "--mount", "--propagation", "private", *command]
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT,
            env={
                **os.environ,
                "HERE": str(_TABLE.parent),
                "LC_ALL": "C.UTF-8",
                "OMPI_MCA_btl": "self,vader",
                "PMIX_MCA_gds": "hash",
            },
        )
        return done.stdout.decode("utf-8", "replace")


def failures() -> dict[str, Failure]:
    """Return all of the table, by name."""
    return msgspec.toml.decode(_TABLE.read_text(), type=dict[str, Failure])
