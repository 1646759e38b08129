"""Compilation of functions of arrays where numba is installed; elsewhere they run as plain Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = TypeVar("Function", bound=Callable[..., Any])

    COMPILES: bool  # whether numba is installed

    def jit(function: Function) -> Function:
        """Compile a function when it is first called, and keep the machine code beside its module."""
        return function

else:
    try:
        import numba
    except ImportError:  # the extra `predict` alone: placement plugins decide in plain Python
        COMPILES = False

        def jit(function):
            """Leave a function as it is."""
            return function

    else:
        COMPILES = True
        jit = numba.njit(cache=True, nogil=True)
