"""Where machine code is kept that is made of a program's own sources when it is first needed."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_OLD = 7 * 86400.0  # seconds after which machine code of other sources is removed


def directory(sources: str) -> Path | None:
    """Return a private directory for the machine code of some sources; None where there is none.

    It lies in the user's cache, and for an account without a home among the temporary files, where it has to
    be this user's alone. Directories of other sources that nobody has used for a week are removed.

    Args:
        sources: a name for the state of the sources, in letters and digits.
    """
    for base in _bases():
        mine = base / sources
        try:
            mine.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = base.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                continue
            os.utime(mine)
            for other in base.iterdir():
                if other != mine and time.time() - other.stat().st_mtime > _OLD:
                    shutil.rmtree(other, ignore_errors=True)
        except OSError:
            continue
        if os.access(mine, os.W_OK | os.X_OK):
            return mine
    return None


def _bases() -> Iterator[Path]:
    """Yield directories in which machine code may be kept, the best first."""
    with contextlib.suppress(RuntimeError):  # the user has no home directory
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whesl" / "machine-code"
    with contextlib.suppress(OSError):  # no directory for temporary files can be written
        base = Path(tempfile.gettempdir()) / f"whesl-machine-code-{os.geteuid()}"
        with contextlib.suppress(FileExistsError):
            base.mkdir(mode=0o700)
        yield base
