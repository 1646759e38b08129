"""The functions in C, compiled by the machine's C compiler when they are first called, and kept.

That takes half a second once; to load them takes some milliseconds. Machines without a C compiler do without.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whesl.files import machine_code

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMPILERS = ("cc", "gcc", "clang")
_OPTIONS = ("-std=c11", "-O2", "-ffp-contract=off", "-shared", "-fPIC")  # as exact as Python's own numbers
_LONGEST = 60.0  # seconds that a compiler may take


@cache
def library() -> ctypes.CDLL | None:
    """Return the functions; None where there is no C compiler, or no place to keep what it makes."""
    sources = sorted(Path(__file__).parent.glob("*.[ch]"))
    text = b"".join(path.read_bytes() for path in sources)
    state = hashlib.sha256(" ".join((*_OPTIONS, *platform.uname()[::4])).encode() + text).hexdigest()[:16]
    place = machine_code.directory(state)
    if place is None:
        return None
    kept = place / "lab.so"
    try:
        if not kept.exists() and not _compiled(sources, kept):
            return None
        return ctypes.CDLL(str(kept))
    except OSError:  # made on a machine of another kind that shares the home, or not executable there
        return None


def _compiled(sources: list[Path], kept: Path) -> bool:
    """Compile the sources, and return whether that succeeded."""
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        return False
    made = kept.with_name(f"{kept.name}.{os.getpid()}")
    units = [str(path) for path in sources if path.suffix == ".c"]
    command = [compiler, *_OPTIONS, "-o", str(made), *units, "-lm"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_LONGEST, check=False
        )
        if done.returncode == 0:
            made.replace(kept)
    except subprocess.TimeoutExpired:
        return False
    finally:
        made.unlink(missing_ok=True)
    return done.returncode == 0


def pointer(values: NDArray[Any]) -> ctypes.c_void_p:
    """Return where an array's values are; they have to be one behind the other."""
    if not values.flags.c_contiguous:
        raise ValueError("an array with gaps between its values")
    return ctypes.c_void_p(values.ctypes.data)
