"""Compilation of functions of arrays where numba is installed; elsewhere they run as plain Python."""

from __future__ import annotations

import hashlib
import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from whesl.files import compiled_code_cache
from whesl.prediction.compile_choice import compiles

_ROOMS = ("prediction", "placement", "lab", "cloud")  # packages that hold compiled functions


def sources() -> str:
    """Return a name for the state of all modules that hold compiled functions.

    numba checks only a function's own file, so its cached machine code becomes stale when a function that it
    calls in another module changes.
    """
    root = Path(__file__).resolve().parent.parent
    found = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            status = path.stat()
            found.update(f"{path}:{status.st_mtime_ns}:{status.st_size}\n".encode())
    return found.hexdigest()[:16]


if TYPE_CHECKING:
    from collections.abc import Callable

    Function = TypeVar("Function", bound=Callable[..., Any])

    COMPILES: bool  # whether numba is installed

    def jit(function: Function) -> Function:
        """Compile a function when it is first called, and keep the machine code for later processes."""
        return function

    def jit_inner(function: Function) -> Function:
        """Compile a function that makes no arrays.

        The compiled function counts no references: where a call passes tuples of arrays for each task, atomic
        reference counts take more time than all other work.
        """
        return function

else:
    try:
        numba = importlib.import_module("numba") if compiles() else None
    except ImportError:  # only the extra `predict` is installed: placement plugins run plain Python
        numba = None
    if numba is None:
        COMPILES = False

        def jit(function):
            """Return the function unchanged."""
            return function

        jit_inner = jit

    else:
        COMPILES = not numba.config.DISABLE_JIT
        if not os.environ.get("NUMBA_CACHE_DIR"):
            numba.config.CACHE_DIR = str(compiled_code_cache.directory(sources()) or "")
        # numba without a configured cache directory searches for a writable one, and fails when it finds
        # none.
        _CACHE = bool(numba.config.CACHE_DIR)
        jit_inner = numba.njit(cache=_CACHE, nogil=True, _nrt=False)

        def jit(function):
            """Compile a function when it is first called, and keep the machine code for later processes."""
            compiled = numba.njit(cache=_CACHE, nogil=True)(function)
            if not COMPILES:
                return compiled
            resolved = compiled.get_call_template

            def of_types(args, kws):
                """Resolve a call by types alone: numba would compile anew for each constant argument."""
                return resolved(
                    tuple(map(numba.types.unliteral, args)),
                    {name: numba.types.unliteral(kind) for name, kind in dict(kws).items()},
                )

            compiled.get_call_template = of_types
            return compiled
