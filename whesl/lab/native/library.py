"""The lab's C functions, compiled by the machine's C compiler at the first call; the library file is kept.

Compiling takes half a second, loading the kept library some milliseconds. On machines without a C compiler,
the callers use plain Python.
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

from whesl.files import compiled_code_cache

if TYPE_CHECKING:
    from numpy.typing import NDArray

_COMPILERS = ("cc", "gcc", "clang")
_OPTIONS = ("-std=c11", "-O2", "-ffp-contract=off", "-shared", "-fPIC")  # rounds as Python
_LONGEST = 60.0  # time limit of the compiler in seconds


@cache
def library() -> ctypes.CDLL | None:
    """Return the C functions; None where there is no C compiler, or no directory for the compiled library."""
    sources = sorted(Path(__file__).parent.glob("*.[ch]"))
    text = b"".join(path.read_bytes() for path in sources)
    state = hashlib.sha256(" ".join((*_OPTIONS, *platform.uname()[::4])).encode() + text).hexdigest()[:16]
    place = compiled_code_cache.directory(state)
    if place is None:
        return None
    kept = place / "lab.so"
    try:
        if not kept.exists() and not _compiled(sources, kept):
            return None
        return ctypes.CDLL(str(kept))
    except OSError:  # compiled for another kind of machine, or not executable there
        return None


def _compiled(sources: list[Path], kept: Path) -> bool:
    """Compile the sources into the file ``kept``; return whether the compiler succeeded."""
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
    """Return the address of an array's values; the array has to be contiguous (C order)."""
    if not values.flags.c_contiguous:
        raise ValueError("an array with gaps between its values")
    return ctypes.c_void_p(values.ctypes.data)
